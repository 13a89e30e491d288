// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the inverse of each relationship: the one that a declaration names on either side, or else the only one that
/// fits.
struct InverseRelationships {
  private let entities: [ObjectIdentifier: Schema.Entity]
  private(set) var issue: SchemaIssue?

  init(_ entities: [ObjectIdentifier: Schema.Entity]) { self.entities = entities }

  mutating func settle(_ order: [Schema.Entity]) {
    for entity in order {
      for relationship in entity.sortedRelationships { connectNamed(relationship, of: entity) }
    }
    for entity in order {
      for relationship in entity.sortedRelationships where relationship.inverseName == nil {
        connectImplied(relationship, of: entity)
      }
    }
  }

  private func destination(of relationship: Schema.Relationship) -> Schema.Entity? {
    relationship.destinationType.flatMap { entities[ObjectIdentifier($0)] }
  }

  private mutating func connectNamed(_ relationship: Schema.Relationship, of entity: Schema.Entity) {
    guard let keyPath = relationship.inverseKeyPath, let destination = destination(of: relationship) else { return }
    let found = destination.lineage.lazy.flatMap(\.sortedRelationships).first { $0.keypath == keyPath }
    guard let found else {
      if issue == nil {
        issue = SchemaIssue(
          entity.name, relationship.name,
          "names \(keyPath.words) as its inverse, which is not a relationship of \(destination.typeName).")
      }
      return
    }
    connect(relationship, found)
  }

  /// Connects a relationship with the only one of the destination that leads back. If exactly one of the two has an
  /// annotation, which then names no inverse, there is none.
  private func connectImplied(_ relationship: Schema.Relationship, of entity: Schema.Entity) {
    guard let destination = destination(of: relationship) else { return }
    let forth = candidates(from: entity, to: destination)
    let back = candidates(from: destination, to: entity)
    guard forth.count == 1, back.count == 1, let inverse = back.first, inverse !== relationship,
      relationship.isAnnotated == inverse.isAnnotated
    else { return }
    // Two required to-one relationships cannot be filled one after the other.
    if isRequiredToOne(relationship), isRequiredToOne(inverse) { return }
    connect(relationship, inverse)
  }

  private func isRequiredToOne(_ relationship: Schema.Relationship) -> Bool {
    relationship.isToOneRelationship && !relationship.isOptional
  }

  private func candidates(from source: Schema.Entity, to destination: Schema.Entity) -> [Schema.Relationship] {
    source.sortedRelationships.filter { relationship in
      relationship.inverseName == nil && self.destination(of: relationship) === destination
    }
  }

  private func connect(_ relationship: Schema.Relationship, _ inverse: Schema.Relationship) {
    relationship.inverseName = inverse.name
    if inverse !== relationship { inverse.inverseName = relationship.name }
  }
}

extension Schema.Entity {
  fileprivate var sortedRelationships: [Schema.Relationship] { relationships.sorted { $0.name < $1.name } }
  /// The entity and the entities of its superclasses.
  fileprivate var lineage: [Schema.Entity] { [self] + (superentity?.lineage ?? []) }
}
