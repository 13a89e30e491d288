// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// An entity, with its own properties only; what it inherits is found through `parentName`.
public struct EntityDocument: Hashable, Sendable {
  /// The name, unique in the model.
  public var name: String
  /// The class that represents rows; nil where the source names none (then it is `NSManagedObject`).
  public var className: String?
  /// Whether no object can be of just this entity.
  public var isAbstract: Bool
  /// The entity that this one inherits from.
  public var parentName: String?
  /// The name in an earlier version; nil where it was never renamed.
  public var renamingIdentifier: String?
  /// A text that makes the version hash another one.
  public var versionHashModifier: String?
  /// The developer's own notes.
  public var userInfo: [String: PlainValue]
  /// The attributes that the entity itself declares.
  public var attributes: [AttributeDocument]
  /// The relationships that the entity itself declares.
  public var relationships: [RelationshipDocument]
  /// The fetched properties that the entity itself declares.
  public var fetchedProperties: [FetchedPropertyDocument]
  /// The fetch indexes as declared; see `effectiveIndexes`.
  public var indexes: [FetchIndexDocument]
  /// Indexes of the older kind, each a list of property names.
  public var compoundIndexes: [[String]]
  /// Each a list of attribute names in declared order.
  public var uniquenessConstraints: [[String]]

  /// Makes an entity without properties.
  public init(name: String, parentName: String? = nil, isAbstract: Bool = false, className: String? = nil) {
    self.name = name
    self.className = className
    self.isAbstract = isAbstract
    self.parentName = parentName
    userInfo = [:]
    attributes = []
    relationships = []
    fetchedProperties = []
    indexes = []
    compoundIndexes = []
    uniquenessConstraints = []
  }
}

/// A fetch index.
public struct FetchIndexDocument: Hashable, Sendable {
  /// The name, unique in the entity.
  public var name: String
  /// What is indexed, in order.
  public var elements: [FetchIndexElementDocument]
  /// Limits the index to the rows that meet it.
  public var partialIndexPredicate: PredicateSyntax?

  /// Makes an index.
  public init(
    name: String, elements: [FetchIndexElementDocument], partialIndexPredicate: PredicateSyntax? = nil
  ) {
    self.name = name
    self.elements = elements
    self.partialIndexPredicate = partialIndexPredicate
  }
}

/// One element of a fetch index: a property, or an expression over properties.
public struct FetchIndexElementDocument: Hashable, Sendable {
  /// The property that is indexed.
  public var propertyName: String
  /// Set instead of a plain property where the index is over an expression.
  public var expression: ExpressionSyntax?
  /// Whether the index is an R*Tree instead of a binary one.
  public var isRTree: Bool
  /// The direction of a binary index.
  public var isAscending: Bool

  /// Makes an element.
  public init(
    propertyName: String, expression: ExpressionSyntax? = nil, isRTree: Bool = false, isAscending: Bool = true
  ) {
    self.propertyName = propertyName
    self.expression = expression
    self.isRTree = isRTree
    self.isAscending = isAscending
  }
}
