// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The type of an attribute; the raw values are those of `NSAttributeType`, and go into version hashes.
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
}

/// An attribute, derived and composite ones included.
public struct AttributeDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// The type.
  public var kind: AttributeKind
  /// Whether the value may be missing when the object is saved.
  public var isOptional: Bool
  /// Whether the value is never stored.
  public var isTransient: Bool
  /// The value of new objects.
  public var defaultValue: PlainValue?
  /// The class of the value of a transformable attribute, or another than the type's own.
  public var valueClassName: String?
  /// The transformer of a transformable attribute.
  public var valueTransformerName: String?
  /// Whether large values may lie in files of their own.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether the history of changes keeps the value of a deleted object.
  public var preservesValueInHistoryOnDeletion: Bool
  /// Whether the value is encrypted in CloudKit.
  public var allowsCloudEncryption: Bool
  /// The flag of models made before fetch indexes.
  public var isIndexed: Bool
  /// Whether Spotlight indexes the value.
  public var isIndexedBySpotlight: Bool
  /// Of sources only: generated classes use a scalar type.
  public var usesScalarValueType: Bool
  /// The name in an earlier version; nil where it was never renamed.
  public var renamingIdentifier: String?
  /// A text that makes the version hash another one.
  public var versionHashModifier: String?
  /// The developer's own notes.
  public var userInfo: [String: PlainValue]
  /// The rules that values have to meet.
  public var validations: [ValidationDocument]
  /// Set for a derived attribute.
  public var derivation: ExpressionSyntax?
  /// The elements of a composite attribute, with elements of their own where nested.
  public var elements: [AttributeDocument]
  /// The name of the composite type in the source.
  public var compositeName: String?

  /// Makes an attribute with Core Data's defaults.
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

/// A validation rule: a predicate on the value, and the code or text that is reported when it fails.
public struct ValidationDocument: Hashable, Sendable {
  /// What a value has to meet.
  public var predicate: PredicateSyntax
  /// An error code such as 1670, or the developer's own text.
  public var warning: PlainValue

  /// Makes a rule.
  public init(predicate: PredicateSyntax, warning: PlainValue) {
    self.predicate = predicate
    self.warning = warning
  }
}

/// What happens to the destination when a source object is deleted; the raw values are those of `NSDeleteRule`.
public enum DeleteRuleKind: UInt, Hashable, Sendable {
  case noAction = 0
  case nullify = 1
  case cascade = 2
  case deny = 3
}

/// A relationship.
public struct RelationshipDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// The entity at the other end.
  public var destinationEntityName: String?
  /// The relationship of the destination that leads back.
  public var inverseName: String?
  /// Whether the relationship may be empty when the object is saved.
  public var isOptional: Bool
  /// Whether the relationship is never stored.
  public var isTransient: Bool
  /// 1 for a to-one relationship; 0 for a to-many one without limit.
  public var maxCount: Int
  /// The least number of objects at the other end, where there are any.
  public var minCount: Int
  /// Whether the objects at the other end have an order.
  public var isOrdered: Bool
  /// What happens to the objects at the other end when this one is deleted.
  public var deleteRule: DeleteRuleKind
  /// Whether Spotlight indexes the relationship.
  public var isIndexedBySpotlight: Bool
  /// The name in an earlier version; nil where it was never renamed.
  public var renamingIdentifier: String?
  /// A text that makes the version hash another one.
  public var versionHashModifier: String?
  /// The developer's own notes.
  public var userInfo: [String: PlainValue]
  /// The rules that the relationship has to meet.
  public var validations: [ValidationDocument]

  /// Makes a relationship with Core Data's defaults.
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

  /// Whether more than one object can stand at the other end.
  public var isToMany: Bool { maxCount != 1 }
}

/// A fetched property: a weak, one-way relationship defined by a request.
public struct FetchedPropertyDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// Whether the property may be empty.
  public var isOptional: Bool
  /// The request that finds the objects.
  public var request: FetchRequestDocument?
  /// The name in an earlier version; nil where it was never renamed.
  public var renamingIdentifier: String?
  /// A text that makes the version hash another one.
  public var versionHashModifier: String?
  /// The developer's own notes.
  public var userInfo: [String: PlainValue]

  /// Makes a fetched property.
  public init(name: String, request: FetchRequestDocument?, isOptional: Bool = true) {
    self.name = name
    self.isOptional = isOptional
    self.request = request
    userInfo = [:]
  }
}
