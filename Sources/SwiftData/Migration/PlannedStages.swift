// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import Foundation

/// The stages of a migration plan, after the plan was checked as a whole.
struct PlannedStages {
  /// A stage, with the positions of its versions.
  struct Stage {
    let source: PlannedVersion
    let destination: PlannedVersion
    let from: Int
    let to: Int
    var willMigrate: ((ModelContext) throws -> Void)?
    var didMigrate: DidMigrate?

    var label: String { "\(source.name) to \(destination.name)" }
    var readsSource: Bool { didMigrate?.readsSource ?? false }
    var hasCode: Bool { willMigrate != nil || didMigrate != nil }
  }

  /// The code after a step.
  enum DidMigrate {
    case inDestination((ModelContext) throws -> Void)
    case fromSource((_ source: ModelContext, _ destination: ModelContext) throws -> Void)

    var readsSource: Bool { if case .fromSource = self { true } else { false } }
  }

  let name: String
  let versions: [PlannedVersion]
  let stages: [Stage]

  /// Checks a plan: its versions, their order, their types, and that the stages lead from the first to the last.
  ///
  /// - Throws: `SwiftDataError.loadIssueModelContainer` with the reason.
  init(_ plan: any SchemaMigrationPlan.Type) throws {
    let name = String(describing: plan)
    let versions = try plan.schemas.map { try PlannedVersion($0, plan: name) }
    guard !versions.isEmpty else { throw Self.invalid(name, "has no schemas.") }
    try Self.checkVersions(versions, name)
    for version in versions { try version.checkTypes(versions, name) }
    self.name = name
    self.versions = versions
    stages = try Self.chain(plan.stages, versions, name)
  }

  /// Checks a plan for a container.
  ///
  /// - Parameters:
  ///   - plan: the plan.
  ///   - model: the model of the container's schema.
  /// - Throws: `SwiftDataError.loadIssueModelContainer` with the reason.
  init(_ plan: any SchemaMigrationPlan.Type, destination model: NSManagedObjectModel) throws {
    try self.init(plan)
    guard let last = versions.last, last.model.versionChecksum != model.versionChecksum else { return }
    let differences = PlannedVersion.difference(last.model, model)
    throw Self.invalid(
      name,
      "ends with \(last.name), but the container has another schema. "
        + SchemaWords.text(differences, store: last.name, model: "the container's schema")
        + " Add a schema and a stage for the container's version, or make the container with \(last.name).")
  }

  private static func invalid(_ plan: String, _ reason: String) -> SwiftDataError {
    SwiftDataError(.loadIssueModelContainer, "The migration plan \(plan) \(reason)")
  }

  private static func checkVersions(_ versions: [PlannedVersion], _ plan: String) throws {
    for (position, version) in versions.enumerated() {
      if versions[..<position].contains(where: { $0.type == version.type }) {
        throw invalid(plan, "lists \(version.name) twice.")
      }
      let equal = versions[..<position].first { $0.model.versionChecksum == version.model.versionChecksum }
      if let equal {
        throw invalid(
          plan,
          "has two equal schemas, \(equal.name) and \(version.name): initial values, delete rules, indexes and the "
            + "names of types do not distinguish versions. Remove \(version.name), or give one of its properties a "
            + "hashModifier if its stage has code to run.")
      }
    }
    for (first, second) in zip(versions, versions.dropFirst()) where first.identifier >= second.identifier {
      throw invalid(
        plan,
        "lists \(first.name) (\(first.identifier)) before \(second.name) (\(second.identifier)). Order the schemas by "
          + "their versions, the oldest first, and give each a version of its own.")
    }
  }

  /// Returns the stages, which must lead from the first version to the last, through all of them.
  private static func chain(
    _ stages: [MigrationStage], _ versions: [PlannedVersion], _ plan: String
  ) throws -> [Stage] {
    let found = try stages.map { stage in
      let (from, to) = stage.versions
      guard let first = versions.firstIndex(where: { $0.type == from }),
        let second = versions.firstIndex(where: { $0.type == to })
      else {
        let missing = versions.contains { $0.type == from } ? to : from
        throw invalid(plan, "has a stage from \(from) to \(to), but does not list \(missing) in its schemas.")
      }
      guard first < second else {
        throw invalid(plan, "has a stage from \(from) to \(to). Stages lead from an older version to a newer one.")
      }
      var result = Stage(source: versions[first], destination: versions[second], from: first, to: second)
      switch stage {
      case .lightweight: break
      case .custom(_, _, let before, let after):
        (result.willMigrate, result.didMigrate) = (before, after.map { .inDestination($0) })
      case .customReadingSource(_, _, let before, let after):
        (result.willMigrate, result.didMigrate) = (before, .fromSource(after))
      }
      return result
    }
    var position = 0
    for stage in found {
      guard stage.from == position else {
        throw invalid(
          plan,
          stage.from < position
            ? "has a stage \(stage.label), but the one before it ends with \(versions[position].name). Each stage "
              + "begins where the one before it ends."
            : "has no stage from \(versions[position].name): the next one is \(stage.label).")
      }
      if stage.to > position + 1 {
        throw invalid(
          plan,
          "has no stage from \(versions[position + 1].name), because the stage \(stage.label) passes over it: a store "
            + "of that version could not be migrated.")
      }
      position = stage.to
    }
    guard position == versions.count - 1 else {
      throw invalid(
        plan, "has no stage from \(versions[position].name) to its last schema, \(versions[versions.count - 1].name).")
    }
    return found
  }

  // MARK: Stores

  /// Returns the position of a store's version; nil if the plan lacks it.
  func position(of metadata: [String: Any], _ configuration: String?) -> Int? {
    versions.lastIndex { $0.wrote(metadata, configuration) }
  }
}

extension MigrationStage {
  var versions: (from: any VersionedSchema.Type, to: any VersionedSchema.Type) {
    switch self {
    case .lightweight(let from, let to): (from, to)
    case .custom(let from, let to, _, _): (from, to)
    case .customReadingSource(let from, let to, _, _): (from, to)
    }
  }
}
