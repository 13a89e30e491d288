// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import CoreDataTestSupport
import Foundation
import Synchronization

/// An instance that saves to one or more stores in several threads, and reports the outcome of each save.
///
/// Each thread has entries of its own, and a counter that nobody else changes: every save adds one to it.
struct SavingInstance {
  private let name: String
  /// The URL of the store of each tenant.
  private let tenants: [(name: String, url: URL)]
  private let threads: Int
  /// The number of saves of each thread; nil for no limit.
  private let saves: Int?
  private let seconds: Double
  /// The number of saves for each read.
  private let savesPerRead: Int
  private let options: [AnyHashable: Any]
  private let listensAt: [URL]

  init(_ options: Options) throws {
    name = options.text("name") ?? "i"
    threads = try options.count("threads", default: 2)
    saves = options.text("saves") == nil ? nil : try options.count("saves", default: 1)
    seconds = try options.number("seconds", default: 3_600)
    savesPerRead = try options.count("saves-per-read", default: 10)
    var urls = [try options.url("url")]
    if options.text("url2") != nil { urls.append(try options.url("url2")) }
    tenants = urls.enumerated().map { ("t\($0.offset)", $0.element) }
    listensAt = options.text("listen") == nil ? [] : [try options.url("listen"), try options.url("listen2")]
    var settings: [AnyHashable: Any] = [
      NSPersistentStoreTimeoutOption: try options.number("timeout", default: 5)
    ]
    if options.text("notified") != nil { settings[NSPersistentStoreRemoteChangeNotificationPostOptionKey] = true }
    self.options = settings
  }

  func run() throws -> Bool {
    let end = Date(timeIntervalSinceNow: seconds)
    var work: [(tenant: String, NSPersistentStoreCoordinator)] = []
    var watchers: [NotificationWatcher] = []
    for (number, tenant) in tenants.enumerated() {
      var settings = options
      if !listensAt.isEmpty { settings[PostgreSQLListenURLOption] = listensAt[number] }
      guard let coordinator = open(tenant.url, settings, until: end) else { return true }
      work.append((tenant.name, coordinator))
      if options[NSPersistentStoreRemoteChangeNotificationPostOptionKey] != nil {
        watchers.append(NotificationWatcher(coordinator, tenant: tenant.name))
      }
    }
    Report.write("opened", name)
    let opened = work
    let (name, saves, savesPerRead) = (name, saves, savesPerRead)
    inThreads(threads * opened.count) { number in
      let (tenant, coordinator) = opened[number % opened.count]
      SavingThread(
        name: "\(tenant)-\(name)-\(number)", tenant: tenant, context: coordinator.context(), saves: saves,
        savesPerRead: savesPerRead, end: end
      ).run()
    }
    for watcher in watchers { watcher.finish() }
    return true
  }

  /// Opens a store, and tries again while the server has no connection.
  private func open(_ url: URL, _ settings: [AnyHashable: Any], until end: Date) -> NSPersistentStoreCoordinator? {
    while Date() < end {
      do {
        return try LedgerModel.open(url, settings)
      } catch {
        Report.write("not opened", (error as NSError).code, "\(error)")
        Thread.sleep(forTimeInterval: 0.2)
      }
    }
    return nil
  }
}

/// A thread that saves.
private struct SavingThread {
  /// The number of attempts to save the same changes.
  private static let attempts = 40
  /// The seconds between two of them.
  private static let pause = 0.1

  let name: String
  let tenant: String
  let context: NSManagedObjectContext
  let saves: Int?
  let savesPerRead: Int
  let end: Date

  func run() {
    context.performAndWait {
      var counter: NSManagedObject?
      var number = 0
      while saves.map({ number < $0 }) ?? true, Date() < end {
        let key = "\(name)-\(number)"
        for part in 0..<LedgerModel.entries {
          context.make("Entry", ["key": key, "tenant": tenant, "part": part])
        }
        let kept = counter ?? context.make("Counter", ["name": name, "value": 0])
        kept["value"] = (kept["value"] as? Int ?? 0) + 1
        let start = Date()
        let isSaved = save(key, repeats: number % 2 == 0 || saves != nil)
        if isSaved {
          counter = kept
          Report.write("saved", key, Int(Date().timeIntervalSince(start) * 1_000))
          if number % savesPerRead == 0 { read(key) }
        } else {
          context.rollback()
          // A counter whose first save has failed is not in the store.
        }
        number += 1
      }
    }
  }

  /// Saves, and reports a failure.
  ///
  /// - Parameter repeats: Whether the same changes are saved again after a failure that leaves no doubt.
  private func save(_ key: String, repeats: Bool) -> Bool {
    var code = 0
    var message = ""
    for _ in 0..<Self.attempts {
      do {
        try context.save()
        return true
      } catch {
        code = (error as NSError).code
        message = "\(error)"
        Report.write("error", key, code, message)
        if code != NSPersistentStoreSaveError, !repeats { break }
        Thread.sleep(forTimeInterval: Self.pause)
      }
    }
    Report.write(code == NSPersistentStoreSaveError ? "unknown" : "failed", key, code, message)
    return false
  }

  /// Reads what was just saved. A failure to read is no answer.
  private func read(_ key: String) {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Entry")
    request.predicate = NSPredicate(format: "key == %@", key)
    do {
      let count = try context.count(for: request)
      if count != LedgerModel.entries { Report.write("missing", key, count) }
    } catch {
      Report.write("unread", key, (error as NSError).code)
    }
  }
}

/// Counts the notifications of a store, and the entries that the store had at the last one.
private final class NotificationWatcher: Sendable {
  private struct State {
    var count = 0
    var seen = 0
  }

  /// The seconds without a notification after which no further one is awaited.
  private static let quiet = 8.0

  private let state = Mutex(State())
  private let lastTime = Mutex(Date())
  private let tenant: String

  init(_ coordinator: NSPersistentStoreCoordinator, tenant: String) {
    self.tenant = tenant
    let context = coordinator.context()
    // It observes until the process ends.
    _ = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
    ) { [self] _ in
      let number = state.withLock { state in
        state.count += 1
        return state.count
      }
      lastTime.withLock { $0 = Date() }
      context.perform {
        // Only the last one counts, and what comes before it delays it.
        guard self.state.withLock({ $0.count == number }) else { return }
        do {
          let seen = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Entry"))
          self.state.withLock { $0.seen = seen }
        } catch {
          Report.write("unread", self.tenant, "\(error)")
        }
      }
    }
  }

  /// Waits until there are no more notifications, and reports them.
  func finish() {
    while Date().timeIntervalSince(lastTime.withLock { $0 }) < Self.quiet { Thread.sleep(forTimeInterval: 0.1) }
    let (count, seen) = state.withLock { ($0.count, $0.seen) }
    Report.write("notified", tenant, count, seen)
  }
}
