// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation

/// A slow object graph of plain values: what the real one is compared with.
struct ReferenceGraph: Equatable {
  /// One end of a relationship.
  struct End {
    let name: String
    let entity: String
    let destination: String
    let isToMany: Bool
    let isOrdered: Bool
    let inverse: String?
    let rule: NSDeleteRule
  }

  struct Node: Equatable {
    var entity: String
    var name: String?
    var number: Int?
    /// Members by relationship, in order; order counts for ordered ones only.
    var links: [String: [Int]] = [:]
  }

  /// Two entities with relationships of every kind.
  static let ends: [End] = [
    .init(
      name: "parent", entity: "A", destination: "A", isToMany: false, isOrdered: false, inverse: "children",
      rule: .nullifyDeleteRule),
    .init(
      name: "children", entity: "A", destination: "A", isToMany: true, isOrdered: false, inverse: "parent",
      rule: .cascadeDeleteRule),
    .init(
      name: "peers", entity: "A", destination: "A", isToMany: true, isOrdered: false, inverse: "peers",
      rule: .nullifyDeleteRule),
    .init(
      name: "partner", entity: "A", destination: "A", isToMany: false, isOrdered: false, inverse: "partner",
      rule: .nullifyDeleteRule),
    .init(
      name: "items", entity: "A", destination: "B", isToMany: true, isOrdered: true, inverse: "owner",
      rule: .nullifyDeleteRule),
    .init(
      name: "owner", entity: "B", destination: "A", isToMany: false, isOrdered: false, inverse: "items",
      rule: .nullifyDeleteRule),
    .init(
      name: "tags", entity: "A", destination: "B", isToMany: true, isOrdered: false, inverse: "tagged",
      rule: .denyDeleteRule),
    .init(
      name: "tagged", entity: "B", destination: "A", isToMany: true, isOrdered: false, inverse: "tags",
      rule: .nullifyDeleteRule),
    .init(
      name: "ranked", entity: "A", destination: "B", isToMany: true, isOrdered: true, inverse: "rankedBy",
      rule: .nullifyDeleteRule),
    .init(
      name: "rankedBy", entity: "B", destination: "A", isToMany: true, isOrdered: false, inverse: "ranked",
      rule: .nullifyDeleteRule),
    .init(
      name: "loose", entity: "A", destination: "B", isToMany: true, isOrdered: false, inverse: nil,
      rule: .noActionDeleteRule),
  ]

  static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let attributes = {
      [NSAttributeDescription.make("name", .stringAttributeType), .make("number", .integer32AttributeType)]
    }
    builder.entity("A", attributes())
    builder.entity("AA", parent: "A")
    builder.entity("B", attributes())
    func side(_ end: End) -> RelationshipEnd {
      .init(end.entity, end.name, toMany: end.isToMany, ordered: end.isOrdered, rule: end.rule)
    }
    var done: Set<String> = []
    for end in ends where done.insert(end.name).inserted {
      if let inverse = end.inverse, let other = ends.first(where: { $0.name == inverse }) {
        done.insert(inverse)
        builder.relate(side(end), side(other))
      } else {
        builder.point(side(end), to: end.destination)
      }
    }
    return builder.model()
  }

  static func ends(of entity: String) -> [End] {
    ends.filter { $0.entity == (entity == "AA" ? "A" : entity) }
  }

  var nodes: [Int: Node] = [:]
  /// Marked as deleted, and still there for validation.
  var deleted: [Int: Node] = [:]

  func ids(of entity: String) -> [Int] {
    nodes.filter { $0.value.entity == entity || (entity == "A" && $0.value.entity == "AA") }.keys.sorted()
  }

  mutating func set(_ id: Int, _ end: End, _ members: [Int]) {
    for former in nodes[id]?.links[end.name] ?? [] where !members.contains(former) { unlink(id, end, former) }
    for member in members { link(id, end, member) }
    if end.isOrdered { nodes[id]?.links[end.name] = members }
  }

  mutating func link(_ id: Int, _ end: End, _ member: Int) {
    if nodes[id]?.links[end.name]?.contains(member) == true { return }
    append(id, end, member)
    guard let inverse = end.inverse, let back = Self.ends.first(where: { $0.name == inverse }) else { return }
    if id == member && inverse == end.name { return }
    append(member, back, id)
  }

  private mutating func append(_ id: Int, _ end: End, _ member: Int) {
    if !end.isToMany {
      for former in nodes[id]?.links[end.name] ?? [] where former != member { unlink(id, end, former) }
    }
    if nodes[id]?.links[end.name]?.contains(member) != true { nodes[id]?.links[end.name, default: []].append(member) }
  }

  mutating func unlink(_ id: Int, _ end: End, _ member: Int) {
    nodes[id]?.links[end.name]?.removeAll { $0 == member }
    if let inverse = end.inverse { nodes[member]?.links[inverse]?.removeAll { $0 == id } }
  }

  mutating func delete(_ id: Int) {
    guard let node = nodes.removeValue(forKey: id) else { return }
    deleted[id] = node
    for end in Self.ends(of: node.entity) {
      for member in node.links[end.name] ?? [] where member != id {
        if end.rule == .nullifyDeleteRule || end.rule == .cascadeDeleteRule, let inverse = end.inverse {
          nodes[member]?.links[inverse]?.removeAll { $0 == id }
        }
        if end.rule == .cascadeDeleteRule { delete(member) }
      }
    }
  }

  /// Whether a rule forbids to save: an object was deleted whose denying relationship has members left.
  var isDenied: Bool {
    deleted.values.contains { node in
      Self.ends(of: node.entity).contains { end in
        end.rule == .denyDeleteRule && (node.links[end.name] ?? []).contains { nodes[$0] != nil }
      }
    }
  }

  /// What is left after a save: nobody leads to a deleted object any more.
  mutating func save() {
    let standing = Set(nodes.keys)
    for id in standing {
      for (name, members) in nodes[id]?.links ?? [:] { nodes[id]?.links[name] = members.filter(standing.contains) }
    }
    deleted = [:]
  }

  /// One line an object, as it can be compared and read.
  func lines() -> [String] {
    nodes.sorted { $0.key < $1.key }.map { id, node in
      Self.line(id, node.entity, node.name, node.number) { end in
        node.links[end.name]?.filter { nodes[$0] != nil } ?? []
      }
    }
  }

  static func line(_ id: Int, _ entity: String, _ name: String?, _ number: Int?, _ links: (End) -> [Int]) -> String {
    let parts = ends(of: entity).map { end in "\(end.name)=\(end.isOrdered ? links(end) : links(end).sorted())" }
    return "\(id) \(entity) \(name ?? "-") \(number.map(String.init) ?? "-") \(parts.joined(separator: " "))"
  }
}
