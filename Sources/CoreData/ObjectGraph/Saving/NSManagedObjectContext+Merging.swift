// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Merges what another context has saved to the same stores, possibly through another coordinator.
  ///
  /// Objects with unsaved changes keep them on top of the saved values. Supports the keys of
  /// `mergeChanges(fromRemoteContextSave:into:)`.
  ///
  /// - Parameter notification: the other context's `didSaveObjectsNotification`.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    ConcurrencyDebug.check(self)
    merge(saved(in: notification.userInfo ?? [:]))
  }

  /// Merges what was saved by another context, possibly in another process, into contexts.
  ///
  /// Waits for each context's queue. A context whose parent is also listed is updated after its parent.
  ///
  /// - Parameters:
  ///   - changeNotificationData: a dictionary like a notification's user info, with `NSInsertedObjectsKey`,
  ///     `NSUpdatedObjectsKey`, `NSDeletedObjectsKey`, `NSRefreshedObjectsKey`, `NSInvalidatedObjectsKey`, or the
  ///     corresponding keys for identifiers. The values are arrays or sets of identifiers, of their URIs, or of
  ///     objects. `NSInvalidatedAllObjectsKey` refreshes all objects. Identifiers of stores that a context's
  ///     coordinator does not have are ignored.
  ///   - contexts: the contexts.
  public class func mergeChanges(
    fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
  ) {
    for context in contexts.sorted(by: { $0.depth < $1.depth }) {
      context.performAndWait { context.merge(context.saved(in: changeNotificationData)) }
    }
  }

  /// The number of contexts above this one.
  private var depth: Int { parent.map { $0.depth + 1 } ?? 0 }

  private func saved(in info: [AnyHashable: Any]) -> SavedIdentifiers {
    func ids(_ objectsKey: String, _ idsKey: String) -> [NSManagedObjectID] {
      (elements(info[objectsKey]) + elements(info[idsKey])).compactMap(ownIdentifier)
    }
    return SavedIdentifiers(
      inserted: ids(NSInsertedObjectsKey, NSInsertedObjectIDsKey),
      updated: ids(NSUpdatedObjectsKey, NSUpdatedObjectIDsKey),
      deleted: ids(NSDeletedObjectsKey, NSDeletedObjectIDsKey),
      refreshed: ids(NSRefreshedObjectsKey, NSRefreshedObjectIDsKey),
      invalidated: ids(NSInvalidatedObjectsKey, NSInvalidatedObjectIDsKey),
      concernsAll: info[NSInvalidatedAllObjectsKey] != nil)
  }

  private func elements(_ collection: Any?) -> [Any] {
    switch collection {
    case let set as NSSet: set.allObjects
    case let array as NSArray: Array(array)
    case let set as Set<AnyHashable>: set.map(\.base)
    case let array as [Any]: array
    default: []
    }
  }

  /// Returns this context's identifier for an object, an identifier, or a URI; nil if the coordinator does not have the
  /// store.
  private func ownIdentifier(_ element: Any) -> NSManagedObjectID? {
    switch element {
    case let object as NSManagedObject: ownIdentifier(object.objectID)
    case let id as NSManagedObjectID: ownIdentifier(id)
    case let url as URL: persistentStoreCoordinator?.managedObjectID(forURIRepresentation: url)
    default: nil
    }
  }

  /// Merges what was saved elsewhere into registered objects. Inserted objects become faults, for observers of the
  /// notification.
  func merge(_ saved: SavedIdentifiers) {
    adoptPermanentIDs()
    advanceGeneration()
    prefetchedRows.removeAll()
    let new =
      postsNotifications
      ? saved.inserted.filter { (!$0.current.isTemporaryID || parent != nil) && registry[$0.current.key] == nil } : []
    let added = new.map { object(for: $0) }
    let isAdded = Set(added)
    let concerned = saved.concernsAll ? registry.objects : registered(saved.inserted + saved.updated + saved.refreshed)
    var renewed = concerned.filter { !isAdded.contains($0) && renew($0, keepingChanges: true) }
    let invalidated = registered(saved.invalidated).filter { renew($0, keepingChanges: true) }
    let gone = registered(saved.deleted)
    prepareForMergedDeletion(of: gone)
    for object in gone where object.context === self { forget(object) }
    let unlinked = forgetDestinations(saved.deleted)
    renewed += unlinked.renewed
    let sets = [
      NSInsertedObjectsKey: Set(added), NSUpdatedObjectsKey: Set(unlinked.changed), NSRefreshedObjectsKey: Set(renewed),
      NSInvalidatedObjectsKey: Set(invalidated),
      NSDeletedObjectsKey: Set(gone),
    ].filter { !$0.value.isEmpty }
    if !sets.isEmpty { post(NSManagedObjectContext.didChangeObjectsNotification, sets) }
    let ids: [AnyHashable: Any] = [
      NSInsertedObjectIDsKey: Set(added.map(\.objectID)), NSRefreshedObjectIDsKey: Set(renewed.map(\.objectID)),
      NSUpdatedObjectIDsKey: Set(registered(saved.updated).map(\.objectID)),
      NSInvalidatedObjectIDsKey: Set(invalidated.map(\.objectID)), NSDeletedObjectIDsKey: Set(gone.map(\.objectID)),
    ]
    post(NSManagedObjectContext.didMergeChangesObjectIDsNotification, ids)
    mergeDown(saved)
  }

  private func registered(_ ids: [NSManagedObjectID]) -> [NSManagedObject] {
    ids.compactMap { registry[$0.current.key] }
  }

  /// Removes an object that was deleted elsewhere.
  private func forget(_ gone: NSManagedObject) {
    if !gone.isRealized { gone.loseValues() }
    forgetChanges(of: gone)
    registry.remove(gone)
    gone.changes = .deleted
  }

  /// Removes references to objects that were deleted elsewhere, from unsaved changes and from unchanged objects. A
  /// batch deletion does not report which objects it has changed in addition to those deleted.
  ///
  /// - Returns: those with unsaved changes that have lost a destination, and the unchanged ones, which have become faults.
  private func forgetDestinations(
    _ deleted: [NSManagedObjectID]
  ) -> (changed: [NSManagedObject], renewed: [NSManagedObject]) {
    guard !deleted.isEmpty else { return ([], []) }
    let keys = Set(deleted.map(\.current.key))
    let leading = changed.objects.filter { $0.leads(to: keys) }
    for object in changed.objects { object.forgetMergedDestinations { keys.contains($0.key) } }
    let renewed = registry.objects.filter { !$0.hasChanges && $0.leads(to: keys) && renew($0, keepingChanges: true) }
    return (leading, renewed)
  }
}

extension NSManagedObjectContext: SaveObserver {
  func othersHaveSaved(_ saved: SavedIdentifiers) {
    perform { self.merge(saved) }
  }
}
