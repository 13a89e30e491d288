// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// An index that makes fetches of an entity faster. Not part of version hashes.
open class NSFetchIndexDescription: NSObject, NSCopying, @unchecked Sendable {
  internal var owningEntity: NSEntityDescription? {
    get { owningEntityReference?.entity }
    set { owningEntityReference = newValue?.reference }
  }
  private var owningEntityReference: EntityReference?
  private var parts: [NSFetchIndexElementDescription] = []

  /// The index's name.
  open var name: String { willSet { willEdit() } }

  internal var partialIndexSyntax: PredicateSyntax? { willSet { willEdit("partialIndexPredicate") } }

  /// Makes an index over the elements.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    self.name = name
    super.init()
    self.elements = elements ?? []
  }

  /// What is indexed, the most important first. Traps when binary elements are mixed with those of a range tree.
  open var elements: [NSFetchIndexElementDescription] {
    get { parts }
    set {
      willEdit()
      precondition(
        Set(newValue.map(\.collationType)).count < 2,
        "The elements of the index '\(name)' must be either all binary or all of a range tree.")
      for element in parts { element.owningIndex = nil }
      parts = newValue
      for element in parts { element.owningIndex = self }
    }
  }

  /// The entity that the index belongs to.
  open var entity: NSEntityDescription? { owningEntity }

  /// A copy over the same properties that belongs to no entity.
  open func copy(with zone: NSZone? = nil) -> Any {
    copy { $0 }
  }

  /// A copy over other properties: those of a copied entity.
  internal func copy(
    over property: (NSPropertyDescription) -> NSPropertyDescription?
  ) -> NSFetchIndexDescription {
    let copy = NSFetchIndexDescription(
      name: name, elements: parts.map { $0.copy(over: $0.indexedProperty.flatMap(property)) })
    copy.partialIndexSyntax = partialIndexSyntax
    return copy
  }

  internal func willEdit(_ member: String = #function) {
    owningEntity?.willEdit("index \(name).\(member)")
  }

  internal var document: FetchIndexDocument {
    FetchIndexDocument(name: name, elements: parts.map(\.document), partialIndexPredicate: partialIndexSyntax)
  }
}
