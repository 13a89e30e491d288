// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreData

@Suite("Several openers of one old store")
struct OpenersAtOnceTests {
  private final class Failures: Sendable {
    let texts = Mutex<[String]>([])

    func note(_ body: () throws -> Void) {
      do { try body() } catch { texts.withLock { $0.append("\(error)") } }
    }
  }

  private static func options(_ way: StoreMigration.Step.Kind) throws -> [AnyHashable: Any] {
    var options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      NSPersistentStoreTimeoutOption: 60, MigrationOption.keepsReplacedStore: false,
    ]
    guard way == .mapping else { return options }
    let inferred = try NSMappingModel.inferredMappingModel(
      forSourceModel: RecoverySample.model(1), destinationModel: RecoverySample.model(2))
    let mapping = NSMappingModel()
    mapping.entityMappings = inferred.entityMappings
    options[MigrationOption.mappings] = [mapping]
    return options
  }

  @Test(
    "One of them migrates it; the others wait, and find it of their version",
    arguments: [StoreMigration.Step.Kind.inferred, .mapping], ["WAL", "DELETE"])
  func opening(_ way: StoreMigration.Step.Kind, mode: String) throws {
    for _ in 0..<3 {
      let store = try TemporaryStore()
      try RecoverySample.fill(store.url, rows: 60, photos: 2)
      let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
      try connection.setPragma("journal_mode", to: .text(mode))
      try connection.close()
      let (failures, url) = (Failures(), store.url)
      inThreads(6) { _ in
        failures.note {
          var options = try Self.options(way)
          options[NSSQLitePragmasOption] = ["journal_mode": mode]
          let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(2))
          let opened = try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
          let context = NSManagedObjectContext(.privateQueue)
          context.persistentStoreCoordinator = coordinator
          let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
          if count != 60 { throw StoreErrors.operationFailed(url: url, reason: "\(count) rows") }
          try coordinator.remove(opened)
        }
      }
      #expect(failures.texts.withLock { $0 } == [])
      #expect(try RecoverySample.version(store.url) == 2)
      #expect(try RecoverySample.files(store.folder) == ["Store.sqlite", "2 values"])
    }
  }

  @Test("A migration that others have carried out meanwhile says so; one that they have taken elsewhere is refused")
  func planned() throws {
    for way in [StoreMigration.Step.Kind.inferred, .mapping] {
      let store = try TemporaryStore()
      try RecoverySample.fill(store.url, rows: 4, photos: 1)
      let first = try RecoverySample.migration(store.url, [(2, way)])
      let second = try RecoverySample.migration(store.url, [(2, way)])
      let third = try RecoverySample.migration(store.url, [(2, way), (3, .inferred)])
      #expect(try !first.run().wasDoneByOthers)
      let report = try second.run()
      #expect(report.wasDoneByOthers && report.rows.isEmpty && report.statements.isEmpty)
      #expect(throws: (any Error).self) { try third.run() }
      #expect(try RecoverySample.version(store.url) == 2)
    }
  }
}
