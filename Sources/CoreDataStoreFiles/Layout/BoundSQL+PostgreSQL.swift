// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataSQLite

extension BoundSQL {
  /// The same statement for PostgreSQL: each `?` and `?1` becomes a parameter such as `$1::bigint`, with the type of
  /// its value. A NULL gets no type, so that PostgreSQL infers it, and NaN becomes NULL, as in SQLite.
  package var postgreSQL: BoundSQL {
    var parameters = PostgreSQLParameters(values: values, isShared: sharesParameters)
    var result = BoundSQL(replacingParameters { parameters.text($0) })
    result.values = parameters.bound
    return result
  }

  /// The statement with its values as literals, for definitions, in which PostgreSQL allows no parameters.
  package var postgreSQLLiterals: String {
    var next = 0
    return replacingParameters { number in
      next = (number ?? next) + 1
      return values[next - 1].postgreSQLLiteral
    }
  }

  /// Replaces each question mark outside of quotation marks.
  ///
  /// - Parameter text: returns the replacement for a parameter; its argument is the position of a numbered parameter in
  ///   `values`.
  private func replacingParameters(_ text: (Int?) -> String) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(sql.utf8.count + values.count * 12)
    var quote: UInt8?
    var bytes = sql.utf8.makeIterator()
    var pending: UInt8?
    while let byte = pending ?? bytes.next() {
      pending = nil
      guard byte == UInt8(ascii: "?"), quote == nil else {
        // A doubled quotation mark closes the quoted text and opens it again.
        if byte == quote {
          quote = nil
        } else if quote == nil, byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
          quote = byte
        }
        result.append(byte)
        continue
      }
      var number = 0
      pending = bytes.next()
      while let digit = pending, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) {
        number = number * 10 + Int(digit - UInt8(ascii: "0"))
        pending = bytes.next()
      }
      result += text(number == 0 ? nil : number - 1).utf8
    }
    return String(decoding: result, as: UTF8.self)
  }
}

/// Assigns the numbers of a statement's parameters.
private struct PostgreSQLParameters {
  let values: [SQLiteValue]
  let isShared: Bool
  private(set) var bound: [SQLiteValue] = []
  private var next = 0
  private var known: [Int: String] = [:]
  private var texts: [SQLiteValue: String] = [:]

  init(values: [SQLiteValue], isShared: Bool) { (self.values, self.isShared) = (values, isShared) }

  /// - Parameter position: the position in `values`; nil for the position after the last one used.
  mutating func text(_ position: Int?) -> String {
    let position = position ?? next
    next = position + 1
    trap(unless: position < values.count, "The statement has more parameters than values.")
    if let text = known[position] { return text }
    let value = values[position]
    if isShared, !value.isNull, let text = texts[value] { return text }
    let isNumber = if case .real(let number) = value { !number.isNaN } else { true }
    bound.append(isNumber ? value : .null)
    let text = "$\(bound.count)" + (value.postgreSQLType.map { "::\($0)" } ?? "")
    known[position] = text
    texts[value] = text
    return text
  }
}

extension SQLiteValue {
  /// The PostgreSQL type of a parameter with this value; nil for NULL.
  fileprivate var postgreSQLType: String? {
    switch self {
    case .null: nil
    case .integer: ColumnType.bigint.rawValue
    case .real: ColumnType.doublePrecision.rawValue
    case .text: ColumnType.text.rawValue
    case .blob: ColumnType.bytea.rawValue
    }
  }

  fileprivate var postgreSQLLiteral: String {
    switch self {
    // The meaning of a backslash in a plain literal depends on standard_conforming_strings.
    case .text(let value) where value.contains("\\"):
      " E" + SQLiteValue.text(value.replacing("\\", with: "\\\\")).literal
    case .null, .text, .integer: literal
    case .real(let value) where value.isNaN: "CAST(NULL AS double precision)"
    case .real(let value) where value.isInfinite: "CAST('\(value < 0 ? "-" : "")Infinity' AS double precision)"
    case .real(let value): "CAST('\(value)' AS double precision)"
    case .blob(let bytes): "CAST(E'\\\\x\(SQLiteValue.blob(bytes).literal.dropFirst(2).dropLast())' AS bytea)"
    }
  }
}
