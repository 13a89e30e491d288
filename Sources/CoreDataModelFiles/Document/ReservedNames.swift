// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Names that a model's properties should not have.
package enum ReservedNames {
  /// The properties of `NSManagedObject` and `NSObject`, which a subclass cannot declare with another type.
  package static let properties: Set<String> = [
    "changedValues", "className", "debugDescription", "description", "entity", "faultingState", "hasChanges",
    "hasPersistentChangedValues", "hash", "hashValue", "isDeleted", "isFault", "isInserted", "isUpdated",
    "managedObjectContext", "objectID", "self", "superclass", "Type", "Protocol", "init",
  ]
}
