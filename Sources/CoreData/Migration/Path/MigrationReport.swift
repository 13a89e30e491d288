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
  /// The execution of each entity mapping, in order, in the steps with a mapping model: in SQL or with objects, and the
  /// reason why not in SQL. Inferred steps run in place and have none.
  public internal(set) var mappings: [MappingExecution] = []
  /// The location of the replaced store; nil if none was replaced, or it was not kept.
  public internal(set) var replacedStore: URL?
  /// The error for temporary files that could not be removed after the migration. Nothing depends on these files, and
  /// opening the store removes them.
  public internal(set) var leftover: (any Error)?
  /// The outcome of interrupted work on the store that the migration found; nil if there was none.
  public internal(set) var recoveryOutcome: StoreRecovery.Outcome?
  /// Whether another process migrated the store to the wanted version first, so that nothing was done.
  public internal(set) var wasDoneByOthers = false
}

/// The progress of a migration: finished rows out of all counted rows.
public struct MigrationProgress: Hashable, Sendable {
  /// The number of the current step, from 1.
  public let step: Int
  /// The number of steps.
  public let stepCount: Int
  /// The table being migrated; nil between tables.
  public let table: String?
  /// The number of finished rows in the step. Within a large table it is estimated from the range of finished primary
  /// keys, and exact if the keys have no gaps. Within an index, or another statement that SQLite executes as a whole,
  /// it is estimated from SQLite's progress.
  public let rowsDone: Int
  /// The number of rows in the step. Rows that are processed several times, for example for an index, count each time.
  public let rowCount: Int

  let isStepDone: Bool

  /// Returns the progress after some more rows.
  func adding(rows: Int) -> MigrationProgress {
    MigrationProgress(
      step: step, stepCount: stepCount, table: table, rowsDone: min(rowsDone + rows, rowCount), rowCount: rowCount,
      isStepDone: isStepDone)
  }

  /// The finished fraction of the migration, from 0 to 1.
  public var fractionCompleted: Double {
    let ofStep = isStepDone ? 1 : rowCount == 0 ? 0 : Double(rowsDone) / Double(rowCount)
    return (Double(step - 1) + min(ofStep, 1)) / Double(max(stepCount, 1))
  }
}
