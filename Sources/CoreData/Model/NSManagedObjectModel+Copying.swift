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
    return copy
  }

  /// Adds copies of entities, with the hierarchy and the relationships among them.
  internal func take(copiesOf originals: [NSEntityDescription]) {
    var twins: [ObjectIdentifier: NSEntityDescription] = [:]
    for original in originals {
      twins[ObjectIdentifier(original)] = original.copy(properties: original.ownProperties)
    }
    for original in originals {
      let twin = twins[ObjectIdentifier(original)]
      twin?.subentities = original.children.compactMap { twins[ObjectIdentifier($0)] }
    }
    for twin in twins.values { twin.redirectRelationships(to: twins) }
    entities += originals.compactMap { twins[ObjectIdentifier($0)] }
  }
}

extension NSEntityDescription {
  /// Makes relationships that lead to an original lead to its twin.
  internal func redirectRelationships(to twins: [ObjectIdentifier: NSEntityDescription]) {
    for case let relationship as NSRelationshipDescription in ownProperties {
      let inverse = relationship.inverseRelationship
      if let destination = relationship.destinationEntity, let twin = twins[ObjectIdentifier(destination)] {
        relationship.destinationEntity = twin
      }
      if let inverse, let owner = inverse.owningEntity, let twin = twins[ObjectIdentifier(owner)] {
        relationship.inverseRelationship = twin.relationshipsByName[inverse.name]
      }
    }
  }
}
