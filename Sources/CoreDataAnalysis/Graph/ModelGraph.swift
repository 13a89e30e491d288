// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// A picture of a model with boxes and lines: the entities of a version, or the versions and the steps between them.
public struct ModelGraph: Hashable, Sendable {
  /// A box.
  public struct Node: Hashable, Sendable {
    /// The title.
    public let title: String
    /// The lines below the title.
    public let lines: [String]
    /// Whether the box is emphasized: the current version, or an abstract entity.
    public let isMarked: Bool
  }

  /// A line between two boxes.
  public struct Edge: Hashable, Sendable {
    /// The meaning of a line.
    public enum Kind: String, Hashable, Sendable {
      /// The second box is a sub-entity of the first.
      case inheritance
      case relationship
      /// An inferred step.
      case inferred
      /// A step that needs a mapping model or a custom stage, but has none.
      case custom
      /// A step with a mapping model.
      case mapping
    }

    /// The position of the first box.
    public let source: Int
    /// The position of the second box.
    public let destination: Int
    /// The meaning of the line.
    public let kind: Kind
    /// The text at the line.
    public let label: String
    /// The text at the first end, such as the number of objects.
    public let sourceMark: String
    /// The text at the second end.
    public let destinationMark: String
  }

  /// The subject of a picture.
  public enum Subject: String, Hashable, Sendable {
    case entities, versions
  }

  /// The subject of the picture.
  public let subject: Subject
  /// The boxes.
  public let nodes: [Node]
  /// The lines.
  public let edges: [Edge]

  /// Creates a picture of a version's entities, with their attributes, parents and relationships.
  public init(entitiesOf model: ModelDocument) {
    subject = .entities
    let entities = model.entities.sorted { $0.name < $1.name }
    let positions = Dictionary(entities.enumerated().map { ($1.name, $0) }) { first, _ in first }
    nodes = entities.map { entity in
      let attributes = entity.attributes.sorted { $0.name < $1.name }
      return Node(
        title: entity.name,
        lines: attributes.map { "\($0.name): \($0.kind.title)\($0.isOptional ? "" : ", required")" },
        isMarked: entity.isAbstract)
    }
    let properties = PropertyIndex(model)
    var edges: [Edge] = []
    for (position, entity) in entities.enumerated() {
      if let parent = entity.parentName.flatMap({ positions[$0] }) {
        edges.append(
          Edge(
            source: parent, destination: position, kind: .inheritance, label: "", sourceMark: "", destinationMark: ""))
      }
      for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
        guard let destination = relationship.destinationEntityName, let end = positions[destination] else { continue }
        let inverse = relationship.inverseName.flatMap { properties.relationship($0, of: destination)?.relationship }
        // A relationship and its inverse are drawn as one line.
        if let inverse, (destination, inverse.name) < (entity.name, relationship.name),
          inverse.destinationEntityName == entity.name
        {
          continue
        }
        edges.append(
          Edge(
            source: position, destination: end, kind: .relationship,
            label: [relationship.name, inverse?.name].compactMap { $0 }.joined(separator: " / "),
            sourceMark: inverse.map(Self.count) ?? "", destinationMark: Self.count(relationship)))
      }
    }
    self.edges = edges
  }

  private static func count(_ relationship: RelationshipDocument) -> String {
    guard relationship.isToMany else { return relationship.isOptional ? "0..1" : "1" }
    let (least, most) = (relationship.minCount, relationship.maxCount)
    // An unlimited count is 0, or the maximum value of a file format.
    let isOpen = most == 0 || most >= Int(Int32.max)
    return isOpen ? "\(least)..*" : least == most ? "\(least)" : "\(least)..\(most)"
  }

  /// Creates a picture of a model's versions, with the steps between neighbors and those with mapping models.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld` or `.momd`.
  ///   - mappings: mapping models, or directories of them.
  /// - Throws: the errors of reading models and mapping models.
  public init(versionsAt url: URL, mappings: [URL] = []) throws {
    try self.init(versions: ModelVersions(contentsOf: url), mappings: mappings)
  }

  /// Creates a picture of versions that have been read.
  package init(versions known: ModelVersions, mappings: [URL]) throws {
    subject = .versions
    let versions = known.versions
    nodes = versions.map { version in
      let count = version.document.entities.count
      return Node(
        title: version.name, lines: ["\(count) \(count == 1 ? "entity" : "entities")"],
        isMarked: version.name == known.currentName)
    }
    var edges: [Edge] = []
    let files = try MappingFile.files(at: mappings)
    for (source, old) in versions.enumerated() {
      for (destination, new) in versions.enumerated() where destination != source && old.hashes != new.hashes {
        let fitting = files.filter { file in
          MappingFile.mismatches(of: file.document, source: old.hashes, destination: new.hashes).isEmpty
            || (file.document.sourceVersionName == old.name && file.document.destinationVersionName == new.name)
        }
        for file in fitting {
          edges.append(
            Edge(
              source: source, destination: destination, kind: .mapping, label: file.url?.lastPathComponent ?? "",
              sourceMark: "", destinationMark: ""))
        }
        guard fitting.isEmpty, destination == source + 1 else { continue }
        let difference = ModelDifference(from: old.document, to: new.document)
        let count = difference.changes.count
        edges.append(
          Edge(
            source: source, destination: destination, kind: difference.migration == .custom ? .custom : .inferred,
            label: "\(count) \(count == 1 ? "change" : "changes")", sourceMark: "", destinationMark: ""))
      }
    }
    self.edges = edges
  }
}
