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

  /// The integer; nil for every other kind.
  package var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The number, of integers too; nil for every other kind.
  package var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  /// The text; nil for every other kind.
  package var text: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The bytes; nil for every other kind.
  package var blob: Data? {
    if case .blob(let value) = self { value } else { nil }
  }

  /// Whether this is null.
  package var isNull: Bool { self == .null }

  /// The start of the value as it is written in SQL text: a text or a BLOB can have any length.
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

  /// The value as it is written in SQL text.
  package var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): String(value)
    // SQLite has no words for these; it stores NaN as null, and reads a number that is too large as infinity.
    case .real(let value) where value.isNaN: "NULL"
    case .real(let value) where value.isInfinite: value < 0 ? "-9e999" : "9e999"
    case .real(let value): String(value)
    case .text(let value): "'" + value.replacingOccurrences(of: "'", with: "''") + "'"
    case .blob(let value): "X'" + Self.hexadecimal(value) + "'"
    }
  }

  /// Two digits for each byte. A BLOB can have megabytes, for which a text for each of them would take seconds.
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

// Not by nil: an optional value that is compared with nil would be compared with null.
extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .real(value) }
  package init(stringLiteral value: String) { self = .text(value) }
}
