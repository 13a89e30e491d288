// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// How the values of an index element are kept.
public enum NSFetchIndexElementType: UInt, Sendable {
  /// In order.
  case binary = 0
  /// In a tree of ranges, for numbers of at most 32 bits.
  case rTree = 1
}

/// One element of a fetch index.
open class NSFetchIndexElementDescription: NSObject, NSCopying, @unchecked Sendable {
  internal weak var owningIndex: NSFetchIndexDescription?
  internal var indexedProperty: NSPropertyDescription?

  /// How the values are kept.
  open var collationType: NSFetchIndexElementType { willSet { owningIndex?.willEdit() } }

  /// Whether smaller values come first; true unless set.
  open var isAscending = true { willSet { owningIndex?.willEdit() } }

  /// Makes an element over a property, or over an expression given as an `NSExpressionDescription`.
  public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
    indexedProperty = property
    self.collationType = collationType
    super.init()
    (property as? NSExpressionDescription)?.owningElement = self
  }

  /// The property that is indexed.
  open var property: NSPropertyDescription? { indexedProperty }

  /// The name of the property that is indexed.
  open var propertyName: String? { indexedProperty?.name }

  /// The index that the element belongs to.
  open var indexDescription: NSFetchIndexDescription? { owningIndex }

  /// A copy over the same property that belongs to no index.
  open func copy(with zone: NSZone? = nil) -> Any {
    copy(over: indexedProperty)
  }

  internal func copy(over property: NSPropertyDescription?) -> NSFetchIndexElementDescription {
    let copy = NSFetchIndexElementDescription(
      property: property ?? NSPropertyDescription(), collationType: collationType)
    copy.indexedProperty = property
    copy.isAscending = isAscending
    return copy
  }

  internal var document: FetchIndexElementDocument {
    FetchIndexElementDocument(
      propertyName: propertyName ?? "", expression: (indexedProperty as? NSExpressionDescription)?.syntax,
      isRTree: collationType == .rTree, isAscending: isAscending)
  }
}
