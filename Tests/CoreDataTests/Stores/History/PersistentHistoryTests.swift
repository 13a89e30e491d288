// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Persistent history")
struct PersistentHistoryTests {
  static var tracked: [AnyHashable: Any] { [NSPersistentHistoryTrackingKey: true] }

  static func history(
    _ context: NSManagedObjectContext, after token: NSPersistentHistoryToken? = nil
  ) throws -> [NSPersistentHistoryTransaction] {
    let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token))
    return try #require((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
  }

  /// A store with four transactions: an insertion, an update, a batch insertion and a deletion.
  private func filled(_ store: TemporaryStore) throws -> NSManagedObjectContext {
    let context = try store.context(BatchSample.model(), options: Self.tracked)
    context.name = "main"
    context.transactionAuthor = "ada"
    let shelf = context.make("Shelf", ["name": "A"])
    let book = context.make("Book", ["title": "One", "isbn": "1", "shelf": shelf])
    try context.save()
    context.transactionAuthor = nil
    book["title"] = "Eins"
    book["pages"] = 7
    try context.save()
    try context.execute(NSBatchInsertRequest(entityName: "Label", objects: [["name": "red"], ["name": "blue"]]))
    context.transactionAuthor = "bob"
    context.delete(book)
    try context.save()
    return context
  }

  @Test("A save whose changes get no numbers is refused, and nothing of it is stored", arguments: [0, 1, 2])
  func exhaustedNumbers(left: Int64) throws {
    let store = try TemporaryStore()
    _ = try filled(store)
    try store.close()
    try SQLiteConnection(url: store.url, mode: .readWrite)
      .execute("UPDATE Z_PRIMARYKEY SET Z_MAX = \(Int64.max - left) WHERE Z_NAME = 'CHANGE'")
    let context = try store.context(BatchSample.model(), options: Self.tracked)
    let before = try store.table("SELECT COUNT(*) FROM ACHANGE")
    for name in ["one", "two", "three"] { context.make("Label", ["name": name]) }
    #expect { try context.save() } throws: { ($0 as NSError).isCocoa && "\($0)".contains("no more history") }
    #expect(try store.table("SELECT COUNT(*) FROM ACHANGE") == before)
    #expect(try store.table("SELECT COUNT(*) FROM ZLABEL WHERE ZNAME = 'one'") == [[0]])
  }

  @Test("History whose numbers are the least and the greatest possible ones is read, or refused with an error")
  func extremeNumbers() throws {
    for number in [Int64.min, Int64.min + 1, Int64.max] {
      let store = try TemporaryStore()
      let token = try #require(try Self.history(try filled(store)).first?.token)
      try store.close()
      try SQLiteConnection(url: store.url, mode: .readWrite)
        .execute("UPDATE ATRANSACTION SET Z_PK = \(number) WHERE Z_PK = 1")
      let context = try store.context(BatchSample.model(), options: Self.tracked)
      do {
        #expect(try !Self.history(context, after: token).isEmpty)
      } catch {
        #expect((error as NSError).isCocoa)
      }
    }
  }

  @Test("Saves and batch requests are transactions, with their origin, changes, updated properties and tombstones")
  func recorded() throws {
    let store = try TemporaryStore()
    let began = Date()
    let context = try filled(store)
    let transactions = try Self.history(context)
    #expect(transactions.map(\.transactionNumber) == [1, 2, 3, 4])
    #expect(transactions.map(\.author) == ["ada", nil, nil, "bob"])
    #expect(transactions.allSatisfy { $0.contextName == "main" && $0.processID == ProcessInfo.processInfo.processName })
    #expect(transactions.allSatisfy { $0.timestamp >= began.addingTimeInterval(-1) && $0.timestamp <= Date() })
    let identifier = try #require(context.persistentStoreCoordinator?.persistentStores.first?.identifier)
    #expect(transactions.allSatisfy { $0.storeID == identifier })
    let changes = try transactions.map { try #require($0.changes) }
    #expect(
      changes.map { $0.map(\.changeType) } == [
        [.insert, .insert], [.update], [.insert, .insert], [.update, .delete],
      ])
    #expect(Set(changes[1][0].updatedProperties?.map(\.name) ?? []) == ["pages", "search", "title"])
    #expect(changes[0].allSatisfy { $0.updatedProperties == nil && $0.tombstone == nil })
    #expect(changes[3][0].changedObjectID.entity.name == "Shelf")
    let tombstone = changes[3][1].tombstone as? [String: String]
    #expect(tombstone == ["isbn": "1", "title": "Eins"])
    #expect(changes.joined().map(\.changeID) == Array(1...7))
    #expect(changes[3][1].transaction == transactions[3])
    #expect(
      try store.table("SELECT Z_ENT, Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 16000") == [
        [16001, "CHANGE", 7], [16002, "TRANSACTION", 4], [16003, "TRANSACTIONSTRING", 4],
      ])
    #expect(try store.table("SELECT HEX(ZCOLUMNS), ZENTITY FROM ACHANGE WHERE Z_PK = 3").count == 1)
    #expect(try store.table("SELECT COUNT(*) FROM ACHANGE WHERE Z_OPT IS NOT NULL OR Z_ENT <> 16001") == [[0]])
  }

  @Test("Tokens divide history, survive archiving, and expire when what follows them is deleted")
  func tokens() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let coordinator = try #require(context.persistentStoreCoordinator)
    let all = try Self.history(context)
    let data = try NSKeyedArchiver.archivedData(withRootObject: all[1].token, requiringSecureCoding: true)
    let token = try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data))
    #expect(token == all[1].token)
    #expect(try Self.history(context, after: token) == Array(all[2...]))
    let current = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    #expect(current == all[3].token)
    #expect(try Self.history(context, after: current).isEmpty)

    try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: all[2]))
    #expect(try Self.history(context) == Array(all[2...]))
    #expect(try Self.history(context, after: token) == Array(all[2...]), "nothing after the token is missing")
    #expect { try Self.history(context, after: all[0].token) } throws: {
      ($0 as NSError).code == NSPersistentHistoryTokenExpiredError
    }
    try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture))
    #expect(try Self.history(context).isEmpty)
    #expect(try Self.history(context, after: current).isEmpty)
    #expect(throws: NSError.self) { try Self.history(context, after: token) }
    #expect(try store.table("SELECT COUNT(*) FROM ACHANGE") == [[0]])
    context.make("Label", ["name": "new"])
    try context.save()
    #expect(try Self.history(context, after: current).map(\.transactionNumber) == [5], "numbers are not used again")
    #expect { try Self.history(context, after: NSPersistentHistoryToken([all[0].storeID: 99])) } throws: {
      ($0 as NSError).code == NSPersistentHistoryTokenExpiredError
    }
    let before = try Self.history(context)
    try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: nil as NSPersistentHistoryToken?))
    #expect(try Self.history(context) == before)
  }

  @Test("Fetch requests filter, sort and limit transactions or changes, in each form of the result")
  func fetches() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    func result(_ fetch: NSFetchRequest<any NSFetchRequestResult>?, _ type: NSPersistentHistoryResultType) throws
      -> Any?
    {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: try #require(fetch))
      request.resultType = type
      let result = try #require(try context.execute(request) as? NSPersistentHistoryResult)
      #expect(result.resultType == type)
      return result.result
    }
    let byAda = NSPersistentHistoryTransaction.fetchRequest
    byAda?.predicate = NSPredicate(format: "author == %@ AND contextName != nil", "ada")
    #expect(
      (try result(byAda, .transactionsOnly) as? [NSPersistentHistoryTransaction])?.map(\.transactionNumber) == [1])
    #expect((try result(byAda, .transactionsOnly) as? [NSPersistentHistoryTransaction])?.first?.changes == nil)
    #expect((try result(byAda, .changesOnly) as? [NSPersistentHistoryChange])?.count == 2)
    #expect(try result(byAda, .count) as? Int == 1)
    #expect(try result(byAda, .statusOnly) as? Bool == true)

    let last = NSPersistentHistoryTransaction.fetchRequest
    last?.sortDescriptors = [NSSortDescriptor(key: "transactionNumber", ascending: false)]
    last?.fetchLimit = 2
    let newest = try result(last, .transactionsAndChanges) as? [NSPersistentHistoryTransaction]
    #expect(newest?.map(\.transactionNumber) == [4, 3])
    #expect(
      (try result(last, .objectIDs) as? [NSManagedObjectID])?.map { $0.entity.name } == [
        "Shelf", "Book", "Label", "Label",
      ])

    let book = try #require(try Self.history(context)[1].changes?.first?.changedObjectID)
    let changes = NSPersistentHistoryChange.fetchRequest
    changes?.entity = NSPersistentHistoryChange.entityDescription(with: context)
    changes?.predicate = NSPredicate(
      format: "changedObjectID == %@ AND changeType != %d", book, NSPersistentHistoryChangeType.insert.rawValue)
    #expect(
      (try result(changes, .changesOnly) as? [NSPersistentHistoryChange])?.map(\.changeType) == [.update, .delete])
    let grouped = try result(changes, .transactionsAndChanges) as? [NSPersistentHistoryTransaction]
    #expect(grouped?.map { $0.changes?.count } == [1, 1])
    #expect(try result(changes, .count) as? Int == 2)
    changes?.predicate = NSPredicate(format: "transaction.author == 'bob'")
    #expect(try result(changes, .count) as? Int == 2)
    changes?.predicate = NSPredicate(format: "nothing == 1")
    #expect(throws: NSError.self) { try result(changes, .count) }
    #expect(throws: NSError.self) { try result(NSFetchRequest(entityName: "Book"), .count) }
  }

  @Test("The notification of a transaction merges it into another context")
  func merging() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let reader = NSManagedObjectContext(.privateQueue)
    reader.persistentStoreCoordinator = context.persistentStoreCoordinator
    let shelf = try #require(try reader.all("Shelf").first)
    #expect(shelf["name"] as? String == "A")
    let token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
    let update = NSBatchUpdateRequest(entityName: "Shelf")
    update.propertiesToUpdate = ["name": "B"]
    try context.execute(update)
    for transaction in try Self.history(reader, after: token) {
      reader.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
    }
    #expect(shelf["name"] as? String == "B")
  }

  @Test("Batch updates and deletions record every row they change, by cascading and nullifying too")
  func batches() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let shelf = try #require(try context.all("Shelf").first)
    let author = context.make("Author", ["name": "Z"])
    let comic = context.make("Comic", ["title": "C", "shelf": shelf, "author": author])
    comic.setValue(NSOrderedSet(array: (1...2).map { context.make("Chapter", ["number": $0]) }), forKey: "chapters")
    context.make("Book", ["title": "D", "shelf": shelf, "isbn": "9"])
    try context.save()
    var token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
    let update = NSBatchUpdateRequest(entityName: "Book")
    update.propertiesToUpdate = ["pages": 3]
    try context.execute(update)
    var changes = try #require(try Self.history(context, after: token).first?.changes)
    #expect(
      changes.map { "\($0.changedObjectID.entity.name ?? "") \($0.changeType)" } == [
        "Book update", "Comic update", "Author update",
      ])
    #expect(changes[1].updatedProperties?.map(\.name) == ["pages"])
    token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Comic")
    try context.execute(NSBatchDeleteRequest(fetchRequest: fetch))
    changes = try #require(try Self.history(context, after: token).first?.changes)
    let list = changes.map { "\($0.changedObjectID.entity.name ?? "") \($0.changeType)" }
    #expect(list == ["Comic delete", "Chapter delete", "Chapter delete", "Author update"])
    #expect(changes[0].tombstone as? [String: String] == ["title": "C"])
    token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
    update.predicate = NSPredicate(value: false)
    try context.execute(update)
    #expect(try Self.history(context, after: token).isEmpty, "what changes nothing is no transaction")
  }

  @Test("A failed save leaves no history, and a conflict that is resolved leaves that of what was written")
  func failures() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let mine = try #require(try context.all("Label").first)
    let theirs = try #require(try other.all("Label").first)
    #expect(theirs["name"] as? String == "blue")
    mine["name"] = "mine"
    try context.save()
    theirs["name"] = "theirs"
    #expect(throws: NSError.self) { try other.save() }
    #expect(try Self.history(context).count == 5)
    other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try other.save()
    #expect(try Self.history(context).map { $0.changes?.count } == [2, 1, 2, 2, 1, 1])
    try StoreChecks.checkFiles(store.url, BatchSample.model())
  }

  @Test("Without the option, a store gets no tables, and one with history is read-only")
  func option() throws {
    let store = try TemporaryStore()
    let plain = try store.context(BatchSample.model())
    plain.make("Label", ["name": "a"])
    try plain.save()
    #expect(try store.table("SELECT name FROM sqlite_master WHERE name LIKE 'A%'").isEmpty)
    #expect { try Self.history(plain) } throws: {
      ($0 as NSError).code == NSPersistentStoreUnsupportedRequestTypeError
    }
    #expect(plain.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil) == nil)
    try store.close()

    let tracked = try store.context(BatchSample.model(), options: Self.tracked)
    tracked.make("Label", ["name": "b"])
    try tracked.save()
    try store.close()

    let again = try store.context(BatchSample.model())
    #expect(again.persistentStoreCoordinator?.persistentStores.first?.isReadOnly == true)
    #expect(try Self.history(again).count == 1, "history can still be read")
    again.make("Label", ["name": "c"])
    #expect { try again.save() } throws: {
      ($0 as NSError).localizedRecoverySuggestion?.contains("NSPersistentHistoryTrackingKey") == true
    }
    #expect(throws: NSError.self) {
      try again.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date()))
    }
    #expect(try Self.history(again).count == 1)
  }

  @Test("A store whose whole history was deleted is written without recording, and tokens from before expire")
  func turnedOff() throws {
    let store = try TemporaryStore()
    let tracked = try filled(store)
    let token = try #require(tracked.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil))
    try tracked.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture))
    #expect(try Self.history(tracked, after: token).isEmpty)
    try store.close()

    let plain = try store.context(BatchSample.model())
    #expect(plain.persistentStoreCoordinator?.persistentStores.first?.isReadOnly == false)
    plain.make("Label", ["name": "unrecorded"])
    try plain.save()
    try plain.execute(NSBatchInsertRequest(entityName: "Label", objects: [["name": "too"]]))
    try store.close()

    let again = try store.context(BatchSample.model(), options: Self.tracked)
    #expect(try again.all("Label").count == 4)
    #expect { try Self.history(again, after: token) } throws: {
      ($0 as NSError).code == NSPersistentHistoryTokenExpiredError
    }
    again.make("Label", ["name": "recorded"])
    try again.save()
    #expect(try Self.history(again).map(\.transactionNumber) == [6])
    #expect { try Self.history(again, after: token) } throws: {
      ($0 as NSError).code == NSPersistentHistoryTokenExpiredError
    }
    try store.close()

    let refused = try store.context(BatchSample.model())
    #expect(refused.persistentStoreCoordinator?.persistentStores.first?.isReadOnly == true)
    try StoreChecks.checkFiles(store.url, BatchSample.model())
  }

  /// Collects the notifications about one store.
  private final class Posts: @unchecked Sendable {
    private let lock = NSLock()
    private let arrival = DispatchSemaphore(value: 0)
    private var list: [Notification] = []

    func add(_ post: Notification) {
      lock.withLock { list.append(post) }
      arrival.signal()
    }

    /// Waits for the next notification.
    func next() throws -> Notification {
      try #require(arrival.wait(timeout: .now() + 20) == .success)
      return lock.withLock { list.removeFirst() }
    }
  }

  @Test("Remote changes are posted to every coordinator that asks for them")
  func remoteChanges() throws {
    let store = try TemporaryStore()
    var options = Self.tracked
    let writer = try store.context(BatchSample.model(), options: options)
    options[NSPersistentStoreRemoteChangeNotificationPostOptionKey] = true
    let reader = try store.context(BatchSample.model(), options: options)
    let coordinator = try #require(reader.persistentStoreCoordinator)
    let posts = Posts()
    let url = store.url
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: nil, queue: nil
    ) { post in
      if post.userInfo?[NSPersistentStoreURLKey] as? URL == url { posts.add(post) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    func check(_ post: Notification) {
      #expect(post.object as AnyObject === coordinator)
      #expect(post.userInfo?[NSStoreUUIDKey] as? String == coordinator.persistentStores.first?.identifier)
      #expect(
        post.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
          == coordinator.currentPersistentHistoryToken(fromStores: nil))
    }
    writer.make("Label", ["name": "a"])
    try writer.save()
    check(try posts.next())
    try writer.execute(NSBatchInsertRequest(entityName: "Label", objects: [["name": "b"]]))
    check(try posts.next())
    #expect(try reader.all("Label").count == 2)
  }
}
