// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Torture: a process that goes on writing to a store while another one migrates it", .serialized)
struct WriterTortureTests {
  /// How a store is migrated.
  enum Way: CaseIterable, Sendable {
    case inPlace
    case byCopy
    /// The store has a rollback journal in the place of a write-ahead log, before and after.
    case byCopyWithoutLog

    /// What the store is opened with.
    var options: [AnyHashable: Any] {
      self == .byCopyWithoutLog ? [NSSQLitePragmasOption: ["journal_mode": "DELETE"]] : [:]
    }
  }

  private static let rounds = TortureSize.isFull ? 100 : 4
  /// How long the other process writes, in seconds.
  private static let duration = 0.4

  private static func model(_ version: Int) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var attributes: [NSAttributeDescription] = [.make("title", .stringAttributeType)]
    if version > 1 { attributes.append(.make("stars", .integer16AttributeType, default: 3)) }
    builder.entity("Note", attributes)
    return builder.model()
  }

  private static func migrate(_ url: URL, _ way: Way) throws {
    let model = model(2)
    var options = way.options
    options[NSMigratePersistentStoresAutomaticallyOption] = true
    options[NSPersistentStoreTimeoutOption] = 0.3
    options[MigrationOption.keepsReplacedStore] = false
    if way != .inPlace {
      let inferred = try NSMappingModel.inferredMappingModel(
        forSourceModel: self.model(1), destinationModel: model)
      let mapping = NSMappingModel()
      mapping.entityMappings = inferred.entityMappings
      options[MigrationOption.mappings] = [mapping]
    } else {
      options[NSInferMappingModelAutomaticallyOption] = true
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: url, options: options))
  }

  /// Writes row after row, and notes each that SQLite has taken; sometimes as one who comes and goes, sometimes as one who
  /// stays for a while. What it is told to wait for it does not wait for long.
  private static func write(to path: String, notes: String, seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let end = Date().addingTimeInterval(duration)
    let staying = Bool.random(using: &random) ? 1 : 8
    try Data().write(to: URL(fileURLWithPath: notes))
    let noted = try FileHandle(forWritingTo: URL(fileURLWithPath: notes))
    var number = 0
    while Date() < end {
      do {
        let connection = try SQLiteConnection(
          url: URL(fileURLWithPath: path), mode: .readWrite,
          busyTimeout: [0.0, 0.02, 0.2].randomElement(using: &random) ?? 0)
        for _ in 0..<Int.random(in: 1...staying, using: &random) {
          number += 1
          try connection.run("INSERT INTO ZNOTE (Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 'n\(number)')")
          try noted.write(contentsOf: Data("n\(number)\n".utf8))
          if Bool.random(using: &random) { usleep(UInt32.random(in: 0..<2_000, using: &random)) }
        }
        try connection.close()
      } catch is SQLiteError {
        // The migration is in the way, as it may be: the row was not taken, and is not noted.
      }
      usleep(UInt32.random(in: 0..<10_000, using: &random))
    }
    try noted.close()
  }

  @Test(
    "Every row that a writer was told is written is there, and the store is migrated in the end",
    arguments: Way.allCases)
  func writing(_ way: Way) async throws {
    for round in 1...Self.rounds {
      let store = try TemporaryStore()
      let notes = store.folder.appendingPathComponent("notes")
      let first = NSPersistentStoreCoordinator(managedObjectModel: Self.model(1))
      try first.remove(try first.addPersistentStore(type: .sqlite, at: store.url, options: way.options))
      let migration = Task.detached { [url = store.url] in
        var failures: [NSError] = []
        while !FileManager.default.fileExists(atPath: notes.path) { usleep(1_000) }
        for _ in 0..<8 {
          do {
            try Self.migrate(url, way)
            return failures
          } catch {
            failures.append(error as NSError)
            usleep(20_000)
          }
        }
        return failures
      }
      await #expect(processExitsWith: .success) {
        [path = store.url.path as String, notes = notes.path as String, round = round as Int] in
        try Self.write(to: path, notes: notes, seed: round)
      }
      let failures = await migration.value
      for failure in failures {
        let known = [NSMigrationError, NSPersistentStoreOpenError, NSPersistentStoreTimeoutError]
        #expect(known.contains(failure.code), "\(round): \(failure)")
      }
      // Nobody is in the way any more.
      try Self.migrate(store.url, way)
      let noted = try String(contentsOf: notes, encoding: .utf8).split(separator: "\n").map(String.init)
      let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
      let rows = Set(try connection.rows("SELECT ZTITLE FROM ZNOTE").compactMap { $0[0].text })
      #expect(
        !noted.isEmpty && Set(noted).subtracting(rows).isEmpty, "\(round): \(Set(noted).subtracting(rows).sorted())")
      #expect(try connection.integrityCheck() == [])
      try connection.close()
      #expect(try store.files().filter { !["Store.sqlite", "notes"].contains($0) } == [])
    }
  }
}
