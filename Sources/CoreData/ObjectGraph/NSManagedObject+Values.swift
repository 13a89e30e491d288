// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// Reads and writes a property by its name.
  public final subscript(key: String) -> Any? {
    get { value(forKey: key) }
    set { setValue(newValue, forKey: key) }
  }

  /// The slot of a property; stops the program when the entity has none of that name, as Apple's framework does.
  final func position(of key: String) -> Int {
    if let position = table.position(of: key) { return position }
    return Misuse.stop { throw ObjectGraphErrors.unknownKey(key, of: entity) }
  }

  /// The value in a slot, with relationships resolved to objects.
  final func resolvedValue(at position: Int) -> Any? {
    switch slots[position] {
    case .toOne(let id):
      return context?.object(for: id)
    case .unread:
      readRelationship(at: position)
      return resolvedValue(at: position)
    case .toMany(let members):
      guard let context else { return members.isOrdered ? NSOrderedSet() : NSSet() }
      let objects = members.ids.map { context.object(for: $0) }
      return members.isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)
    case .archived(let data):
      guard let attribute = table.attribute(at: position) else { return data }
      slots[position] = .unarchived(UnarchivedValue(TransformableValues.decode(data, of: attribute), from: data))
      return slots[position].publicValue
    case let slot:
      return slot.publicValue
    }
  }

  /// Puts a value into a slot, keeps the other side of a relationship in step, and notes the change. Stops the program for
  /// a value that is not of the property's type.
  final func store(_ value: Any?, at position: Int) {
    Misuse.stop { try storeChecked(value, at: position) }
  }

  private func storeChecked(_ value: Any?, at position: Int) throws {
    switch table.properties[position] {
    case .attribute(let attribute):
      let slot = try slot(of: value, for: attribute, kind: table.kinds[position])
      if case .archived = slots[position] {
        slots[position] = slot
      } else if slots[position].isSame(as: slot) {
        return
      } else {
        slots[position] = slot
      }
    case .relationship(let relationship):
      let destinations = try destinations(in: value, of: relationship)
      if relationship.isToMany {
        setMembers(destinations, at: position, of: relationship)
        _ = heldMembers(at: position)
      } else {
        setDestination(destinations.first, at: position, of: relationship)
        hold(destinations.first, at: position)
      }
    }
  }

  /// - Throws: 1550 for a value that is not of the attribute's type.
  final func slot(
    of value: Any?, for attribute: NSAttributeDescription, kind: NSAttributeType? = nil
  ) throws -> Slot {
    if let slot = Slot(value, for: attribute, kind: kind ?? attribute.attributeType) { return slot }
    throw unacceptable(value, attribute, wanted: attribute.attributeValueClassName ?? "\(attribute.attributeType)")
  }

  /// The objects in a value for a relationship.
  ///
  /// - Throws: 1550 for anything but objects that can be at its other end.
  final func destinations(in value: Any?, of relationship: NSRelationshipDescription) throws -> [NSManagedObject] {
    let elements: [Any]
    switch value {
    case nil, is NSNull: return []
    case let object as NSManagedObject where !relationship.isToMany: elements = [object]
    case let set as NSOrderedSet where relationship.isToMany: elements = set.array
    case let set as NSSet where relationship.isToMany: elements = set.allObjects
    case let array as [Any] where relationship.isToMany: elements = array
    case let value?:
      let wanted = relationship.isToMany ? (relationship.isOrdered ? "NSOrderedSet" : "NSSet") : "NSManagedObject"
      throw unacceptable(value, relationship, wanted: wanted)
    }
    return try elements.map { try destination($0, of: relationship) }
  }

  private func destination(_ value: Any, of relationship: NSRelationshipDescription) throws -> NSManagedObject {
    guard let object = value as? NSManagedObject else {
      throw unacceptable(value, relationship, wanted: "NSManagedObject")
    }
    try check(object, for: relationship)
    return object
  }

  /// - Throws: 1550 for an object that cannot be at the other end of a relationship.
  final func check(_ object: NSManagedObject, for relationship: NSRelationshipDescription) throws {
    guard context == nil || object.context == nil || context === object.context else {
      throw ValidationErrors.otherContext(ValidationRules.subject(relationship, object, self))
    }
    if let destination = relationship.destinationEntity, !object.entity.isKindOf(entity: destination) {
      throw ValidationErrors.wrongEntity(
        ValidationRules.subject(relationship, object, self), expected: destination.name ?? "",
        found: object.entity.name ?? "")
    }
  }

  private func unacceptable(_ value: Any?, _ property: NSPropertyDescription, wanted: String) -> NSError {
    ValidationErrors.wrongClass(ValidationRules.subject(property, value, self), expected: wanted)
  }
}
