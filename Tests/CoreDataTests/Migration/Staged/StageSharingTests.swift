// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Synchronization
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
  private func oldContext(_ count: Int = 2) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model("v1"))
    try coordinator.addPersistentStore(type: .sqlite, at: notes.store.url)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    #expect(try context.all("Note").count == count)
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
    #expect(try notes.metadata()[StageRecord.key] == nil)
  }

  @Test("After a handler or a step that has failed, such a program can save again, and the handler sees what it saved")
  func afterFailure() throws {
    let old = try oldContext()
    let stage = try self.stage()
    stage.willMigrateHandler = { _, _ in throw Broken() }
    #expect(throws: NSError.self) { try migrate(stage) }
    #expect(try notes.metadata()[StageRecord.key] == nil)
    old.make("Note", ["name": "three"])
    try old.save()
    stage.willMigrateHandler = { manager, _ in try mark(manager) }
    #expect(try migrate(stage) == ["one+", "three+", "two+"])
  }

  @Test("A value that is set while the store cannot be read is not forgotten without an error")
  func changedFault() throws {
    let old = try oldContext()
    let one = try #require(try old.all("Note").first { $0["name"] as? String == "one" })
    old.refresh(one, mergeChanges: false)
    let stage = try self.stage()
    stage.willMigrateHandler = { _, _ in
      one["a"] = 7
      let error = #expect(throws: NSError.self) { try old.save() }
      #expect(error?.code == NSPersistentStoreIncompatibleVersionHashError)
      throw Broken()
    }
    #expect(throws: NSError.self) { try migrate(stage) }
    #expect(old.hasChanges)
    let error = #expect(throws: NSError.self) { try old.save() }
    #expect(error?.code == NSPersistentStoreOperationError && error?.localizedRecoverySuggestion?.isEmpty == false)
    #expect(error?.userInfo[NSAffectedObjectsErrorKey] as? [NSManagedObject] == [one])
    // It is a fault again.
    #expect(!old.hasChanges && !one.isDeleted && one["name"] as? String == "one")
    one["a"] = 7
    try old.save()
    let check = try oldContext()
    #expect(try check.all("Note").first { $0["name"] as? String == "one" }?["a"] as? Int == 7)
  }

  @Test("What an old version saves after a process was killed in a willMigrateHandler is seen by the handler")
  func afterKill() async throws {
    let before = try oldContext()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = notes.store.folder.path as String] in
      try StageSharingTests.migrate(path) { _, _ in kill(getpid(), SIGKILL) }
    }
    #expect(try notes.version() == "v1")
    // Nobody runs the stage.
    before.make("Note", ["name": "three"])
    try before.save()
    let old = try oldContext(3)
    old.make("Note", ["name": "four"])
    try old.save()
    let stage = try self.stage()
    stage.willMigrateHandler = { manager, _ in
      // It has the store open since the stage was begun, and not since it was begun again.
      old.make("Note", ["name": "late"])
      #expect(throws: NSError.self) { try old.save() }
      try mark(manager)
    }
    #expect(try migrate(stage) == ["four+", "one+", "three+", "two+"])
  }

  @Test("Who opens the old version while a handler runs waits, and then finds the new version")
  func openedMeanwhile() throws {
    let (url, model) = (notes.store.url, try notes.model("v1"))
    let code = Mutex<Int?>(nil)
    let other = DispatchGroup()
    let stage = try self.stage()
    stage.willMigrateHandler = { manager, _ in
      try mark(manager)
      other.enter()
      Thread.detachNewThread {
        defer { other.leave() }
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        do {
          try coordinator.addPersistentStore(
            type: .sqlite, at: url, options: [NSPersistentStoreTimeoutOption: 600])
          code.withLock { $0 = 0 }
        } catch {
          code.withLock { $0 = (error as NSError).code }
        }
      }
      usleep(300_000)
      #expect(code.withLock { $0 } == nil)
    }
    #expect(try migrate(stage) == ["one+", "two+"])
    other.wait()
    #expect(code.withLock { $0 } == NSPersistentStoreIncompatibleVersionHashError)
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

  /// What other threads of the process do with the store while a handler runs: they have no part in the stage.
  enum Intruder: CaseIterable {
    case stages, oldVersion, ignoringVersions, migration
  }

  @Test(
    "134090 where another coordinator of the process opens the store during a handler", arguments: Intruder.allCases)
  func intruder(_ intruder: Intruder) throws {
    let stage = try self.stage()
    stage.willMigrateHandler = { manager, _ in
      try mark(manager)
      let error = try code(of: intruder)
      #expect(error == NSPersistentStoreTimeoutError)
      // The handler's own coordinators use it.
      #expect(try oldContext().all("Note").count == 2)
    }
    var hasRun = false
    stage.didMigrateHandler = { _, _ in hasRun = true }
    #expect(try migrate(stage) == ["one+", "two+"])
    #expect(hasRun)
    #expect(try notes.store.files().filter { $0.hasPrefix(".") } == [])
  }

  private func code(of intruder: Intruder) throws -> Int? {
    let version = [.oldVersion, .ignoringVersions].contains(intruder) ? "v1" : "v2"
    var options: [String: Any] = [NSPersistentStoreTimeoutOption: 0.2, MigrationOption.models: [URL]()]
    switch intruder {
    case .oldVersion: break
    case .ignoringVersions: options[NSIgnorePersistentStoreVersioningOption] = true
    case .migration, .stages:
      options[NSMigratePersistentStoresAutomaticallyOption] = true
      options[NSInferMappingModelAutomaticallyOption] = true
    }
    if intruder == .stages {
      options[NSPersistentStoreStagedMigrationManagerOptionKey] = NSStagedMigrationManager([try self.stage()])
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model(version))
    nonisolated(unsafe) let given = options
    let url = notes.store.url
    let found = Mutex<Int?>(nil)
    inThreads(1) { _ in
      do {
        try coordinator.addPersistentStore(type: .sqlite, at: url, options: given)
      } catch {
        found.withLock { $0 = (error as NSError).code }
      }
    }
    return found.withLock { $0 }
  }

  @Test("A store that another program has migrated during a handler is not migrated again")
  func overtaken() throws {
    let stage = try self.stage()
    stage.willMigrateHandler = { manager, _ in
      for store in try #require(manager.container).persistentStoreCoordinator.persistentStores {
        try #require(manager.container).persistentStoreCoordinator.remove(store)
      }
      // A program that knows nothing of the lock.
      let file = try StoreFile.open(notes.store.url, isReadOnly: false)
      var metadata = try file.metadata()
      metadata[StageRecord.key] = nil
      try file.connection.transaction(.immediate) { try file.setMetadata(metadata) }
      try file.close()
      try notes.open("v2")
    }
    stage.didMigrateHandler = { _, _ in }
    #expect(try migrate(stage) == ["one", "two"])
    #expect(try notes.version() == "v2")
  }

  @Test("The code of a stage can open its store by way of a link to the directory")
  func linkedDirectory() throws {
    let folder = notes.store.folder
    let link = folder.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder)
    let stage = try self.stage()
    stage.willMigrateHandler = { _, _ in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model("v1"))
      let url = link.appendingPathComponent(notes.store.url.lastPathComponent)
      let options = [NSPersistentStoreTimeoutOption: 0]
      let store = try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
      try coordinator.remove(store)
    }
    #expect(try migrate(stage) == ["one", "two"])
    #expect(try notes.version() == "v2")
  }

  @Test("A store that is destroyed leaves no lock of a killed process")
  func destroyed() throws {
    let path = notes.store.folder.appendingPathComponent(".Store.sqlite-stages").path
    try Data().write(to: URL(fileURLWithPath: path))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try notes.model("v1"))
    try coordinator.destroyPersistentStore(at: notes.store.url, type: .sqlite)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("The users of a store see its lock, and what has the name of the lock and is no file is refused")
  func lockFile() throws {
    let url = notes.store.url
    let path = notes.store.folder.appendingPathComponent(".Store.sqlite-stages").path
    chmod(url.path, 0o664)
    do {
      let lock = try StageLock(url, timeout: 0)
      try withExtendedLifetime(lock) {
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode == 0o664)
        #expect(throws: StageLock.Held.self) { try StageLock(url, timeout: 0) }
      }
    }
    #expect(!StageLock.exists(url))
    mkfifo(path, 0o600)
    let stage = try self.stage()
    stage.willMigrateHandler = { _, _ in }
    #expect(throws: NSError.self) { try migrate(stage) }
    #expect(try notes.version() == "v1")
  }
}
