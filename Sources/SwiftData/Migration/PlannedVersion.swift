// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import Foundation

/// A version of a migration plan.
struct PlannedVersion {
  let type: any VersionedSchema.Type
  let schema: Schema
  let model: NSManagedObjectModel

  var identifier: Schema.Version { schema.version }
  var name: String { String(describing: type) }
  /// The beginning of the full names of types that are declared inside the version.
  private var namespace: String { String(reflecting: type) + "." }

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
    for entity in model.entities { ManagedObjectClasses.assign(ModelRow.self, to: entity) }
  }

  /// Returns whether a store has this version.
  func wrote(_ metadata: [String: Any], _ configuration: String?) -> Bool {
    model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }

  /// Gives the model a configuration: the named entities, and the others that a store has.
  func addConfiguration(_ name: String, _ entities: Set<String>) {
    guard !model.configurations.contains(name) else { return }
    model.setEntities(model.entities.filter { entities.contains($0.name ?? "") }, forConfigurationName: name)
  }

  // MARK: Types of other versions

  /// Throws if a relationship leads to a class that is declared in another version, and that this one does not list.
  func checkTypes(_ others: [PlannedVersion], _ plan: String) throws {
    for entity in unlisted {
      guard let owner = others.first(where: { $0.type != type && $0.declares(entity) }) else { continue }
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The schema \(name) of the migration plan \(plan) contains \(entity.typeName)\(route(to: entity)), which "
          + "belongs to \(owner.name). Refer to a class that is declared in \(name), or list this one in its models.")
    }
  }

  /// The entities whose classes are declared outside the version, so that a change of them changes it.
  func outsiders(_ versions: [PlannedVersion]) -> [Schema.Entity] {
    schema.entities.filter { entity in entity.type != nil && !versions.contains { $0.declares(entity) } }
  }

  private var unlisted: [Schema.Entity] {
    let listed = Set(type.models.flatMap { ModelLayout.classes(of: $0) }.map { ObjectIdentifier($0) })
    return schema.entities.filter { $0.type.map { !listed.contains(ObjectIdentifier($0)) } ?? false }
  }

  private func declares(_ entity: Schema.Entity) -> Bool { entity.typeName.hasPrefix(namespace) }

  private func route(to entity: Schema.Entity) -> String {
    for source in schema.entities {
      guard let found = source.relationships.first(where: { $0.destination == entity.name }) else { continue }
      return " by the relationship '\(source.name).\(found.name)'"
    }
    return ""
  }

  // MARK: Differences

  /// Returns what goes into version hashes and is different in another model.
  static func difference(_ first: NSManagedObjectModel, _ second: NSManagedObjectModel) -> [VersionDifference] {
    VersionDifference.between(store: first.document, model: second.document)
  }
}
