// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of contexts and their objects.
enum ObjectGraphErrors {
  static func missingObject(_ id: NSManagedObjectID) -> NSError {
    .cocoa(
      NSManagedObjectReferentialIntegrityError, "The object is not in the store.",
      reason: "There is no row for \(id.uriRepresentation().absoluteString).",
      suggestion: "It has been deleted, or belongs to a store that is not open. Fetch the objects again.",
      [NSAffectedObjectsErrorKey: [id], ErrorDetail.entity: id.entity.name ?? ""])
  }

  static func otherStore(_ object: NSManagedObject, _ relationship: String, leadsTo other: NSManagedObjectID) -> NSError
  {
    let entity = object.entity.name ?? ""
    return .cocoa(
      NSManagedObjectExternalRelationshipError, "A relationship leads to an object in another store.",
      reason: "'\(relationship)' of '\(entity)' leads from \(object.objectID.uriRepresentation().absoluteString) to "
        + "\(other.uriRepresentation().absoluteString), which is in another store.",
      suggestion: "Assign both objects to one store with assign(_:to:), or use a fetched property.",
      ErrorDetail.place(entity: entity, property: relationship).merging([NSAffectedObjectsErrorKey: [object]]) { $1 })
  }

  static func abstractEntity(_ object: NSManagedObject) -> NSError {
    let entity = object.entity.name ?? ""
    return .cocoa(
      NSManagedObjectValidationError, "An object of an abstract entity cannot be saved.",
      reason: "'\(entity)' is abstract: only entities that inherit from it have objects.",
      suggestion: "Insert an object of one of its sub-entities.",
      ErrorDetail.place(entity: entity).merging([NSAffectedObjectsErrorKey: [object]]) { $1 })
  }

  static func noStore(for entity: NSEntityDescription, coordinatorHasStores: Bool) -> NSError {
    let name = entity.name ?? ""
    return .cocoa(
      NSCoreDataError, "No store holds the entity.",
      reason: coordinatorHasStores
        ? "No store of the coordinator has '\(name)' in its configuration."
        : "The coordinator has no stores, so '\(name)' cannot be fetched or saved.",
      suggestion: coordinatorHasStores
        ? "Add '\(name)' to the configuration of a store." : "Add a store before fetching or saving.",
      [ErrorDetail.entity: name])
  }

  static func unknownEntity(_ name: String, known: [String]) -> NSError {
    .cocoa(
      NSCoreDataError, "The entity is not in the model.",
      reason: "The model has no entity '\(name)'; it has \(known.sorted().joined(separator: ", ")).",
      suggestion: "Check the entity's name and the coordinator's model.",
      [ErrorDetail.entity: name])
  }

  static func unknownKey(_ key: String, of entity: NSEntityDescription) -> NSError {
    let name = entity.name ?? ""
    return .cocoa(
      NSCoreDataError, "The entity has no such property.",
      reason: "The entity '\(name)' has no property '\(key)'. It has: "
        + "\(entity.propertiesByName.keys.sorted().joined(separator: ", ")).",
      suggestion: "Use the name of one of these properties.", ErrorDetail.place(entity: name, property: key))
  }

  static func noValue(_ keyPath: String, of entity: NSEntityDescription, reason: String) -> NSError {
    .cocoa(
      NSCoreDataError, "The key path has no value.",
      reason: "'\(keyPath)' of '\(entity.name ?? "")': \(reason)",
      suggestion: "Use names of properties, with dots between relationships and what follows.",
      ErrorDetail.place(entity: entity.name, property: keyPath))
  }

  static func endlessSave(_ objects: [NSManagedObject]) -> NSError {
    let names = Set(objects.compactMap(\.entity.name)).sorted().joined(separator: ", ")
    return .cocoa(
      NSCoreDataError, "The context cannot be saved.",
      reason: "willSave() of \(names) keeps changing objects: there are still new changes after a thousand rounds.",
      suggestion: "In willSave(), set a value only if it differs.", [NSAffectedObjectsErrorKey: objects])
  }

  static func underivable(_ attribute: String, of object: NSManagedObject, reason: String) -> NSError {
    let entity = object.entity.name ?? ""
    return .cocoa(
      NSCoreDataError, "The value of a derived attribute cannot be computed.",
      reason: "'\(attribute)' of '\(entity)' has a derivation expression that fails: \(reason).",
      suggestion: "Correct the expression in the model. It can be a key path, an aggregate, or a function of one.",
      ErrorDetail.place(entity: entity, property: attribute).merging([NSAffectedObjectsErrorKey: [object]]) { $1 })
  }

  static func mergeConflict(_ conflicts: [RowConflicts.Conflict], context: NSManagedObjectContext) -> NSError {
    let objects = conflicts.map { context.object(for: $0.id) }
    let named = conflicts.prefix(5).map { conflict in
      conflict.stored == nil
        ? "\(conflict.id.uriRepresentation().absoluteString) has been deleted"
        : "\(conflict.id.uriRepresentation().absoluteString) has been changed"
    }
    return .cocoa(
      NSManagedObjectMergeError, "Could not merge changes.",
      reason: "Since they were read, \(named.joined(separator: "; "))\(conflicts.count > 5 ? "; and others" : "").",
      suggestion: "Refresh the objects and change them again, or set a merge policy.",
      ["conflictList": conflicts.map(\.id), NSAffectedObjectsErrorKey: objects])
  }

  static func badRequest(_ reason: String, entity: NSEntityDescription?, suggestion: String) -> NSError {
    .cocoa(
      NSCoreDataError, "The fetch request cannot be executed.", reason: reason, suggestion: suggestion,
      ErrorDetail.place(entity: entity?.name))
  }
}
