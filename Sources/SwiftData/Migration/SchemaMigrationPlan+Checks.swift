// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

// For an app's tests. Additions to Apple's API.
extension SchemaMigrationPlan {
  /// Checks the plan as a container does before it migrates a store: the order of the schemas, that no two are equal,
  /// that the stages lead through all of them, and that each step can be inferred.
  ///
  /// - Returns: what may be a mistake, as sentences: a property that seems to be renamed and has no `originalName`, one
  ///   that old rows have no value for, a relationship whose inverse changes, a part of a `Codable` type that old
  ///   values lack, a class outside an older schema. New stores show none of these.
  /// - Throws: `SwiftDataError.loadIssueModelContainer` with the reason.
  @discardableResult
  public static func validate() throws -> [String] {
    let plan = try PlannedStages(self)
    for stage in plan.stages { try stage.checkStep(plan.name) }
    return PlanWarnings(plan).all
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
}
