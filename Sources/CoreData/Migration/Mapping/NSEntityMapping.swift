// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// What happens to the objects of an entity in a migration.
public enum NSEntityMappingType: UInt, Sendable {
  /// Nothing is said.
  case undefinedEntityMappingType = 0
  /// A policy makes the destination objects.
  case customEntityMappingType = 1
  /// The entity is new in the destination.
  case addEntityMappingType = 2
  /// The entity is not in the destination; its objects are left behind.
  case removeEntityMappingType = 3
  /// The entity is the same on both sides; its objects are copied.
  case copyEntityMappingType = 4
  /// The entity has changed; its objects are mapped property by property.
  case transformEntityMappingType = 5
}

/// How objects of a source entity become objects of a destination entity.
open class NSEntityMapping: NSObject {
  private var declaredName: String?

  /// What happens to the objects.
  open var mappingType = NSEntityMappingType.undefinedEntityMappingType

  /// The name of the source entity; nil for an added entity.
  open var sourceEntityName: String?

  /// The version hash that the source entity must have.
  open var sourceEntityVersionHash: Data?

  /// The name of the destination entity; nil for a removed entity.
  open var destinationEntityName: String?

  /// The version hash that the destination entity must have.
  open var destinationEntityVersionHash: Data?

  /// How attributes get their values, in the order of processing.
  open var attributeMappings: [NSPropertyMapping]?

  /// How relationships get their objects, in the order of processing.
  open var relationshipMappings: [NSPropertyMapping]?

  /// The class of the migration policy; nil for `NSEntityMigrationPolicy`. A custom mapping needs one.
  open var entityMigrationPolicyClassName: String?

  /// Anything the developer wants to keep with the mapping.
  ///
  /// An inferred mapping holds the names of properties here, as sets: `mappedProperties`, `addedProperties`,
  /// `removedProperties`.
  open var userInfo: [AnyHashable: Any]?

  /// The tree of the expression that gives the source objects.
  internal var sourceSyntax: ExpressionSyntax?

  /// What gives the source objects: a fetch request expression, or anything that gives a collection.
  open var sourceExpression: NSExpression? {
    get { sourceSyntax.map { NSExpression(syntax: $0) } }
    set { sourceSyntax = newValue?.syntax }
  }

  /// Makes a mapping of undefined type.
  public override init() {
    super.init()
  }

  /// The mapping's name, by which expressions refer to it; `SOURCE->DESTINATION` unless set.
  open var name: String! {
    get { declaredName ?? "\(sourceEntityName ?? "")->\(destinationEntityName ?? "")" }
    set { declaredName = newValue }
  }

  open override var description: String {
    "(\(type(of: self)) \(name ?? ""))"
  }
}
