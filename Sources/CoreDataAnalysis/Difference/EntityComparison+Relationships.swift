// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles

extension EntityComparison {
  func relationshipChanges() -> [ModelChange] {
    let pairs = Pairing(old.relationships, new.relationships, name: \.name, declared: \.renamingIdentifier)
    var changes = pairs.added.map { added($0) }.demandingCustom(pairs.ambiguous)
    changes += pairs.removed.map { removed($0.name, .relationship, isTransient: $0.isTransient) }
    for (before, after) in pairs.matched { changes += relationshipChanges(before, after) }
    return changes
  }

  private func added(_ relationship: RelationshipDocument) -> ModelChange {
    let inherited = models.oldIndex.lineage(of: old.name).dropFirst().first { entity in
      entity.relationships.contains { $0.name == (relationship.renamingIdentifier ?? relationship.name) }
    }
    let isStored = !relationship.isTransient
    if let inherited {
      return change(
        relationship.name, relationship.name, .relationship, .moved(from: inherited.name, to: new.name),
        hashed: isStored, migration: isStored ? .inferred : .none)
    }
    return change(
      relationship.name, nil, .relationship, .added(AspectText.relationship(relationship)), hashed: isStored,
      migration: demand(adding: relationship))
  }

  private func demand(adding relationship: RelationshipDocument) -> MigrationDemand {
    relationship.isTransient ? .none : relationship.isOptional || relationship.isToMany ? .inferred : .custom
  }

  private func relationshipChanges(_ before: RelationshipDocument, _ after: RelationshipDocument) -> [ModelChange] {
    var recorder = AspectRecorder(
      comparison: self, property: after.name, source: before.name, subject: .relationship,
      isStored: !(before.isTransient && after.isTransient))
    if before.name != after.name { recorder.renamed() }
    recorder.compare(
      .destination, AspectText.name(before.destinationEntityName), AspectText.name(after.destinationEntityName),
      hashed: true, migration: destinationDemand(before, after))
    recorder.compare(.inverse, AspectText.name(before.inverseName), AspectText.name(after.inverseName), hashed: true)
    recorder.compare(
      .toMany, before.isToMany, after.isToMany, hashed: true, migration: after.isToMany ? .inferred : .custom)
    recorder.compare(.optional, before.isOptional, after.isOptional, hashed: true)
    recorder.compare(
      .transient, before.isTransient, after.isTransient, hashed: true,
      migration: after.isTransient ? .inferred : demand(adding: after))
    recorder.compare(.minimumCount, String(before.minCount), String(after.minCount), hashed: true)
    if before.isToMany == after.isToMany {
      recorder.compare(.maximumCount, count(before.maxCount), count(after.maxCount), hashed: true)
    }
    recorder.compare(.ordered, before.isOrdered, after.isOrdered, hashed: true)
    recorder.compare(.deleteRule, before.deleteRule.words, after.deleteRule.words)
    if before.validations != after.validations {
      recorder.compare(
        .validation, "\(before.validations.count)", "\(after.validations.count)", evenIfEqual: true)
    }
    recorder.compare(.spotlight, before.isIndexedBySpotlight, after.isIndexedBySpotlight)
    recorder.compareModifiers(before.versionHashModifier, after.versionHashModifier)
    recorder.compareIdentifiers(before.renamingIdentifier, after.renamingIdentifier)
    recorder.compareUserInfo(before.userInfo, after.userInfo)
    return recorder.changes
  }

  private func count(_ number: Int) -> String { number == 0 ? "unlimited" : String(number) }

  /// The destination may follow a rename, or widen to an ancestor. What points elsewhere loses its objects, which a required
  /// to-one relationship cannot do without.
  private func destinationDemand(
    _ before: RelationshipDocument, _ after: RelationshipDocument
  ) -> MigrationDemand {
    isRedirected(before, after) && !after.isOptional && !after.isToMany ? .custom : .inferred
  }

  private func isRedirected(_ before: RelationshipDocument, _ after: RelationshipDocument) -> Bool {
    guard let old = before.destinationEntityName, let new = after.destinationEntityName else { return false }
    guard let successor = models.newName(of: old) else { return true }
    return !models.newIndex.lineage(of: successor).contains { $0.name == new }
  }
}
