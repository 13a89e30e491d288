// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// Returns the value of a key path: `department.name`, `employees.@count`, `location.x`.
  ///
  /// - Parameter keyPath: names of properties with dots between them, and collection operators.
  public final func value(forKeyPath keyPath: String) -> Any? {
    Misuse.stop { try KeyPathReader.value(keyPath, of: self) }
  }

  /// Sets the property at the end of a key path.
  ///
  /// - Parameters:
  ///   - value: the new value; nil for none.
  ///   - keyPath: names of properties with dots between them, possibly ending in an element of a composite attribute.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    Misuse.stop { try set(value, at: keyPath) { $0.setValue($1, forKey: $2) } }
  }

  /// Sets the property at the end of a key path with a setter for a single property.
  ///
  /// - Throws: 134060 for an unknown key before the last, or a path that continues after a plain value; the setter's
  ///   errors.
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
      // As in key-value coding, each member gets the value.
      for case let member as NSManagedObject in Array(members) as [Any] { try member.set(value, at: rest, by: set) }
    case let dictionary as NSDictionary:
      try set(self, dictionary.setting(value, at: rest), key)
    case nil where entity.attributesByName[key] is NSCompositeAttributeDescription:
      try set(self, NSDictionary().setting(value, at: rest), key)
    case nil:
      return
    case let other?:
      throw ObjectGraphErrors.noValue(
        keyPath, of: entity, reason: "the key path continues after \(key), whose value is a \(Swift.type(of: other)).")
    }
  }

  /// Returns the values of several properties; `NSNull` for none.
  ///
  /// - Parameter keys: names of properties.
  public final func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { $1 }
  }

  /// Sets several properties.
  ///
  /// - Parameter keyedValues: new values by property name; `NSNull` for none.
  public final func setValuesForKeys(_ keyedValues: [String: Any]) {
    for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) {
      setValue(value is NSNull ? nil : value, forKey: key)
    }
  }
}

extension NSDictionary {
  /// Returns the dictionary of a composite attribute with another value for one of its elements.
  fileprivate func setting(_ value: Any?, at keyPath: String) -> NSDictionary {
    let changed = mutableCopy() as? NSMutableDictionary ?? NSMutableDictionary()
    if let dot = keyPath.firstIndex(of: ".") {
      let key = String(keyPath[..<dot])
      let inner = self[key] as? NSDictionary ?? NSDictionary()
      changed[key] = inner.setting(value, at: String(keyPath[keyPath.index(after: dot)...]))
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

/// Key-value coding with keys that come from outside the program: a form, a file, a request.
///
/// `value(forKey:)` and its relatives stop the program for an unknown key or a value of another type, as Apple's do,
/// since keys in source code are the programmer's responsibility. These methods throw an error instead. They are
/// additions to Apple's API.
extension NSManagedObject {
  /// Returns the value of a key path, or throws.
  ///
  /// - Parameter keyPath: names of properties with dots between them, and collection operators.
  /// - Throws: 134060 for an unknown key, or a path that continues after a plain value; 133000 for an object whose row
  ///   is gone; the store's errors if a row cannot be read.
  public final func checkedValue(forKeyPath keyPath: String) throws -> Any? {
    try throwingReadingFailures {
      do {
        return try KeyPathReader.value(keyPath, of: self)
      } catch let failure as EvaluationError {
        throw ObjectGraphErrors.noValue(keyPath, of: entity, reason: failure.description)
      }
    }
  }

  /// Sets the property at the end of a key path, or throws. For a relationship, also changes the inverse.
  ///
  /// - Parameters:
  ///   - value: the new value; nil or `NSNull` for none.
  ///   - keyPath: names of properties with dots between them, possibly ending in an element of a composite attribute.
  /// - Throws: 134060 for an unknown key; 1550 for a value that is not of the property's type; the errors of
  ///   `checkedValue(forKeyPath:)`. Nothing has changed then.
  public final func setCheckedValue(_ value: Any?, forKeyPath keyPath: String) throws {
    try throwingReadingFailures {
      try set(value, at: keyPath) { object, value, key in
        try object.checkType(of: value, forKey: key)
        object.setValue(value, forKey: key)
      }
    }
  }

  /// Sets several properties, or throws.
  ///
  /// - Parameter keyedValues: new values by property name; `NSNull` for none.
  /// - Throws: 134060 for an unknown key; 1550 for a value that is not of its property's type. Nothing has changed
  ///   then.
  public final func setCheckedValues(_ keyedValues: [String: Any]) throws {
    try throwingReadingFailures {
      for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) { try checkType(of: value, forKey: key) }
      setValuesForKeys(keyedValues)
    }
  }

  /// Throws if a value is not of the property's type.
  private func checkType(of value: Any?, forKey key: String) throws {
    guard let position = table.position(of: key) else {
      throw ObjectGraphErrors.unknownKey(key, of: entity)
    }
    switch table.properties[position] {
    case .attribute(let attribute): _ = try slot(of: value, for: attribute)
    case .relationship(let relationship): _ = try destinations(in: value, of: relationship)
    }
  }

  /// Runs a closure, and throws if this object's row is gone or a row that it needed cannot be read.
  private func throwingReadingFailures<Value>(_ body: () throws -> Value) throws -> Value {
    guard let context else {
      if isRealized { return try body() }
      throw ObjectGraphErrors.missingObject(identifier)
    }
    return try context.throwingReadingFailures {
      realize()
      if isInaccessible, context.readingFailure == nil { throw ObjectGraphErrors.missingObject(identifier) }
      return try body()
    }
  }
}
