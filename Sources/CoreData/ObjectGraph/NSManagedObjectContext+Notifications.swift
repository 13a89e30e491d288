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
/// Key of notifications: an array of the identifiers of all objects forgotten by a reset.
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
  /// Posted when objects have been inserted, changed, deleted or refreshed: by `processPendingChanges()`, merging,
  /// refreshing and `reset()`, after the block of `perform(_:)`, and for a main queue context at the end of a turn of
  /// the run loop.
  public static let didChangeObjectsNotification = Notification.Name("NSObjectsChangedInManagingContextNotification")
  /// Posted after a context has merged what another one has saved; the user info holds identifiers.
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
    /// An array of the identifiers of all objects forgotten by a reset.
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
  /// Posted after objects of a context have changed.
  public static let NSManagedObjectContextObjectsDidChange = NSManagedObjectContext.didChangeObjectsNotification
  /// Posted after a context has merged what another one has saved.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs =
    NSManagedObjectContext.didMergeChangesObjectIDsNotification
  /// Posted before a context saves.
  public static let NSManagedObjectContextWillSave = NSManagedObjectContext.willSaveObjectsNotification
  /// Posted after a context has saved.
  public static let NSManagedObjectContextDidSave = NSManagedObjectContext.didSaveObjectsNotification
  /// Posted after a context has saved, with identifiers.
  public static let NSManagedObjectContextDidSaveObjectIDs = NSManagedObjectContext.didSaveObjectIDsNotification
}

extension NSManagedObjectContext {
  /// Merges what another context has saved to the same stores, possibly through another coordinator.
  ///
  /// Objects with unsaved changes keep these on top of the saved values.
  ///
  /// - Parameter notification: the other context's `didSaveObjectsNotification`.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    func ids(_ objectsKey: String, _ idsKey: String) -> [NSManagedObjectID] {
      let objects = notification.userInfo?[objectsKey] as? Set<NSManagedObject> ?? []
      let known = notification.userInfo?[idsKey] as? Set<NSManagedObjectID> ?? []
      return (objects.map(\.objectID) + known).compactMap(ownIdentifier)
    }
    merge(
      inserted: ids(NSInsertedObjectsKey, NSInsertedObjectIDsKey),
      updated: ids(NSUpdatedObjectsKey, NSUpdatedObjectIDsKey),
      deleted: ids(NSDeletedObjectsKey, NSDeletedObjectIDsKey))
  }

  /// Translates an identifier of another coordinator; nil if this context's coordinator does not have the store.
  private func ownIdentifier(_ id: NSManagedObjectID) -> NSManagedObjectID? {
    let current = id.current
    guard let coordinator = persistentStoreCoordinator,
      current.persistentStore?.persistentStoreCoordinator !== coordinator
    else { return current }
    return coordinator.managedObjectID(forURIRepresentation: current.uriRepresentation())
  }

  /// Merges what was saved elsewhere into registered objects. Inserted objects become faults, for observers of the
  /// notification.
  func merge(inserted: [NSManagedObjectID], updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) {
    readAhead = [:]
    let new = postsNotifications ? inserted.filter { !$0.current.isTemporaryID && registry[$0.current.key] == nil } : []
    let added = new.map { object(for: $0) }
    let isAdded = Set(added)
    let renewed = (inserted + updated).compactMap { registry[$0.current.key] }.filter {
      !isAdded.contains($0) && renew($0, keepingChanges: true)
    }
    let gone = deleted.compactMap { registry[$0.current.key] }
    let keys = Set(gone.map(\.identifier.key))
    for object in gone {
      if !object.isRealized { object.loseValues() }
      forgetChanges(of: object)
      registry.remove(object)
      object.changes = .deleted
    }
    // Unsaved changes may refer to rows that are gone now.
    if !keys.isEmpty {
      for object in self.changed.objects { object.forgetDestinations { keys.contains($0.key) } }
    }
    let sets = [
      NSInsertedObjectsKey: Set(added), NSRefreshedObjectsKey: Set(renewed), NSDeletedObjectsKey: Set(gone),
    ].filter { !$0.value.isEmpty }
    if !sets.isEmpty { post(NSManagedObjectContext.didChangeObjectsNotification, sets) }
    let ids: [AnyHashable: Any] = [
      NSInsertedObjectIDsKey: Set(added.map(\.objectID)), NSRefreshedObjectIDsKey: Set(renewed.map(\.objectID)),
      NSDeletedObjectIDsKey: Set(gone.map(\.objectID)),
    ]
    post(NSManagedObjectContext.didMergeChangesObjectIDsNotification, ids)
  }

  /// Posts a notification of this context, unless the context posts none.
  func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
    guard postsNotifications else { return }
    NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
  }
}
