// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A JSON value with deterministic text: keys keep their order, and integers keep all their digits.
package indirect enum JSONText: Hashable, Sendable {
  /// A member of an object.
  package struct Member: Hashable, Sendable {
    package var key: String
    package var value: JSONText

    package init(_ key: String, _ value: JSONText) {
      self.key = key
      self.value = value
    }
  }

  case object([Member])
  case array([JSONText])
  case string(String)
  case integer(Int64)
  /// A number. Infinity and NaN, which JSON cannot represent, are written as null.
  case real(Double)
  case bool(Bool)
  case null

  /// Returns the text on one line, without spaces and without a line break at the end.
  package func line() -> String {
    var text = ""
    write(to: &text, depth: nil)
    return text
  }

  /// Returns the text with a line for every value, indented by two spaces, and a line break at the end.
  package func pretty() -> String {
    var text = ""
    write(to: &text, depth: 0)
    return text + "\n"
  }

  private func write(to text: inout String, depth: Int?) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .real(let value): text += value.isFinite ? String(value) : "null"
    case .string(let value): Self.quote(value, to: &text)
    case .array(let values):
      Self.writeList(values, "[", "]", to: &text, depth) { value, text, depth in
        value.write(to: &text, depth: depth)
      }
    case .object(let members):
      Self.writeList(members, "{", "}", to: &text, depth) { member, text, depth in
        Self.quote(member.key, to: &text)
        text += depth == nil ? ":" : ": "
        member.value.write(to: &text, depth: depth)
      }
    }
  }

  private static func writeList<Element>(
    _ elements: [Element], _ open: String, _ close: String, to text: inout String, _ depth: Int?,
    _ write: (Element, inout String, Int?) -> Void
  ) {
    text += open
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      if let depth { text += "\n" + String(repeating: "  ", count: depth + 1) }
      write(element, &text, depth.map { $0 + 1 })
    }
    if let depth, !elements.isEmpty { text += "\n" + String(repeating: "  ", count: depth) }
    text += close
  }

  private static func quote(_ value: String, to text: inout String) {
    text += "\""
    escape(value, to: &text)
    text += "\""
  }

  /// Appends the escaped characters of a string without quotation marks. A string can be escaped in parts.
  package static func escape(_ value: String, to text: inout String) {
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{8}": text += "\\b"
      case "\u{C}": text += "\\f"
      // JavaScript and many line readers treat U+2028 and U+2029 as line breaks.
      case "\u{0}"..<"\u{20}", "\u{2028}", "\u{2029}",
        _ where StyledText.steersTerminal(scalar):
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}

extension JSONText: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .real(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSONText...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONText)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }

  package static func integer(_ value: Int) -> JSONText { .integer(Int64(value)) }

  /// Returns the text, or null.
  package static func optional(_ value: String?) -> JSONText { value.map { .string($0) } ?? .null }

  /// Returns the integer, or null.
  package static func optional(_ value: Int?) -> JSONText { value.map { .integer(Int64($0)) } ?? .null }
}
