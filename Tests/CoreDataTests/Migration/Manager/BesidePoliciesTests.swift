// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Reading and writing on other threads while policies run, which a migration of a large source does.
@Suite("Rows are read and written beside a migration's policies", .timeLimit(.minutes(60)))
struct BesidePoliciesTests {
  private func store(_ place: TemporaryStore, tasks: Int, text: String = "") throws -> SQLiteStore {
    let context = try place.context(CompanyModel.make())
    for number in 0..<tasks { context.make("Task", ["title": "\(number)\(text)"]) }
    try context.save()
    return try #require(context.coordinator.persistentStores.first as? SQLiteStore)
  }

  private func query(_ store: SQLiteStore, limit: Int) throws -> RowQuery {
    let model = try #require(store.persistentStoreCoordinator?.managedObjectModel)
    var query = RowQuery(entity: try #require(model.entitiesByName["Task"]), includesSubentities: false)
    (query.limit, query.keys) = (limit, Int64.min...Int64.max)
    return query
  }

  @Test("Batches come in the order of their keys up to the last", arguments: [1, 4, 10, 20, 23, 24])
  func batches(_ limit: Int) throws {
    let place = try TemporaryStore()
    let store = try store(place, tasks: 23)
    let query = try query(store, limit: limit)
    var rows = try #require(try store.rows(for: query))
    guard let ahead = RowsAhead(query, after: rows, of: try store.openGeneration()) else {
      #expect(limit > 23)
      return
    }
    var sizes = [rows.count]
    while let more = ahead.next() {
      rows += more
      sizes.append(more.count)
    }
    #expect(rows.map(\.key.number) == (1...23).map { Int64($0) })
    #expect(sizes.dropLast().allSatisfy { $0 == limit })
    #expect(ahead.next() == nil)
    ahead.stop()
  }

  @Test("Few batches are read before they are asked for, and none after stopping")
  func stopping() throws {
    let place = try TemporaryStore()
    let store = try store(place, tasks: 100)
    let query = try query(store, limit: 10)
    let counting = CountingState(try store.openGeneration())
    let ahead = try #require(RowsAhead(query, after: try store.rows(for: query) ?? [], of: counting))
    #expect(ahead.next()?.count == 10)
    ahead.stop()
    // One has been given, one waits, and a third may have been read meanwhile.
    let count = counting.count
    #expect((1...3).contains(count))
    if ahead.next() != nil { #expect(ahead.next() == nil) }
    #expect(counting.count == count)
  }

  private final class CountingState: StoreGeneration, @unchecked Sendable {
    private let state: any StoreGeneration
    private let lock = NSLock()
    private var reads = 0

    init(_ state: any StoreGeneration) { self.state = state }

    var count: Int { lock.withLock { reads } }

    func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result {
      lock.withLock { reads += 1 }
      return try state.reading(body)
    }
  }

  @Test("What cannot be read ahead, large batches and entities with files are left to the caller")
  func leftToCaller() throws {
    let place = try TemporaryStore()
    let store = try store(place, tasks: 9, text: String(repeating: "x", count: 1_500_000))
    let query = try query(store, limit: 3)
    let first = try store.rows(for: query) ?? []
    let large = try #require(RowsAhead(query, after: first, of: try store.openGeneration()))
    #expect(large.next()?.count == 3)
    #expect(large.next() == nil)
    large.stop()
    let ended = try store.openGeneration()
    let model = try #require(store.persistentStoreCoordinator?.managedObjectModel)
    let failing = try #require(RowsAhead(query, after: first, of: ClosedState(ended)))
    #expect(failing.next() == nil)
    failing.stop()
    var filed = RowQuery(entity: try #require(model.entitiesByName["Employee"]), includesSubentities: false)
    filed.limit = 3
    #expect(RowsAhead(filed, after: first, of: ended) == nil)
  }

  private final class ClosedState: StoreGeneration {
    struct Ended: Error {}

    init(_ state: any StoreGeneration) {}

    func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result { throw Ended() }
  }

  @Test("Every use of a store waits for the rows that are being written, and sees them")
  func writing() throws {
    let place = try TemporaryStore()
    let context = try place.context(CompanyModel.make())
    let store = try #require(context.coordinator.persistentStores.first as? SQLiteStore)
    try store.beginWriting()
    try store.beginWritingBehind()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    for round in 1...20 {
      for number in 0..<50 { context.make("Task", ["title": "\(round) \(number)"]) }
      try context.save()
      if round % 3 == 0 { #expect(try context.count(for: request) == round * 50) }
      // A relationship in a join table, and changed rows, are written at once.
      if round % 4 == 0 {
        let task = try #require(try context.fetch(request).last)
        task["title"] = "changed in \(round)"
        context.make("Employee", ["name": "\(round)"])
        try context.save()
      }
    }
    try store.commitWriting()
    #expect(try context.count(for: request) == 1000)
    try place.close()
    try StoreChecks.check(place.url, CompanyModel.make())
  }

  @Test("An error of rows that are written later is met by every later use, and nothing can be committed")
  func failing() throws {
    let place = try TemporaryStore()
    let context = try place.context(CompanyModel.make())
    context.make("Task", ["title": "before"])
    try context.save()
    let store = try #require(context.coordinator.persistentStores.first as? SQLiteStore)
    try store.beginWriting()
    let connection = try store.state().connection
    let pages = try #require(try connection.pragma("page_count")?.integer)
    try connection.setPragma("max_page_count", to: .integer(pages + 1))
    try store.beginWritingBehind()
    for number in 0..<200 { context.make("Task", ["title": String(repeating: "x\(number)", count: 500)]) }
    // The rows are on their way.
    try context.save()
    for _ in 1...2 {
      let error = try #require(throws: NSError.self) { try store.commitWriting() }
      #expect(error.code == CocoaError.Code.fileWriteOutOfSpace.rawValue, "\(error)")
    }
    store.endWritingBehind()
    try store.rollBackWriting()
    try place.close()
    let other = try place.context(CompanyModel.make())
    #expect(try other.all("Task", by: "title").map { $0["title"] as? String } == ["before"])
  }

  @Test("A policy's batch requests see what was written before them, and rows that they delete are not visited")
  func batchRequests() throws {
    let sample = try ManagerSample(folders: 2, notes: 40)
    sample["FolderToBox"].relationshipMappings = []
    sample["TagToTag"].relationshipMappings = []
    sample["NoteToNote"].relationshipMappings = ManagerSample.properties([
      "box": ManagerSample.of("FolderToBox", "folder")
    ])
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.BatchDeletingPolicy"
    let log = CallLog()
    sample.manager.userInfo = ["log": log]
    try sample.migrate(batchSize: 2)
    #expect(log.calls == ["N1", "N2 in F2"] + (5...20).map { "N\($0)" })
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == ([1, 2] + Array(5...20)).map { "N\($0)" })
      #expect(notes.allSatisfy { ($0["box"] as? NSManagedObject) != nil })
    }
  }
}

/// Deletes rows of later objects by requests, once two have been visited.
final class BatchDeletingPolicy: NSEntityMigrationPolicy {
  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    let context = manager.destinationContext
    guard manager.log?.calls.count == 1 else {
      manager.log?.calls.append(dInstance.text("title") ?? "-")
      return
    }
    let wanted = NSFetchRequest<any NSFetchRequestResult>(entityName: "Note")
    wanted.predicate = NSPredicate(format: "rank > 20 OR rank IN {3, 4}")
    let box = (dInstance["box"] as? NSManagedObject)?.text("label") ?? "none"
    try context.execute(NSBatchDeleteRequest(fetchRequest: wanted))
    manager.log?.calls.append("\(dInstance.text("title") ?? "-") in \(box)")
  }
}
