// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataSQLite

@Suite("Several processes on one SQLite store", .serialized)
struct SeveralProcessesTests {
  private static let saves = 25

  private static func description(_ path: String, _ mode: String, _ history: Bool) -> NSPersistentStoreDescription {
    let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: path))
    description.setValue(mode as NSString, forPragmaNamed: "journal_mode")
    if history { description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey) }
    return description
  }

  private static func container(_ path: String, _ mode: String, _ history: Bool) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Store", managedObjectModel: CompanyModel.make())
    container.persistentStoreDescriptions = [description(path, mode, history)]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  /// The work of one process: departments with employees, in many small saves, and a count of what it has saved.
  private static func work(_ container: NSPersistentContainer, _ number: Int) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for save in 0..<saves {
        let department = context.make("Department", ["name": "\(number)-\(save)"])
        for employee in 0..<4 {
          let made = context.make("Employee", ["name": "\(number)-\(save)-\(employee)", "department": department])
          made["contract"] = context.make("Contract", ["number": number])
        }
        try context.save()
        let request = NSFetchRequest<NSManagedObject>(entityName: "Department")
        request.predicate = NSPredicate(format: "name BEGINSWITH %@", "\(number)-")
        #expect(try context.count(for: request) == save + 1)
      }
    }
  }

  @Test(
    "Three processes that save at once, to a new or an old store, wait for one another and lose no row",
    arguments: [(true, "WAL", false), (false, "WAL", true), (true, "DELETE", false)])
  func writers(_ isNew: Bool, _ mode: String, _ history: Bool) async throws {
    let store = try TemporaryStore()
    let path = store.url.path
    if !isNew {
      let container = try Self.container(path, mode, history)
      let context = container.newBackgroundContext()
      context.make("Department", ["name": "before"])
      try context.save()
      try container.persistentStoreCoordinator.remove(container.persistentStoreCoordinator.persistentStores[0])
    }
    let start = Date().timeIntervalSinceReferenceDate + 2
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<3 {
        group.addTask {
          await #expect(processExitsWith: .success) {
            [
              path = path as String, number = number as Int, start = start as Double, mode = mode as String,
              history = history as Bool
            ] in
            // All processes begin together.
            while Date().timeIntervalSinceReferenceDate < start { usleep(500) }
            try SeveralProcessesTests.work(try SeveralProcessesTests.container(path, mode, history), number)
          }
        }
      }
    }
    let container = try Self.container(path, mode, history)
    let context = container.newBackgroundContext()
    let employees = try context.all("Employee")
    let expected = (0..<3).flatMap { number in
      (0..<Self.saves).flatMap { save in (0..<4).map { "\(number)-\(save)-\($0)" } }
    }
    #expect(employees.compactMap { $0["name"] as? String } == expected.sorted())
    #expect(Set(employees.map(\.objectID)).count == expected.count)
    for employee in employees {
      let name = employee["name"] as? String ?? ""
      let department = (employee["department"] as? NSManagedObject)?["name"] as? String ?? "none"
      #expect(name.hasPrefix(department + "-"))
      #expect((employee["contract"] as? NSManagedObject)?["number"] as? Int == Int(name.prefix(1)))
    }
    #expect(try context.all("Department").count == 3 * Self.saves + (isNew ? 0 : 1))
    if history {
      let all = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
      let transactions = try #require((all as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
      #expect(transactions.map(\.transactionNumber) == (1...Int64(1 + 3 * Self.saves)).map { $0 })
      #expect(transactions.dropFirst().allSatisfy { $0.changes?.count == 9 })
    }
    try container.persistentStoreCoordinator.remove(container.persistentStoreCoordinator.persistentStores[0])
    if !history { try StoreChecks.check(store.url, CompanyModel.make()) }
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    #expect(try connection.scalar("PRAGMA integrity_check") == .text("ok"))
    for (entity, table) in [("Department", "ZDEPARTMENT"), ("Employee", "ZEMPLOYEE"), ("Contract", "ZCONTRACT")] {
      let greatest = try connection.scalar("SELECT MAX(Z_PK) FROM \(table)")
      #expect(try connection.scalar("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = ?", [.text(entity)]) == greatest)
    }
    try connection.close()
  }

  @Test("A writer waits as long as its timeout says, and then gets an error about the lock, with its changes kept")
  func timeout() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make(), options: [NSPersistentStoreTimeoutOption: 0.3])
    context.make("Department", ["name": "kept"])
    let other = try SQLiteConnection(url: store.url, mode: .readWrite)
    try other.begin(.immediate)
    let started = ContinuousClock.now
    let error = try #require(throws: NSError.self) { try context.save() }
    #expect(error.code == NSPersistentStoreTimeoutError)
    #expect(ContinuousClock.now - started >= .milliseconds(250))
    #expect(context.hasChanges)
    try other.rollback()
    try context.save()
    #expect(try context.all("Department").count == 1)
    try other.close()
  }

  // MARK: Remote changes

  /// Notifications of one store's coordinator.
  private final class Posts: @unchecked Sendable {
    private let lock = NSLock()
    private let arrival = DispatchSemaphore(value: 0)
    private var list: [Notification] = []
    private var observer: (any NSObjectProtocol)?

    init(_ coordinator: NSPersistentStoreCoordinator) {
      observer = NotificationCenter.default.addObserver(
        forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
      ) { [unowned self] post in
        lock.withLock { list.append(post) }
        arrival.signal()
      }
    }

    deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }

    var count: Int { lock.withLock { list.count } }

    func next() throws -> Notification {
      try #require(arrival.wait(timeout: .now() + 20) == .success, "no notification")
      return lock.withLock { list.removeFirst() }
    }
  }

  private static func insert(at path: String, _ options: [AnyHashable: Any]) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let store = try coordinator.addPersistentStore(type: .sqlite, at: URL(fileURLWithPath: path), options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    context.transactionAuthor = "other"
    context.make("Department", ["name": "theirs"])
    try context.save()
    try coordinator.remove(store)
  }

  #if os(Linux)
  @Test(
    "A save of another process posts a remote change, with the token before which history has it",
    arguments: ["WAL", "DELETE"])
  func remoteChange(_ mode: String) async throws {
    let store = try TemporaryStore()
    let options: [AnyHashable: Any] = [
      NSPersistentHistoryTrackingKey: true, NSPersistentStoreRemoteChangeNotificationPostOptionKey: true,
      NSSQLitePragmasOption: ["journal_mode": mode],
    ]
    let context = try store.context(CompanyModel.make(), options: options)
    let coordinator = try #require(context.persistentStoreCoordinator)
    let posts = Posts(coordinator)
    context.make("Department", ["name": "mine"])
    try context.save()
    _ = try posts.next()
    let before = coordinator.currentPersistentHistoryToken(fromStores: nil)
    let path = store.url.path
    await #expect(processExitsWith: .success) { [path = path as String, mode = mode as String] in
      try SeveralProcessesTests.insert(
        at: path, [NSPersistentHistoryTrackingKey: true, NSSQLitePragmasOption: ["journal_mode": mode]])
    }
    let post = try posts.next()
    #expect(post.object as AnyObject === coordinator)
    #expect(post.userInfo?[NSStoreUUIDKey] as? String == coordinator.persistentStores[0].identifier)
    #expect((post.userInfo?[NSPersistentStoreURLKey] as? URL)?.path == path)
    #expect(post.userInfo?[NSPersistentHistoryTokenKey] is NSPersistentHistoryToken)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: before)
    let result = try #require(try context.execute(request) as? NSPersistentHistoryResult)
    let transactions = try #require(result.result as? [NSPersistentHistoryTransaction])
    #expect(transactions.map(\.author) == ["other"])
    for transaction in transactions { context.mergeChanges(fromContextDidSave: transaction.objectIDNotification()) }
    #expect(try context.all("Department").map { $0["name"] as? String } == ["mine", "theirs"])
  }

  @Test("Own changes post once, reading posts nothing, and a removed store or one without the option posts nothing")
  func silence() async throws {
    let store = try TemporaryStore()
    let options = [NSPersistentStoreRemoteChangeNotificationPostOptionKey: true]
    let context = try store.context(CompanyModel.make(), options: options)
    let plain = try store.context(CompanyModel.make())
    let coordinator = try #require(context.persistentStoreCoordinator)
    let (posts, others) = (Posts(coordinator), Posts(try #require(plain.persistentStoreCoordinator)))
    context.make("Department", ["name": "mine"])
    try context.save()
    _ = try posts.next()
    _ = try context.all("Department")
    _ = try plain.all("Department")
    try await Task.sleep(for: .milliseconds(200))
    #expect(posts.count == 0)
    try coordinator.remove(coordinator.persistentStores[0])
    plain.make("Department", ["name": "plain"])
    try plain.save()
    let path = store.url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      try SeveralProcessesTests.insert(at: path, [:])
    }
    try await Task.sleep(for: .milliseconds(200))
    #expect(posts.count == 0 && others.count == 0)
    #expect(try plain.all("Department").count == 3)
  }
  #endif
}
