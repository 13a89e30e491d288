// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Rows copied from store to store")
struct StoreCopyTests {
  /// Every third store, with `make torture` all.
  private static let stores = Fixtures.stores.enumerated().filter { TortureSize.isFull || $0.offset % 3 == 0 }
    .map { Fixtures.name(of: $0.element) }

  private let bench: CopyBench

  init() throws { bench = try CopyBench() }

  @Test(
    "Every fixture store becomes one of every type, and that one of every type, with equal digests",
    .enabled(if: Fixtures.isPresent, "The fixtures are not there."), arguments: stores)
  func fixtures(name: String) throws {
    let fixture = try FixtureStore(Fixtures.url(name))
    // Another test counts those that have a model.
    guard let document = try fixture.models().first?.document else { return }
    let temporary = try Fixtures.copy(ofStore: Fixtures.url(name))
    let place = temporary.url
    let model = try NSManagedObjectModel(document: document)
    let source = try bench.open(SQLiteStore.self, place, model, [NSReadOnlyPersistentStoreOption: true])
    defer { bench.close(source) }
    let digest = try StoreDigest(of: source, model)
    for (first, kind) in CopyBench.kinds.enumerated() {
      let (one, result) = try bench.copy(source, to: kind, "\(first)")
      defer { bench.close(one) }
      #expect(try StoreDigest(of: one, model) == result.digest, "\(kind)")
      #expect(!result.keepsNumbers || result.digest == digest, "\(kind)")
      #expect(result.keepsNumbers || one is any RowTableStore, "\(kind)")
      #expect(result.digest?.entities.mapValues(\.count) == digest.entities.mapValues(\.count))
      for (second, other) in CopyBench.kinds.enumerated() {
        let (two, again) = try bench.copy(one, to: other, "\(first)-\(second)")
        // Only a SQLite store can have the same number in two tables.
        #expect(again.keepsNumbers || (one is SQLiteStore && !(two is SQLiteStore)), "\(kind) to \(other)")
        #expect(!again.keepsNumbers || again.digest == result.digest, "\(kind) to \(other)")
        #expect(try StoreDigest(of: two, model) == again.digest, "\(kind) to \(other)")
        bench.close(two)
        // What is in the file, read by a store of its own.
        guard other != InMemoryStore.self else { continue }
        let reopened = try bench.open(other, bench.place("\(first)-\(second)"), model)
        #expect(try StoreDigest(of: reopened, model) == again.digest, "\(kind) to \(other), reopened")
        bench.close(reopened)
      }
    }
  }

  @Test("Most fixture stores have a model", .enabled(if: Fixtures.isPresent, "The fixtures are not there."))
  func fixtureModels() throws {
    #expect(try FixtureStore.all().count { try !$0.models().isEmpty } > 25)
  }

  @Test("Pages of one row make the same copy as large ones, and no more rows are read at once", arguments: [1, 2, 7])
  func pages(limit: Int) throws {
    let source = try bench.company(people: 12)
    defer { bench.close(source) }
    var settings = CopySettings()
    settings.pageLimit = limit
    var stages: [CopyStage] = []
    settings.progress = { stages.append($0) }
    let (copy, result) = try bench.copy(source, to: SQLiteStore.self, "Copy", settings)
    defer { bench.close(copy) }
    #expect(try result.keepsNumbers && result.digest == StoreDigest(of: source, bench.model))
    let rows = stages.filter { $0.step == .rows }
    #expect(rows.last?.done == result.digest?.count && rows.allSatisfy { $0.total == result.digest?.count })
    #expect(zip(rows, rows.dropFirst()).allSatisfy { 1...limit ~= $1.done - $0.done })
    #expect(stages.last?.step == .check && stages.last?.done == result.digest?.count)
    #expect(zip(stages, stages.dropFirst()).allSatisfy { $0.step.rawValue <= $1.step.rawValue })
  }

  @Test(
    "Members of sub-entities are copied whatever the names of the entities are",
    arguments: CopyBench.kinds.indices, ["An", "Zn"])
  func inheritedMembers(_ kind: Int, prefix: String) throws {
    var builder = ModelBuilder()
    builder.entity("Item", [.make("name", .stringAttributeType)])
    builder.entity("\(prefix)Item", parent: "Item")
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.entity("\(prefix)Owner", parent: "Owner")
    builder.relate(.init("Owner", "items", toMany: true), .init("Item", "owners", toMany: true))
    builder.relate(.init("Item", "friends", toMany: true), .init("Item", "friends", toMany: true))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: builder.model())
    let source = try #require(
      try coordinator.addPersistentStore(type: .sqlite, at: bench.place("Source")) as? any RowStore)
    let writer = NSManagedObjectContext(.privateQueue)
    writer.persistentStoreCoordinator = coordinator
    let items = ["Item", "Item", "\(prefix)Item", "\(prefix)Item"].map { writer.make($0) }
    for entity in ["Owner", "\(prefix)Owner"] { writer.make(entity)["items"] = NSSet(array: items) }
    for item in items { item["friends"] = NSSet(array: items) }
    try writer.save()
    let (store, _) = try bench.copy(source, to: CopyBench.kinds[kind], "Copy")
    defer { bench.close(store) }
    for entity in coordinator.managedObjectModel.entities {
      var pages = RowPages(store, entity, after: nil, limit: 10)
      let ids = try pages.page().map(\.id)
      #expect(ids.count == (entity.relationshipsByName["items"] == nil ? 2 : 1))
      for relationship in entity.relationshipsByName.values {
        let members = try store.members(of: relationship, forAll: ids)
        let count = relationship.name == "owners" ? 2 : 4
        #expect(ids.allSatisfy { members[$0.key]?.count == count }, "\(entity.name ?? "").\(relationship.name)")
      }
    }
  }

  @Test("References and members whose rows are gone are left out", arguments: CopyBench.kinds.indices)
  func dangling(kind: Int) throws {
    let source = try bench.company(people: 4)
    bench.close(source)
    let connection = try SQLiteConnection(url: bench.place("Source"), mode: .readWrite)
    let schema = try #require(bench.schema)
    let employee = try #require(schema["Employee"])
    let boss = try #require(connection.scalar("SELECT Z_PK FROM \(employee.table) WHERE ZNAME = 'Boss'")?.integer)
    try connection.run("DELETE FROM \(employee.table) WHERE Z_PK = ?", [.integer(boss)])
    try connection.close()
    let damaged = try bench.open(SQLiteStore.self, bench.place("Source"), bench.model)
    defer { bench.close(damaged) }
    let (copy, result) = try bench.copy(damaged, to: CopyBench.kinds[kind], "Copy")
    defer { bench.close(copy) }
    #expect(result.leftOutLinks >= 4)
    #expect(result.digest?.entities["Manager"] == nil && result.digest?.entities["Employee"]?.count == 4)
    let rows = try copy.rows(for: RowQuery(entity: try #require(bench.model.entitiesByName["Employee"]))) ?? []
    let position = try #require(rows.first?.entity.slotTable.position(of: "manager"))
    #expect(rows.count == 4 && rows.allSatisfy { $0.slots[position].isNull })
    let friends = try #require(bench.model.entitiesByName["Employee"]?.relationshipsByName["friends"])
    let members = try copy.members(of: friends, forAll: rows.map(\.id))
    #expect(members.values.allSatisfy { ids in ids.allSatisfy { id in rows.contains { $0.id.key == id.key } } })
    #expect(members.values.contains { !$0.isEmpty })
  }

  @Test("The numbers of objects that have been deleted in the copy's future are greater than those copied")
  func reservation() throws {
    let source = try bench.company(people: 3)
    defer { bench.close(source) }
    let (copy, _) = try bench.copy(source, to: SQLiteStore.self, "Copy")
    defer { bench.close(copy) }
    let store = try #require(copy as? SQLiteStore)
    let entity = try #require(bench.model.entitiesByName["Employee"])
    let greatest = try #require(try store.rows(for: RowQuery(entity: entity))?.last?.key.number)
    #expect(try store.makeIdentifiers(for: [entity]).first?.key.number == greatest + 1)
  }

  @Test("A value, a member, an order, a missing row: each changes the digest of its entity alone")
  func sensitivity() throws {
    func digest(_ change: (NSManagedObjectContext) throws -> Void) throws -> StoreDigest {
      let bench = try CopyBench()
      let store = try bench.company(people: 3, change)
      defer { bench.close(store) }
      return try StoreDigest(of: store, bench.model)
    }
    let plain = try digest { _ in }
    #expect(try digest { _ in } == plain)
    func person(_ context: NSManagedObjectContext) throws -> NSManagedObject {
      try #require(try context.all("Employee", by: "name").first { $0["name"] as? String == "e01" })
    }
    let changes: [(String, (NSManagedObjectContext) throws -> Void)] = [
      ("Employee", { try person($0)["name"] = "e01 " }),
      ("Employee", { try person($0)["age"] = nil }),
      ("Employee", { try person($0)["manager"] = nil }),
      ("Employee", { try person($0)["tags"] = ["a", "c"] as NSArray }),
      (
        "Employee",
        { context in
          let set = try person(context).mutableOrderedSetValue(forKey: "favourites")
          set.moveObjects(at: IndexSet(integer: 1), to: 0)
        }
      ),
      ("Employee", { try person($0).mutableSetValue(forKey: "friends").removeAllObjects() }),
      ("Task", { $0.make("Task", ["title": "more"]) }),
    ]
    for (entity, change) in changes {
      let changed = try digest(change)
      let difference = try #require(plain.difference(of: changed))
      #expect(difference.entity == entity)
      let others = plain.entities.keys.filter { plain.entities[$0] != changed.entities[$0] }
      #expect(others == [entity], "\(others)")
    }
  }

  @Test("A digest and progress survive as property lists, and other lists are refused")
  func propertyLists() throws {
    let source = try bench.company(people: 3)
    defer { bench.close(source) }
    let digest = try StoreDigest(of: source, bench.model)
    var progress = CopyProgress(source: "S", state: ContentHash(seed: 5), firstFree: .max)
    (progress.phase, progress.entity, progress.last, progress.digest) = (.members, "Employee", 3, digest)
    progress.leftOutLinks = 2
    let data = try PropertyLists.data(of: ["it": progress.propertyList])
    let list = try #require(PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    #expect(CopyProgress(propertyList: list["it"]) == progress)
    #expect(CopyProgress(propertyList: ["source": "S"]) == nil && CopyProgress(propertyList: nil) == nil)
    #expect(StoreDigest(propertyList: ["Employee": [1, "no hash"] as [Any]]) == nil)
  }

  @Test("A destination that loses a value is found out, and is left without rows", arguments: [true, false])
  func losses(ofRow: Bool) throws {
    let source = try bench.company(people: 5)
    defer { bench.close(source) }
    let before = try StoreDigest(of: source, bench.model)
    let faulty = try bench.made(FaultyStore.self, "Copy", for: source)
    defer { bench.close(faulty) }
    let store = try #require(faulty as? FaultyStore)
    if ofRow { store.losesRow = true } else { store.losesValue = true }
    let error = try #require(throws: NSError.self) { try bench.copy(source, into: store) }
    #expect(error.code == NSPersistentStoreOperationError)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.contains("'Employee'") && reason.contains(ofRow ? "4 objects, and the source 5" : "other values"))
    #expect(try StoreDigest(of: store, bench.model).count == 0)
    #expect(try StoreDigest(of: source, bench.model) == before)
  }

  @Test("A copy that is stopped leaves no file, and the store stays where it is", arguments: CopyBench.kinds.indices)
  func stopping(kind: Int) throws {
    struct Stop: Error {}
    guard CopyBench.kinds[kind] != InMemoryStore.self, CopyBench.kinds[kind] != SQLiteStore.self else { return }
    let source = try bench.company(people: 6)
    let coordinator = try #require(source.persistentStoreCoordinator)
    let before = try StoreDigest(of: source, bench.model)
    let type = NSPersistentStore.StoreType(rawValue: CopyBench.kinds[kind] == XMLStore.self ? "XML" : "Binary")
    var (stop, isWhole) = (0, false)
    while !isWhole {
      var (settings, count) = (CopySettings(), 0)
      settings.pageLimit = 2
      settings.progress = { _ in
        count += 1
        if count > stop { throw Stop() }
      }
      do {
        _ = try coordinator.copyPersistentStore(source, to: bench.place("Copy"), type: type, settings)
        isWhole = true
      } catch is Stop {
        #expect(!FileManager.default.fileExists(atPath: bench.place("Copy").path))
        #expect(coordinator.persistentStores == [source])
        #expect(try StoreDigest(of: source, bench.model) == before)
      }
      stop += 1
    }
    #expect(stop > 6 && coordinator.persistentStores.first?.url == bench.place("Copy"))
    try coordinator.remove(try #require(coordinator.persistentStores.first))
  }
}
