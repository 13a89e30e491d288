// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// How far a migration is: rows done over rows counted.
public struct MigrationProgress: Hashable, Sendable {
  /// Which step is under way, from 1.
  public let step: Int
  /// How many steps there are.
  public let stepCount: Int
  /// The table that is being worked on; nil between tables.
  public let table: String?
  /// How many rows of the step have been dealt with. Inside a large table the number follows from the range of primary keys
  /// that has been dealt with, and is exact where the keys have no gaps.
  public let rowsDone: Int
  /// How many rows the step has to deal with.
  public let rowCount: Int

  let isStepDone: Bool

  /// The part of the whole that is done, from 0 to 1.
  public var fractionCompleted: Double {
    let ofStep = isStepDone ? 1 : rowCount == 0 ? 0 : Double(rowsDone) / Double(rowCount)
    return (Double(step - 1) + min(ofStep, 1)) / Double(max(stepCount, 1))
  }
}

/// What a migration has done.
public struct MigrationReport: Sendable {
  /// The rows of an entity before and after; entities are named as in the destination, or as in the source when removed.
  public struct RowCounts: Hashable, Sendable {
    /// How many rows there were.
    public let before: Int
    /// How many rows there are.
    public let after: Int
  }

  /// Rows by entity, those of sub-entities not counted along.
  public internal(set) var rows: [String: RowCounts]
  /// The SQL that was carried out, in order.
  public internal(set) var statements: [String]
  /// How each entity mapping of the steps by mapping models was carried out, in order: by SQL or by objects, and why not by
  /// SQL. Inferred steps, which are carried out in place, have none.
  public internal(set) var mappings: [MappingExecution] = []
  /// Where the store is kept whose place a new one has taken; nil where none has, or it is not kept.
  public internal(set) var replacedStore: URL?
  /// Why not all files of the work could be removed after the store had been migrated. Nothing depends on them, and opening
  /// the store removes them.
  public internal(set) var leftover: (any Error)?
  /// What became of earlier work on the store that had been interrupted, and that the migration has found; nil where there
  /// was none.
  public internal(set) var recoveryOutcome: StoreRecovery.Outcome?
  /// Whether another process had migrated the store to the wanted version when this one's turn came. Nothing was done then.
  public internal(set) var wasDoneByOthers = false
}

/// How one entity mapping of a mapping model was carried out.
public struct MappingExecution: Sendable {
  /// What carries a mapping out.
  public enum Executor: String, Hashable, Sendable {
    /// SQL over both stores.
    case sql
    /// A migration policy, or the framework in its place, object by object.
    case objects
  }

  /// The step of the migration, from 1.
  public internal(set) var step = 1
  /// The name of the entity mapping.
  public let mapping: String
  /// What made the destination's rows with their attributes.
  public let rows: Executor
  /// What set their relationships.
  public let relationships: Executor
  /// Why SQL did not carry out all of the mapping: a predicate of which the mapping is the subject, as "has a policy class"; nil
  /// where SQL did.
  public let reason: String?
  /// The error that SQL failed with, after which objects carried the mapping out; nil where it did not fail.
  public let sqlFailure: (any Error)?

  init(_ plan: ResolvedMapping) {
    let execution = plan.execution
    mapping = plan.name
    rows = execution.madeRowsInSQL ? .sql : .objects
    relationships = execution.setRelationshipsInSQL ? .sql : .objects
    reason = execution.madeRowsInSQL && execution.setRelationshipsInSQL ? nil : execution.obstacle
    sqlFailure = execution.failure
  }
}
