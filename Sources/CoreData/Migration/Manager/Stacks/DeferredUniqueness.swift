// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// The uniqueness constraints of a destination store, which count when all objects are made, and not before.
///
/// Policies may correct values after the objects were made. Until the end an ordinary index stands in for each unique one,
/// so that looking up objects by such values stays fast.
struct DeferredUniqueness {
  private struct Constraint {
    let index: IndexLayout
    let sql: String
    let standIn: String
  }

  private let constraints: [Constraint]

  init(_ store: SQLiteStore.Opened) throws {
    var found: [Constraint] = []
    for index in store.entities.schema.indexes where index.isUnique {
      let sql = "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?"
      // A store of an old framework has the constraint in its table's definition, where it counts at once.
      guard let text = try store.connection.scalar(sql, [.text(index.name)])?.text else { continue }
      let standIn = "Z_MIGRATION_\(found.count)"
      let columns = index.elements.map { SQLName.quoted($0.column) }.joined(separator: ", ")
      try store.connection.run("DROP INDEX \(SQLName.quoted(index.name))")
      try store.connection.run("CREATE INDEX \(standIn) ON \(SQLName.quoted(index.table)) (\(columns))")
      found.append(Constraint(index: index, sql: text, standIn: standIn))
    }
    constraints = found
  }

  /// Has the constraints count again.
  ///
  /// - Throws: 134111 with the values that occur several times.
  func restore(_ store: SQLiteStore.Opened, url: URL) throws {
    for constraint in constraints {
      do {
        try store.connection.run(constraint.sql)
      } catch let failure as SQLiteError where failure.isUniqueConstraint {
        throw try violation(of: constraint, store, url, failure)
      }
      try store.connection.run("DROP INDEX \(constraint.standIn)")
    }
  }

  private func violation(
    of constraint: Constraint, _ store: SQLiteStore.Opened, _ url: URL, _ failure: SQLiteError
  ) throws -> NSError {
    let columns = constraint.index.elements.map { SQLName.quoted($0.column) }
    let list = columns.joined(separator: ", ")
    let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let rows = try store.connection.rows(
      "SELECT \(list), COUNT(*) FROM \(SQLName.quoted(constraint.index.table)) WHERE \(present) GROUP BY \(list) "
        + "HAVING COUNT(*) > 1 LIMIT 5")
    let values = rows.map { row in
      let values = columns.indices.map { row[$0].literal }.joined(separator: ", ")
      return "\(values) (\(row[columns.count].integer ?? 0) times)"
    }
    var entity = ""
    if case .uniqueness(let name) = constraint.index.purpose { entity = name }
    let names = columns.map { column in
      store.entities.schema[entity]?.attributes.values.first { $0.column.map(SQLName.quoted) == column }?.name ?? column
    }
    return MigrationErrors.constraintViolation(
      url: url, entity: entity, properties: names, values: values.joined(separator: "; "), underlying: failure)
  }
}
