// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// The SQL functions that compute as expressions do in memory. The `CoreData` module registers them, since it has the
/// evaluator.
package enum ValueFunction {
  /// `CDFunction(name, letters, a, b)` calls a predefined function of expressions.
  package static let name = "CDFunction"
  /// `CDNumberOrder(letters, a, b)` returns -1, 0 or 1, or NULL.
  package static let orderName = "CDNumberOrder"

  /// `CDDecimalText(real)` returns all digits of the decimal for a REAL; SQLite would write only 15.
  package static let decimalTextName = "CDDecimalText"

  /// `CDDecimalNumber(value)` returns the decimal of a TEXT or a REAL as stored in a column. SQLite's own conversion of
  /// text may be off by one unit in the last place.
  package static let decimalNumberName = "CDDecimalNumber"

  /// `CDDecimals(name, texts)` calls an aggregate function with the decimals that `GROUP_CONCAT` has joined with
  /// commas; NULL means no decimals.
  package static let decimalsName = "CDDecimals"

  /// `CDSum(value)` is the aggregate function that adds doubles without rounding in between (`ExactSum`). SQLite's own
  /// sum depends on the order of the rows, and on the version of SQLite.
  package static let sumName = "CDSum"

  /// Returns a call of a predefined function with scalars.
  static func call(_ function: String, _ arguments: [SQLScalar]) -> BoundSQL {
    "\(raw: name)(\(value: .text(function)), \(value: .text(letters(arguments))), \(arguments.map(\.sql).joined(", ")))"
  }

  static func order(_ arguments: [SQLScalar]) -> BoundSQL {
    "\(raw: orderName)(\(value: .text(letters(arguments))), \(arguments.map(\.sql).joined(", ")))"
  }

  static func decimals(_ function: String, _ texts: BoundSQL) -> BoundSQL {
    "\(raw: decimalsName)(\(value: .text(function)), \(texts))"
  }

  /// Returns the value of a decimal attribute as an argument for `CDDecimals`.
  static func text(_ decimal: BoundSQL) -> BoundSQL {
    "CASE TYPEOF(\(decimal)) WHEN 'real' THEN \(raw: decimalTextName)(\(decimal)) ELSE \(decimal) END"
  }

  /// Returns the sum or average of the values of a decimal attribute, as stored in a column.
  ///
  /// - Parameter rows: `FROM` and the clauses after it.
  package static func total(_ function: String, of decimal: String, in rows: String) -> String {
    let texts = "(SELECT GROUP_CONCAT(\(text(BoundSQL(decimal)).sql)) \(rows))"
    return "\(decimalNumberName)(\(decimalsName)('\(function)', \(texts)))"
  }

  /// Returns the column value of a result for `decimalNumberName`.
  package static func decimalNumber(_ value: SQLiteValue?) -> SQLiteValue {
    let number: NSDecimalNumber? =
      switch value {
      case .text(let text)?: StoredDecimal.object(text)
      case .real(let real)?: StoredDecimal.object(real)
      default: nil
      }
    return number.map { StoredDecimal.number($0) } ?? value ?? .null
  }

  /// Returns the text of a value for `decimalTextName`.
  package static func decimalText(_ value: SQLiteValue?) -> SQLiteValue {
    guard case .real(let real)? = value else { return value ?? .null }
    return .text(DecimalConversion.text(of: real))
  }

  private static func letters(_ arguments: [SQLScalar]) -> String {
    String(
      arguments.map {
        switch $0.kind {
        case .decimal: "d"
        case .calculated: "c"
        case .date: "t"
        default: "v"
        }
      })
  }

  /// Returns the value of an argument in memory, by the letter of its kind; nil for null.
  package static func argument(_ value: SQLiteValue, letter: Character) -> Any? {
    switch (letter, value) {
    case ("d", .integer(let number)): NSDecimalNumber(value: number)
    case ("d", .real(let number)): StoredDecimal.object(number)
    case ("c", .text(let text)), ("d", .text(let text)): StoredDecimal.object(text)
    case ("t", _): value.real.map { Date(timeIntervalSinceReferenceDate: $0) }
    case (_, .integer(let number)): NSNumber(value: number)
    case (_, .real(let number)): NSNumber(value: number)
    case (_, .text(let text)): text
    default: nil
    }
  }

  /// Returns the decimals in a string made by `GROUP_CONCAT`.
  package static func decimals(_ texts: SQLiteValue) -> [NSDecimalNumber] {
    (texts.text ?? "").split(separator: ",").compactMap { StoredDecimal.object(String($0)) }
  }

  /// Returns the column value of a result. Decimals become TEXT, which loses no digits.
  package static func result(_ value: Any?) -> SQLiteValue {
    switch value {
    case let number as NSDecimalNumber: .text(number.stringValue)
    case let text as String: .text(text)
    // Must come before integers: a number without a fraction also matches `Int`, and would be divided like one.
    case let number as NSNumber:
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"): .real(number.doubleValue)
      default: .integer(number.int64Value)
      }
    case let number as Int: .integer(Int64(number))
    default: .null
    }
  }
}
