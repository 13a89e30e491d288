// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A report of how an entity mapping of a mapping model was run.
public struct MappingExecution: Sendable {
  /// The component that runs a mapping.
  public enum Executor: String, Hashable, Sendable {
    /// SQL over both stores.
    case sql
    /// A migration policy, or the framework's default policy, object by object.
    case objects
  }

  /// The number of the migration's step, from 1.
  public internal(set) var step = 1
  /// The name of the entity mapping.
  public let mapping: String
  /// The executor that created the rows and their attributes.
  public let rows: Executor
  /// The executor that set their relationships.
  public let relationships: Executor
  /// The reason why SQL did not run the whole mapping: a predicate whose subject is the mapping, such as "has a policy
  /// class"; nil if SQL ran all of it.
  public let reason: String?
  /// The SQL error after which objects ran the mapping; nil if SQL did not fail.
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
