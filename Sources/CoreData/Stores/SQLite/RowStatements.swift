// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The prepared SQLite statements that write the rows of one entity.
final class RowStatements {
  /// The maximum number of cached update statements, one for each set of changed slots.
  private static let updateLimit = 32

  let plan: RowPlan
  private let connection: SQLiteConnection
  private var knownInsertion: SQLiteStatement?
  private var knownDeletion: SQLiteStatement?
  private var updates: [SlotSet: SQLiteStatement] = [:]
  /// The most recent update, because many rows often have the same changes.
  private var last: (changed: SlotSet, statement: SQLiteStatement)?

  init(_ plan: RowPlan, _ connection: SQLiteConnection) {
    self.plan = plan
    self.connection = connection
  }

  /// Returns the statement that inserts a row. Its parameters are the key, the entity, the version, and then the
  /// columns.
  func insertion() throws -> SQLiteStatement {
    if let knownInsertion { return knownInsertion }
    let columns = plan.columns
    let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns).map(SQLName.quoted).joined(separator: ", ")
    let marks = (1...columns.count + 3).map { "?\($0)" }.joined(separator: ", ")
    let made = try connection.prepare(
      "INSERT INTO \(SQLName.quoted(plan.layout.table)) (\(names)) VALUES (\(marks))", persistent: true)
    knownInsertion = made
    return made
  }

  /// Returns the statement that updates some slots of a row. Parameter 1 is the key, 2 the new version and 3 the old one; the
  /// columns have the same parameters as in `insertion()`.
  func update(_ changed: SlotSet) throws -> SQLiteStatement {
    if let last, last.changed == changed { return last.statement }
    let statement = try updates[changed] ?? makeUpdate(changed)
    last = (changed, statement)
    return statement
  }

  private func makeUpdate(_ changed: SlotSet) throws -> SQLiteStatement {
    let assignments = changed.flatMap { RowPlan.columns(of: plan.steps[$0]) }
      .map { "\(SQLName.quoted($0)) = ?\(plan.index(of: $0))" }
    let made = try connection.prepare(
      "UPDATE \(SQLName.quoted(plan.layout.table)) SET \((assignments + ["Z_OPT = ?2"]).joined(separator: ", ")) "
        + "WHERE Z_PK = ?1 AND \(RowVersion.stored) = ?3", persistent: true)
    if updates.count >= Self.updateLimit { updates = [:] }
    updates[changed] = made
    return made
  }

  /// Returns the statement that deletes a row. Its parameters are the key and the old version.
  func deletion() throws -> SQLiteStatement {
    if let knownDeletion { return knownDeletion }
    let made = try connection.prepare(
      "DELETE FROM \(SQLName.quoted(plan.layout.table)) WHERE Z_PK = ?1 AND \(RowVersion.stored) = ?2", persistent: true
    )
    knownDeletion = made
    return made
  }
}

/// The statements and plans of all entities of a connection.
final class StoreStatements {
  let plans: RowPlans
  private let connection: SQLiteConnection
  private var statements: [ObjectIdentifier: RowStatements] = [:]
  /// The most recent statements, because changes come grouped by entity.
  private var last: RowStatements?

  init(entities: StoredEntities, connection: SQLiteConnection) {
    plans = RowPlans(entities: entities)
    self.connection = connection
  }

  /// - Throws: `SchemaProblem` if the store does not have the entity.
  func statements(for entity: NSEntityDescription) throws -> RowStatements {
    if let last, last.plan.entity === entity { return last }
    let found = try statements[ObjectIdentifier(entity)] ?? RowStatements(plans.plan(for: entity), connection)
    statements[ObjectIdentifier(entity)] = found
    last = found
    return found
  }
}
