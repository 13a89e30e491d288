// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension Schema {
  /// An attribute: a property that holds a value.
  public class Attribute: SchemaProperty, @unchecked Sendable {
    // Changed only while a schema is built.

    /// The name of the property.
    public var name: String
    /// The name in an earlier version; equal to `name` if it has not changed.
    public var originalName: String
    /// The options of the declaration.
    public internal(set) var options: [Option]
    /// The type of the values.
    public var valueType: any Any.Type {
      didSet { shape = options.shape(of: valueType) }
    }
    /// The value of new rows, evaluated when the schema was built.
    public internal(set) var defaultValue: Any?
    /// A text that makes the version differ from one with equal properties.
    public internal(set) var hashModifier: String?
    /// How values are stored, or why they cannot be.
    private(set) var shape: ValueShape.Result

    /// Creates the attribute of an annotation. The schema sets its name and type.
    public init(_ options: Option..., originalName: String? = nil, hashModifier: String? = nil) {
      name = ""
      self.originalName = originalName ?? ""
      self.options = options
      self.hashModifier = hashModifier
      valueType = Any.self
      shape = options.shape(of: Any.self)
    }

    /// Creates an attribute.
    ///
    /// - Parameters:
    ///   - name: the name of the property.
    ///   - originalName: the name in an earlier version; nil if it has not changed.
    ///   - options: the options of `@Attribute`.
    ///   - valueType: the type of the values.
    ///   - defaultValue: the value of new rows.
    ///   - hashModifier: a text that makes the version differ from one with equal properties.
    public required init(
      name: String, originalName: String? = nil, options: [Option] = [], valueType: any Any.Type,
      defaultValue: Any? = nil, hashModifier: String? = nil
    ) {
      self.name = name
      self.originalName = originalName ?? name
      self.options = options
      self.valueType = valueType
      self.defaultValue = defaultValue
      self.hashModifier = hashModifier
      shape = options.shape(of: valueType)
    }

    init(
      name: String, originalName: String, options: [Option], hashModifier: String?, isOptional: Bool, shape: ValueShape
    ) {
      self.name = name
      self.originalName = originalName
      self.options = options
      self.hashModifier = hashModifier
      valueType = Any.self
      self.shape = ValueShape.Result(isOptional: isOptional, shape: .success(shape))
    }

    /// Whether the property is an attribute.
    public var isAttribute: Bool { true }
    /// Whether the property is a relationship.
    public var isRelationship: Bool { false }
    /// Whether the property can have no value.
    public var isOptional: Bool { shape.isOptional }
    /// Whether the values are unique.
    public var isUnique: Bool { options.contains(.unique) }
    /// Whether the value is kept in memory only.
    public var isTransient: Bool { options.contains(.ephemeral) }
    /// Whether a value transformer converts the value to data.
    public var isTransformable: Bool { options.contains { $0.transformerName != nil } }
    /// Whether the value is stored whole, and not as a composite of its parts.
    public var isCodable: Bool { options.contains(.codable) }

    /// Returns whether both have equal contents.
    public static func == (left: Attribute, right: Attribute) -> Bool {
      left === right
        || (left.name == right.name && left.originalName == right.originalName && left.options == right.options
          && left.hashModifier == right.hashModifier && left.shape == right.shape)
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    private enum CodingKeys: CodingKey {
      case name, originalName, options, hashModifier, isOptional, shape
    }

    /// Decodes what `encode(to:)` wrote.
    public required convenience init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      let name = try container.decode(String.self, forKey: .name)
      self.init(
        name: name, originalName: try container.decodeIfPresent(String.self, forKey: .originalName) ?? name,
        options: try container.decodeIfPresent([Option].self, forKey: .options) ?? [],
        hashModifier: try container.decodeIfPresent(String.self, forKey: .hashModifier),
        isOptional: try container.decode(Bool.self, forKey: .isOptional),
        shape: try container.decode(ValueShape.self, forKey: .shape))
    }

    /// Encodes what distinguishes versions; default values are left out.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      if originalName != name { try container.encode(originalName, forKey: .originalName) }
      if !options.isEmpty { try container.encode(options, forKey: .options) }
      try container.encodeIfPresent(hashModifier, forKey: .hashModifier)
      try container.encode(isOptional, forKey: .isOptional)
      try container.encode(try shape.shape.get(), forKey: .shape)
    }
  }

  /// An attribute whose value is stored as several.
  public final class CompositeAttribute: Attribute, @unchecked Sendable {
    /// The attributes for the parts of the value.
    public var properties: [Attribute] {
      guard case .success(.composite(let elements)) = shape.shape else { return [] }
      return elements.map { element in
        Attribute(
          name: element.name, originalName: element.name, options: [], hashModifier: nil,
          isOptional: element.isOptional || isOptional, shape: element.shape)
      }
    }
  }
}

extension Schema.Attribute {
  /// An option of an attribute.
  public struct Option: Codable, Hashable, Sendable {
    let name: String
    /// The registered name of a value transformer, for that option.
    private(set) var transformerName: String?

    init(_ name: String) { self.name = name }

    /// Values are unique: inserting a model with an existing value changes the existing row.
    public static let unique = Option("unique")
    /// Large values are stored in files beside the store.
    public static let externalStorage = Option("externalStorage")
    /// Indexed by Spotlight on Apple's systems; without effect here.
    public static let spotlight = Option("spotlight")
    /// History keeps the value of a deleted model.
    public static let preserveValueOnDeletion = Option("preserveValueOnDeletion")
    /// The value is kept in memory and not stored.
    public static let ephemeral = Option("ephemeral")
    /// Encrypted by CloudKit on Apple's systems; without effect here.
    public static let allowsCloudEncryption = Option("allowsCloudEncryption")
    /// A `Codable` value is stored whole, and not as a composite of its parts.
    public static let codable = Option("codable")

    /// A value transformer converts values to data.
    public static func transformable(by type: ValueTransformer.Type) -> Option {
      transformable(by: String(describing: type))
    }

    /// The value transformer registered under a name converts values to data.
    public static func transformable(by name: String) -> Option {
      var option = Option("transformable")
      option.transformerName = name
      return option
    }
  }
}

extension [Schema.Attribute.Option] {
  /// Returns the form in which an attribute with these options stores values of a type.
  func shape(of type: Any.Type) -> ValueShape.Result {
    ValueShape.Result(type, transformer: compactMap(\.transformerName).first, isWhole: contains(.codable))
  }
}
