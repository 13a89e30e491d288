// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSEntityDescription {
  /// All properties, inherited ones first.
  ///
  /// Setting takes the list as it was read: inherited properties in it stay inherited, all others become the entity's
  /// own. Traps when a property belongs to another entity, or when two carry the same name.
  public var properties: [NSPropertyDescription] {
    get { derived.properties }
    set { setProperties(newValue) }
  }

  /// All properties, inherited ones included, by name.
  public var propertiesByName: [String: NSPropertyDescription] { derived.propertiesByName }

  /// All attributes, inherited ones included, by name.
  public var attributesByName: [String: NSAttributeDescription] { derived.attributesByName }

  /// All relationships, inherited ones included, by name.
  public var relationshipsByName: [String: NSRelationshipDescription] { derived.relationshipsByName }

  /// The relationships that lead to the given entity.
  public func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
  }

  private func setProperties(_ list: [NSPropertyDescription]) {
    willEdit("properties")
    let inherited = Set(inheritedCopies.values.map(ObjectIdentifier.init))
    let own = list.filter { !inherited.contains(ObjectIdentifier($0)) }
    var names: Set<String> = []
    for property in own {
      precondition(
        property.owningEntity == nil || property.owningEntity === self,
        "'\(property.name)' belongs to entity '\(property.owningEntity?.name ?? "")': add a copy of it.")
      precondition(
        names.insert(property.name).inserted,
        "Entity '\(name ?? "")' cannot have two properties named '\(property.name)'.")
    }
    for property in ownProperties { property.owningEntity = nil }
    ownProperties = own
    for property in own { property.owningEntity = self }
  }
}
