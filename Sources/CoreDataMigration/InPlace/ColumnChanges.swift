// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// A change to the columns of a table that does not affect its rows.
package enum ColumnChange: Sendable {
  case renamed(from: String, to: String)
  case added(ColumnLayout)
}

/// Replaces the definitions of many tables together, instead of altering the tables one by one.
///
/// SQLite parses all definitions again for each `ALTER TABLE`, which takes minutes for thousands of tables. Therefore a
/// step with many such statements replaces the definitions together. Tables that Core Data would define differently are
/// left to `ALTER TABLE`, which handles all kinds of definitions.
struct ColumnChanges {
  /// The number of bytes of definitions that SQLite may parse again; above it, definitions are replaced together.
  private static let maxCharacterCount = 10_000_000

  /// The new definitions by table.
  private(set) var definitions: [String: String] = [:]
  /// The resulting columns by table.
  private var columns: [String: [String]] = [:]

  /// Plans the new definitions.
  ///
  /// - Parameter catalog: The catalog before the statements, which begin by dropping all triggers of derived
  ///   attributes.
  init(_ statements: [MigrationStatement], _ catalog: DatabaseCatalog) {
    let changes = statements.compactMap(\.columnChange)
    let length =
      catalog.tables.reduce(0) { $0 + $1.sql.utf8.count }
      + catalog.indexes.reduce(0) { $0 + ($1.sql?.utf8.count ?? 0) }
    let dropped = Set(statements.lazy.filter { $0.purpose == .structure }.map(\.sql.sql))
    guard changes.count > Self.maxCharacterCount / max(length, 1), catalog.views.isEmpty,
      catalog.triggers.allSatisfy({ dropped.contains("DROP TRIGGER \(SQLName.quoted($0.name))") })
    else { return }
    let byTable = Dictionary(grouping: changes, by: \.table)
    // SQLite marks a file in which rows have fewer columns than their table. Leave one table to ALTER TABLE, so that
    // SQLite sets the mark.
    let marking = changes.first { if case .added = $0.change { true } else { false } }?.table
    for (name, changes) in byTable where name != marking {
      guard let table = catalog.table(named: name), let definition = PlainDefinition(table) else { continue }
      let changed = definition.applying(changes.map(\.change))
      definitions[table.name] = changed.sql
      columns[table.name] = changed.columns.map(\.name)
    }
  }

  /// Replaces the definitions.
  ///
  /// - Throws: `SQLiteError`; `InPlaceProblem` if SQLite then reads other columns than intended.
  func carryOut(_ connection: SQLiteConnection) throws {
    try connection.redefineTables(definitions)
    let catalog = try connection.catalog()
    for (table, columns) in columns.sorted(by: { $0.key < $1.key }) {
      let found = catalog.table(named: table)?.columns.map(\.name) ?? []
      guard found != columns else { continue }
      throw InPlaceProblem(
        reason: "The columns of the table \(table) would be \(found.joined(separator: ", ")) instead of "
          + "\(columns.joined(separator: ", ")).",
        suggestion: "The store was not changed. Report this as a defect of the migration.")
    }
  }
}

/// The definition of a table that consists of columns with types and an integer primary key.
private struct PlainDefinition {
  let table: String
  private(set) var columns: [(name: String, type: String, isKey: Bool)]

  /// Parses a definition. Returns nil if it contains anything else.
  init?(_ table: DatabaseCatalog.Table) {
    guard !table.isVirtual else { return nil }
    self.table = table.name
    columns = table.columns.map { ($0.name, $0.declaredType, $0.primaryKeyPosition > 0) }
    let words = [table.name] + columns.map(\.name) + columns.map(\.type)
    guard words.allSatisfy({ $0.utf8.allSatisfy(SQLName.isLetterDigitOrUnderscore) }),
      Self.essence(of: sql) == Self.essence(of: table.sql)
    else { return nil }
  }

  /// Returns a definition without white space and quotation marks, for comparison.
  private static func essence(of sql: String) -> [UInt8] {
    sql.utf8.filter { !(9...13).contains($0) && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\"") }
  }

  var sql: String {
    let definitions = columns.map { "\(SQLName.quoted($0.name)) \($0.type)\($0.isKey ? " PRIMARY KEY" : "")" }
    return "CREATE TABLE \(SQLName.quoted(table)) ( \(definitions.joined(separator: ", ")) )"
  }

  func applying(_ changes: [ColumnChange]) -> PlainDefinition {
    var changed = self
    for change in changes {
      switch change {
      case .renamed(let from, let to):
        for position in changed.columns.indices where changed.columns[position].name == from {
          changed.columns[position].name = to
        }
      case .added(let column): changed.columns.append((column.name, column.type.rawValue, false))
      }
    }
    return changed
  }
}
