// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One row of a store as it goes into an export.
package struct ExportedObject: Hashable, Sendable {
  package let entity: String
  /// `x-coredata://UUID/Entity/pN`
  package let id: String
  /// Values by property, sorted by name.
  package let values: [(name: String, value: ExportedValue)]

  package static func == (left: ExportedObject, right: ExportedObject) -> Bool {
    left.entity == right.entity && left.id == right.id
      && left.values.elementsEqual(right.values) { $0.name == $1.name && $0.value == $1.value }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
  }
}

/// One value of an export.
package indirect enum ExportedValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  /// All digits, without an exponent.
  case decimal(String)
  /// Seconds since the start of 2001.
  case date(Double)
  case string(String)
  case binary(Data)
  /// The identifier of one object.
  case reference(String)
  /// The identifiers of many: in order where the relationship is ordered, else sorted by entity and key.
  case references([String])
  /// The parts of a composite attribute, sorted by name.
  case composite([Part])

  /// An element of a composite attribute.
  package struct Part: Hashable, Sendable {
    package let name: String
    package let value: ExportedValue
  }
}

/// Decimal numbers as stores hold them: whole ones as integers, others as reals, both of which mean what their shortest
/// text says.
enum DecimalText {
  /// The digits of a real without an exponent: `0.00001`, not `1e-05`.
  static func plain(_ value: Double) -> String {
    guard value.isFinite else { return String(value) }
    if let whole = Int64(exactly: value) { return String(whole) }
    return plain(String(value))
  }

  /// The greatest exponent of a real, with room for the digits before it.
  private static let greatestExponent = 400

  /// The same number without an exponent; the text itself where it is not one that a decimal or a real can be.
  static func plain(_ text: String) -> String {
    guard let mark = text.firstIndex(where: { $0 == "e" || $0 == "E" }),
      let exponent = Int(text[text.index(after: mark)...]), (-greatestExponent...greatestExponent).contains(exponent),
      Double(text) != nil
    else { return text }
    let isNegative = text.hasPrefix("-")
    let mantissa = text[..<mark].drop { $0 == "-" || $0 == "+" }
    let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
    let fraction = parts.count > 1 ? parts[1] : ""
    var digits = String(parts[0] + fraction)
    var point = parts[0].count + exponent
    if point <= 0 {
      digits = String(repeating: "0", count: 1 - point) + digits
      point = 1
    }
    digits += String(repeating: "0", count: max(0, point - digits.count))
    let split = digits.index(digits.startIndex, offsetBy: point)
    var tail = digits[split...]
    while tail.last == "0" { tail.removeLast() }
    return (isNegative ? "-" : "") + digits[..<split] + (tail.isEmpty ? "" : "." + tail)
  }
}
