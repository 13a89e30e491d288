// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value as SQLite stores it.
package enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)

  /// The integer, or nil for any other type.
  package var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The number as a Double, including integers, or nil for any other type.
  package var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  /// The text, or nil for any other type.
  package var text: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The bytes, or nil for any other type.
  package var blob: Data? {
    if case .blob(let value) = self { value } else { nil }
  }

  package var isNull: Bool { self == .null }

  /// The SQL literal, shortened if the text or BLOB is long.
  package var shortLiteral: String {
    let (limit, start): (Int, SQLiteValue)
    switch self {
    case .text(let value): (limit, start) = (40, .text(String(value.prefix(40))))
    case .blob(let value): (limit, start) = (20, .blob(value.prefix(20)))
    default: return literal
    }
    let isWhole = text.map { $0.count <= limit } ?? blob.map { $0.count <= limit } ?? true
    return isWhole ? literal : start.literal + "…"
  }

  /// The value as an SQL literal.
  package var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): String(value)
    // SQLite has no literals for these. It stores NaN as null and parses a number that is too large as infinity.
    case .real(let value) where value.isNaN: "NULL"
    case .real(let value) where value.isInfinite: value < 0 ? "-9e999" : "9e999"
    case .real(let value): String(value)
    case .text(let value): "'" + value.replacingOccurrences(of: "'", with: "''") + "'"
    case .blob(let value): "X'" + Self.hexadecimal(value) + "'"
    }
  }

  /// Returns two hexadecimal digits per byte. One string per byte would take seconds for a BLOB of several megabytes.
  private static func hexadecimal(_ bytes: Data) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      var position = 0
      for byte in bytes {
        text[position] = digits[Int(byte >> 4)]
        text[position + 1] = digits[Int(byte & 15)]
        position += 2
      }
      return position
    }
  }
}

// Not ExpressibleByNilLiteral: comparing an optional value with nil would then compare it with null.
extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .real(value) }
  package init(stringLiteral value: String) { self = .text(value) }
}
