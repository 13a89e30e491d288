// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Entities of a document by name, with what follows from inheritance worked out once.
public struct EntityIndex: Sendable {
  private let document: ModelDocument
  private let positions: [String: Int]
  private let children: [String: [Int]]

  /// Prepares look-ups over the document's entities.
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

  /// The entity of that name.
  public subscript(name: String) -> EntityDocument? {
    positions[name].map { document.entities[$0] }
  }

  /// The direct sub-entities, in the document's order.
  public func subentities(of name: String) -> [EntityDocument] {
    (children[name] ?? []).map { document.entities[$0] }
  }

  /// The entity and all its ancestors, the root last. Ends at a missing parent or where a cycle closes.
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

  /// The entity at the top of the hierarchy that `name` belongs to.
  public func root(of name: String) -> EntityDocument? {
    lineage(of: name).last
  }
}

extension ModelDocument {
  /// Deeper than any model; lines of ancestors are walked again and again, so a bound keeps hostile files from taking
  /// hours.
  private static let deepest = 500

  /// Refuses a line of inheritance that no person has drawn. Rings are left to `validate()`.
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
          .inheritanceCycle, found: "The line of inheritance is more than \(Self.deepest) entities long.",
          advice: "Give the entity a nearer parent.", entity: entity.name)
      }
    }
  }
}
