// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
