// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The stages of a migration plan, after the plan was checked as a whole.
struct PlannedStages {
  private let versions: [PlannedVersion]
  private let stages: [(stage: MigrationStage, from: Int, to: Int)]

  /// Checks a plan.
  ///
  /// - Parameters:
  ///   - plan: the plan.
  ///   - destination: the schema of the container.
  ///   - model: the model of that schema.
  /// - Throws: `SwiftDataError.loadIssueModelContainer` or `.unknownSchema` with the reason.
  init(_ plan: any SchemaMigrationPlan.Type, destination: Schema, _ model: NSManagedObjectModel) throws {
    let name = String(describing: plan)
    versions = try plan.schemas.map { try PlannedVersion($0, plan: name) }
    guard let last = versions.last else { throw Self.invalid(name, "has no schemas.") }
    try Self.checkVersions(versions, name)
    guard last.model.versionChecksum == model.versionChecksum else {
      throw Self.invalid(
        name,
        "ends with \(last.name), but the container has another schema. "
          + "\(PlannedVersion.difference(last.model, model)) Add a schema and a stage for the container's version.")
    }
    stages = try Self.chain(plan.stages, versions, name)
  }

  private static func invalid(_ plan: String, _ reason: String) -> SwiftDataError {
    SwiftDataError(.loadIssueModelContainer, "The migration plan \(plan) \(reason)")
  }

  private static func checkVersions(_ versions: [PlannedVersion], _ plan: String) throws {
    for (first, second) in zip(versions, versions.dropFirst()) where first.identifier >= second.identifier {
      throw invalid(
        plan,
        "lists \(first.name) (\(first.identifier)) before \(second.name) (\(second.identifier)). Order the schemas by "
          + "their versions, the oldest first.")
    }
    for (position, version) in versions.enumerated() {
      let equal = versions[..<position].first { $0.model.versionChecksum == version.model.versionChecksum }
      if let equal {
        throw invalid(
          plan,
          "has two equal schemas, \(equal.name) and \(version.name): default values, delete rules and the names of types "
            + "do not distinguish versions. Remove \(version.name).")
      }
    }
  }

  /// Returns the stages with the positions of their versions, which must lead from the first to the last.
  private static func chain(
    _ stages: [MigrationStage], _ versions: [PlannedVersion], _ plan: String
  ) throws -> [(stage: MigrationStage, from: Int, to: Int)] {
    let found = try stages.map { stage in
      let (from, to) = stage.versions
      guard let first = versions.firstIndex(where: { $0.type == from }),
        let second = versions.firstIndex(where: { $0.type == to })
      else {
        throw invalid(plan, "has a stage from \(from) to \(to), of which one is not in its schemas.")
      }
      guard first < second else {
        throw invalid(plan, "has a stage from \(from) back to \(to). Stages lead from an older version to a newer one.")
      }
      return (stage, first, second)
    }
    for (first, second) in zip(found, found.dropFirst()) where first.2 != second.1 {
      throw invalid(
        plan,
        "has a stage to \(versions[first.2].name), followed by one from \(versions[second.1].name). Each stage begins "
          + "where the one before it ends.")
    }
    if versions.count > 1, found.last?.2 != versions.count - 1 {
      throw invalid(plan, "has no stage to its last schema, \(versions[versions.count - 1].name).")
    }
    if let start = found.first?.1, start > 0 {
      throw invalid(plan, "has no stage from its first schema, \(versions[0].name).")
    }
    return found
  }

  /// Returns the manager that runs the stages when a store is opened.
  func manager() -> NSStagedMigrationManager {
    NSStagedMigrationManager(stages.map { stage(for: $0.stage, from: versions[$0.from], to: versions[$0.to]) })
  }

  private func stage(
    for stage: MigrationStage, from source: PlannedVersion, to destination: PlannedVersion
  ) -> NSMigrationStage {
    let result = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: source.model, versionChecksum: source.model.versionChecksum),
      to: NSManagedObjectModelReference(
        model: destination.model, versionChecksum: destination.model.versionChecksum))
    result.label = "\(source.name) to \(destination.name)"
    guard case .custom(_, _, let before, let after) = stage else { return result }
    if let before { result.willMigrateHandler = Self.handler(before, source.schema) }
    if let after { result.didMigrateHandler = Self.handler(after, destination.schema) }
    return result
  }

  /// Returns a handler that calls the code of a stage with a context for the models of one version.
  private static func handler(
    _ code: @escaping (ModelContext) throws -> Void, _ schema: Schema
  ) -> NSCustomMigrationStage.Handler {
    { manager, _ in
      guard let coordinator = manager.container?.persistentStoreCoordinator else { return }
      let context = ModelContext(ModelContainer(schema, over: coordinator))
      try code(context)
      try context.save()
    }
  }
}

/// A version of a migration plan.
struct PlannedVersion {
  let type: any VersionedSchema.Type
  let schema: Schema
  let model: NSManagedObjectModel

  var identifier: Schema.Version { schema.version }
  var name: String { String(describing: type) }

  init(_ type: any VersionedSchema.Type, plan: String) throws {
    self.type = type
    schema = Schema(versionedSchema: type)
    do {
      var managed = ManagedModel(schema)
      model = try managed.make()
    } catch {
      throw SwiftDataError(
        .loadIssueModelContainer, "The schema \(type) of the migration plan \(plan) cannot be used.", cause: error)
    }
  }

  /// Says which entities and properties of two models differ.
  static func difference(_ first: NSManagedObjectModel, _ second: NSManagedObjectModel) -> String {
    var parts: [String] = []
    let (old, new) = (first.entitiesByName, second.entitiesByName)
    for name in Set(old.keys).union(new.keys).sorted() {
      guard let before = old[name] else {
        parts.append("The entity '\(name)' is only in the container's schema.")
        continue
      }
      guard let after = new[name] else {
        parts.append("The entity '\(name)' is missing from the container's schema.")
        continue
      }
      guard before.versionHash != after.versionHash else { continue }
      let properties = Set(before.propertiesByName.keys).union(after.propertiesByName.keys).sorted().filter {
        before.propertiesByName[$0]?.versionHash != after.propertiesByName[$0]?.versionHash
      }
      parts.append(
        properties.isEmpty
          ? "The entity '\(name)' differs in its constraints."
          : "The entity '\(name)' differs in \(properties.map { "'\($0)'" }.joined(separator: ", ")).")
    }
    return parts.joined(separator: " ")
  }
}

extension MigrationStage {
  var versions: (from: any VersionedSchema.Type, to: any VersionedSchema.Type) {
    switch self {
    case .lightweight(let from, let to): (from, to)
    case .custom(let from, let to, _, _): (from, to)
    }
  }
}
