// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's article about persistent history, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: history-reader
/// Merges what others have written into a context, and remembers how far it has come.
final class HistoryMerger {
  private let context: NSManagedObjectContext
  private let tokenURL: URL

  init(_ context: NSManagedObjectContext, tokenAt tokenURL: URL) {
    (self.context, self.tokenURL) = (context, tokenURL)
  }

  private func lastToken() throws -> NSPersistentHistoryToken? {
    guard FileManager.default.fileExists(atPath: tokenURL.path) else { return nil }
    return try NSKeyedUnarchiver.unarchivedObject(
      ofClass: NSPersistentHistoryToken.self, from: Data(contentsOf: tokenURL))
  }

  private func remember(_ token: NSPersistentHistoryToken?) throws {
    guard let token else { return }
    try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
      .write(to: tokenURL, options: .atomic)
  }

  /// Returns a line for each transaction that was merged. Call it on the context's queue.
  func merge() throws -> [String] {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: try lastToken())
    let result = try context.execute(request) as? NSPersistentHistoryResult
    let transactions = result?.result as? [NSPersistentHistoryTransaction] ?? []
    var lines: [String] = []
    for transaction in transactions where transaction.author != context.transactionAuthor {
      context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
      lines.append("\(transaction.author ?? "-"): \(transaction.changes?.count ?? 0) changes")
    }
    try remember(transactions.last?.token)
    return lines
  }
}
// end

@Suite("The code of the guide: history")
struct HistoryGuideTests {
  private let store: DailyUseStore

  init() throws {
    store = try DailyUseStore()
  }

  private func loaded(_ container: NSPersistentContainer) throws {
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
  }

  @Test("History has the author of each transaction, and a reader merges what is not its own")
  func reading() async throws {
    let storeURL = store.storeURL
    let model = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL)
    // guide: history-open
    let description = NSPersistentStoreDescription(url: storeURL)
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    let container = NSPersistentContainer(name: "Done", managedObjectModel: model)
    container.persistentStoreDescriptions = [description]
    // end
    try loaded(container)
    let context = container.newBackgroundContext()
    // guide: history-author
    context.name = "list"
    context.transactionAuthor = "app"
    // end
    let ids = try DailyUseStore.add(["Buy milk", "Call Ada"], to: container, author: "import")
    let tokenURL = store.temporary.folder.appendingPathComponent("token")
    let reader = HistoryMerger(context, tokenAt: tokenURL)
    try await context.perform {
      #expect(try reader.merge() == ["import: 2 changes"])
      let item = try context.existingObject(with: ids[0])
      item.setValue(true, forKey: "isDone")
      try context.save()
      #expect(try reader.merge().isEmpty, "its own transaction is not merged")
      #expect(try HistoryMerger(context, tokenAt: tokenURL).merge().isEmpty, "the token survives the reader")
    }

    var lines: [String] = []
    try await context.perform {
      // guide: history-show
      let history = NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)
      let result = try context.execute(history) as? NSPersistentHistoryResult
      for transaction in result?.result as? [NSPersistentHistoryTransaction] ?? [] {
        for change in transaction.changes ?? [] {
          let names = change.updatedProperties?.map(\.name).sorted() ?? []
          let id = change.changedObjectID.uriRepresentation().lastPathComponent
          lines.append("\(transaction.author ?? "-") \(change.changeType) \(id) \(names)")
        }
      }
      // end
    }
    #expect(lines == ["import insert p1 []", "import insert p2 []", "app update p1 [\"isDone\"]"])
  }

  @Test("A fetch request selects transactions by author")
  func selecting() async throws {
    let container = try store.container(history: true)
    try DailyUseStore.add(["a"], to: container, author: "import")
    try DailyUseStore.add(["b"], to: container, author: "app")
    let context = container.newBackgroundContext()
    let found = try await context.perform { () -> [NSPersistentHistoryTransaction] in
      // guide: history-select
      let byOthers = NSPersistentHistoryTransaction.fetchRequest
      byOthers?.predicate = NSPredicate(format: "author != %@", "app")
      guard let byOthers else { return [] }
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: byOthers)
      request.resultType = .transactionsAndChanges
      let result = try context.execute(request) as? NSPersistentHistoryResult
      return result?.result as? [NSPersistentHistoryTransaction] ?? []
      // end
    }
    #expect(found.map(\.author) == ["import"])
  }

  /// What an observer has been told, which is called on another thread.
  private final class Posts: @unchecked Sendable {
    private let lock = NSLock()
    let arrival = DispatchSemaphore(value: 0)
    private var list: [NSPersistentHistoryToken] = []

    func add(_ token: NSPersistentHistoryToken) {
      lock.withLock { list.append(token) }
      arrival.signal()
    }

    var tokens: [NSPersistentHistoryToken] { lock.withLock { list } }
  }

  @Test("A save of another coordinator, as of another process, is announced")
  func remote() throws {
    let model = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL)
    let container = NSPersistentContainer(name: "Done", managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: store.storeURL)
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    container.persistentStoreDescriptions = [description]
    try loaded(container)
    let posts = Posts()
    // guide: history-observe
    let coordinator = container.persistentStoreCoordinator
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
    ) { post in
      guard let token = post.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken else { return }
      posts.add(token)
    }
    // end
    defer { NotificationCenter.default.removeObserver(observer) }
    try DailyUseStore.add(["Buy milk"], to: try store.container(history: true), author: "extension")
    // Opening a store may write to it, which is announced as well.
    let current = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    while !posts.tokens.contains(current) { try #require(posts.arrival.wait(timeout: .now() + 20) == .success) }
  }

  @Test("Deleted history makes older tokens expire")
  func deleting() async throws {
    let container = try store.container(history: true)
    try DailyUseStore.add(["a"], to: container)
    let old = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
    try DailyUseStore.add(["b"], to: container)
    try DailyUseStore.add(["c"], to: container)
    let context = container.newBackgroundContext()
    let now = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
    let restarted = try await context.perform { [container] () -> Bool in
      var restarted = false
      // guide: history-delete
      let sevenDaysAgo = Date(timeIntervalSinceNow: -7 * 24 * 60 * 60)
      try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: sevenDaysAgo))
      // end
      #expect(
        try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: old)) is NSPersistentHistoryResult)
      try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: now))
      var token = old
      // guide: history-expired
      do {
        try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token))
      } catch let error as NSError where error.code == NSPersistentHistoryTokenExpiredError {
        token = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
        context.refreshAllObjects()
        restarted = true
      }
      // end
      #expect(token == container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
      return restarted
    }
    #expect(restarted)
  }

  @Test("A store with history is read-only without the option")
  func withoutOption() throws {
    try DailyUseStore.add(["a"], to: try store.container(history: true))
    let plain = try store.container()
    #expect(plain.persistentStoreCoordinator.persistentStores[0].isReadOnly)
    let error = #expect(throws: NSError.self) { try DailyUseStore.add(["b"], to: plain) }
    #expect(error?.code == CocoaError.Code.fileWriteNoPermission.rawValue)
    #expect(error?.localizedRecoverySuggestion == "Open it with NSPersistentHistoryTrackingKey.")
  }

  @Test("A store without history has no history to give")
  func notRecorded() throws {
    let context = try store.container().newBackgroundContext()
    let error = #expect(throws: NSError.self) {
      try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
    }
    #expect(error?.code == NSPersistentStoreUnsupportedRequestTypeError)
  }

  @Test("What a deleted object leaves in history")
  func tombstones() throws {
    let name = NSAttributeDescription()
    name.name = "serial"
    name.attributeType = .stringAttributeType
    // guide: history-tombstone
    name.preservesValueInHistoryOnDeletion = true
    // end
    let entity = NSEntityDescription()
    entity.name = "Device"
    entity.properties = [name]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let container = try store.container(history: true, model: model)
    let context = container.newBackgroundContext()
    let device = context.make("Device", ["serial": "A-1"])
    try context.save()
    context.delete(device)
    try context.save()
    let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
    let last = ((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])?.last
    #expect(last?.changes?.first?.tombstone as? [String: String] == ["serial": "A-1"])
  }
}
