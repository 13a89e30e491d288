// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// What may be a mistake in a plan, as sentences.
struct PlanWarnings {
  private let plan: PlannedStages

  init(_ plan: PlannedStages) { self.plan = plan }

  var all: [String] {
    var found: [String] = []
    for stage in plan.stages {
      found += renamings(stage)
      found += renamedEntities(stage)
      found += inverses(stage)
      found += missingValues(stage)
      found += sharedValues(stage)
      found += parts(stage)
    }
    for version in plan.versions.dropLast() { found += outsiders(version) }
    return found
  }

  private func renamings(_ stage: PlannedStages.Stage) -> [String] {
    SchemaWords.renamings(stage.source.model, stage.destination.model).map { entity, first, second in
      "The stage \(stage.label) drops '\(entity).\(first)' and adds '\(second)', of the same type. If it was renamed, "
        + "give it originalName: \"\(first)\"."
    }
  }

  /// A class that may have got another name. A class has no `originalName`.
  private func renamedEntities(_ stage: PlannedStages.Stage) -> [String] {
    let (old, new) = (stage.source.model, stage.destination.model)
    let kept = Set(new.entities.map { $0.renamingIdentifier ?? $0.name ?? "" })
    let added = new.entities.filter { old.entitiesByName[$0.renamingIdentifier ?? $0.name ?? ""] == nil }
    return old.entities.sorted { ($0.name ?? "") < ($1.name ?? "") }.flatMap { entity -> [String] in
      guard let name = entity.name, !kept.contains(name), !stage.readsSource else { return [] }
      let attributes = Set(entity.attributesByName.keys)
      return added.filter { !attributes.isEmpty && Set($0.attributesByName.keys) == attributes }.map { other in
        "The stage \(stage.label) drops the models of '\(name)' and adds '\(other.name ?? "")', with the same properties. If "
          + "the class was renamed, keep its name, or copy the models in a custom stage whose didMigrate has two contexts."
      }
    }
  }

  private func inverses(_ stage: PlannedStages.Stage) -> [String] {
    let (old, new) = (stage.source.model, stage.destination.model)
    return new.entities.flatMap { entity -> [String] in
      entity.relationshipsByName.values.sorted { $0.name < $1.name }.compactMap { relationship in
        let before = old.entitiesByName[entity.name ?? ""]?.relationshipsByName[relationship.name]
        guard let before else { return nil }
        let (first, second) = (before.inverseRelationship?.name, relationship.inverseRelationship?.name)
        guard first != second, first == nil || second == nil else { return nil }
        return
          "The inverse of '\(entity.name ?? "").\(relationship.name)' is \(first ?? "none") in \(stage.source.name) "
          + "and \(second ?? "none") in \(stage.destination.name). State it with @Relationship(inverse:)."
      }
    }
  }

  /// Entities of both versions, with their attributes and those before them.
  private func attributes(_ stage: PlannedStages.Stage) -> [Pair] {
    var pairs: [Pair] = []
    for entity in stage.destination.model.entities {
      guard let old = stage.source.model.entitiesByName[entity.renamingIdentifier ?? entity.name ?? ""] else {
        continue
      }
      let inherited = entity.superentity?.attributesByName ?? [:]
      for attribute in entity.attributesByName.values.sorted(by: { $0.name < $1.name })
      where inherited[attribute.name] == nil && !attribute.isTransient {
        let before = old.attributesByName[attribute.renamingIdentifier ?? attribute.name]
        pairs.append(Pair(entity: entity, attribute: attribute, before: before))
      }
    }
    return pairs
  }

  private struct Pair {
    let entity: NSEntityDescription
    let attribute: NSAttributeDescription
    let before: NSAttributeDescription?

    var place: String { "'\(entity.name ?? "").\(attribute.name)'" }
  }

  /// New stores, and old ones without rows, do not show this.
  private func missingValues(_ stage: PlannedStages.Stage) -> [String] {
    attributes(stage).compactMap { pair in
      let (attribute, before, place) = (pair.attribute, pair.before, pair.place)
      guard !attribute.isOptional, attribute.defaultValue == nil, before?.isOptional ?? true else { return nil }
      return before == nil
        ? "The stage \(stage.label) adds \(place), which is required and has no initial value: a store with rows of "
          + "'\(pair.entity.name ?? "")' cannot be migrated. Give the property an initial value, or make it optional."
        : "The stage \(stage.label) makes \(place) required: a store with a row that has no value cannot be migrated. "
          + "Set the values in willMigrate, or give the property an initial value."
    }
  }

  private func sharedValues(_ stage: PlannedStages.Stage) -> [String] {
    attributes(stage).compactMap { pair in
      let (attribute, place) = (pair.attribute, pair.place)
      guard pair.before == nil, attribute.defaultValue != nil else { return nil }
      let constraints = pair.entity.uniquenessConstraints.compactMap { $0 as? [String] }
      if constraints.contains([attribute.name]) {
        return
          "The stage \(stage.label) adds \(place), which is unique, with one initial value for all old rows: a store "
          + "with two rows cannot be migrated. Add it without .unique, set it in didMigrate, and make it unique in the "
          + "next version."
      }
      guard attribute.attributeType == .UUIDAttributeType, stage.didMigrate == nil else { return nil }
      return
        "The stage \(stage.label) adds \(place), whose initial value is made once: all old rows get the same UUID. Set "
        + "it in didMigrate."
    }
  }

  /// A type whose parts differ: values that are dropped, and values that old rows cannot be read without.
  private func parts(_ stage: PlannedStages.Stage) -> [String] {
    stage.destination.schema.entities.flatMap { entity -> [String] in
      guard let old = stage.source.schema.entitiesByName[entity.name] else { return [] }
      return entity.attributes.sorted { $0.name < $1.name }.flatMap { attribute -> [String] in
        guard case .success(.composite(let new)) = attribute.shape.shape,
          let before = old.attributes.first(where: { $0.name == attribute.originalName }),
          case .success(.composite(let previous)) = before.shape.shape
        else { return [] }
        let place = "'\(entity.name).\(attribute.name)'"
        let dropped = previous.filter { part in !part.name.isEmpty && !new.contains { $0.name == part.name } }
        let added = new.filter { part in !part.isOptional && !previous.contains { $0.name == part.name } }
        let losses: [String] = dropped.map { part in
          "The stage \(stage.label) drops the part '\(part.name)' of \(place) with its values."
        }
        // Old values of a required property get the parts of its initial value.
        let hasParts = !attribute.isOptional && attribute.defaultValue != nil
        guard stage.didMigrate == nil, !hasParts else { return losses }
        let missing: [String] = added.map { part in
          "The stage \(stage.label) adds the part '\(part.name)' to \(place), which old values do not have: reading "
            + "one traps. Make the part optional, or set all values in didMigrate."
        }
        return losses + missing
      }
    }
  }

  private func outsiders(_ version: PlannedVersion) -> [String] {
    version.outsiders(plan.versions).map { entity in
      "\(version.name) contains \(entity.typeName), which is declared outside of it. A change of the class changes a "
        + "schema that was shipped: declare a copy inside \(version.name)."
    }
  }
}
