// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import CoreDataTestSupport
import Foundation
import Synchronization

/// An instance that reads and writes, each in a thread of its own. It begins with a version of the model, and starts
/// again with the new one when it is told that the store was migrated.
final class RollingInstance: Sendable {
  private let name: String
  private let url: URL
  private let change: RollingChange
  private let migrates: Bool
  /// A file whose existence ends the instance.
  private let stop: String
  private let stack: Mutex<Stack?>

  /// An open store.
  private struct Stack {
    let coordinator: NSPersistentStoreCoordinator
    /// The change that the model has; nil for the old version.
    let change: RollingChange?
  }

  init(_ options: Options) throws {
    name = options.text("name") ?? "i"
    url = try options.url("url")
    guard let change = RollingChange(rawValue: options.text("change") ?? "") else {
      throw Options.Mistake("--change needs one of \(RollingChange.allCases.map(\.rawValue))")
    }
    self.change = change
    migrates = options.text("migrates") != nil
    guard let stop = options.text("stop") else { throw Options.Mistake("--stop needs a file.") }
    self.stop = stop
    let start = Date()
    let coordinator = try RollingChange.open(url, migrates ? change : nil, migrates: migrates)
    Report.write("opened", Self.now, Int(Date().timeIntervalSince(start) * 1_000))
    stack = Mutex(Stack(coordinator: coordinator, change: migrates ? change : nil))
  }

  /// The time in milliseconds, for comparisons between processes.
  private static var now: Int { Int(Date().timeIntervalSince1970 * 1_000) }

  func run() throws -> Bool {
    inThreads(2) { [self] number in number == 0 ? work("reader", read) : work("writer", write) }
    return true
  }

  private func work(_ role: String, _ body: (NSManagedObjectContext, RollingChange?, Int) throws -> Void) {
    var (number, longest, longestGap) = (0, 0, 0)
    var last = Int.max
    var gapEnd = 0
    while !FileManager.default.fileExists(atPath: stop) {
      guard let used = stack.withLock({ $0 }) else { return }
      number += 1
      let start = Self.now
      let context = used.coordinator.context()
      do {
        try context.performAndWait { try body(context, used.change, number) }
        let now = Self.now
        longest = max(longest, now - start)
        if now - last > longestGap { (longestGap, gapEnd) = (now - last, now) }
        last = now
      } catch {
        longest = max(longest, Self.now - start)
        refused(role, number, error, used, start)
      }
    }
    Report.write("longest", role, longest, longestGap, gapEnd, number)
  }

  private func refused(_ role: String, _ number: Int, _ error: any Error, _ used: Stack, _ start: Int) {
    let code = (error as NSError).code
    Report.write(
      "refused", "\(name)-\(number)", role, code, used.change?.rawValue ?? "first", start, Self.now, "\(error)")
    guard code == NSPersistentStoreIncompatibleVersionHashError else { return Thread.sleep(forTimeInterval: 0.05) }
    stack.withLock { current in
      guard current?.coordinator === used.coordinator else { return }
      do {
        current = Stack(coordinator: try RollingChange.open(url, change), change: change)
        Report.write("reopened", Self.now)
      } catch {
        Report.write(
          "refused", "\(name)-\(number)", "opening", (error as NSError).code, change.rawValue, start, Self.now,
          "\(error)")
        Thread.sleep(forTimeInterval: 0.05)
      }
    }
  }

  private func read(_ context: NSManagedObjectContext, _ change: RollingChange?, _ number: Int) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    request.predicate = NSPredicate(format: "number >= 0 AND number < 20")
    let found = try context.fetch(request)
    let isRight = found.allSatisfy { object in
      let value = object["number"] as? Int
      return object["name"] as? String == value.map { "row\($0)" } && (object["count"] as? NSNumber)?.intValue == value
        && (change == .removed || object[change == .renamed ? "comment" : "note"] as? String == value.map { "n\($0)" })
    }
    if found.count != 20 || !isRight {
      Report.write("misread", "\(name)-\(number)", found.count, "\(found.first as Any)")
    }
    Thread.sleep(forTimeInterval: 0.005)
  }

  /// Inserts an item, and writes its number to the item of this instance that counts.
  private func write(_ context: NSManagedObjectContext, _ change: RollingChange?, _ number: Int) throws {
    let start = Self.now
    let key = "\(name)-\(number)"
    var values: [String: Any] = ["name": key, "number": -1, "count": number]
    if change != .removed { values[change == .renamed ? "comment" : "note"] = "old-\(key)" }
    if change == .addedOptional || change == .addedRequired { values["extra"] = 8 }
    let item = context.make("Item", values)
    if change == .newEntity { context.make("Part", ["title": key, "item": item]) }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    request.predicate = NSPredicate(format: "name == %@", "cursor-\(name)")
    let cursor = try context.fetch(request).first ?? context.make("Item", ["name": "cursor-\(name)", "number": -2])
    cursor["count"] = number
    do {
      try context.save()
    } catch {
      Report.write("unwritten", key)
      throw error
    }
    Report.write("wrote", key, change?.rawValue ?? "first", start, Self.now)
    Thread.sleep(forTimeInterval: 0.005)
  }
}
