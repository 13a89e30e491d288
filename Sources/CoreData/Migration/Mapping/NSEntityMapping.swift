// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The kind of an entity mapping.
public enum NSEntityMappingType: UInt, Sendable {
  /// Not specified.
  case undefinedEntityMappingType = 0
  /// A policy creates the destination objects.
  case customEntityMappingType = 1
  /// The entity is new in the destination.
  case addEntityMappingType = 2
  /// The entity does not exist in the destination; its objects are dropped.
  case removeEntityMappingType = 3
  /// The entity is the same on both sides; its objects are copied.
  case copyEntityMappingType = 4
  /// The entity has changed; its objects are mapped property by property.
  case transformEntityMappingType = 5
}

/// The mapping of a source entity to a destination entity.
open class NSEntityMapping: NSObject {
  private var declaredName: String?

  /// The kind of the mapping.
  open var mappingType = NSEntityMappingType.undefinedEntityMappingType

  /// The name of the source entity; nil for an added entity.
  open var sourceEntityName: String?

  /// The version hash that the source entity must have.
  open var sourceEntityVersionHash: Data?

  /// The name of the destination entity; nil for a removed entity.
  open var destinationEntityName: String?

  /// The version hash that the destination entity must have.
  open var destinationEntityVersionHash: Data?

  /// The attribute mappings, in processing order.
  open var attributeMappings: [NSPropertyMapping]?

  /// The relationship mappings, in processing order.
  open var relationshipMappings: [NSPropertyMapping]?

  /// The class of the migration policy; nil for `NSEntityMigrationPolicy`. A custom mapping needs one.
  open var entityMigrationPolicyClassName: String?

  /// Custom information; empty by default.
  ///
  /// An inferred mapping holds the names of properties here, as sets: `mappedProperties`, `addedProperties`,
  /// `removedProperties`.
  open var userInfo: [AnyHashable: Any]? = [:]

  /// The syntax tree of `sourceExpression`.
  package internal(set) var sourceSyntax: ExpressionSyntax?

  /// The expression for the source objects: a fetch request expression, or any expression that returns a collection.
  open var sourceExpression: NSExpression? {
    get { sourceSyntax.map { NSExpression(syntax: $0) } }
    set { sourceSyntax = newValue?.syntax }
  }

  /// Creates a mapping of undefined type.
  public override init() {
    super.init()
  }

  /// The name by which expressions refer to the mapping; `SOURCE->DESTINATION` unless set.
  open var name: String! {
    get { declaredName ?? "\(sourceEntityName ?? "")->\(destinationEntityName ?? "")" }
    set { declaredName = newValue }
  }

  open override var description: String { "(\(type(of: self)) \(name ?? ""))" }

  /// Returns whether another object is a mapping of the same class with the same content.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSEntityMapping, type(of: self) == type(of: other) else { return false }
    return self === other
      || plain == other.plain && attributeMappings ?? [] == other.attributeMappings ?? []
        && relationshipMappings ?? [] == other.relationshipMappings ?? []
        && NSDictionary(dictionary: userInfo ?? [:]).isEqual(to: other.userInfo ?? [:])
  }

  open override var hash: Int { name.hashValue }

  /// The mapping without its user info and its properties, which are compared separately.
  private var plain: EntityMappingDocument {
    var plain = document
    (plain.userInfo, plain.attributeMappings, plain.relationshipMappings) = ([:], [], [])
    return plain
  }
}

extension NSEntityMapping {
  /// Whether the mapping copies all properties, because it has the copy type and no property mappings.
  package var copiesAll: Bool {
    mappingType == .copyEntityMappingType && (attributeMappings ?? []).isEmpty && (relationshipMappings ?? []).isEmpty
  }

  /// Returns the mapping's attribute mappings, or mappings that copy all attributes.
  func attributeMappings(from source: NSEntityDescription?, to destination: NSEntityDescription?) -> [NSPropertyMapping]
  {
    guard copiesAll, let source, let destination else { return attributeMappings ?? [] }
    let names = destination.attributesByName.filter { name, attribute in
      !attribute.isTransient && !(attribute is NSDerivedAttributeDescription)
        && source.attributesByName[name]?.isTransient == false
    }.keys
    return names.sorted().map { Self.copying($0, MappingExpressions.sourceValue($0)) }
  }

  /// Returns the mapping's relationship mappings, or mappings that copy all relationships.
  func relationshipMappings(
    from source: NSEntityDescription?, to destination: NSEntityDescription?
  ) -> [NSPropertyMapping] {
    guard copiesAll, let source, let destination else { return relationshipMappings ?? [] }
    let names = destination.relationshipsByName.filter { name, relationship in
      !relationship.isTransient && source.relationshipsByName[name]?.isTransient == false
    }.keys
    return names.sorted().map { Self.copying($0, MappingExpressions.destinationObjects(relationship: $0)) }
  }

  private static func copying(_ name: String, _ value: ExpressionSyntax) -> NSPropertyMapping {
    let mapping = NSPropertyMapping()
    mapping.name = name
    mapping.valueSyntax = value
    return mapping
  }

  /// Returns the source entities whose rows the mapping covers.
  package func coveredEntities(of source: NSManagedObjectModel) -> Set<String> {
    guard mappingType != .addEntityMappingType else { return [] }
    var taken = Set([sourceEntityName].compactMap { $0 })
    guard case .fetch(let request, _, _)? = sourceSyntax else { return taken }
    switch request {
    case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments):
      if case .constant(.string(let name))? = arguments.first { taken.insert(name) }
    default:
      // Any other request may include sub-entities.
      let entity = sourceEntityName.flatMap { source.entitiesByName[$0] }
      taken.formUnion((entity?.descendants ?? []).compactMap(\.name))
    }
    return taken
  }
}

extension NSMappingModel {
  /// Returns the source entities whose rows some entity mapping covers, by migrating them, passing them to a policy, or
  /// removing them.
  package func coveredEntities(of source: NSManagedObjectModel) -> Set<String> {
    (entityMappings ?? []).reduce(into: []) { $0.formUnion($1.coveredEntities(of: source)) }
  }
}

extension NSEntityDescription {
  /// All direct and indirect sub-entities.
  fileprivate var descendants: [NSEntityDescription] { subentities.flatMap { [$0] + $0.descendants } }
}

/// The mapping of a property of a destination entity, which provides its value.
open class NSPropertyMapping: NSObject {
  /// The name of the property in the destination entity.
  open var name: String?

  /// Custom information; empty by default.
  open var userInfo: [AnyHashable: Any]? = [:]

  /// The syntax tree of the value's expression; nil if the property keeps its default value.
  package internal(set) var valueSyntax: ExpressionSyntax?

  /// The expression for the value; nil if the property keeps its default value.
  open var valueExpression: NSExpression? {
    get { valueSyntax.map { NSExpression(syntax: $0) } }
    set { valueSyntax = newValue?.syntax }
  }

  /// Creates a mapping without a name and a value.
  public override init() {
    super.init()
  }

  open override var description: String { "(\(type(of: self)) \(name ?? ""))" }

  /// Returns whether another object is a mapping of the same class with the same content.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPropertyMapping, type(of: self) == type(of: other) else { return false }
    return self === other
      || name == other.name && valueSyntax == other.valueSyntax
        && NSDictionary(dictionary: userInfo ?? [:]).isEqual(to: other.userInfo ?? [:])
  }

  open override var hash: Int { name.hashValue }
}
