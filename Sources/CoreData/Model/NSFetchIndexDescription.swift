// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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

  /// Makes an index over elements.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    self.name = name
    super.init()
    self.elements = elements ?? []
  }

  /// The elements, the most significant first. Setting traps if binary and R-tree elements are mixed.
  open var elements: [NSFetchIndexElementDescription] {
    get { parts }
    set {
      willEdit()
      precondition(
        Set(newValue.map(\.collationType)).count < 2,
        "The elements of the index '\(name)' must be either all binary or all R-tree elements.")
      for element in parts { element.owningIndex = nil }
      parts = newValue
      for element in parts { element.owningIndex = self }
    }
  }

  /// The entity that the index belongs to.
  open var entity: NSEntityDescription? { owningEntity }

  /// Returns a copy over the same properties, without an entity.
  open func copy(with zone: NSZone? = nil) -> Any {
    copy { $0 }
  }

  /// Returns a copy over other properties, those of a copied entity.
  func copy(
    over property: (NSPropertyDescription) -> NSPropertyDescription?
  ) -> NSFetchIndexDescription {
    let copy = NSFetchIndexDescription(
      name: name, elements: parts.map { $0.copy(over: $0.indexedProperty.flatMap(property)) })
    copy.partialIndexSyntax = partialIndexSyntax
    return copy
  }

  func willEdit(_ member: String = #function) {
    owningEntity?.willEdit("index \(name).\(member)")
  }

  var document: FetchIndexDocument {
    FetchIndexDocument(name: name, elements: parts.map(\.document), partialIndexPredicate: partialIndexSyntax)
  }
}

extension NSFetchIndexDescription {
  /// The predicate of the rows that a partial index contains. Setting traps for a block predicate.
  public var partialIndexPredicate: NSPredicate? {
    get { partialIndexSyntax.map { NSPredicate.make($0) } }
    set { partialIndexSyntax = newValue.map { PredicateSyntax($0, in: "The index '\(name)'") } }
  }
}
