// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Takes over what another context of the same stores has saved.
  ///
  /// Objects that this context has changed keep their changes, on top of the values that have been saved.
  ///
  /// - Parameter notification: the other context's `didSaveObjectsNotification`.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    func ids(_ objectsKey: String, _ idsKey: String) -> [NSManagedObjectID] {
      let objects = notification.userInfo?[objectsKey] as? Set<NSManagedObject> ?? []
      let known = notification.userInfo?[idsKey] as? Set<NSManagedObjectID> ?? []
      return objects.map(\.objectID) + known
    }
    merge(
      changed: ids(NSInsertedObjectsKey, NSInsertedObjectIDsKey) + ids(NSUpdatedObjectsKey, NSUpdatedObjectIDsKey),
      deleted: ids(NSDeletedObjectsKey, NSDeletedObjectIDsKey))
  }

  /// Takes over what was saved elsewhere, for the objects that this context knows.
  func merge(changed: [NSManagedObjectID], deleted: [NSManagedObjectID]) {
    for id in changed {
      if let object = registeredObject(for: id) { refresh(object, mergeChanges: true) }
    }
    for id in deleted {
      guard let object = registeredObject(for: id) else { continue }
      forgetChanges(of: object)
      registry.remove(id.key)
      object.changes = .deleted
      object.context = nil
    }
  }
}
