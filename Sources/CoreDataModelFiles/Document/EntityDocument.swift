// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// What of an entity's class is generated. The raw values are those of model sources.
public enum CodeGenerationKind: String, Hashable, Sendable {
  /// Nothing: the class is written by hand.
  case manual = "none"
  /// An extension with the properties; the class is written by hand.
  case category
  /// The class with its properties.
  case `class`
}

/// An entity with its own properties. Inherited ones are found through `parentName`.
public struct EntityDocument: Hashable, Sendable {
  /// The name, unique in the model.
  public var name: String
  /// The class of the objects; nil if the source names none, which means `NSManagedObject`.
  public var className: String?
  /// What of the class is generated; used by sources only.
  public var codeGeneration: CodeGenerationKind
  /// Whether the entity is abstract.
  public var isAbstract: Bool
  /// The name of the parent entity.
  public var parentName: String?
  /// The renaming identifier; nil if the entity was never renamed.
  public var renamingIdentifier: String?
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The user info.
  public var userInfo: [String: PlainValue]
  /// The attributes declared by the entity.
  public var attributes: [AttributeDocument]
  /// The relationships declared by the entity.
  public var relationships: [RelationshipDocument]
  /// The fetched properties declared by the entity.
  public var fetchedProperties: [FetchedPropertyDocument]
  /// The declared fetch indexes; see `effectiveIndexes`.
  public var indexes: [FetchIndexDocument]
  /// The compound indexes of older models, each a list of property names.
  public var compoundIndexes: [[String]]
  /// The uniqueness constraints, each a list of attribute names in declared order.
  public var uniquenessConstraints: [[String]]

  /// Creates an entity without properties.
  public init(name: String, parentName: String? = nil, isAbstract: Bool = false, className: String? = nil) {
    self.name = name
    self.className = className
    codeGeneration = .manual
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
  /// The elements, in order.
  public var elements: [FetchIndexElementDocument]
  /// The predicate of a partial index.
  public var partialIndexPredicate: PredicateSyntax?

  /// Creates an index.
  public init(name: String, elements: [FetchIndexElementDocument], partialIndexPredicate: PredicateSyntax? = nil) {
    self.name = name
    self.elements = elements
    self.partialIndexPredicate = partialIndexPredicate
  }
}

/// An element of a fetch index: a property, or an expression over properties.
public struct FetchIndexElementDocument: Hashable, Sendable {
  /// The name of the property.
  public var propertyName: String
  /// The expression; nil for a plain property.
  public var expression: ExpressionSyntax?
  /// Whether the index is an R*Tree rather than a binary index.
  public var isRTree: Bool
  /// Whether a binary index is ascending.
  public var isAscending: Bool

  /// Creates an element.
  public init(
    propertyName: String, expression: ExpressionSyntax? = nil, isRTree: Bool = false, isAscending: Bool = true
  ) {
    self.propertyName = propertyName
    self.expression = expression
    self.isRTree = isRTree
    self.isAscending = isAscending
  }
}

/// The indexes that Core Data derives when it compiles and loads a model.
///
/// Seen in compiled models and model caches: an index over one property also marks the property as indexed, an index
/// over several properties is repeated as a compound index, and every indexed property gets an index of its own name
/// before the declared ones. Documents contain only what was declared.
extension EntityDocument {
  /// The names of the attributes that Core Data treats as indexed.
  package var indexedAttributeNames: [String] {
    attributes.filter { attribute in
      attribute.isIndexed || indexes.contains { $0.elements.map(\.propertyName) == [attribute.name] }
    }.map(\.name)
  }

  /// All indexes of a loaded model, and therefore of a store: those implied by indexed attributes, then the declared
  /// ones.
  package var effectiveIndexes: [FetchIndexDocument] {
    let declared = Set(indexes.map(\.name))
    let implied = indexedAttributeNames.filter { !declared.contains($0) }.map {
      FetchIndexDocument(name: $0, elements: [FetchIndexElementDocument(propertyName: $0)])
    }
    return implied + indexes
  }

  /// The compound indexes of a compiled model: the declared ones, and one for every index over several properties.
  package var effectiveCompoundIndexes: [[String]] {
    var result = compoundIndexes
    for index in indexes where index.elements.count > 1 {
      let names = index.elements.map(\.propertyName)
      if !result.contains(names) { result.append(names) }
    }
    return result
  }

  /// Removes repetitions of a compiled model or a model cache, so that only the declared indexes remain.
  ///
  /// - Parameter hasImplied: Whether indexes implied by indexed attributes are among the declared ones, as in a model
  ///   cache.
  package mutating func removeImpliedIndexes(hasImplied: Bool) {
    let indexed = hasImplied ? Set(attributes.filter(\.isIndexed).map(\.name)) : []
    indexes.removeAll { index in
      indexed.contains(index.name) && index.partialIndexPredicate == nil
        && index.elements == [FetchIndexElementDocument(propertyName: index.name)]
    }
    let single = Set(indexes.filter { $0.elements.count == 1 }.map { $0.elements[0].propertyName })
    for position in attributes.indices where single.contains(attributes[position].name) {
      attributes[position].isIndexed = false
    }
    let compound = Set(indexes.map { $0.elements.map(\.propertyName) })
    compoundIndexes.removeAll(where: compound.contains)
  }
}

/// Looks up the entities of a document by name and by inheritance.
public struct EntityIndex: Sendable {
  private let document: ModelDocument
  private let positions: [String: Int]
  private let children: [String: [Int]]

  /// Indexes the entities of a document.
  public init(_ document: ModelDocument) {
    self.document = document
    var positions: [String: Int] = [:]
    var children: [String: [Int]] = [:]
    for (position, entity) in document.entities.enumerated() {
      positions[entity.name] = position
      if let parent = entity.parentName { children[parent, default: []].append(position) }
    }
    self.positions = positions
    self.children = children
  }

  /// The entity with the given name.
  public subscript(name: String) -> EntityDocument? {
    positions[name].map { document.entities[$0] }
  }

  /// Returns the direct subentities, in document order.
  public func subentities(of name: String) -> [EntityDocument] {
    (children[name] ?? []).map { document.entities[$0] }
  }

  /// Returns the entity and its ancestors, the root last. Ends at a missing parent or at a cycle.
  public func lineage(of name: String) -> [EntityDocument] {
    var line: [EntityDocument] = []
    var seen: Set<String> = []
    var next: String? = name
    while let current = next, seen.insert(current).inserted, let entity = self[current] {
      line.append(entity)
      next = entity.parentName
    }
    return line
  }

  /// Returns the root of the hierarchy that contains the entity.
  public func root(of name: String) -> EntityDocument? {
    lineage(of: name).last
  }
}

extension ModelDocument {
  /// The greatest depth of inheritance, more than that of any model. Ancestors are traversed repeatedly, so the bound
  /// keeps hostile files from taking hours.
  private static let deepest = 500

  /// Throws an error if the inheritance is too deep. Cycles are left to `validate()`.
  package func checkDepthOfInheritance() throws {
    let parents = Dictionary(entities.map { ($0.name, $0.parentName) }) { first, _ in first }
    var depths: [String: Int] = [:]
    for entity in entities {
      var line: [String] = []
      var next: String? = entity.name
      while let name = next, depths[name] == nil, line.count <= Self.deepest {
        line.append(name)
        next = parents[name] ?? nil
      }
      var depth = next.flatMap { depths[$0] } ?? 0
      let isRing = line.count > Self.deepest && Set(line).count < line.count
      for name in line.reversed() {
        depth = isRing ? 0 : depth + 1
        depths[name] = depth
      }
      guard depth <= Self.deepest else {
        throw ModelFileError(
          .inheritanceCycle, found: "The entity has more than \(Self.deepest) ancestors.",
          advice: "Choose a parent entity closer to the root.", entity: entity.name)
      }
    }
  }
}
