// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Schema {
  /// A relationship: a property that refers to other models.
  public final class Relationship: SchemaProperty, @unchecked Sendable {
    // Changed only while a schema is built.

    /// The name of the property.
    public var name: String
    /// The name in an earlier version; equal to `name` if it has not changed.
    public var originalName: String
    /// The options of the declaration.
    public internal(set) var options: [Option]
    /// The type of the values.
    public var valueType: any Any.Type {
      didSet { (isOptional, isToOneRelationship) = Self.form(of: valueType) }
    }
    /// The name of the destination's entity.
    public internal(set) var destination: String
    /// The key path of the property.
    public internal(set) var keypath: AnyKeyPath?
    /// The name of the inverse relationship; nil if there is none.
    public internal(set) var inverseName: String?
    /// The key path of the inverse relationship in the declaration.
    public internal(set) var inverseKeyPath: AnyKeyPath?
    /// What happens to the destinations of a model that is deleted.
    public internal(set) var deleteRule: DeleteRule
    /// The minimum number of destinations.
    public internal(set) var minimumModelCount: Int?
    /// The maximum number of destinations; 0 for no limit.
    public internal(set) var maximumModelCount: Int?
    /// A text that makes the version differ from one with equal properties.
    public internal(set) var hashModifier: String?
    /// Whether the property can have no value.
    public private(set) var isOptional = true
    /// Whether there is at most one destination.
    public private(set) var isToOneRelationship = true
    /// The class of the destinations; nil in a schema that was loaded.
    var destinationType: (any PersistentModel.Type)?
    /// Whether the declaration has the annotation `@Relationship`.
    var isAnnotated = true

    /// Creates the relationship of an annotation. The schema sets its name and type.
    ///
    /// - Parameters:
    ///   - options: the options.
    ///   - deleteRule: what happens to the destinations of a model that is deleted.
    ///   - minimumModelCount: the minimum number of destinations of a to-many relationship.
    ///   - maximumModelCount: their maximum number; 0 for no limit.
    ///   - originalName: the name in an earlier version; nil if it has not changed.
    ///   - inverse: the key path of the inverse relationship.
    ///   - hashModifier: a text that makes the version differ from one with equal properties.
    public init(
      _ options: Option..., deleteRule: DeleteRule = .nullify, minimumModelCount: Int? = 0, maximumModelCount: Int? = 0,
      originalName: String? = nil, inverse: AnyKeyPath? = nil, hashModifier: String? = nil
    ) {
      name = ""
      self.originalName = originalName ?? ""
      self.options = options
      valueType = Any.self
      destination = ""
      inverseKeyPath = inverse
      self.deleteRule = deleteRule
      self.minimumModelCount = minimumModelCount
      self.maximumModelCount = maximumModelCount
      self.hashModifier = hashModifier
    }

    /// Whether the property is an attribute.
    public var isAttribute: Bool { false }
    /// Whether the property is a relationship.
    public var isRelationship: Bool { true }
    /// Whether the property is not stored.
    public var isTransient: Bool { false }
    /// Whether the values are unique.
    public var isUnique: Bool { options.contains(.unique) }

    private static func form(of type: Any.Type) -> (isOptional: Bool, isToOne: Bool) {
      let wrapped = (type as? any OptionalValue.Type)?.wrapped
      return (wrapped != nil, !((wrapped ?? type) is any RelationshipCollection.Type))
    }

    /// Returns whether both have equal contents.
    public static func == (left: Relationship, right: Relationship) -> Bool {
      left === right
        || (left.name == right.name && left.originalName == right.originalName && left.options == right.options
          && left.destination == right.destination && left.inverseName == right.inverseName
          && left.deleteRule == right.deleteRule && left.minimumModelCount == right.minimumModelCount
          && left.maximumModelCount == right.maximumModelCount && left.hashModifier == right.hashModifier
          && left.isOptional == right.isOptional && left.isToOneRelationship == right.isToOneRelationship)
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    private enum CodingKeys: CodingKey {
      case name, originalName, options, destination, inverse, deleteRule, minimumModelCount, maximumModelCount
      case hashModifier, isOptional, isToOne
    }

    /// Decodes what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      originalName = try container.decodeIfPresent(String.self, forKey: .originalName) ?? name
      options = try container.decodeIfPresent([Option].self, forKey: .options) ?? []
      destination = try container.decode(String.self, forKey: .destination)
      inverseName = try container.decodeIfPresent(String.self, forKey: .inverse)
      deleteRule = try container.decode(DeleteRule.self, forKey: .deleteRule)
      minimumModelCount = try container.decodeIfPresent(Int.self, forKey: .minimumModelCount)
      maximumModelCount = try container.decodeIfPresent(Int.self, forKey: .maximumModelCount)
      hashModifier = try container.decodeIfPresent(String.self, forKey: .hashModifier)
      valueType = Any.self
      isOptional = try container.decode(Bool.self, forKey: .isOptional)
      isToOneRelationship = try container.decode(Bool.self, forKey: .isToOne)
    }

    /// Encodes what distinguishes versions; default values are left out.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      if originalName != name { try container.encode(originalName, forKey: .originalName) }
      if !options.isEmpty { try container.encode(options, forKey: .options) }
      try container.encode(destination, forKey: .destination)
      try container.encodeIfPresent(inverseName, forKey: .inverse)
      try container.encode(deleteRule, forKey: .deleteRule)
      try container.encodeIfPresent(minimumModelCount, forKey: .minimumModelCount)
      try container.encodeIfPresent(maximumModelCount, forKey: .maximumModelCount)
      try container.encodeIfPresent(hashModifier, forKey: .hashModifier)
      try container.encode(isOptional, forKey: .isOptional)
      try container.encode(isToOneRelationship, forKey: .isToOne)
    }
  }
}

extension Schema.Relationship {
  /// An option of a relationship.
  public struct Option: Codable, Hashable, Sendable {
    let name: String

    /// No two models have the same destination.
    public static let unique = Option(name: "unique")
  }

  /// What happens to the destinations of a model that is deleted.
  public enum DeleteRule: String, Codable, Hashable, Sendable {
    /// Nothing: the destinations may keep a reference to nothing.
    case noAction
    /// The destinations lose their reference.
    case nullify
    /// The destinations are deleted too.
    case cascade
    /// The model cannot be deleted while it has destinations.
    case deny
  }
}
