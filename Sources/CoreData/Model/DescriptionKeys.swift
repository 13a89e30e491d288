// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The keys of a property in expressions, as in `$FETCHED_PROPERTY.userInfo.search`.
extension NSPropertyDescription: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "name": name
    case "userInfo": userInfo
    case "entity": owningEntity
    default: throw EvaluationError.unknownKey(key, object: "The property '\(name)'")
    }
  }
}

/// The keys of an entity in expressions, as in `entity.name`.
extension NSEntityDescription: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "name": name
    case "userInfo": userInfo
    case "managedObjectClassName": managedObjectClassName
    default: throw EvaluationError.unknownKey(key, object: "The entity '\(name ?? "")'")
    }
  }
}
