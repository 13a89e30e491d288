// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The type of an attribute. The raw values are those of `NSAttributeType` and are part of version hashes.
public enum AttributeKind: UInt32, Hashable, Sendable, CaseIterable {
  case undefined = 0
  case integer16 = 100
  case integer32 = 200
  case integer64 = 300
  case decimal = 400
  case double = 500
  case float = 600
  case string = 700
  case boolean = 800
  case date = 900
  case binaryData = 1000
  case uuid = 1100
  case uri = 1200
  case transformable = 1800
  case objectID = 2000
  case composite = 2100

  /// Whether values are numbers, which can be converted into one another. Booleans count, since they are stored as 0
  /// and 1.
  package var isNumeric: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
    default: false
    }
  }

  /// The name of the type in model editors.
  package var title: String {
    switch self {
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binaryData: "Binary Data"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "Object ID"
    case .composite: "Composite"
    }
  }
}

/// An attribute, possibly derived or composite.
public struct AttributeDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// The type.
  public var kind: AttributeKind
  /// Whether the value may be nil when the object is saved.
  public var isOptional: Bool
  /// Whether the attribute is transient.
  public var isTransient: Bool
  /// The default value.
  public var defaultValue: PlainValue?
  /// The class of the values, if it is not determined by the type.
  public var valueClassName: String?
  /// The name of a transformable attribute's value transformer.
  public var valueTransformerName: String?
  /// Whether large values may be stored in external files.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether persistent history keeps the value when the object is deleted.
  public var preservesValueInHistoryOnDeletion: Bool
  /// Whether the value is encrypted in CloudKit.
  public var allowsCloudEncryption: Bool
  /// Whether the attribute is indexed, in models older than fetch indexes.
  public var isIndexed: Bool
  /// Whether Spotlight indexes the value.
  public var isIndexedBySpotlight: Bool
  /// Whether generated classes use a scalar type; used by sources only.
  public var usesScalarValueType: Bool
  /// The renaming identifier; nil if the property was never renamed.
  public var renamingIdentifier: String?
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The user info.
  public var userInfo: [String: PlainValue]
  /// The validation rules.
  public var validations: [ValidationDocument]
  /// The derivation expression; nil unless the attribute is derived.
  public var derivation: ExpressionSyntax?
  /// The elements of a composite attribute, possibly nested.
  public var elements: [AttributeDocument]
  /// The name of the composite type in the source.
  public var compositeName: String?

  /// Creates an attribute with Core Data's defaults.
  public init(name: String, kind: AttributeKind, isOptional: Bool = true) {
    self.name = name
    self.kind = kind
    self.isOptional = isOptional
    isTransient = false
    allowsExternalBinaryDataStorage = false
    preservesValueInHistoryOnDeletion = false
    allowsCloudEncryption = false
    isIndexed = false
    isIndexedBySpotlight = false
    usesScalarValueType = false
    userInfo = [:]
    validations = []
    elements = []
  }
}

/// A validation rule: a predicate on the value, and the code or message to report when it fails.
public struct ValidationDocument: Hashable, Sendable {
  /// The predicate on the value.
  public var predicate: PredicateSyntax
  /// An error code such as 1670, or the developer's own message.
  public var warning: PlainValue

  /// Creates a rule.
  public init(predicate: PredicateSyntax, warning: PlainValue) {
    self.predicate = predicate
    self.warning = warning
  }
}

/// The delete rule of a relationship. The raw values are those of `NSDeleteRule`.
public enum DeleteRuleKind: UInt, Hashable, Sendable, CaseIterable {
  case noAction = 0
  case nullify = 1
  case cascade = 2
  case deny = 3
}

/// A relationship.
public struct RelationshipDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// The name of the destination entity.
  public var destinationEntityName: String?
  /// The name of the inverse relationship.
  public var inverseName: String?
  /// Whether the relationship may be empty when the object is saved.
  public var isOptional: Bool
  /// Whether the relationship is transient.
  public var isTransient: Bool
  /// The maximum number of objects: 1 for a to-one relationship, 0 for an unlimited to-many relationship.
  public var maxCount: Int
  /// The minimum number of objects, unless there are none.
  public var minCount: Int
  /// Whether the relationship is ordered.
  public var isOrdered: Bool
  /// The delete rule.
  public var deleteRule: DeleteRuleKind
  /// Whether Spotlight indexes the relationship.
  public var isIndexedBySpotlight: Bool
  /// The renaming identifier; nil if the property was never renamed.
  public var renamingIdentifier: String?
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The user info.
  public var userInfo: [String: PlainValue]
  /// The validation rules.
  public var validations: [ValidationDocument]

  /// Creates a relationship with Core Data's defaults.
  public init(
    name: String, destinationEntityName: String?, inverseName: String? = nil, isToMany: Bool = false,
    isOptional: Bool = true
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.inverseName = inverseName
    self.isOptional = isOptional
    isTransient = false
    maxCount = isToMany ? 0 : 1
    minCount = 0
    isOrdered = false
    deleteRule = .nullify
    isIndexedBySpotlight = false
    userInfo = [:]
    validations = []
  }

  /// Whether the relationship is to-many.
  public var isToMany: Bool { maxCount != 1 }
}

/// A fetched property: a weak, one-way relationship defined by a request.
public struct FetchedPropertyDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// Whether the property may be empty.
  public var isOptional: Bool
  /// The request that fetches the objects.
  public var request: FetchRequestDocument?
  /// The renaming identifier; nil if the property was never renamed.
  public var renamingIdentifier: String?
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The user info.
  public var userInfo: [String: PlainValue]

  /// Creates a fetched property.
  public init(name: String, request: FetchRequestDocument?, isOptional: Bool = true) {
    self.name = name
    self.isOptional = isOptional
    self.request = request
    userInfo = [:]
  }
}
