// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An object returned by an incremental store: its identifier, its values and its version.
open class NSIncrementalStoreNode: NSObject, @unchecked Sendable {
  /// The identifier of the object.
  public let objectID: NSManagedObjectID
  /// The version of the object in the store, which changes with its values.
  public var version: UInt64 { content.version }

  private struct Content {
    var values: [String: Any]
    var version: UInt64
  }

  private let content: Guarded<Content>

  /// Creates a node.
  ///
  /// - Parameters:
  ///   - objectID: the identifier of the object.
  ///   - values: the values of attributes, and the identifiers of to-one relationships' destinations, by property name;
  ///     `NSNull` for missing ones.
  ///   - version: the version of the object in the store.
  public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
    self.objectID = objectID
    content = Guarded(Content(values: values, version: version))
    super.init()
  }

  /// Replaces the values and the version.
  ///
  /// - Parameters:
  ///   - values: the values, as for `init(objectID:withValues:version:)`.
  ///   - version: the version of the object in the store.
  open func update(withValues values: [String: Any], version: UInt64) {
    content.value = Content(values: values, version: version)
  }

  /// Returns the value of a property: for a relationship, the identifier of its destination, `NSNull` if there is none,
  /// or nil if the store must be asked.
  ///
  /// - Parameter prop: an attribute or a relationship of the object.
  open func value(for prop: NSPropertyDescription) -> Any? { content.values[prop.name] }
}
