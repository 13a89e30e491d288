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
  ) throws -> any Error {
    let found = try DuplicateValues(violating: constraint.index, of: store.entities.schema, on: store.connection)
    guard let found else { return failure }
    return MigrationErrors.constraintViolation(
      url: url, entity: found.entity, properties: found.properties, values: found.summary, underlying: failure)
  }
}
