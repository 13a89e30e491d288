// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Mapping models over hierarchies that refer to themselves")
struct OddModelTests {
  /// The ways of a migration manager to carry a mapping model out.
  enum Way: String, CaseIterable { case objects, sql, policy, mixed }

  /// Asks for each object.
  final class PlainPolicy: NSEntityMigrationPolicy {}

  private static let relationships = ["boss", "reports", "next", "previous", "friends", "queue", "queued"]

  /// People of an abstract entity and two below it, every relationship among themselves.
  private static func model(_ names: [String], _ prefix: String) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(names[0], isAbstract: true, [.make("\(prefix)name", .stringAttributeType)])
    builder.entity(names[1], parent: names[0], [.make("\(prefix)pay", .integer32AttributeType)])
    builder.entity(names[2], parent: names[1], [.make("\(prefix)level", .integer16AttributeType)])
    func end(_ name: String, toMany: Bool = false, ordered: Bool = false) -> RelationshipEnd {
      .init(names[0], prefix + name, toMany: toMany, ordered: ordered)
    }
    builder.relate(end("boss"), end("reports", toMany: true))
    builder.relate(end("next"), end("previous"))
    builder.relate(end("friends", toMany: true), end("friends", toMany: true))
    builder.relate(end("queue", toMany: true, ordered: true), end("queued", toMany: true))
    return builder.model()
  }

  private static func old() -> NSManagedObjectModel { model(["Person", "Employee", "Manager"], "") }
  private static func new() -> NSManagedObjectModel { model(["Human", "Worker", "Chief"], "new") }

  /// What a store of either version holds, in words.
  private static func words(_ context: NSManagedObjectContext, _ entity: String, _ prefix: String) throws -> [String] {
    func name(_ object: Any) -> String { (object as? NSManagedObject)?.text("\(prefix)name") ?? "-" }
    return try context.all(entity, by: "\(prefix)name").map { person in
      let links = relationships.map { key in
        let value = person.value(forKey: prefix + key)
        if let ordered = value as? NSOrderedSet { return "\(key) \(ordered.array.map(name))" }
        if let set = value as? NSSet { return "\(key) \(set.allObjects.map(name).sorted())" }
        return "\(key) \(value.map(name) ?? "-")"
      }
      let rank = ["Manager": "Chief", "Employee": "Worker"][person.entity.name ?? ""] ?? person.entity.name ?? ""
      let level = rank == "Chief" ? "\(person.value(forKey: "\(prefix)level") ?? "-")" : ""
      return "\(name(person)): \(rank) \(person.value(forKey: "\(prefix)pay") ?? "-") \(level) "
        + links.joined(separator: "; ")
    }
  }

  private static func fill(_ context: NSManagedObjectContext, _ count: Int) throws {
    let people = (0..<count).map { number in
      let name = String(format: "P%03d", number)
      return number % 3 == 2
        ? context.make("Manager", ["name": name, "pay": number * 10, "level": number % 7])
        : context.make("Employee", ["name": name, "pay": number * 10])
    }
    for (number, person) in people.enumerated() {
      // The first is their own boss; the chain of the next ones is a ring.
      person.setValue(people[number / 2], forKey: "boss")
      person.setValue(people[(number + 1) % count], forKey: "next")
      person.setValue(NSSet(array: [people[count - 1 - number], people[number * 7 % count]]), forKey: "friends")
      let queue = [number * 5, number * 3 + 1, number].map { people[$0 % count] }
      person.setValue(NSOrderedSet(array: queue), forKey: "queue")
    }
    try context.save()
  }

  private static func mapping(_ way: Way) -> NSMappingModel {
    MigrationPolicyClasses.register(PlainPolicy.self, as: "OddModelPolicy")
    let mapping = NSMappingModel()
    func relation(_ name: String) -> (String, String) {
      (
        "new\(name)",
        "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", \"\(name)\", "
          + "$source.\(name))"
      )
    }
    let relations = Dictionary(uniqueKeysWithValues: relationships.map(relation))
    let attributes = ["newname": "$source.name", "newpay": "$source.pay"]
    mapping.entityMappings = [
      ManagerSample.entity("Workers", "Employee", "Worker", attributes, relations),
      ManagerSample.entity(
        "Chiefs", "Manager", "Chief", attributes.merging(["newlevel": "$source.level"]) { $1 }, relations),
    ]
    let names = way == .policy ? ["Workers", "Chiefs"] : way == .mixed ? ["Workers"] : []
    for entity in mapping.entityMappings where names.contains(entity.name ?? "") {
      entity.entityMigrationPolicyClassName = "OddModelPolicy"
    }
    return mapping
  }

  @Test(
    "Keep every value and every link, whichever way they are carried out", arguments: Way.allCases, [0, 1, 2, 3, 41])
  func keeps(_ way: Way, _ count: Int) throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.old())
    try Self.fill(context, count)
    let expected = try Self.words(context, "Person", "")
    #expect(expected.count == count)
    try store.close()
    let before = try ManagerSample.Snapshot(store.url)
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.old(), destinationModel: Self.new())
    manager.batchSize = 4
    manager.usesStoreSpecificMigrationManager = way != .objects
    var progress: [Float] = []
    manager.progressHandler = { progress.append($0.migrationProgress) }
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: Self.mapping(way), to: target, type: .sqlite)
    #expect(progress == progress.sorted() && progress.last == 1)
    #expect(try ManagerSample.Snapshot(store.url) == before)
    #expect(try store.files() == ["New.sqlite", "Store.sqlite"])
    try StoreChecks.check(target, Self.new())
    try StoreChecks.checkJoins(target, Self.new())
    try store.open(target, Self.new()) { (context) throws in
      #expect(try Self.words(context, "Human", "new") == expected)
    }
  }

  /// What becomes of a few people, or the code of the error, where a relationship is made of another one.
  ///
  /// - Parameter isAlone: whether no other relationship is mapped.
  private func outcome(
    _ way: Way, _ store: TemporaryStore, _ link: String, of origin: String, isAlone: Bool
  ) throws -> [String] {
    let target = store.folder.appendingPathComponent("\(way) \(link) \(origin) \(isAlone).sqlite")
    let mapping = Self.mapping(way == .objects ? .policy : way)
    for entity in mapping.entityMappings {
      let property = try #require(entity.relationshipMappings?.first { $0.name == "new\(link)" })
      property.valueExpression = NSExpression(
        format: "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", "
          + "\"\(origin)\", $source.\(origin))")
      if isAlone { entity.relationshipMappings = [property] }
    }
    let manager = NSMigrationManager(sourceModel: Self.old(), destinationModel: Self.new())
    manager.batchSize = 3
    do {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    } catch let error as NSError {
      return ["\(error.code)"]
    }
    try StoreChecks.checkJoins(target, Self.new())
    var words: [String] = []
    try store.open(target, Self.new()) { (context) throws in words = try Self.words(context, "Human", "new") }
    return words
  }

  @Test(
    "Say of a relationship what does not go together, or is said of its other end: the outcome is the same",
    arguments: relationships, [false, true])
  func contradictions(_ link: String, isAlone: Bool) throws {
    let store = try TemporaryStore()
    try Self.fill(try store.context(Self.old()), 5)
    try store.close()
    for origin in Self.relationships {
      let expected = try outcome(.objects, store, link, of: origin, isAlone: isAlone)
      // Of an order that no mapping says anything of SQL keeps what the source has, or takes that of the keys.
      let isOrdered = isAlone && link == "queued"
      for way in isOrdered ? [Way.mixed] : [.mixed, .sql] {
        let found = try outcome(way, store, link, of: origin, isAlone: isAlone)
        #expect(found == expected, "\(way): \(link) of \(origin)")
      }
    }
  }

  @Test("Once more into the same destination make every object twice, each with its own links")
  func twice() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.old())
    try Self.fill(context, 5)
    let expected = try Self.words(context, "Person", "")
    try store.close()
    let target = store.folder.appendingPathComponent("New.sqlite")
    for _ in 0..<2 {
      let manager = NSMigrationManager(sourceModel: Self.old(), destinationModel: Self.new())
      try manager.migrateStore(
        from: store.url, type: .sqlite, mapping: Self.mapping(.policy), to: target, type: .sqlite)
    }
    try StoreChecks.check(target, Self.new())
    try StoreChecks.checkJoins(target, Self.new())
    try store.open(target, Self.new()) { (context) throws in
      #expect(try Self.words(context, "Human", "new") == expected.flatMap { [$0, $0] })
    }
  }
}
