// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The effect of deleting an object on the destinations of its relationship.
public enum NSDeleteRule: UInt, Sendable {
  /// None: the destinations keep referring to the deleted object.
  case noActionDeleteRule = 0
  /// The deleted object is removed from the inverse relationship of the destinations.
  case nullifyDeleteRule = 1
  /// The destinations are deleted as well.
  case cascadeDeleteRule = 2
  /// The object cannot be deleted while there are destinations.
  case denyDeleteRule = 3
}

/// A to-one or to-many relationship.
open class NSRelationshipDescription: NSPropertyDescription, @unchecked Sendable {
  /// The entity of the destinations. Not retained.
  open var destinationEntity: NSEntityDescription? {
    get { destinationReference?.entity }
    set {
      willEdit()
      destinationReference = newValue?.reference
    }
  }
  private var destinationReference: EntityReference?

  /// The inverse relationship. Not retained.
  open weak var inverseRelationship: NSRelationshipDescription? { willSet { willEdit() } }

  /// The maximum number of destinations: 1 for a to-one relationship, 0 for a to-many one without a limit.
  open var maxCount = 0 { willSet { willEdit() } }

  /// The minimum number of destinations, if there are any or the relationship is not optional.
  open var minCount = 0 { willSet { willEdit() } }

  /// The effect of deleting an object on the destinations; by default they are nullified.
  open var deleteRule = NSDeleteRule.nullifyDeleteRule { willSet { willEdit() } }

  /// Whether a to-many relationship is ordered.
  open var isOrdered = false { willSet { willEdit() } }

  /// Whether there can be more than one destination.
  open var isToMany: Bool { maxCount != 1 }

  /// The version hash of the relationship, 32 bytes. Depends on the common members of properties, the names of the
  /// destination and the inverse, the limits of the number of destinations, and the order.
  open override var versionHash: Data { super.versionHash }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSRelationshipDescription else { return }
    destinationEntity = source.destinationEntity
    inverseRelationship = source.inverseRelationship
    maxCount = source.maxCount
    minCount = source.minCount
    deleteRule = source.deleteRule
    isOrdered = source.isOrdered
  }

  override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSRelationshipDescription else { return false }
    return super.hasContent(of: other) && document == other.document
  }
}
