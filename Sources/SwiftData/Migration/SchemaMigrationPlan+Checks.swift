// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

// For an app's tests. Additions to Apple's API.
extension SchemaMigrationPlan {
  /// Checks the plan as a container does before it migrates a store: the order of the schemas, that no two are equal,
  /// that the stages lead through all of them, and that each step can be inferred.
  ///
  /// - Returns: what may be a mistake, as sentences: a property that seems to be renamed and has no `originalName`, a
  ///   relationship whose inverse changes, a class outside an older schema.
  /// - Throws: `SwiftDataError.loadIssueModelContainer` with the reason.
  @discardableResult
  public static func validate() throws -> [String] {
    let plan = try PlannedStages(self)
    for stage in plan.stages {
      do {
        _ = try NSMappingModel.inferredMappingModel(
          forSourceModel: stage.source.model, destinationModel: stage.destination.model)
      } catch {
        throw SwiftDataError(
          .loadIssueModelContainer, "The stage \(stage.label) of the migration plan \(plan.name) cannot be inferred.",
          cause: error)
      }
    }
    return plan.stages.flatMap { warnings($0) } + plan.versions.dropLast().flatMap { warnings($0, plan) }
  }

  /// Returns the names of the stages that a store would go through, such as `SchemaV1 to SchemaV2`; none for a store
  /// that has the last version. The store is only read.
  ///
  /// - Parameter url: the location of the store.
  /// - Throws: `SwiftDataError.loadIssueModelContainer` for an invalid plan, and for a store whose version is not part
  ///   of it, with `unknownSchema` or `backwardMigration` as the cause; Core Data's errors of reading the store.
  public static func pendingStages(forStoreAt url: URL) throws -> [String] {
    let plan = try PlannedStages(self)
    guard let last = plan.versions.last else { return [] }
    let opening = ContainerMigration(
      configuration: ModelConfiguration(url: url), schema: last.schema, model: last.model, stages: plan)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    return try PlannedMigration(opening, plan).pending(metadata)
  }

  private static func warnings(_ stage: PlannedStages.Stage) -> [String] {
    let (old, new) = (stage.source.model, stage.destination.model)
    let renamed = SchemaWords.renamings(old, new).map { entity, first, second in
      "The stage \(stage.label) drops '\(entity).\(first)' and adds '\(second)', of the same type. If it was renamed, "
        + "give it originalName: \"\(first)\"."
    }
    let inverses = new.entities.flatMap { entity -> [String] in
      entity.relationshipsByName.values.sorted { $0.name < $1.name }.compactMap { relationship in
        let before = old.entitiesByName[entity.name ?? ""]?.relationshipsByName[relationship.name]
        guard let before else { return nil }
        let (first, second) = (before.inverseRelationship?.name, relationship.inverseRelationship?.name)
        guard first != second, first == nil || second == nil else { return nil }
        return
          "The inverse of '\(entity.name ?? "").\(relationship.name)' is \(first ?? "none") in \(stage.source.name) "
          + "and  \(second ?? "none") in \(stage.destination.name). State it with @Relationship(inverse:)."
      }
    }
    return renamed + inverses
  }

  private static func warnings(_ version: PlannedVersion, _ plan: PlannedStages) -> [String] {
    version.outsiders(plan.versions).map { entity in
      "\(version.name) contains \(entity.typeName), which is declared outside of it. A change of the class changes a "
        + "schema that was shipped: declare a copy inside \(version.name)."
    }
  }
}
