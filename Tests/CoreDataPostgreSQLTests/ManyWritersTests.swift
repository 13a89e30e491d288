// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// What some threads have saved.
private struct SavedTotals: Codable {
  var added = 0
  var conflicts = 0
  var inserted = 0
  var deleted = 0
  var others: [String] = []
}

@Suite("Many writers", .needsPostgreSQL)
struct ManyWritersTests {
  /// How many saves of each thread succeed.
  private static let saves = TortureSize.isFull ? 300 : 20

  /// Saves in eight threads, to objects that all change, and to relationships between them.
  private static func work(_ bench: ServerBench) throws -> SavedTotals {
    let coordinator = try bench.coordinator()
    // The other process may take its time to begin.
    let connection = try bench.connection()
    try connection.execute("INSERT INTO ready VALUES (1)")
    while try connection.query("SELECT count(*) FROM ready").int64(0, 0) < 2 { Thread.sleep(forTimeInterval: 0.01) }
    let totals = Mutex(SavedTotals())
    inThreads(8) { _ in
      let context = bench.context(coordinator)
      context.performAndWait {
        var generator = SystemRandomNumberGenerator()
        var saved = 0
        while saved < saves {
          do {
            context.reset()
            var objects = try context.all("Employee")
            objects.shuffle(using: &generator)
            for object in objects.prefix(3) { object["steps"] = (object["steps"] as? Int ?? 0) + 1 }
            if objects[1].entity.name == "Manager" { objects[0]["manager"] = objects[1] }
            var (inserted, deleted) = (0, 0)
            if Bool.random(using: &generator) {
              context.make("Task", ["title": "t"])
              inserted = 1
            } else if let task = try context.all("Task", by: "title").randomElement(using: &generator) {
              context.delete(task)
              deleted = 1
            }
            try context.save()
            saved += 1
            totals.withLock {
              $0.added += 3
              $0.inserted += inserted
              $0.deleted += deleted
            }
          } catch let error as NSError where error.code == NSManagedObjectMergeError {
            totals.withLock { $0.conflicts += 1 }
          } catch {
            totals.withLock { $0.others.append("\(error)") }
            return
          }
        }
      }
    }
    return totals.withLock { $0 }
  }

  @Test("Two processes of eight threads save to the same objects: conflicts are found, and no update is lost")
  func twoProcesses() async throws {
    let bench = ServerBench()
    let setUp = bench.context(try bench.coordinator())
    for number in 0..<12 { setUp.make(number < 4 ? "Manager" : "Employee", ["name": "e\(number)", "steps": 0]) }
    try setUp.save()
    let results = try TemporaryDirectory()
    try bench.connection().execute("CREATE TABLE ready (number integer)")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<2 {
        let (url, file) = (bench.url.absoluteString, results.path("\(number)"))
        group.addTask {
          await #expect(processExitsWith: .success) {
            [url = url as String, file = file as String] in
            let totals = try Self.work(ServerBench(url: try #require(URL(string: url))))
            try JSONEncoder().encode(totals).write(to: URL(fileURLWithPath: file))
          }
        }
      }
      try await group.waitForAll()
    }
    let totals = try (0..<2).map {
      try JSONDecoder().decode(
        SavedTotals.self, from: Data(contentsOf: results.file("\($0)")))
    }
    let added = totals.reduce(0) { $0 + $1.added }
    let others = totals.flatMap(\.others)
    setUp.refreshAllObjects()
    let sum = try setUp.all("Employee").reduce(0) { $0 + ($1["steps"] as? Int ?? 0) }
    let tasks = try setUp.all("Task", by: "title").count
    let locks = try bench.connection().query(
      "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE NOT l.granted "
        + "AND c.relnamespace = current_schema()::regnamespace"
    ).int64(0, 0)
    print(
      "Many writers: \(added) additions saved by two processes, \(totals.reduce(0) { $0 + $1.conflicts }) conflicts "
        + "found, \(others.count) other errors, \(added - sum) updates lost")
    #expect(sum == added && added == 2 * 8 * Self.saves * 3 && others.isEmpty, "\(others.first ?? "")")
    #expect(tasks == totals.reduce(0) { $0 + $1.inserted - $1.deleted } && locks == 0)
  }
}
