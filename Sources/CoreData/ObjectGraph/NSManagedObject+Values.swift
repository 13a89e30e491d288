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
    preconditionFailure(
      "The entity \(entity.name ?? "") has no property \(key). It has: \(table.names.joined(separator: ", ")).")
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

  /// Puts a value into a slot, keeps the other side of a relationship in step, and notes the change.
  final func store(_ value: Any?, at position: Int) {
    switch table.properties[position] {
    case .attribute(let attribute):
      guard let slot = Slot(value, for: attribute, kind: table.kinds[position]) else {
        preconditionFailure(
          "Unacceptable type of value for attribute \(attribute.name) of \(entity.name ?? ""): wanted "
            + "\(attribute.attributeValueClassName ?? "\(attribute.attributeType)"), got "
            + "\(value.map { "\(Swift.type(of: $0))" } ?? "nil").")
      }
      if case .archived = slots[position] {
        slots[position] = slot
      } else if slots[position].isSame(as: slot) {
        return
      } else {
        slots[position] = slot
      }
    case .relationship(let relationship):
      if relationship.isToMany {
        setMembers(members(from: value, of: relationship), at: position, of: relationship)
      } else {
        setDestination(destination(from: value, of: relationship), at: position, of: relationship)
      }
    }
  }

  private func destination(from value: Any?, of relationship: NSRelationshipDescription) -> NSManagedObject? {
    guard let value, !(value is NSNull) else { return nil }
    guard let object = value as? NSManagedObject else {
      preconditionFailure(
        "Unacceptable type of value for to-one relationship \(relationship.name) of \(entity.name ?? ""): wanted "
          + "NSManagedObject, got \(Swift.type(of: value)).")
    }
    check(object, for: relationship)
    return object
  }

  private func members(from value: Any?, of relationship: NSRelationshipDescription) -> [NSManagedObject] {
    let objects: [Any]
    switch value {
    case nil, is NSNull: objects = []
    case let set as NSOrderedSet: objects = set.array
    case let set as NSSet: objects = set.allObjects
    case let array as [Any]: objects = array
    case let value?:
      preconditionFailure(
        "Unacceptable type of value for to-many relationship \(relationship.name) of \(entity.name ?? ""): wanted "
          + "a set, got \(Swift.type(of: value)).")
    }
    return objects.map { element in
      guard let object = element as? NSManagedObject else {
        preconditionFailure(
          "The to-many relationship \(relationship.name) of \(entity.name ?? "") holds managed objects, not "
            + "\(Swift.type(of: element)).")
      }
      check(object, for: relationship)
      return object
    }
  }

  /// Stops the program for an object that cannot be at the other end of a relationship.
  final func check(_ object: NSManagedObject, for relationship: NSRelationshipDescription) {
    if let destination = relationship.destinationEntity {
      precondition(
        object.entity.isKindOf(entity: destination),
        "Unacceptable type of value for relationship \(relationship.name) of \(entity.name ?? ""): wanted "
          + "\(destination.name ?? ""), got \(object.entity.name ?? "").")
    }
    precondition(
      context == nil || object.context == nil || context === object.context,
      "Illegal attempt to establish a relationship \(relationship.name) between objects in different contexts.")
  }
}
