// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Notifications of contexts")
struct NotificationTests {
  /// What a context has posted, each as keys with the number of objects.
  private final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var entries: [[String: Int]] = []
    private var observer: (any NSObjectProtocol)?

    init(_ context: NSManagedObjectContext, _ name: Notification.Name = .NSManagedObjectContextObjectsDidChange) {
      observer = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { [unowned self] in
        let counts = ($0.userInfo ?? [:]).map { entry in
          ("\(entry.key)", (entry.value as? Set<NSObject>)?.count ?? (entry.value as? [Any])?.count ?? -1)
        }
        lock.withLock { entries.append(Dictionary(uniqueKeysWithValues: counts)) }
      }
    }

    deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }

    /// What came since the last call.
    func take() -> [[String: Int]] {
      lock.withLock {
        defer { entries = [] }
        return entries
      }
    }
  }

  private func context(_ model: NSManagedObjectModel = CompanyModel.make()) throws -> (
    NSManagedObjectContext, NSManagedObjectContext
  ) {
    let first = try TemporaryStore().context(model)
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    return (first, second)
  }

  @Test("Objects that another context has inserted are told as inserted, those it has changed as refreshed")
  func merging() throws {
    let (first, second) = try context()
    let task = second.make("Task", ["title": "a"])
    try second.save()
    let known = try first.existingObject(with: task.objectID)
    let (changes, ids) = (Log(first), Log(first, .NSManagedObjectContextDidMergeChangesObjectIDs))
    nonisolated(unsafe) var saved: Notification?
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: second, queue: nil
    ) { saved = $0 }
    task["title"] = "b"
    second.make("Task", ["title": "c"])
    second.make("Task", ["title": "d"])
    try second.save()
    NotificationCenter.default.removeObserver(observer)
    first.mergeChanges(fromContextDidSave: try #require(saved))
    #expect(changes.take() == [["inserted": 2, "refreshed": 1]])
    #expect(
      ids.take() == [
        [
          "inserted_objectIDs": 2, "updated_objectIDs": 1, "refreshed_objectIDs": 1, "invalidated_objectIDs": 0,
          "deleted_objectIDs": 0,
        ]
      ])
    #expect(known["title"] as? String == "b")
  }

  @Test("What a context of another coordinator over the same file has saved is merged by its identifiers' addresses")
  func otherCoordinator() throws {
    let store = try TemporaryStore()
    let (first, second) = (try store.context(CompanyModel.make()), try store.context(CompanyModel.make()))
    let task = second.make("Task", ["title": "a"])
    try second.save()
    let known = try #require(try first.all("Task", by: "title").first)
    nonisolated(unsafe) var saved: Notification?
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: second, queue: nil
    ) { saved = $0 }
    task["title"] = "b"
    try second.save()
    first.mergeChanges(fromContextDidSave: try #require(saved))
    #expect(known["title"] as? String == "b")
    known["title"] = "c"
    try first.save()
    second.delete(task)
    second.refresh(task, mergeChanges: true)
    second.delete(task)
    second.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try second.save()
    NotificationCenter.default.removeObserver(observer)
    first.mergeChanges(fromContextDidSave: try #require(saved))
    #expect(known.isDeleted)
  }

  @Test("A context that merges by itself is told too")
  func automatic() async throws {
    let (first, second) = try context()
    first.automaticallyMergesChangesFromParent = true
    let log = Log(first)
    second.performAndWait { _ = second.make("Task", ["title": "a"]) }
    try second.performAndWait { try second.save() }
    await first.perform(schedule: .enqueued) {}
    #expect(log.take() == [["inserted": 1]])
  }

  @Test("reset() tells which objects are invalid")
  func reset() throws {
    let (first, _) = try context()
    let task = first.make("Task", ["title": "a"])
    try first.save()
    let log = Log(first)
    nonisolated(unsafe) var ids: [NSManagedObjectID]?
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: first, queue: nil
    ) { ids = $0.userInfo?[NSInvalidatedAllObjectsKey] as? [NSManagedObjectID] }
    defer { NotificationCenter.default.removeObserver(observer) }
    first.reset()
    #expect(log.take() == [["invalidatedAll": 1]])
    #expect(ids == [task.objectID])
  }

  @Test("The end of a block of perform() ends an event")
  func blocks() async throws {
    let (first, _) = try context()
    let log = Log(first)
    await first.perform(schedule: .enqueued) { _ = first.make("Task", ["title": "a"]) }
    #expect(log.take() == [["inserted": 1]])
    first.performAndWait { _ = first.make("Task", ["title": "b"]) }
    #expect(log.take() == [])
    first.performAndWait { first.processPendingChanges() }
    #expect(log.take() == [["inserted": 1]])
  }

  @Test("The end of a turn of the main run loop ends an event of a context of the main queue")
  @MainActor
  func turns() async throws {
    let (other, _) = try context()
    let main = NSManagedObjectContext(.mainQueue)
    main.persistentStoreCoordinator = other.persistentStoreCoordinator
    let log = Log(main)
    main.make("Task", ["title": "a"])
    main.make("Task", ["title": "b"])
    #expect(log.take() == [])
    await withCheckedContinuation { turn in DispatchQueue.main.async { turn.resume() } }
    #expect(log.take() == [["inserted": 2]])
  }

  @Test("perform(schedule:) runs a block at once where it may, and after what was given before where it is to")
  @MainActor
  func schedules() async throws {
    let main = NSManagedObjectContext(.mainQueue)
    main.persistentStoreCoordinator = try context().0.persistentStoreCoordinator
    nonisolated(unsafe) var order: [String] = []
    DispatchQueue.main.async { order.append("earlier") }
    await main.perform(schedule: .immediate) { order.append("immediate") }
    await main.perform(schedule: .enqueued) { order.append("enqueued") }
    #expect(order == ["immediate", "earlier", "enqueued"])
  }

  @Test("A store about to be removed is told with its coordinator still set; one that is not removed is not told")
  func removal() throws {
    final class Seen: @unchecked Sendable {
      var stores: [(URL?, Bool)] = []
    }
    let folder = try TemporaryStore()
    let coordinator = try #require(try folder.context(CompanyModel.make()).persistentStoreCoordinator)
    let store = coordinator.persistentStores[0]
    let seen = Seen()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorWillRemoveStore, object: store, queue: nil
    ) { note in
      let store = note.object as? NSPersistentStore
      seen.stores.append((store?.url, store?.persistentStoreCoordinator?.persistentStores.count == 1))
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try coordinator.remove(store)
    #expect(seen.stores.count == 1)
    #expect(seen.stores.first?.0 == folder.url && seen.stores.first?.1 == true)
    #expect(throws: NSError.self) { try coordinator.remove(store) }
    #expect(seen.stores.count == 1)
  }
}
