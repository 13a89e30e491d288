// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The report of a migration.
public struct MigrationReport: Sendable {
  /// The number of rows of an entity before and after. Entities have their names in the destination; removed ones
  /// those in the source.
  public struct RowCounts: Hashable, Sendable {
    /// The number of rows before the migration.
    public let before: Int
    /// The number of rows after the migration.
    public let after: Int

    package init(before: Int, after: Int) {
      (self.before, self.after) = (before, after)
    }
  }

  /// The numbers of rows by entity, without those of sub-entities.
  public internal(set) var rows: [String: RowCounts]
  /// The SQL statements that were executed, in order.
  public internal(set) var statements: [String]
  /// How each entity mapping was run, in order, in the steps with a mapping model: by SQL or by objects, and why not
  /// by SQL. Inferred steps run in place and have none.
  public internal(set) var mappings: [MappingExecution] = []
  /// The location of the replaced store; nil if none was replaced, or it was not kept.
  public internal(set) var replacedStore: URL?
  /// The error for temporary files that could not be removed after the migration. Nothing depends on these files, and
  /// opening the store removes them.
  public internal(set) var leftover: (any Error)?
  /// The outcome of interrupted work on the store that the migration has found; nil if there was none.
  public internal(set) var recoveryOutcome: StoreRecovery.Outcome?
  /// Whether another process migrated the store to the wanted version first. In that case nothing was done.
  public internal(set) var wasDoneByOthers = false
}

/// The progress of a migration: rows done out of rows counted.
public struct MigrationProgress: Hashable, Sendable {
  /// The number of the current step, from 1.
  public let step: Int
  /// The number of steps.
  public let stepCount: Int
  /// The table being migrated; nil between tables.
  public let table: String?
  /// The number of rows of the step that are done. Within a large table it is estimated from the range of primary
  /// keys done, and exact if the keys have no gaps; within an index or another statement that SQLite executes as a
  /// whole, from what SQLite has done.
  public let rowsDone: Int
  /// The number of rows in the step. Rows that are worked through several times, as for an index, count each time.
  public let rowCount: Int

  let isStepDone: Bool

  /// The progress with some more rows done.
  func adding(rows: Int) -> MigrationProgress {
    MigrationProgress(
      step: step, stepCount: stepCount, table: table, rowsDone: min(rowsDone + rows, rowCount), rowCount: rowCount,
      isStepDone: isStepDone)
  }

  /// The fraction of the migration that is done, from 0 to 1.
  public var fractionCompleted: Double {
    let ofStep = isStepDone ? 1 : rowCount == 0 ? 0 : Double(rowsDone) / Double(rowCount)
    return (Double(step - 1) + min(ofStep, 1)) / Double(max(stepCount, 1))
  }
}
