// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// An index that speeds up fetches of an entity. Not part of version hashes.
open class NSFetchIndexDescription: NSObject, NSCopying, @unchecked Sendable {
  var owningEntity: NSEntityDescription? {
    get { owningEntityReference?.entity }
    set { owningEntityReference = newValue?.reference }
  }
  private var owningEntityReference: EntityReference?
  private var parts: [NSFetchIndexElementDescription] = []

  /// The index's name.
  open var name: String { willSet { willEdit() } }

  var partialIndexSyntax: PredicateSyntax? { willSet { willEdit("partialIndexPredicate") } }

  /// Creates an index over elements.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    self.name = name
    super.init()
    self.elements = elements ?? []
  }

  /// The elements, most significant first. Setting it traps if binary and R-tree elements are mixed.
  open var elements: [NSFetchIndexElementDescription] {
    get { parts }
    set {
      willEdit()
      trap(
        unless: Set(newValue.map(\.collationType)).count < 2,
        "The elements of the index '\(name)' must be either all binary or all R-tree elements.")
      for element in parts { element.owningIndex = nil }
      parts = newValue
      for element in parts { element.owningIndex = self }
    }
  }

  /// The entity that the index belongs to.
  open var entity: NSEntityDescription? { owningEntity }

  /// Returns a copy over the same properties, without an entity.
  open func copy(with zone: NSZone? = nil) -> Any { copy { $0 } }

  /// Returns a copy over the properties of a copied entity.
  func copy(
    over property: (NSPropertyDescription) -> NSPropertyDescription?
  ) -> NSFetchIndexDescription {
    let copy = NSFetchIndexDescription(
      name: name, elements: parts.map { $0.copy(over: $0.indexedProperty.flatMap(property)) })
    copy.partialIndexSyntax = partialIndexSyntax
    return copy
  }

  func willEdit(_ member: String = #function) { owningEntity?.willEdit("index \(name).\(member)") }

  var document: FetchIndexDocument {
    FetchIndexDocument(name: name, elements: parts.map(\.document), partialIndexPredicate: partialIndexSyntax)
  }
}

extension NSFetchIndexDescription {
  /// The predicate for the rows of a partial index. Setting it traps for a block predicate.
  public var partialIndexPredicate: NSPredicate? {
    get { partialIndexSyntax.map { NSPredicate.make($0) } }
    set { partialIndexSyntax = newValue.map { PredicateSyntax($0, in: "The index '\(name)'") } }
  }
}

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

  /// Creates an element for a property, or for an expression given as an `NSExpressionDescription`.
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
  open func copy(with zone: NSZone? = nil) -> Any { copy(over: indexedProperty) }

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
