// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Key of notifications: the objects inserted.
public let NSInsertedObjectsKey = "inserted"
/// Key of notifications: the objects updated.
public let NSUpdatedObjectsKey = "updated"
/// Key of notifications: the objects deleted.
public let NSDeletedObjectsKey = "deleted"
/// Key of notifications: the objects refreshed.
public let NSRefreshedObjectsKey = "refreshed"
/// Key of notifications: the objects invalidated.
public let NSInvalidatedObjectsKey = "invalidated"
/// Key of notifications: the identifiers of all objects that a context has forgotten, in an array.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// Key of notifications: the identifiers of the objects refreshed.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// Key of notifications: the identifiers of the objects inserted.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// Key of notifications: the identifiers of the objects updated.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// Key of notifications: the identifiers of the objects deleted.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"

extension NSManagedObjectContext {
  /// Posted when objects have been inserted, changed, deleted or refreshed: by `processPendingChanges()`, by merging, by
  /// `reset()`, after the block of `perform(_:)`, and for a context of the main queue at the end of a turn of its run loop.
  public static let didChangeObjectsNotification = Notification.Name("NSObjectsChangedInManagingContextNotification")
  /// Posted when what another context has saved was taken over; the user info holds identifiers.
  public static let didMergeChangesObjectIDsNotification = Notification.Name(
    "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
  /// Posted before a context saves.
  public static let willSaveObjectsNotification = Notification.Name("NSManagedObjectContextWillSaveNotification")
  /// Posted after a context has saved; the user info holds the objects inserted, updated and deleted.
  public static let didSaveObjectsNotification = Notification.Name("NSManagingContextDidSaveChangesNotification")
  /// Posted after a context has saved; the user info holds identifiers.
  public static let didSaveObjectIDsNotification = Notification.Name(
    "NSManagedObjectContextDidSaveObjectIDsNotification")

  /// The keys of the user info of a context's notifications.
  public enum NotificationKey: String, Sendable {
    /// The objects inserted.
    case insertedObjects = "inserted"
    /// The objects updated.
    case updatedObjects = "updated"
    /// The objects deleted.
    case deletedObjects = "deleted"
    /// The objects refreshed.
    case refreshedObjects = "refreshed"
    /// The identifiers of the objects refreshed.
    case refreshedObjectIDs = "refreshed_objectIDs"
    /// The objects invalidated.
    case invalidatedObjects = "invalidated"
    /// The identifiers of all objects that a context has forgotten, in an array.
    case invalidatedAllObjects = "invalidatedAll"
    /// The identifiers of the objects inserted.
    case insertedObjectIDs = "inserted_objectIDs"
    /// The identifiers of the objects updated.
    case updatedObjectIDs = "updated_objectIDs"
    /// The identifiers of the objects deleted.
    case deletedObjectIDs = "deleted_objectIDs"
  }
}

extension Notification.Name {
  /// Posted when objects of a context have changed.
  public static let NSManagedObjectContextObjectsDidChange = NSManagedObjectContext.didChangeObjectsNotification
  /// Posted when a context has taken over what another one has saved.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs =
    NSManagedObjectContext.didMergeChangesObjectIDsNotification
  /// Posted before a context saves.
  public static let NSManagedObjectContextWillSave = NSManagedObjectContext.willSaveObjectsNotification
  /// Posted after a context has saved.
  public static let NSManagedObjectContextDidSave = NSManagedObjectContext.didSaveObjectsNotification
  /// Posted after a context has saved, with identifiers.
  public static let NSManagedObjectContextDidSaveObjectIDs = NSManagedObjectContext.didSaveObjectIDsNotification
}
