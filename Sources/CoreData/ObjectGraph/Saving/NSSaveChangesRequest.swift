// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A request to save the changes of a context, for an incremental store. The objects belong to their context's queue,
/// which waits for the store.
open class NSSaveChangesRequest: NSPersistentStoreRequest, @unchecked Sendable {
  /// Objects to insert.
  public let insertedObjects: Set<NSManagedObject>?
  /// Objects whose stored values have changed.
  public let updatedObjects: Set<NSManagedObject>?
  /// Objects to delete.
  public let deletedObjects: Set<NSManagedObject>?
  /// Unchanged objects whose rows must not have changed in the store.
  public let lockedObjects: Set<NSManagedObject>?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - insertedObjects: objects to insert.
  ///   - updatedObjects: objects whose stored values have changed.
  ///   - deletedObjects: objects to delete.
  ///   - lockedObjects: unchanged objects whose rows must not have changed in the store.
  public init(
    inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
    deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
  ) {
    self.insertedObjects = insertedObjects
    self.updatedObjects = updatedObjects
    self.deletedObjects = deletedObjects
    self.lockedObjects = lockedObjects
    super.init()
  }

  open override var requestType: NSPersistentStoreRequestType { .saveRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSSaveChangesRequest(
      inserted: insertedObjects, updated: updatedObjects, deleted: deletedObjects, locked: lockedObjects)
    copy.affectedStores = affectedStores
    return copy
  }
}
