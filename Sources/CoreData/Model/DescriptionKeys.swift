// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What expressions read of a property: `$FETCHED_PROPERTY.userInfo.search`.
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

/// What expressions read of an entity: `entity.name`.
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
