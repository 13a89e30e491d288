// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Stores that another version of the app, or another process, uses while a stage with handlers runs.
@Suite("Staged migration beside other programs")
struct StageSharingTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
  }

  struct Broken: Error {}

  private func stage() throws -> NSCustomMigrationStage {
    let stage = NSCustomMigrationStage(migratingFrom: try notes.reference("v1"), to: try notes.reference("v2"))
    stage.label = "Marks"
    return stage
  }

  @discardableResult
  private func migrate(_ stage: NSCustomMigrationStage, timeout: TimeInterval = 5) throws -> [String] {
    try notes.open(
      "v2",
      [
        NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage]),
        NSPersistentStoreTimeoutOption: timeout,
      ])
  }

  /// A context of the old version of the app, which has read the notes.
  private func oldContext() throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model("v1"))
    try coordinator.addPersistentStore(type: .sqlite, at: notes.store.url)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    #expect(try context.all("Note").count == 2)
    return context
  }

  private func mark(_ manager: NSStagedMigrationManager) throws {
    let context = try #require(manager.container).newBackgroundContext()
    try context.performAndWait {
      for note in try context.all("Note") { note["name"] = (note["name"] as? String ?? "") + "+" }
      try context.save()
    }
  }

  @Test(
    "A program that has the store open can neither read nor save from the beginning of a willMigrateHandler",
    arguments: [true, false])
  func openBefore(savesFirst: Bool) throws {
    let old = try oldContext()
    let stage = try self.stage()
    var error: NSError?
    stage.willMigrateHandler = { manager, _ in
      if !savesFirst { try mark(manager) }
      old.make("Note", ["name": "late"])
      error = #expect(throws: NSError.self) { try old.save() }
      #expect(throws: NSError.self) { try old.all("Note") }
      if savesFirst { try mark(manager) }
    }
    #expect(try migrate(stage) == ["one+", "two+"])
    #expect(error?.code == NSPersistentStoreIncompatibleVersionHashError)
    #expect(error?.localizedFailureReason?.contains("began the stage 'Marks' of a migration") == true)
    #expect(old.hasChanges)
    #expect(try notes.metadata()[StagedMigration.pendingKey] == nil)
  }

  @Test("After a handler or a step that has failed, such a program can save again, and the handler sees what it saved")
  func afterFailure() throws {
    let old = try oldContext()
    let stage = try self.stage()
    stage.willMigrateHandler = { _, _ in throw Broken() }
    #expect(throws: NSError.self) { try migrate(stage) }
    #expect(try notes.metadata()[StagedMigration.pendingKey] == nil)
    old.make("Note", ["name": "three"])
    try old.save()
    stage.willMigrateHandler = { manager, _ in try mark(manager) }
    #expect(try migrate(stage) == ["one+", "three+", "two+"])
  }

  @Test("What an old version saves after a process was killed in a willMigrateHandler is seen by the handler")
  func afterKill() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = notes.store.folder.path as String] in
      try StageSharingTests.migrate(path) { _, _ in kill(getpid(), SIGKILL) }
    }
    #expect(try notes.version() == "v1")
    let old = try oldContext()
    old.make("Note", ["name": "three"])
    try old.save()
    let stage = try self.stage()
    stage.willMigrateHandler = { manager, _ in
      // It has the store open since the stage was begun, and not since it was begun again.
      old.make("Note", ["name": "late"])
      #expect(throws: NSError.self) { try old.save() }
      try mark(manager)
    }
    #expect(try migrate(stage) == ["one+", "three+", "two+"])
  }

  @Test("A program that opens the store while another process runs a handler waits, and then finds the new version")
  func openedMeanwhile() async throws {
    let folder = notes.store.folder
    async let other: Void = Self.migrateSlowly(folder)
    let running = folder.appendingPathComponent("running").path
    let end = Date().addingTimeInterval(120)
    while !FileManager.default.fileExists(atPath: running), Date() < end {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(FileManager.default.fileExists(atPath: running))

    func open(_ version: String, timeout: TimeInterval) throws {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model(version))
      try coordinator.addPersistentStore(
        type: .sqlite, at: notes.store.url, options: [NSPersistentStoreTimeoutOption: timeout])
    }
    let error = #expect(throws: NSError.self) { try open("v1", timeout: 0.2) }
    #expect(error?.code == NSPersistentStoreTimeoutError)
    #expect(error?.localizedFailureReason?.contains("has been running a stage of a migration") == true)
    try Data().write(to: folder.appendingPathComponent("go"))
    let later = #expect(throws: NSError.self) { try open("v1", timeout: 60) }
    #expect(later?.code == NSPersistentStoreIncompatibleVersionHashError)
    await other
    #expect(try notes.open("v2") == ["one", "two"])
    #expect(try notes.store.files().filter { $0.hasPrefix(".") } == [])
  }

  /// Migrates in a process whose handler ends when there is a file.
  private static func migrateSlowly(_ folder: URL) async {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let folder = URL(fileURLWithPath: path)
      try StageSharingTests.migrate(path) { _, name in
        guard name == "will" else { return }
        try Data().write(to: folder.appendingPathComponent("running"))
        let end = Date().addingTimeInterval(120)
        while !FileManager.default.fileExists(atPath: folder.appendingPathComponent("go").path), Date() < end {
          usleep(10_000)
        }
      }
    }
  }

  @Test("Two processes that open an old store at once call each handler once")
  func atOnce() async throws {
    let folder = notes.store.folder
    async let first: Void = Self.open(folder)
    async let second: Void = Self.open(folder)
    _ = await (first, second)
    #expect(try notes.open("v2") == ["one+-", "two+-"])
  }

  private static func open(_ folder: URL) async {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      try StageSharingTests.migrate(path) { manager, name in
        let context = try #require(manager.container).newBackgroundContext()
        try context.performAndWait {
          for note in try context.all("Note") {
            note["name"] = (note["name"] as? String ?? "") + (name == "will" ? "+" : "-")
          }
          usleep(200_000)
          try context.save()
        }
      }
    }
  }

  /// Opens a store of the first version with the second, by a stage.
  private static func migrate(
    _ path: String, handler: @escaping (NSStagedMigrationManager, String) throws -> Void
  ) throws {
    let folder = URL(fileURLWithPath: path)
    let models = folder.appendingPathComponent("Notes.momd")
    func reference(_ version: String) throws -> NSManagedObjectModelReference {
      let model = try NSManagedObjectModel.load(contentsOf: models, version: version)
      return .init(model: model, versionChecksum: model.versionChecksum)
    }
    let stage = NSCustomMigrationStage(migratingFrom: try reference("v1"), to: try reference("v2"))
    stage.willMigrateHandler = { manager, _ in try handler(manager, "will") }
    stage.didMigrateHandler = { manager, _ in try handler(manager, "did") }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try .load(contentsOf: models, version: "v2"))
    try coordinator.addPersistentStore(
      type: .sqlite, at: folder.appendingPathComponent("Store.sqlite"),
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage]),
        NSPersistentStoreTimeoutOption: 60,
      ])
  }

  @Test("134090 where another coordinator of the process runs a stage for longer than the timeout")
  func timeout() throws {
    let (stage, other) = (try self.stage(), try self.stage())
    stage.willMigrateHandler = { _, _ in
      let error = #expect(throws: NSError.self) { try migrate(other, timeout: 0.1) }
      #expect(error?.code == NSPersistentStoreTimeoutError)
    }
    #expect(try migrate(stage) == ["one", "two"])
  }
}
