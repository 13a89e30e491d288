// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Differences of two models in what goes into version hashes, down to the aspects of properties.
extension VersionDifference {
  /// All differences, entity by entity in the order of names; an entity whose own definition is equal and whose
  /// ancestor differs is told as such by its hash.
  ///
  /// - Parameters:
  ///   - store: the model that the store was made with.
  ///   - model: the model that the store is to be opened with.
  package static func between(store: ModelDocument, model: ModelDocument) -> [VersionDifference] {
    let hashes = (VersionHashes(store).entities, VersionHashes(model).entities)
    let (stored, wanted) = (EntityIndex(store), EntityIndex(model))
    return between(store: hashes.0, model: hashes.1).flatMap { difference -> [VersionDifference] in
      guard difference.change == .hash, let old = stored[difference.entity], let new = wanted[difference.entity] else {
        return [difference]
      }
      let details = differences(of: old, and: new)
      return details.isEmpty ? [difference] : details
    }
  }

  private static func differences(of old: EntityDocument, and new: EntityDocument) -> [VersionDifference] {
    var list = aspects(
      entity: new.name, property: nil,
      [
        ("isAbstract", flag(old.isAbstract), flag(new.isAbstract)),
        ("superentity", old.parentName, new.parentName),
        ("versionHashModifier", old.versionHashModifier, new.versionHashModifier),
        ("uniquenessConstraints", constraints(old), constraints(new)),
      ])
    let (before, after) = (properties(of: old), properties(of: new))
    for name in Set(before.keys).union(after.keys).sorted() {
      switch (before[name], after[name]) {
      case (.some, nil): list.append(VersionDifference(entity: new.name, property: name, .missingInModel))
      case (nil, .some): list.append(VersionDifference(entity: new.name, property: name, .missingInStore))
      case (let left?, let right?):
        list += aspects(
          entity: new.name, property: name,
          Set(left.keys).union(right.keys).sorted().map { ($0, left[$0] ?? nil, right[$0] ?? nil) })
      case (nil, nil): break
      }
    }
    return list
  }

  private static func aspects(
    entity: String, property: String?, _ aspects: [(name: String, store: String?, model: String?)]
  ) -> [VersionDifference] {
    aspects.filter { $0.store != $0.model }.map { aspect in
      VersionDifference(
        entity: entity, property: property,
        .aspect(aspect.name, store: aspect.store ?? "none", model: aspect.model ?? "none"))
    }
  }

  /// The aspects of every persistent property by its name; those of a derived or composite attribute are few.
  private static func properties(of entity: EntityDocument) -> [String: [String: String?]] {
    var all: [String: [String: String?]] = [:]
    for attribute in entity.attributes where !attribute.isTransient { all[attribute.name] = aspects(of: attribute) }
    for relationship in entity.relationships where !relationship.isTransient {
      all[relationship.name] = [
        "type": "Relationship",
        "isOptional": flag(relationship.isOptional), "destination": relationship.destinationEntityName,
        "inverse": relationship.inverseName, "minCount": String(relationship.minCount),
        "maxCount": relationship.maxCount == 0 ? "unlimited" : String(relationship.maxCount),
        "isOrdered": flag(relationship.isOrdered), "versionHashModifier": relationship.versionHashModifier,
      ]
    }
    return all
  }

  private static func aspects(of attribute: AttributeDocument) -> [String: String?] {
    if let derivation = attribute.derivation { return ["derivation": PredicatePrinter.derivationFormat(derivation)] }
    var aspects: [String: String?] = ["type": attribute.kind.title]
    if attribute.kind == .composite {
      for element in attribute.elements {
        for (name, value) in Self.aspects(of: element) { aspects["\(element.name).\(name)"] = value }
      }
      return aspects
    }
    let isFlagged = attribute.allowsExternalBinaryDataStorage || attribute.preservesValueInHistoryOnDeletion
    aspects["isOptional"] = flag(attribute.isOptional)
    aspects["versionHashModifier"] = attribute.versionHashModifier
    aspects["external storage or preservation in history"] = flag(isFlagged)
    return aspects
  }

  private static func constraints(_ entity: EntityDocument) -> String? {
    let list = entity.uniquenessConstraints.map { $0.joined(separator: ", ") }.sorted()
    return list.isEmpty ? nil : list.joined(separator: "; ")
  }

  private static func flag(_ flag: Bool) -> String { flag ? "true" : "false" }
}
