// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// The value at the end of a key path: `department.name`, `employees.@count`, `location.x`.
  ///
  /// - Parameter keyPath: names of properties with dots between them, and collection operators.
  public final func value(forKeyPath keyPath: String) -> Any? {
    do {
      return try KeyPathReader.value(keyPath, of: self)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// Changes the property at the end of a key path.
  ///
  /// - Parameters:
  ///   - value: the new value; nil for none.
  ///   - keyPath: names of properties with dots between them; an element of a composite attribute may stand last.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    guard let dot = keyPath.firstIndex(of: ".") else {
      setValue(value, forKey: keyPath)
      return
    }
    let key = String(keyPath[..<dot])
    let rest = String(keyPath[keyPath.index(after: dot)...])
    switch self.value(forKey: key) {
    case let object as NSManagedObject:
      object.setValue(value, forKeyPath: rest)
    case let dictionary as NSDictionary:
      setValue(CompositeValue.setting(value, at: rest, in: dictionary), forKey: key)
    case nil where entity.attributesByName[key] is NSCompositeAttributeDescription:
      setValue(CompositeValue.setting(value, at: rest, in: NSDictionary()), forKey: key)
    case nil:
      return
    case let other?:
      preconditionFailure("The key path \(keyPath) leads through \(key), which is a \(Swift.type(of: other)).")
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

extension NSManagedObject: KeyValueReading {
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
