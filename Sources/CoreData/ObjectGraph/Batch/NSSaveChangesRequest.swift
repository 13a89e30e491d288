// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The changes of a context that are to be written to the stores.
open class NSSaveChangesRequest: NSPersistentStoreRequest, @unchecked Sendable {
  /// The objects to insert.
  public let insertedObjects: Set<NSManagedObject>?
  /// The objects to update.
  public let updatedObjects: Set<NSManagedObject>?
  /// The objects to delete.
  public let deletedObjects: Set<NSManagedObject>?
  /// The objects whose rows must not have changed since they were read.
  public let lockedObjects: Set<NSManagedObject>?

  open override var requestType: NSPersistentStoreRequestType { .saveRequestType }

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - insertedObjects: the objects to insert.
  ///   - updatedObjects: the objects to update.
  ///   - deletedObjects: the objects to delete.
  ///   - lockedObjects: the objects whose rows must not have changed since they were read.
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

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSSaveChangesRequest(
      inserted: insertedObjects, updated: updatedObjects, deleted: deletedObjects, locked: lockedObjects)
    copy.affectedStores = affectedStores
    return copy
  }
}
