// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
