// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What kind of request a store is given.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// An `NSFetchRequest`.
  case fetchRequestType = 1
  /// The changes of a context.
  case saveRequestType = 2
  /// A batch insertion.
  case batchInsertRequestType = 5
  /// A batch update.
  case batchUpdateRequestType = 6
  /// A batch deletion.
  case batchDeleteRequestType = 7
}

/// What is asked of a persistent store: the base class of fetch, save and batch requests.
open class NSPersistentStoreRequest: NSObject, NSCopying, @unchecked Sendable {
  /// The stores to ask; nil for all stores that hold the entity.
  open var affectedStores: [NSPersistentStore]?

  /// Which kind of request this is.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// Makes a request to all stores.
  public override init() {
    super.init()
  }

  /// A copy that can be changed by itself.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreRequest()
    copy.affectedStores = affectedStores
    return copy
  }
}
