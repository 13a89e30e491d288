// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The data structure of an index element.
public enum NSFetchIndexElementType: UInt, Sendable {
  /// A B-tree.
  case binary = 0
  /// An R-tree, for numbers of at most 32 bits.
  case rTree = 1
}

/// An element of a fetch index.
open class NSFetchIndexElementDescription: NSObject, NSCopying, @unchecked Sendable {
  weak var owningIndex: NSFetchIndexDescription?
  var indexedProperty: NSPropertyDescription?

  /// The data structure of the element.
  open var collationType: NSFetchIndexElementType { willSet { owningIndex?.willEdit() } }

  /// Whether smaller values come first; true by default.
  open var isAscending = true { willSet { owningIndex?.willEdit() } }

  /// Makes an element over a property, or over an expression given as an `NSExpressionDescription`.
  public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
    indexedProperty = property
    self.collationType = collationType
    super.init()
    (property as? NSExpressionDescription)?.owningElement = self
  }

  /// The indexed property.
  open var property: NSPropertyDescription? { indexedProperty }

  /// The name of the indexed property.
  open var propertyName: String? { indexedProperty?.name }

  /// The index that the element belongs to.
  open var indexDescription: NSFetchIndexDescription? { owningIndex }

  /// Returns a copy over the same property, without an index.
  open func copy(with zone: NSZone? = nil) -> Any {
    copy(over: indexedProperty)
  }

  func copy(over property: NSPropertyDescription?) -> NSFetchIndexElementDescription {
    let copy = NSFetchIndexElementDescription(
      property: property ?? NSPropertyDescription(), collationType: collationType)
    copy.indexedProperty = property
    copy.isAscending = isAscending
    return copy
  }

  var document: FetchIndexElementDocument {
    FetchIndexElementDocument(
      propertyName: propertyName ?? "", expression: (indexedProperty as? NSExpressionDescription)?.syntax,
      isRTree: collationType == .rTree, isAscending: isAscending)
  }
}
