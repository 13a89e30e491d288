// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A migration plan that has been checked, for tests that run its stages one by one.
package struct PlanRehearsal {
  /// A version of the plan.
  package struct Version {
    package let name: String
    package let schema: Schema
    package let model: NSManagedObjectModel
  }

  /// A stage, with the positions of its versions.
  package struct Stage {
    package let label: String
    package let from: Int
    package let to: Int
    /// Whether it has code of the app.
    package let hasCode: Bool
  }

  private let plan: PlannedStages
  package let name: String
  package let versions: [Version]
  package let stages: [Stage]

  /// Checks a plan as a container does.
  ///
  /// - Throws: `SwiftDataError.loadIssueModelContainer` with the reason.
  package init(_ type: any SchemaMigrationPlan.Type) throws {
    plan = try PlannedStages(type)
    name = plan.name
    versions = plan.versions.map { Version(name: $0.name, schema: $0.schema, model: $0.model) }
    stages = plan.stages.map { Stage(label: $0.label, from: $0.from, to: $0.to, hasCode: $0.hasCode) }
  }

  /// Returns the position of a store's version.
  ///
  /// - Throws: `SwiftDataError.loadIssueModelContainer` for a store of no version of the plan, with the nearest one.
  package func position(ofStoreAt url: URL) throws -> Int {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    if let position = plan.position(of: metadata, nil) { return position }
    throw UnknownVersion(try opening(url, plan), plan).error(metadata)
  }

  /// Migrates a store through the stages before a version, as a container does that is made with that version.
  ///
  /// - Parameter position: the position of the version.
  package func migrate(storeAt url: URL, to position: Int) throws {
    let part = PlannedStages(plan, through: position)
    let opening = try opening(url, part)
    // Opening the store is part of what a container does: it computes the layout, and compares the file with it.
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: opening.model)
    try opening.run {
      let description = NSPersistentStoreDescription(url: url)
      description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
      try opening.setOptions(of: description)
      var failure: (any Error)?
      coordinator.addPersistentStore(with: description) { failure = $1 }
      if let failure { throw failure }
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func opening(_ url: URL, _ stages: PlannedStages) throws -> ContainerMigration {
    guard let last = stages.versions.last else { throw SwiftDataError(.unknownSchema) }
    return ContainerMigration(
      configuration: ModelConfiguration(url: url), schema: last.schema, model: last.model, stages: stages)
  }
}

extension PlannedStages {
  /// The beginning of a plan, up to one of its versions.
  fileprivate init(_ plan: PlannedStages, through position: Int) {
    name = plan.name
    versions = Array(plan.versions[...position])
    stages = plan.stages.filter { $0.to <= position }
  }
}
