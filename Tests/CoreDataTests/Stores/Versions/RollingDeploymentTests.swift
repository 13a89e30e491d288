// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Each change in a sixth of the orders, another sixth for the next change; `make torture` has every change in every order.
@Suite("Two versions of an app that start one after the other over one store")
struct RollingDeploymentTests {
  /// Every order in which five processes of two versions start.
  private static let orders = (1..<31).map { number in (0..<5).map { number >> $0 & 1 + 1 } }

  private static func orders(of change: RollingChange) -> [[Int]] {
    let part = (RollingChange.allCases.firstIndex(of: change) ?? 0) % 6
    return orders.enumerated().filter { TortureSize.isFull || $0.offset % 6 == part }.map(\.element)
  }

  @Test(
    "In every order, what was saved is read, and every refusal names both versions", arguments: RollingChange.allCases)
  func orders(_ change: RollingChange) throws {
    let orders = Self.orders(of: change)
    for order in orders {
      let store = try TemporaryStore()
      try change.writeModels(to: store.folder)
      var workers: [RollingWorker] = []
      for (position, version) in order.enumerated() {
        workers.append(try RollingWorker(change, version, name: "\(position)", at: store.url))
        for worker in workers { worker.work() }
      }
      #expect(workers.flatMap(\.unexpected) == [], "\(change) \(order)")
      if !change.goesBack, let first = order.firstIndex(of: 2) {
        // The old version is refused once the new one has migrated the store.
        #expect(
          zip(workers, order).allSatisfy { $0.isOpen == ($1 == 2) } && workers[first].saved.count == (5 - first) * 2)
      }
      for worker in workers { try worker.end() }
      try check(store, change, saved: workers.map(\.saved), order, checksTables: order == orders.first)
    }
  }

  /// Compares what the store holds with what was saved.
  private func check(
    _ store: TemporaryStore, _ change: RollingChange, saved: [[String: String]], _ order: [Int],
    checksTables: Bool = true
  ) throws {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    let version = try #require(
      [1, 2].first { change.model($0).isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) })
    if !change.goesBack { #expect(version == 2) }
    let context = try store.context(change.model(version))
    let expected = saved.reduce(into: [:]) { $0.merge($1) { $1 } }
    #expect(try RollingWorker.contents(context, change, version) == expected, "\(change) \(order)")
    #expect(try context.all("List").count * 2 == expected.count)
    try store.close()
    if checksTables { try StoreChecks.check(store.url, change.model(version)) }
  }

  @Test(
    "The same with processes, which start while the others save and read",
    arguments: [(RollingChange.entitiesAdded, [1, 1, 2, 1, 2]), (.hashOnly, [2, 1, 2, 1, 1])])
  func processes(_ change: RollingChange, _ order: [Int]) async throws {
    let store = try TemporaryStore()
    let path = store.url.path
    try change.writeModels(to: store.folder)
    let start = Date().timeIntervalSinceReferenceDate + 2
    await withTaskGroup(of: Void.self) { group in
      for (position, version) in order.enumerated() {
        group.addTask {
          await #expect(processExitsWith: .success) {
            [
              path = path as String, change = change as RollingChange, version = version as Int,
              position = position as Int, start = start as Double
            ] in
            while Date().timeIntervalSinceReferenceDate < start + Double(position) * 0.3 { usleep(500) }
            let worker = try RollingWorker(change, version, name: "\(position)", at: URL(fileURLWithPath: path))
            var rounds = 0
            // On a busy machine a process may begin when the others have ended.
            while worker.isOpen, rounds < 3 || Date().timeIntervalSinceReferenceDate < start + 2 {
              worker.work()
              rounds += 1
              usleep(2_000)
            }
            #expect(worker.unexpected == [])
            try JSONEncoder().encode(worker.saved).write(to: URL(fileURLWithPath: "\(path).\(position)"))
            try worker.end()
          }
        }
      }
    }
    let saved = try order.indices.map {
      try JSONDecoder().decode([String: String].self, from: Data(contentsOf: URL(fileURLWithPath: "\(path).\($0)")))
    }
    #expect(saved.map(\.count).reduce(0, +) > 2)
    try check(store, change, saved: saved, order)
  }
}
