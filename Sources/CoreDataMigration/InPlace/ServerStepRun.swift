// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Executes one step in the caller's transaction, in which the caller also writes the metadata and the model.
package struct ServerStepRun {
  package let step: ServerStep
  package let database: any SQLDatabase

  package init(_ step: ServerStep, on database: any SQLDatabase) {
    self.step = step
    self.database = database
  }

  /// Executes the step. After an error, the transaction must be rolled back.
  ///
  /// - Parameter progress: Called before each statement with the number of preceding statements.
  /// - Throws: `InPlaceProblem` if rows prevent the step; the errors of the database.
  package func run(_ progress: (Int, ServerStatement) throws -> Void = { _, _ in }) throws {
    let checks = StepChecks(step: step.step, database: database)
    try checks.values()
    try checks.entities(count)
    var counts: [Int: Int] = [:]
    for (position, statement) in step.statements.enumerated() {
      try progress(position, statement)
      let count = try execute(statement, checks)
      counts[position] = count
      if let other = statement.counterpart, let copied = counts[other], copied != count {
        throw InPlaceStepRun.loss(of: statement.entity ?? "", before: count, after: copied)
      }
    }
    try HistoryMigration(step: step.step, database: database).run()
  }

  private func count(_ entity: EntityLayout) throws -> Int? {
    let condition = InPlaceStep.whereClause(step.step.condition(entity))
    return try database.scalar("SELECT COUNT(*) FROM \(SQLName.quoted(entity.table))\(condition)")?.integer.map {
      Int($0)
    }
  }

  private func execute(_ statement: ServerStatement, _ checks: StepChecks) throws -> Int {
    let sql = statement.sql
    guard let check = statement.check else { return try database.change(sql.sql, sql.values) }
    do {
      return try database.transaction { try database.change(sql.sql, sql.values) }
    } catch {
      throw try checks.problem(check, KeyShifts(none: step.step)) ?? error
    }
  }
}
