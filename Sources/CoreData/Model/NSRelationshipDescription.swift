// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// What happens to the objects at the other end of a relationship when an object is deleted.
public enum NSDeleteRule: UInt, Sendable {
  /// Nothing; the other objects keep pointing at what is gone.
  case noActionDeleteRule = 0
  /// The inverse relationship of the other objects is set to nil.
  case nullifyDeleteRule = 1
  /// The other objects are deleted as well.
  case cascadeDeleteRule = 2
  /// The object cannot be deleted while there are others.
  case denyDeleteRule = 3
}

/// A relationship to one object or to many.
open class NSRelationshipDescription: NSPropertyDescription, @unchecked Sendable {
  /// The entity of the objects at the other end. Not retained: the model holds it.
  open var destinationEntity: NSEntityDescription? {
    get { destinationReference?.entity }
    set {
      willEdit()
      destinationReference = newValue?.reference
    }
  }
  private var destinationReference: EntityReference?

  /// The relationship that leads back. Not retained: its entity holds it.
  open weak var inverseRelationship: NSRelationshipDescription? { willSet { willEdit() } }

  /// How many objects there may be at most: 1 makes a to-one relationship, 0 a to-many one without limit.
  open var maxCount = 0 { willSet { willEdit() } }

  /// How many objects there must be, where there are any or the relationship is required.
  open var minCount = 0 { willSet { willEdit() } }

  /// What happens at the other end when an object is deleted; nullify unless set.
  open var deleteRule = NSDeleteRule.nullifyDeleteRule { willSet { willEdit() } }

  /// Whether a to-many relationship keeps its objects in order.
  open var isOrdered = false { willSet { willEdit() } }

  /// Whether more than one object can stand at the other end.
  open var isToMany: Bool { maxCount != 1 }

  internal override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSRelationshipDescription else { return }
    destinationEntity = source.destinationEntity
    inverseRelationship = source.inverseRelationship
    maxCount = source.maxCount
    minCount = source.minCount
    deleteRule = source.deleteRule
    isOrdered = source.isOrdered
  }

  internal override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSRelationshipDescription else { return false }
    return super.hasContent(of: other) && document == other.document
  }
}
