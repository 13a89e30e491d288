// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Takes over what another context of the same stores has saved, also one of another coordinator.
  ///
  /// Objects that this context has changed keep their changes, on top of the values that have been saved.
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

  /// The identifier that an object of another coordinator has here; nil where this context's coordinator does not have its
  /// store.
  private func ownIdentifier(_ id: NSManagedObjectID) -> NSManagedObjectID? {
    let current = id.current
    guard let coordinator = persistentStoreCoordinator,
      current.persistentStore?.persistentStoreCoordinator !== coordinator
    else { return current }
    return coordinator.managedObjectID(forURIRepresentation: current.uriRepresentation())
  }

  /// Takes over what was saved elsewhere, for the objects that this context knows. New objects become faults here, which
  /// whoever is told of them may keep.
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
    // Unsaved changes here may have led to rows that are gone now.
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
}
