// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectModel {
  /// A copy that can be edited, with copies of all entities.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = type(of: self).init()
    copy.take(copiesOf: entities)
    for (name, members) in configurationMembers {
      copy.configurationMembers[name] = members.compactMap { copy.entitiesByName[$0.name ?? ""] }
    }
    copy.templates = templates
    copy.versionIdentifiers = versionIdentifiers
    copy.localizationDictionary = localizationDictionary
    copy.origins = origins
    return copy
  }

  /// Adds copies of entities, with the hierarchy and the relationships among them.
  ///
  /// - Parameters:
  ///   - originals: the entities, each with a name of its own.
  ///   - duplicates: entities of other models that are equal to one of the originals, which stands for them.
  internal func take(copiesOf originals: [NSEntityDescription], standingFor duplicates: [NSEntityDescription] = []) {
    var twins = EntityTwins()
    for original in originals { twins.add(original.copy(properties: original.ownProperties), of: original) }
    for duplicate in duplicates { twins.add(duplicate) }
    for original in originals + duplicates {
      guard let twin = twins[original] else { continue }
      let children = original.children.compactMap { twins[$0] }
      twin.subentities += children.filter { child in !twin.subentities.contains { $0 === child } }
    }
    let copies = originals.compactMap { twins[$0] }
    for copy in copies { copy.redirectRelationships(to: twins) }
    entities += copies
  }
}

/// The copies of entities, found by an original, by what is equal to it in another model, or by name.
internal struct EntityTwins {
  private var byOriginal: [ObjectIdentifier: NSEntityDescription] = [:]
  private var byName: [String: NSEntityDescription] = [:]

  mutating func add(_ twin: NSEntityDescription, of original: NSEntityDescription) {
    byOriginal[ObjectIdentifier(original)] = twin
    byName[twin.name ?? ""] = twin
  }

  /// Adds an entity for which the copy of another of the same name stands.
  mutating func add(_ duplicate: NSEntityDescription) {
    byOriginal[ObjectIdentifier(duplicate)] = byName[duplicate.name ?? ""]
  }

  subscript(entity: NSEntityDescription) -> NSEntityDescription? {
    byOriginal[ObjectIdentifier(entity)] ?? byName[entity.name ?? ""]
  }
}

extension NSEntityDescription {
  /// Makes relationships that lead to an original lead to its twin.
  internal func redirectRelationships(to twins: EntityTwins) {
    for case let relationship as NSRelationshipDescription in ownProperties {
      let inverse = relationship.inverseRelationship
      if let destination = relationship.destinationEntity, let twin = twins[destination] {
        relationship.destinationEntity = twin
      }
      if let inverse, let owner = inverse.owningEntity, let twin = twins[owner] {
        relationship.inverseRelationship = twin.relationshipsByName[inverse.name]
      }
    }
  }
}
