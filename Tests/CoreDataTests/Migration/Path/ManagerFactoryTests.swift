// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreData

/// A manager of the program's own, which knows for which versions it was made.
final class WatchedManager: NSMigrationManager, @unchecked Sendable {
  struct Stop: Error {}

  /// The progress that managers have told, each in a list of its own.
  final class Log: Sendable {
    let managers = Mutex<[[Float]]>([])
    let policies = Mutex<[String]>([])
  }

  static func factory(_ log: Log, stopsAt stop: Int? = nil) -> MigrationManagerFactory {
    MigrationManagerFactory { source, destination in
      let manager = WatchedManager(sourceModel: source, destinationModel: destination)
      let number = log.managers.withLock { managers in
        managers.append([])
        return managers.count
      }
      manager.userInfo = ["number": number, "log": log]
      manager.progressHandler = { manager in
        log.managers.withLock { $0[number - 1].append(manager.migrationProgress) }
        if number == stop, manager.migrationProgress > 0.3 { manager.cancelMigrationWithError(Stop()) }
      }
      return manager
    }
  }
}

/// Writes down what the manager carries.
final class WatchingNotePolicy: NSEntityMigrationPolicy {
  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    let log = manager.userInfo?["log"] as? WatchedManager.Log
    log?.policies.withLock { $0.append("\(type(of: manager)) \(manager.userInfo?["number"] ?? "")") }
  }
}

@Suite("Migration managers of the program's own in automatic migration")
struct ManagerFactoryTests {
  private let notes: NoteVersions
  private let log = WatchedManager.Log()

  /// Version 1 to 2 is inferred; 2 to 3 and 3 to 4 go by mapping models.
  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
    for (source, destination) in [("v2", "v3"), ("v3", "v4")] {
      try notes.writeMapping(source, destination, policy: "CoreDataTests.WatchingNotePolicy")
    }
  }

  private func migration(_ factory: MigrationManagerFactory?) throws -> StoreMigration {
    var migration = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, mappings: [notes.mappings])
    migration.managerFactory = factory
    return migration
  }

  @Test("Opening a store has a manager made for each step by a mapping model, with its user info and progress")
  func opening() throws {
    try notes.open("v4", [MigrationOption.managerFactory: WatchedManager.factory(log)])
    #expect(try notes.version() == "v4")
    #expect(log.policies.withLock { $0 } == ["WatchedManager 1", "WatchedManager 2"])
    let told = log.managers.withLock { $0 }
    #expect(told.count == 2)
    for progress in told { #expect(progress.sorted() == progress && progress.last == 1 && progress.count > 3) }
    try StoreChecks.check(notes.store.url, notes.model("v4"))
  }

  @Test("The option is set by a description too")
  func description() throws {
    let container = NSPersistentContainer(name: "Notes", managedObjectModel: try notes.model("v4"))
    let description = NSPersistentStoreDescription(url: notes.store.url)
    description.setOption([notes.mappings] as NSArray, forKey: MigrationOption.mappings)
    description.setOption(WatchedManager.factory(log), forKey: MigrationOption.managerFactory)
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { #expect($1 == nil) }
    #expect(log.managers.withLock { $0.count } == 2)
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  @Test("The progress of the whole only grows, and ends at 1")
  func progress() throws {
    var fractions: [Double] = []
    try migration(WatchedManager.factory(log)).run { fractions.append($0.fractionCompleted) }
    #expect(fractions == fractions.sorted() && fractions.last == 1 && fractions.count > 6)
    #expect(log.managers.withLock { $0.count } == 2)
  }

  @Test("A manager that cancels leaves the store as it was, and its error is told", arguments: [1, 2])
  func cancelling(_ stop: Int) throws {
    let (before, files) = (try FileContent(notes.store.url), try notes.store.files())
    let factory = WatchedManager.factory(log, stopsAt: stop)
    #expect(throws: WatchedManager.Stop.self) {
      try notes.open("v4", [MigrationOption.managerFactory: factory])
    }
    #expect(log.managers.withLock { $0.count } == stop)
    #expect(try FileContent(notes.store.url) == before)
    #expect(try notes.store.files() == files)
    #expect(try notes.version() == "v1")
    #expect(throws: NSError.self) { try migration(factory).run { _ in throw WatchedManager.Stop() } }
    #expect(try notes.open("v4") == ["one", "two"])
  }

  @Test("Steps that are inferred make no manager")
  func inferred() throws {
    try notes.open("v2", [MigrationOption.managerFactory: WatchedManager.factory(log)])
    #expect(try notes.version() == "v2")
    #expect(log.managers.withLock { $0.isEmpty })
  }

  @Test("What a manager says of its progress is taken for what it can be", arguments: [Float.nan, -1, 7, .infinity])
  func oddProgress(_ value: Float) throws {
    final class OddManager: NSMigrationManager, @unchecked Sendable {
      var value: Float = 0
      override var migrationProgress: Float { value }
    }
    var fractions: [Double] = []
    let factory = MigrationManagerFactory {
      let manager = OddManager(sourceModel: $0, destinationModel: $1)
      manager.value = value
      return manager
    }
    try migration(factory).run { fractions.append($0.fractionCompleted) }
    #expect(fractions == fractions.sorted() && fractions.last == 1)
  }

  @Test("Another value for the option, and a manager for other models, are errors before anything is done")
  func errors() throws {
    let before = try FileContent(notes.store.url)
    let wrong = MigrationManagerFactory { _, model in NSMigrationManager(sourceModel: model, destinationModel: model) }
    for (value, code) in [("a class" as Any, NSPersistentStoreOpenError), (wrong as Any, NSMigrationError)] {
      let error = #expect(throws: NSError.self) { try notes.open("v4", [MigrationOption.managerFactory: value]) }
      #expect(error?.code == code)
      #expect(error?.localizedRecoverySuggestion?.contains("MigrationManagerFactory") == true)
    }
    #expect(try FileContent(notes.store.url) == before)
    #expect(try notes.store.files().filter { $0.hasPrefix(".") } == [])
  }
}
