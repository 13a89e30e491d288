// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Key-value coding beyond the properties of the model.
extension NSManagedObject {
  /// A marker returned by the methods for undefined keys to a caller that checks whether the class defines a key.
  final class UndefinedKeyProbe {
    var refused: String?
  }

  /// Sets a property, and notifies observers.
  final func change(_ value: Any?, at position: Int, _ key: String) {
    willChangeValue(forKey: key)
    store(value, at: position)
    didChangeValue(forKey: key)
  }

  /// Returns the value for a key without a slot.
  final func unstoredValue(forKey key: String) -> Any? {
    if let fetched = entity.propertiesByName[key] as? NSFetchedPropertyDescription {
      willAccessValue(forKey: key)
      defer { didAccessValue(forKey: key) }
      return fetchedValues(of: fetched)
    }
    if let recorder { return recorder.answer(forKey: key, of: self) }
    if let own = ownValue(forKey: key) { return own.value }
    return value(forUndefinedKey: key)
  }

  /// Returns the value for a key of the object itself, found like in key-value coding by the names of its accessors;
  /// nil for any other key.
  private func ownValue(forKey key: String) -> (value: Any?, Void)? {
    switch key {
    case "self": (self, ())
    case "objectID": (objectID, ())
    case "entity": (entity, ())
    case "managedObjectContext": (managedObjectContext, ())
    case "isInserted", "inserted": (NSNumber(value: isInserted), ())
    case "isUpdated", "updated": (NSNumber(value: isUpdated), ())
    case "isDeleted", "deleted": (NSNumber(value: isDeleted), ())
    case "isFault", "fault": (NSNumber(value: isFault), ())
    case "hasChanges": (NSNumber(value: hasChanges), ())
    case "hasPersistentChangedValues": (NSNumber(value: hasPersistentChangedValues), ())
    case "faultingState": (NSNumber(value: faultingState), ())
    case "changedValues": (changedValues(), ())
    case "changedValuesForCurrentEvent": (changedValuesForCurrentEvent(), ())
    case "description": (description, ())
    case "hash": (NSNumber(value: hash), ())
    default: nil
    }
  }

  /// Rejects an undefined key: traps, or informs the caller that checks whether the class defines it.
  final func refuse(_ key: String) -> Any? {
    if let probe = extraState?.probe {
      probe.refused = key
      return nil
    }
    return Misuse.stop { throw ObjectGraphErrors.unknownKey(key, of: entity) }
  }

  /// Returns the value for a key that the model does not contain.
  ///
  /// - Throws: `EvaluationError.unknownKey` if neither the object nor its class defines the key.
  private func valueIfDefined(forKey key: String) throws -> Any? {
    let (value, refused) = probing { self.value(forKey: key) }
    if let refused { throw EvaluationError.unknownKey(refused, object: "The entity \(entity.name ?? "")") }
    return value
  }

  /// Sets the value for a key that the model does not contain, with the class's `setValue(_:forUndefinedKey:)`.
  ///
  /// - Throws: 134060 if the class does not define the key.
  final func setIfDefined(_ value: Any?, forUndefinedKey key: String) throws {
    let (_, refused) = probing { setValue(value, forUndefinedKey: key) }
    if let refused { throw ObjectGraphErrors.unknownKey(refused, of: entity) }
  }

  /// Returns a live set of the to-many relationship at the end of a key path: changing it changes the relationship.
  ///
  /// - Parameter keyPath: property names separated by dots, ending in an unordered to-many relationship. Traps if the
  ///   path leads to no object.
  public final func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet {
    let (owner, key) = Misuse.stop { try relationshipOwner(at: keyPath) }
    return owner.mutableSetValue(forKey: key)
  }

  /// Returns a live ordered set of the to-many relationship at the end of a key path: changing it changes the relationship.
  ///
  /// - Parameter keyPath: property names separated by dots, ending in an ordered to-many relationship. Traps if the
  ///   path leads to no object.
  public final func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
    let (owner, key) = Misuse.stop { try relationshipOwner(at: keyPath) }
    return owner.mutableOrderedSetValue(forKey: key)
  }

  /// Returns the object that has the last property of a key path, and the property's name.
  private func relationshipOwner(at keyPath: String) throws -> (NSManagedObject, String) {
    guard let dot = keyPath.lastIndex(of: ".") else { return (self, keyPath) }
    let path = String(keyPath[..<dot])
    let found = try KeyPathReader.value(path, of: self)
    guard let owner = found as? NSManagedObject else {
      let what = found.map { "a value of the class \(Swift.type(of: $0))" } ?? "no object"
      throw ObjectGraphErrors.noValue(keyPath, of: entity, reason: "'\(path)' leads to \(what).")
    }
    return (owner, String(keyPath[keyPath.index(after: dot)...]))
  }
}

extension NSManagedObject: KeyValueReading, ObjectIdentified {
  final func value(forKeyPathComponent key: String) throws -> Any? {
    if table.position(of: key) != nil || entity.propertiesByName[key] != nil { return value(forKey: key) }
    if key == "SELF" { return self }
    return try valueIfDefined(forKey: key)
  }
}

extension NSAttributeType {
  /// Whether a class may declare a property of the type as a number or Boolean that is not optional.
  var isScalar: Bool {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType,
      .floatAttributeType, .booleanAttributeType:
      true
    default: false
    }
  }
}

extension NSManagedObject {
  /// Turns the object into a fault.
  ///
  /// - Parameters:
  ///   - row: the row from which to take the values when the fault fires; nil to read it then.
  ///   - keepsTransients: whether transient values are restored when the fault fires.
  final func turnIntoFault(keeping row: RowSnapshot?, keepsTransients: Bool = false) {
    guard isRealized else {
      snapshot = row
      if !keepsTransients { extraState?.transients = [] }
      return
    }
    willTurnIntoFault()
    noteTransients(isKeeping: keepsTransients)
    if hasUnreadMembers { context?.forgetUnreadMembers(of: self) }
    becomeFault(keeping: row)
    holds?.release()
    holds?.outdate()
    didTurnIntoFault()
  }
}
