// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The entities of a version of an app's data, built from its model types.
///
/// A schema evaluates the initial values of properties when it is built, so that `= Date()` in a declaration becomes the
/// default of new rows at that moment.
public final class Schema: @unchecked Sendable {
  // Entities are changed only while the schema is built.

  /// The entities, in the order of their names.
  public let entities: [Entity]
  /// The version; 1.0.0 unless stated.
  public let version: Version
  /// The version of the form in which the schema is saved.
  public let encodingVersion: Version
  /// The first problem found while the schema was built; thrown by whatever uses the schema.
  package let issue: (any Error)?

  /// The version of the form in which schemas are saved.
  public static let schemaEncodingVersion = Version(1, 0, 0)

  /// Creates a schema without entities.
  public convenience init() { self.init(entities: [], version: Version(1, 0, 0)) }

  /// Creates a schema from entities.
  public convenience init(_ entities: Entity..., version: Version = Version(1, 0, 0)) {
    self.init(entities: entities, version: version)
  }

  /// Creates a schema from model types and the types that their relationships reach.
  ///
  /// A type that cannot be stored does not trap here: making a container with the schema throws the reason.
  ///
  /// - Parameters:
  ///   - types: the model types.
  ///   - version: the version.
  public convenience init(_ types: [any PersistentModel.Type], version: Version = Version(1, 0, 0)) {
    var builder = SchemaBuilder()
    builder.add(types)
    let result = builder.build()
    self.init(entities: result.entities, version: version, issue: result.issue)
  }

  /// Creates a schema from model types and the types that their relationships reach.
  public convenience init(_ types: any PersistentModel.Type..., version: Version = Version(1, 0, 0)) {
    self.init(types, version: version)
  }

  /// Creates the schema of a version.
  public convenience init(versionedSchema: any VersionedSchema.Type) {
    self.init(versionedSchema.models, version: versionedSchema.versionIdentifier)
  }

  init(
    entities: [Entity], version: Version, encodingVersion: Version = Schema.schemaEncodingVersion,
    issue: (any Error)? = nil
  ) {
    self.entities = entities.sorted { $0.name < $1.name }
    self.version = version
    self.encodingVersion = encodingVersion
    self.issue = issue
  }

  /// The entities by name.
  public var entitiesByName: [String: Entity] {
    Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the entity of a model type; nil if the schema lacks it.
  ///
  /// An entity of the same name that belongs to another type, such as that of another version, is not returned.
  public func entity<T: PersistentModel>(for type: T.Type) -> Entity? { entity(of: type) }

  /// Returns the name of a model type's entity: the name of the type without the types that enclose it.
  public static func entityName<T: PersistentModel>(for type: T.Type) -> String { String(describing: type) }

  func entity(of type: any PersistentModel.Type) -> Entity? {
    entities.first { entity in
      guard let own = entity.type else { return entity.name == String(describing: type) }
      return ObjectIdentifier(own) == ObjectIdentifier(type)
    }
  }
}

extension Schema: Hashable {
  /// Returns whether both have equal entities and versions.
  public static func == (left: Schema, right: Schema) -> Bool {
    left === right || (left.version == right.version && left.entities == right.entities)
  }

  /// Hashes the version and the names of the entities.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(version)
    hasher.combine(entities.map(\.name))
  }
}

extension Schema: CustomDebugStringConvertible {
  /// One line for each entity and property.
  public var debugDescription: String {
    (["Schema \(version)"] + entities.map { String(reflecting: $0) }).joined(separator: "\n")
  }
}

extension Schema {
  /// A version, such as 1.2.0.
  public struct Version: Codable, Comparable, Hashable, CustomStringConvertible, Sendable {
    /// The first number.
    public let major: Int
    /// The second number.
    public let minor: Int
    /// The third number.
    public let patch: Int

    /// Creates a version.
    public init(_ major: Int, _ minor: Int, _ patch: Int) {
      (self.major, self.minor, self.patch) = (major, minor, patch)
    }

    /// The numbers, separated by dots.
    public var description: String { "\(major).\(minor).\(patch)" }

    /// Orders by the major number, then the minor one, then the patch.
    public static func < (left: Version, right: Version) -> Bool {
      (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }
  }

  /// A property as `@Model` describes it.
  public struct PropertyMetadata {
    /// The property's name.
    public let name: String
    /// The key path of the property, whose types are those of the model class and of the values.
    public let keypath: AnyKeyPath
    /// The initial value in the declaration; nil if there is none.
    public let defaultValue: Any?
    /// The `@Attribute` or `@Relationship` of the property, or the constraints or indexes that stand in its place.
    public let metadata: (any SchemaProperty)?

    /// Creates the description of a property.
    public init(name: String, keypath: AnyKeyPath, defaultValue: Any? = nil, metadata: (any SchemaProperty)? = nil) {
      (self.name, self.keypath, self.defaultValue, self.metadata) = (name, keypath, defaultValue, metadata)
    }
  }
}

/// A property of an entity, or the uniqueness constraints or indexes of one.
public protocol SchemaProperty: Codable, Hashable {
  /// The name.
  var name: String { get set }
  /// The name in an earlier version, if it was another.
  var originalName: String { get set }
  /// The type of the values.
  var valueType: any Any.Type { get set }
  /// Whether the property is an attribute.
  var isAttribute: Bool { get }
  /// Whether the property is a relationship.
  var isRelationship: Bool { get }
  /// Whether the property is not stored.
  var isTransient: Bool { get }
  /// Whether the property can have no value.
  var isOptional: Bool { get }
  /// Whether the values are unique.
  var isUnique: Bool { get }
}
