// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The type of a request to a store.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// An `NSFetchRequest`.
  case fetchRequestType = 1
  /// A save of a context's changes.
  case saveRequestType = 2
  /// A batch insertion.
  case batchInsertRequestType = 5
  /// A batch update.
  case batchUpdateRequestType = 6
  /// A batch deletion.
  case batchDeleteRequestType = 7
}

/// A request to persistent stores: the superclass of fetch, save and batch requests.
open class NSPersistentStoreRequest: NSObject, NSCopying, @unchecked Sendable {
  /// The stores to query; nil for all stores that hold the entity.
  open var affectedStores: [NSPersistentStore]?

  /// The type of the request.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// Makes a request to all stores.
  public override init() {
    super.init()
  }

  /// Returns an independent copy.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreRequest()
    copy.affectedStores = affectedStores
    return copy
  }
}
