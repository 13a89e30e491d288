// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// The work that deferred migration leaves, killed and made to fail at calls of the file system while it is finished.
@Suite("Deferred migration that is finished, and does not get to the end", .serialized)
struct DeferredKillTests {
  #if os(Linux)
  private static let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
  /// Every how many calls there is a trial.
  private static let distance = TortureSize.isFull ? 1 : 7

  private let store: TemporaryStore
  private let template: URL

  /// A store with two tables of superfluous columns, and a good number of rows.
  init() throws {
    store = try TemporaryStore()
    template = store.folder.appendingPathComponent("template")
    try FileManager.default.createDirectory(at: template, withIntermediateDirectories: true)
    let url = template.appendingPathComponent("Data.sqlite")
    try store.open(url, DeferredMigrationTests.model(1)) { context in
      for box in 0..<3 {
        let folder = context.make("Folder", ["name": "box \(box)", "size": 3])
        for number in 0..<200 {
          context.make("Note", ["name": "\(box).\(number)", "old": "x", "extra": number, "folder": folder])
        }
      }
      try context.save()
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: DeferredMigrationTests.model(2))
    try coordinator.remove(
      coordinator.addPersistentStore(
        type: .sqlite, at: url,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.allowsLoss: true,
          Self.key: true,
        ]))
    #expect(try Self.isPending(url) && Self.leftColumns(url) == 2)
  }

  private func folder(_ name: String) throws -> URL {
    let folder = store.folder.appendingPathComponent(name)
    try FileManager.default.copyItem(at: template, to: folder)
    return folder
  }

  /// Does all of the work.
  private static func finish(in folder: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: DeferredMigrationTests.model(2))
    let url = folder.appendingPathComponent("Data.sqlite")
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    try coordinator.finishDeferredLightweightMigration()
    try coordinator.remove(store)
  }

  private static func isPending(_ url: URL) throws -> Bool {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)[key] as? Bool == true
  }

  /// How many tables have columns that no property has.
  private static func leftColumns(_ url: URL) throws -> Int {
    let file = try StoreFile.open(url, isReadOnly: true)
    let count = try DeferredCleanup(file: file, document: DeferredMigrationTests.model(2).document, configuration: nil)
      .tables().count
    try file.close()
    return count
  }

  private static func rows(_ url: URL, _ store: TemporaryStore) throws -> [String] {
    var rows: [String] = []
    try store.open(url, DeferredMigrationTests.model(2)) { context in
      rows = try context.all("Note").map { note in
        "\(note["name"] ?? "") \(note["extra"] ?? "") \(note.value(forKeyPath: "folder.name") ?? "")"
      }
    }
    return rows
  }

  /// Checks what is there after an attempt, and that the rest of the work can be done.
  ///
  /// - Returns: how many tables were left to be cleaned up.
  private func check(_ folder: URL, _ expected: [String], _ place: Comment) throws -> Int {
    let url = folder.appendingPathComponent("Data.sqlite")
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    #expect(try connection.integrityCheck() == [], place)
    try connection.close()
    let left = try Self.leftColumns(url)
    #expect(try Self.isPending(url) == (left > 0), place)
    #expect(try Self.rows(url, store) == expected, place)
    try Self.finish(in: folder)
    #expect(try !Self.isPending(url) && Self.leftColumns(url) == 0, place)
    #expect(try Self.rows(url, store) == expected, place)
    try StoreChecks.check(url, DeferredMigrationTests.model(2))
    #expect(try RecoverySample.files(folder) == ["Data.sqlite"], place)
    try FileManager.default.removeItem(at: folder)
    return left
  }

  private func callCount() throws -> Int {
    let folder = try folder("count")
    let outcome = Faults.run(below: folder) { try Self.finish(in: folder) }
    if let failure = outcome.failure { throw failure }
    return outcome.calls
  }

  @Test("Whenever the process is killed, every row is there, and the metadata say whether there is work left")
  func kills() async throws {
    let expected = try Self.rows(template.appendingPathComponent("Data.sqlite"), store)
    #expect(expected.count == 600)
    let calls = try callCount()
    var left: Set<Int> = []
    for number in stride(from: 1, through: calls, by: Self.distance * 3) {
      let folder = try folder("kill-\(number)")
      let path = folder.path
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, number = number as Int] in
        faultInjectionArm(path, number, Int32(FaultKindKill.rawValue), 0)
        try DeferredKillTests.finish(in: URL(fileURLWithPath: path))
        // Fewer calls than before; then it ends here.
        kill(getpid(), SIGKILL)
      }
      left.insert(try check(folder, expected, "killed at call \(number) of \(calls)"))
    }
    // Before the first table, between the two, and after the second.
    #expect(left == [0, 1, 2])
  }

  @Test("Whatever call fails, every row is there, and the error says what failed")
  func faults() throws {
    let expected = try Self.rows(template.appendingPathComponent("Data.sqlite"), store)
    let calls = try callCount()
    var refused = 0
    for (position, error) in [ENOSPC, EIO].enumerated() {
      for number in stride(from: 1 + position, through: calls, by: Self.distance) {
        let folder = try folder("fault-\(number)")
        let outcome = Faults.run(below: folder, call: number, FaultKindOnce, error: error) {
          try Self.finish(in: folder)
        }
        let place: Comment = "call \(number) of \(calls), \(outcome.call), error \(error)"
        let failure = outcome.failure.map { $0 as NSError }
        if let failure {
          refused += 1
          #expect(failure.domain == NSCocoaErrorDomain && failure.localizedFailureReason?.isEmpty == false, place)
        }
        let left = try check(folder, expected, place)
        if failure == nil { #expect(left == 0, place) }
      }
    }
    #expect(refused > 0)
  }
  #endif
}
