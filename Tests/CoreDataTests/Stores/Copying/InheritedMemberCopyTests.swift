// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Members of many-to-many relationships that sub-entities inherit, which one end writes for both.
@Suite("Copies of members that sub-entities have")
struct InheritedMemberCopyTests {
  private static let kinds: [StoreKind] = [.sqlite, .xml, .binary] + StoreKind.servers

  /// Names on both sides of each other in the alphabet, so that either end may come first.
  private static let names = [("Apple", "Zebra", "Berry"), ("Net", "Jar", "Owl"), ("Net", "Zebra", "Apple")]

  private func copy(
    _ model: NSManagedObjectModel, _ kind: StoreKind, _ fill: (NSManagedObjectContext) -> Void
  ) throws -> (before: [String], after: [String]) {
    let folder = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: folder.url)
    func context() -> NSManagedObjectContext {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    let writer = context()
    fill(writer)
    try writer.save()
    let before = try links(context())
    try coordinator.migratePersistentStore(store, to: kind.url(in: folder.folder, "Copy"), type: kind.type)
    return (before, try links(context()))
  }

  /// The members of all relationships, by names.
  private func links(_ context: NSManagedObjectContext) throws -> [String] {
    var links: [String] = []
    for entity in context.coordinator.managedObjectModel.entities where entity.superentity == nil {
      for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")) {
        for relationship in object.entity.relationshipsByName.keys.sorted() {
          let members = (object[relationship] as? NSSet)?.compactMap { ($0 as? NSManagedObject)?["name"] as? String }
          links.append("\(object["name"] ?? "").\(relationship): \((members ?? []).sorted())")
        }
      }
    }
    return links.sorted()
  }

  @Test("A relationship to another entity", arguments: kinds, [0, 1, 2])
  func otherEntity(kind: StoreKind, index: Int) throws {
    let (parent, child, other) = Self.names[index]
    var builder = ModelBuilder()
    builder.entity(parent, [.make("name", .stringAttributeType)])
    builder.entity(child, parent: parent)
    builder.entity(other, [.make("name", .stringAttributeType)])
    builder.relate(RelationshipEnd(parent, "others", toMany: true), RelationshipEnd(other, "owners", toMany: true))
    let (before, after) = try copy(builder.model(), kind) { context in
      let others = (0..<3).map { context.make(other, ["name": "o\($0)"]) }
      context.make(parent, ["name": "p", "others": NSSet(array: Array(others.prefix(2)))])
      context.make(child, ["name": "c", "others": NSSet(array: Array(others.suffix(2)))])
    }
    #expect(before == after)
    #expect(after.contains(#"c.others: ["o1", "o2"]"#) && after.contains(#"p.others: ["o0", "o1"]"#))
  }

  @Test("A relationship between an entity and its own sub-entity", arguments: kinds, [0, 1, 2])
  func ownSubentity(kind: StoreKind, index: Int) throws {
    let (parent, child, _) = Self.names[index]
    var builder = ModelBuilder()
    builder.entity(parent, [.make("name", .stringAttributeType)])
    builder.entity(child, parent: parent)
    builder.relate(RelationshipEnd(parent, "home", toMany: true), RelationshipEnd(child, "kin", toMany: true))
    let (before, after) = try copy(builder.model(), kind) { context in
      let children = (0..<3).map { context.make(child, ["name": "c\($0)"]) }
      context.make(parent, ["name": "p", "home": NSSet(array: Array(children.prefix(2)))])
      children[0]["home"] = NSSet(array: [children[1], children[2]])
    }
    #expect(before == after)
    #expect(after.contains(#"c1.kin: ["c0", "p"]"#) && after.contains(#"c2.kin: ["c0"]"#))
  }
}
