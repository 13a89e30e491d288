// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// The right side of `IN`: one question mark for each value of a short list, or a single one for a long list.
///
/// The number of bound values is limited, and a statement for each length would fill the statement cache. So a long
/// list is bound as one value: in SQLite as JSON, which is read once into a temporary index, and in PostgreSQL as an
/// array.
package enum SQLValueList {
  /// The maximum length of a list with one question mark for each value.
  package static let longestShortList = 100
  /// The maximum length of the JSON in bytes, well below the smallest limit of a connection that reads an untrusted
  /// store.
  static let longestJSON = 8 << 20

  package static let decoder = "CDListValue"

  /// Returns `(?, ?)` or a subquery.
  ///
  /// - Parameter type: the PostgreSQL type of the values.
  /// - Throws: `NotExpressibleInSQL` for more than eight megabytes of values in SQLite.
  package static func list(_ values: [SQLiteValue], _ type: ColumnType, _ dialect: SQLDialect) throws -> BoundSQL {
    if dialect == .postgreSQL { return postgreSQLList(values, type) }
    if values.count <= longestShortList { return "(\(values: values))" }
    var json = "["
    var hasOnlyIntegers = true
    for (position, value) in values.enumerated() {
      if position > 0 { json += "," }
      if case .integer(let number) = value {
        json += String(number)
      } else {
        hasOnlyIntegers = false
        json += encoded(value)
      }
    }
    json += "]"
    guard json.utf8.count <= longestJSON else { throw NotExpressibleInSQL() }
    let element = hasOnlyIntegers ? "value" : "\(decoder)(value)"
    return "(SELECT \(raw: element) FROM json_each(\(value: .text(json))))"
  }

  /// Returns a subquery for integers whose SQL is the same for sets of any size.
  ///
  /// - Throws: the same errors as `list(_:_:_:)`.
  static func set(of numbers: Set<Int64>, _ dialect: SQLDialect) throws -> BoundSQL {
    if dialect == .postgreSQL {
      return "(SELECT UNNEST(\(array(numbers.sorted().map { .integer($0) }, .bigint))))"
    }
    let json = "[\(numbers.sorted().map(String.init).joined(separator: ","))]"
    guard json.utf8.count <= longestJSON else { throw NotExpressibleInSQL() }
    return "(SELECT value FROM json_each(\(value: .text(json))))"
  }

  // MARK: PostgreSQL

  private static func postgreSQLList(_ values: [SQLiteValue], _ type: ColumnType) -> BoundSQL {
    // PostgreSQL has no empty lists.
    if values.isEmpty { return "(SELECT CAST(NULL AS \(raw: type.rawValue)) WHERE FALSE)" }
    if values.count > longestShortList { return "(SELECT UNNEST(\(array(values, type))))" }
    let needsCast = type == .uuid || type == .numeric
    return "(\(values.map { needsCast ? "CAST(\(value: $0) AS \(raw: type.rawValue))" : "\(value: $0)" }.joined(", ")))"
  }

  /// Returns rows of dates: their timestamps and remainders.
  static func list(_ dates: [StoredDate]) throws -> BoundSQL {
    if dates.count > longestShortList {
      let timestamps = array(dates.map { .text($0.text) }, .timestamptz)
      let remainders = array(dates.map { .real($0.remainder ?? 0) }, .doublePrecision)
      return "(SELECT t, r FROM UNNEST(\(timestamps), \(remainders)) AS dates (t, r))"
    }
    if dates.isEmpty { return "(SELECT CAST(NULL AS timestamptz), CAST(NULL AS double precision) WHERE FALSE)" }
    let rows: [BoundSQL] = dates.map {
      "(CAST(\(value: .text($0.text)) AS timestamptz), \(value: .real($0.remainder ?? 0)))"
    }
    return "(\(rows.joined(", ")))"
  }

  private static func array(_ values: [SQLiteValue], _ type: ColumnType) -> BoundSQL {
    let elements = values.map { value -> String in
      switch value {
      case .null: "NULL"
      case .integer(let number): String(number)
      case .real(let number):
        number.isNaN ? "NULL" : number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)"
      case .text(let text): "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
      case .blob(let bytes): "\"\\\\x\(hexadecimal(bytes))\""
      }
    }
    return "CAST(\(value: .text("{\(elements.joined(separator: ","))}")) AS \(raw: type.rawValue)[])"
  }

  // MARK: SQLite

  /// Returns a JSON string with a letter for the type, followed by the bytes in hexadecimal digits, since JSON has
  /// neither bytes nor exact floating-point numbers.
  private static func encoded(_ value: SQLiteValue) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): String(number)
    case .real(let number): "\"r\(number.bitPattern)\""
    case .text(let text): "\"t\(hexadecimal(text.utf8))\""
    case .blob(let bytes): "\"b\(hexadecimal(bytes))\""
    }
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func bytes(_ digits: Substring.UTF8View) -> [UInt8] {
    func digit(_ character: UInt8) -> UInt8 { character < 0x3A ? character - 0x30 : character - 0x57 }
    var bytes: [UInt8] = []
    var iterator = digits.makeIterator()
    while let high = iterator.next(), let low = iterator.next() { bytes.append(digit(high) << 4 | digit(low)) }
    return bytes
  }

  package static func register(with connection: SQLiteConnection) throws {
    try connection.register(function: decoder, argumentCount: 1, deterministic: true) { arguments in
      guard case .text(let text) = arguments[0], let type = text.first else { return arguments[0] }
      let rest = text.dropFirst()
      switch type {
      case "r": return UInt64(rest).map { .real(Double(bitPattern: $0)) } ?? .null
      case "t": return .text(String(decoding: bytes(rest.utf8), as: UTF8.self))
      default: return .blob(Data(bytes(rest.utf8)))
      }
    }
  }
}
