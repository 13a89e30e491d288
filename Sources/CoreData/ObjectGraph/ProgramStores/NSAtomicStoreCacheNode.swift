// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An object in an atomic store: its identifier and its values.
open class NSAtomicStoreCacheNode: NSObject {
  /// The identifier of the object.
  public let objectID: NSManagedObjectID

  /// The values by property name; nil if there are none. A related object is represented by its node, several by a set
  /// or ordered set of nodes.
  open var propertyCache: NSMutableDictionary?

  /// Creates a node without values.
  ///
  /// - Parameter moid: the identifier of the object.
  public init(objectID moid: NSManagedObjectID) {
    objectID = moid
    super.init()
  }

  /// Returns a value; nil if there is none.
  ///
  /// - Parameter key: the name of an attribute or relationship.
  open func value(forKey key: String) -> Any? {
    let value = propertyCache?.object(forKey: key)
    return value is NSNull ? nil : value
  }

  /// Sets a value.
  ///
  /// - Parameters:
  ///   - value: the value; nil to remove it. For a relationship, a node, or a set or ordered set of nodes.
  ///   - key: the name of an attribute or relationship.
  open func setValue(_ value: Any?, forKey key: String) {
    guard let value else {
      propertyCache?.removeObject(forKey: key)
      return
    }
    if propertyCache == nil { propertyCache = NSMutableDictionary() }
    propertyCache?[key] = value
  }
}
