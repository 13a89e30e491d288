// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The code generated for an entity's class. The raw values are those of model sources.
public enum CodeGenerationKind: String, Hashable, Sendable {
  /// No code: the class is written by hand.
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
  /// The code generated for the class; used by sources only.
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
/// These rules were seen in compiled models and model caches. An index over one property also marks the property as
/// indexed. An index over several properties is repeated as a compound index. A property is indexed for one of two
/// reasons: the flag in the source, or an index over it alone. If only one of them applies, the property gets an index
/// of its own name before the declared ones; if both apply, it has only the declared index. Documents contain only
/// declared indexes.
extension EntityDocument {
  /// The names of the attributes that Core Data treats as indexed.
  package var indexedAttributeNames: [String] {
    let single = singlyIndexedNames
    return attributes.filter { $0.isIndexed || single.contains($0.name) }.map(\.name)
  }

  /// The properties that are the only element of a declared index.
  private var singlyIndexedNames: Set<String> {
    Set(indexes.filter { $0.elements.count == 1 }.map { $0.elements[0].propertyName })
  }

  /// All indexes of a loaded model, and therefore of a store: those implied by indexed attributes, then the declared
  /// ones.
  package var effectiveIndexes: [FetchIndexDocument] {
    let (declared, single) = (Set(indexes.map(\.name)), singlyIndexedNames)
    let implied = attributes.filter { $0.isIndexed != single.contains($0.name) && !declared.contains($0.name) }
    return implied.map {
      FetchIndexDocument(name: $0.name, elements: [FetchIndexElementDocument(propertyName: $0.name)])
    } + indexes
  }

  /// The compound indexes of a compiled model: the declared ones, and one for every index over several properties.
  package var effectiveCompoundIndexes: [[String]] {
    var result = compoundIndexes
    var known = Set(result)
    for index in indexes where index.elements.count > 1 {
      let names = index.elements.map(\.propertyName)
      if known.insert(names).inserted { result.append(names) }
    }
    return result
  }

  /// Removes the repeated indexes of a compiled model or a model cache, so that only the declared ones remain.
  ///
  /// - Parameter hasImplied: Whether the declared indexes include those implied by indexed attributes, as in a model
  ///   cache.
  package mutating func removeImpliedIndexes(hasImplied: Bool) {
    let indexed = hasImplied ? Set(attributes.filter(\.isIndexed).map(\.name)) : []
    let implied = indexes.filter { index in
      indexed.contains(index.name) && index.partialIndexPredicate == nil
        && index.elements == [FetchIndexElementDocument(propertyName: index.name)]
    }
    indexes.removeAll(where: implied.contains)
    let single = singlyIndexedNames
    for position in attributes.indices where single.contains(attributes[position].name) {
      let name = attributes[position].name
      // A compiled model marks the attribute for either reason. Only a model cache distinguishes them: it has no
      // implied index if the source marks the attribute too.
      attributes[position].isIndexed = hasImplied && !implied.contains { $0.name == name }
    }
    let compound = Set(indexes.map { $0.elements.map(\.propertyName) })
    compoundIndexes.removeAll(where: compound.contains)
  }
}

/// Looks up the entities of a document by name and by inheritance.
public struct EntityIndex: Sendable {
  private let entities: [EntityDocument]
  private let positions: [String: Int]
  private let parents: [Int?]
  private let children: [[Int]]
  /// The descendants of each entity, as a range of positions in a traversal that visits parents first; nil in a cycle.
  private let families: [Range<Int>?]

  /// Indexes the entities of a document.
  public init(_ document: ModelDocument) {
    entities = document.entities
    let positions = Dictionary(entities.enumerated().map { ($1.name, $0) }) { $1 }
    self.positions = positions
    let parents: [Int?] = entities.map { entity in entity.parentName.flatMap { positions[$0] } }
    self.parents = parents
    var children = [[Int]](repeating: [], count: entities.count)
    for (position, parent) in parents.enumerated() {
      if let parent { children[parent].append(position) }
    }
    self.children = children
    families = Self.families(children, roots: parents.indices.filter { parents[$0] == nil })
  }

  private static func families(_ children: [[Int]], roots: [Int]) -> [Range<Int>?] {
    var families = [Range<Int>?](repeating: nil, count: children.count)
    var visited = 0
    var open: [(entity: Int, start: Int, next: Int)] = []
    for root in roots {
      open.append((root, visited, 0))
      visited += 1
      while let last = open.last {
        guard last.next < children[last.entity].count else {
          families[last.entity] = last.start..<visited
          open.removeLast()
          continue
        }
        open[open.count - 1].next += 1
        open.append((children[last.entity][last.next], visited, 0))
        visited += 1
      }
    }
    return families
  }

  /// The entity with the given name.
  public subscript(name: String) -> EntityDocument? {
    positions[name].map { entities[$0] }
  }

  /// Returns the direct subentities, in document order.
  public func subentities(of name: String) -> [EntityDocument] {
    positions[name].map { children[$0].map { entities[$0] } } ?? []
  }

  /// Returns the entity and its ancestors, the root last. Ends at a missing parent or at a cycle.
  public func lineage(of name: String) -> [EntityDocument] {
    linePositions(of: name).map { entities[$0] }
  }

  /// Returns the root of the hierarchy that contains the entity.
  public func root(of name: String) -> EntityDocument? {
    linePositions(of: name).last.map { entities[$0] }
  }

  /// Whether an entity is another one or inherits from it.
  package func isKind(_ name: String, of ancestor: String) -> Bool {
    guard let entity = positions[name], let wanted = positions[ancestor] else { return false }
    return isKind(entity, of: wanted)
  }

  func isKind(_ entity: Int, of ancestor: Int) -> Bool {
    guard let own = families[entity], let family = families[ancestor] else {
      return linePositions(of: entities[entity].name).contains(ancestor)
    }
    return family.contains(own.lowerBound)
  }

  func position(of name: String) -> Int? { positions[name] }

  /// Returns the names of the entity and its ancestors, ordered like `lineage(of:)`.
  package func lineageNames(of name: String) -> [String] {
    linePositions(of: name).map { entities[$0].name }
  }

  /// Returns the positions in the document of the entity and its ancestors, ordered like `lineage(of:)`.
  func linePositions(of name: String) -> [Int] {
    guard let first = positions[name] else { return [] }
    var line = [first]
    // Without a cycle, the lineage is shorter than this. With one, it is searched for the first entity that repeats.
    while let next = parents[line[line.count - 1]], line.count <= ModelDocument.deepest { line.append(next) }
    guard line.count > ModelDocument.deepest else { return line }
    var seen: Set<Int> = []
    line = []
    var next: Int? = first
    while let current = next, seen.insert(current).inserted {
      line.append(current)
      next = parents[current]
    }
    return line
  }
}

extension ModelDocument {
  /// The maximum depth of inheritance, greater than that of any real model. Ancestors are traversed repeatedly, so
  /// without a limit a malicious file could take hours.
  fileprivate static let deepest = 500

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
