// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Where the values of a destination column come from, for the rows of one entity.
package enum ColumnSource: Hashable, Sendable {
  /// A column of the source table as it is.
  case column(String)
  /// A column of the source table, changed by an expression over it.
  case changed(column: String, ColumnExpression)
  /// The same value in all rows.
  case constant(SQLiteValue)

  /// The value as an expression of a query over the source table.
  package var expression: BoundSQL {
    switch self {
    case .column(let name): BoundSQL(SQLName.quoted(name))
    case .changed(let column, let expression): expression.over(column)
    case .constant(.null): BoundSQL("NULL")
    case .constant(let value): BoundSQL("?", [value])
    }
  }

  /// The source column that the value is taken from; nil where there is none, or where more than it is needed.
  package var origin: String? {
    switch self {
    case .column(let name), .changed(let name, _): name
    case .constant: nil
    }
  }
}

/// An expression over one column, whose name may change before the expression is used.
package struct ColumnExpression: Hashable, Sendable {
  /// The pieces of SQL between which the column's name stands.
  private let pieces: [String]
  private let bindings: [SQLiteValue]

  /// The column itself.
  package static let column = ColumnExpression(["", ""])

  private init(_ pieces: [String], _ bindings: [SQLiteValue] = []) {
    self.pieces = pieces
    self.bindings = bindings
  }

  /// Wraps the expression: `before`, the expression, `after`, with the values of question marks in `after`.
  package func wrapped(_ before: String, _ after: String, _ values: [SQLiteValue] = []) -> ColumnExpression {
    var pieces = pieces
    pieces[0] = before + pieces[0]
    pieces[pieces.count - 1] += after
    return ColumnExpression(pieces, bindings + values)
  }

  /// The expression where it is not NULL, turned into what `before` and `after` make of it; NULL where it is.
  package func unlessNull(_ before: String, _ after: String) -> ColumnExpression {
    let guarded = wrapped("CASE WHEN ", " IS NULL THEN NULL ELSE \(before)")
    let value = wrapped("", after + " END")
    return ColumnExpression(
      guarded.pieces.dropLast() + [(guarded.pieces.last ?? "") + (value.pieces.first ?? "")] + value.pieces.dropFirst(),
      guarded.bindings + value.bindings)
  }

  /// The expression over the column as it is called now.
  package func over(_ column: String) -> BoundSQL {
    BoundSQL(pieces.joined(separator: SQLName.quoted(column)), bindings)
  }
}
