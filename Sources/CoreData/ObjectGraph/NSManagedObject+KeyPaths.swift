// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// The value at the end of a key path: `department.name`, `employees.@count`, `location.x`.
  ///
  /// - Parameter keyPath: names of properties with dots between them, and collection operators.
  public final func value(forKeyPath keyPath: String) -> Any? {
    Misuse.stop { try KeyPathReader.value(keyPath, of: self) }
  }

  /// Changes the property at the end of a key path.
  ///
  /// - Parameters:
  ///   - value: the new value; nil for none.
  ///   - keyPath: names of properties with dots between them; an element of a composite attribute may stand last.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    Misuse.stop { try set(value, at: keyPath) { $0.setValue($1, forKey: $2) } }
  }

  /// Changes the property at the end of a key path by a setter of one property.
  ///
  /// - Throws: 134060 for a path that leads through a plain value, and for an unknown key on the way; the setter's errors.
  final func set(
    _ value: Any?, at keyPath: String, by set: (NSManagedObject, Any?, String) throws -> Void
  ) throws {
    guard let dot = keyPath.firstIndex(of: ".") else { return try set(self, value, keyPath) }
    let key = String(keyPath[..<dot])
    let rest = String(keyPath[keyPath.index(after: dot)...])
    guard entity.propertiesByName[key] != nil else { throw ObjectGraphErrors.unknownKey(key, of: entity) }
    switch self.value(forKey: key) {
    case let object as NSManagedObject:
      try object.set(value, at: rest, by: set)
    case let members as any Sequence where entity.relationshipsByName[key]?.isToMany == true:
      // As key-value coding does with collections: each member gets the value.
      for case let member as NSManagedObject in Array(members) as [Any] { try member.set(value, at: rest, by: set) }
    case let dictionary as NSDictionary:
      try set(self, CompositeValue.setting(value, at: rest, in: dictionary), key)
    case nil where entity.attributesByName[key] is NSCompositeAttributeDescription:
      try set(self, CompositeValue.setting(value, at: rest, in: NSDictionary()), key)
    case nil:
      return
    case let other?:
      throw ObjectGraphErrors.noValue(
        keyPath, of: entity, reason: "The key path leads through \(key), which is a \(Swift.type(of: other)).")
    }
  }

  /// The values of several properties; `NSNull` where there is none.
  ///
  /// - Parameter keys: names of properties.
  public final func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { $1 }
  }

  /// Changes several properties.
  ///
  /// - Parameter keyedValues: new values by property name; `NSNull` for none.
  public final func setValuesForKeys(_ keyedValues: [String: Any]) {
    for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) {
      setValue(value is NSNull ? nil : value, forKey: key)
    }
  }
}

/// Changes inside the dictionary of a composite attribute.
enum CompositeValue {
  static func setting(_ value: Any?, at keyPath: String, in dictionary: NSDictionary) -> NSDictionary {
    let changed = dictionary.mutableCopy() as? NSMutableDictionary ?? NSMutableDictionary()
    if let dot = keyPath.firstIndex(of: ".") {
      let key = String(keyPath[..<dot])
      let inner = dictionary[key] as? NSDictionary ?? NSDictionary()
      changed[key] = setting(value, at: String(keyPath[keyPath.index(after: dot)...]), in: inner)
    } else if let value {
      changed[keyPath] = value
    } else {
      changed.removeObject(forKey: keyPath)
    }
    return changed
  }
}

extension NSManagedObject: KeyValueReading, ObjectIdentified {
  final func value(forKeyPathComponent key: String) throws -> Any? {
    guard entity.propertiesByName[key] != nil else {
      // What every object answers, whatever its entity.
      switch key {
      case "self", "SELF": return self
      case "objectID": return objectID
      case "entity": return entity
      default: throw EvaluationError.unknownKey(key, object: "The entity \(entity.name ?? "")")
      }
    }
    return value(forKey: key)
  }
}
