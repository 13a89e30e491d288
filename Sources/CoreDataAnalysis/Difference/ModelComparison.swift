// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles

/// Finds the changes between two versions of a model.
struct ModelComparison {
  let old: ModelDocument
  let new: ModelDocument
  let oldIndex: EntityIndex
  let newIndex: EntityIndex
  private let entities: Pairing<EntityDocument>
  /// New names by old ones.
  private let newNames: [String: String]
  /// Old names by new ones.
  private let oldNames: [String: String]

  init(from old: ModelDocument, to new: ModelDocument) {
    self.old = old
    self.new = new
    oldIndex = EntityIndex(old)
    newIndex = EntityIndex(new)
    entities = Pairing(old.entities, new.entities, name: \.name, declared: \.renamingIdentifier)
    newNames = Dictionary(entities.matched.map { ($0.source.name, $0.destination.name) }) { first, _ in first }
    oldNames = Dictionary(entities.matched.map { ($0.destination.name, $0.source.name) }) { first, _ in first }
  }

  /// The name in the new version of an entity of the old one.
  func newName(of entity: String) -> String? { newNames[entity] }

  /// The name in the old version of an entity of the new one.
  func oldName(of entity: String) -> String? { oldNames[entity] }

  func changes() -> [ModelChange] {
    var groups: [(name: String, changes: [ModelChange])] = []
    for entity in entities.added {
      groups.append(
        (
          entity.name,
          [
            ModelChange(
              entity: entity.name, property: nil, subject: .entity, kind: .added(AspectText.entity(entity)),
              changesVersionHash: true, migration: .inferred, sourceEntity: nil, sourceProperty: nil)
          ].demandingCustom(entities.ambiguous)
        ))
    }
    for entity in entities.removed {
      groups.append(
        (
          entity.name,
          [
            ModelChange(
              entity: entity.name, property: nil, subject: .entity, kind: .removed, changesVersionHash: true,
              migration: .inferred, sourceEntity: entity.name, sourceProperty: nil)
          ]
        ))
    }
    for (old, new) in entities.matched {
      let comparison = EntityComparison(models: self, old: old, new: new)
      groups.append((new.name, comparison.changes()))
    }
    // A removed entity and an added one may share a name: the removed one comes first.
    let sorted = groups.enumerated().sorted { left, right in
      left.element.name == right.element.name ? left.offset > right.offset : left.element.name < right.element.name
    }
    return sorted.flatMap { $0.element.changes } + configurationChanges() + requestChanges()
  }

  private func configurationChanges() -> [ModelChange] {
    let pairs = Pairing(old.configurations, new.configurations, name: \.name, declared: { _ in nil })
    var changes = pairs.added.map { loose($0.name, .configuration, .added($0.entityNames.joined(separator: ", "))) }
    changes += pairs.removed.map { loose($0.name, .configuration, .removed) }
    for (old, new) in pairs.matched where Set(old.entityNames) != Set(new.entityNames) {
      changes.append(
        loose(
          new.name, .configuration,
          .changed(
            .members, from: AspectText.name(old.entityNames.sorted().joined(separator: ", ")),
            to: AspectText.name(new.entityNames.sorted().joined(separator: ", ")))))
    }
    return changes.sorted { ($0.property ?? "") < ($1.property ?? "") }
  }

  private func requestChanges() -> [ModelChange] {
    let pairs = Pairing(
      old.fetchRequestTemplates, new.fetchRequestTemplates, name: \.name, declared: { _ in nil })
    var changes = pairs.added.map { loose($0.name, .fetchRequest, .added("of \($0.entityName)")) }
    changes += pairs.removed.map { loose($0.name, .fetchRequest, .removed) }
    for (old, new) in pairs.matched {
      let (before, after) = (AspectText.request(old), AspectText.request(new))
      guard before != after else { continue }
      changes.append(loose(new.name, .fetchRequest, .changed(.request, from: before, to: after)))
    }
    return changes.sorted { ($0.property ?? "") < ($1.property ?? "") }
  }

  private func loose(_ name: String, _ subject: ModelChange.Subject, _ kind: ModelChange.Kind) -> ModelChange {
    ModelChange(
      entity: nil, property: name, subject: subject, kind: kind, changesVersionHash: false, migration: .none,
      sourceEntity: nil, sourceProperty: name)
  }
}
