// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// An entity, with its own properties only; what it inherits is found through `parentName`.
public struct EntityDocument: Hashable, Sendable {
  public var name: String
  /// The class that represents rows; nil where the source names none (then it is `NSManagedObject`).
  public var className: String?
  public var isAbstract: Bool
  public var parentName: String?
  public var renamingIdentifier: String?
  public var versionHashModifier: String?
  public var userInfo: [String: PlainValue]
  public var attributes: [AttributeDocument]
  public var relationships: [RelationshipDocument]
  public var fetchedProperties: [FetchedPropertyDocument]
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
  public var name: String
  public var elements: [FetchIndexElementDocument]
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
  public var propertyName: String
  /// Set instead of a plain property where the index is over an expression.
  public var expression: ExpressionSyntax?
  public var isRTree: Bool
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
