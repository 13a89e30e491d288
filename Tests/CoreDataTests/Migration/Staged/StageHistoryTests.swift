// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Labels of migration stages in persistent history")
struct StageHistoryTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
  }

  struct Broken: Error {}

  /// Makes a store with two notes, and returns the position of its history.
  @discardableResult
  private func fill(tracked: Bool = true) throws -> NSPersistentHistoryToken? {
    let options: [AnyHashable: Any] = tracked ? [NSPersistentHistoryTrackingKey: true] : [:]
    let context = try notes.store.context(notes.model("v1"), options: options)
    context.transactionAuthor = "ada"
    for name in ["one", "two"] { context.make("Note", ["name": name]) }
    try context.save()
    let token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
    try notes.store.close()
    return token
  }

  private func migrate(_ version: String, _ stages: [NSMigrationStage], tracked: Bool = true) throws {
    var options: [String: Any] = [NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager(stages)]
    if tracked { options[NSPersistentHistoryTrackingKey] = true }
    try notes.open(version, options)
  }

  private func history(
    _ version: String, after token: NSPersistentHistoryToken? = nil
  ) throws -> [NSPersistentHistoryTransaction] {
    let context = try notes.store.context(notes.model(version), options: [NSPersistentHistoryTrackingKey: true])
    let found = try PersistentHistoryTests.history(context, after: token)
    try notes.store.close()
    return found
  }

  private func custom(_ from: String, _ to: String, _ label: String) throws -> NSCustomMigrationStage {
    let stage = NSCustomMigrationStage(migratingFrom: try notes.reference(from), to: try notes.reference(to))
    stage.label = label
    return stage
  }

  private func lightweight(_ versions: [String], _ label: String) throws -> NSLightweightMigrationStage {
    let stage = NSLightweightMigrationStage(try versions.map(notes.checksum))
    stage.label = label
    return stage
  }

  /// Changes all notes in the container of a handler.
  private func rename(
    _ manager: NSStagedMigrationManager, by name: String? = nil, author: String? = nil
  ) throws {
    let context = try #require(manager.container).newBackgroundContext()
    try context.performAndWait {
      context.name = name
      context.transactionAuthor = author
      for note in try context.all("Note") { note["name"] = (note["name"] as? String ?? "") + "+" }
      try context.save()
    }
  }

  @Test("Each stage and the saves of its handlers have the label as the name of their context; earlier history stays")
  func labels() throws {
    let token = try #require(try fill())
    let stage = try custom("v1", "v2", "drop numbers")
    stage.willMigrateHandler = { manager, _ in
      try rename(manager, author: "handler")
      try rename(manager, by: "own name")
    }
    stage.didMigrateHandler = { manager, _ in try rename(manager) }
    try migrate("v4", [stage, try lightweight(["v3", "v4"], "texts")])
    let all = try history("v4")
    try #require(all.map(\.transactionNumber) == Array(1...6))
    #expect(
      all.map(\.contextName) == [nil, "drop numbers", "own name", "drop numbers", "drop numbers", "texts"])
    #expect(all.map(\.author) == ["ada", "handler", nil, nil, nil, nil])
    #expect(
      all.map { $0.changes?.map(\.changeType) } == [
        [.insert, .insert], [.update, .update], [.update, .update], [], [.update, .update], [],
      ])
    #expect(Set(all.map(\.processID)).count == 1 && Set(all.map(\.bundleID)).count == 1)
    #expect(all[4].changes?.first?.updatedProperties?.map(\.name) == ["name"])
    #expect(try history("v4", after: token) == Array(all.dropFirst()))
    #expect(try history("v4", after: all[5].token).isEmpty)
    // The coordinator of the program has no label, and the next transaction a number of its own.
    let context = try notes.store.context(notes.model("v4"), options: [NSPersistentHistoryTrackingKey: true])
    context.make("Note", ["name": "new"])
    try context.save()
    let last = try #require(try PersistentHistoryTests.history(context, after: all[5].token).first)
    #expect((last.transactionNumber, last.contextName) == (7, nil))
  }

  @Test("A predicate of a history request finds the transactions of a stage")
  func predicate() throws {
    try fill()
    try migrate("v2", [try custom("v1", "v2", "drop numbers")])
    let context = try notes.store.context(notes.model("v2"), options: [NSPersistentHistoryTrackingKey: true])
    let fetch = try #require(NSPersistentHistoryTransaction.fetchRequest)
    fetch.predicate = NSPredicate(format: "contextName = 'drop numbers'")
    let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
    let result = try context.execute(request) as? NSPersistentHistoryResult
    #expect((result?.result as? [NSPersistentHistoryTransaction])?.map(\.transactionNumber) == [2])
  }

  @Test("Stages without labels, and stores that do not track history, record nothing")
  func nothing() throws {
    let token = try #require(try fill())
    try migrate("v3", [try custom("v1", "v2", ""), try lightweight(["v3"], "")])
    #expect(try history("v3", after: token).isEmpty)
    try FileManager.default.removeItem(at: notes.store.url)
    try fill(tracked: false)
    try migrate("v2", [try custom("v1", "v2", "drop numbers")], tracked: false)
    #expect(try notes.store.table("SELECT name FROM sqlite_master WHERE name LIKE 'ATRANSACTION%'").isEmpty)
  }

  @Test("A store that begins to track history with its migration has the stages in it")
  func beginning() throws {
    try fill(tracked: false)
    try migrate("v3", [try custom("v1", "v2", "drop numbers"), try lightweight(["v3"], "texts")])
    #expect(try history("v3").map(\.contextName) == ["drop numbers", "texts"])
  }

  @Test("One step through several lightweight stages records each of them that it passes")
  func severalStages() throws {
    try fill()
    // From v1 to v2 and on: the first stage has only the store's own version.
    let stages = [
      try lightweight(["v1"], "first"), try lightweight(["v2", "v3"], "second"), try lightweight(["v4"], "third"),
    ]
    try migrate("v2", stages)
    #expect(try history("v2").map(\.contextName) == [nil, "second"])
    try migrate("v4", stages)
    #expect(try history("v4").map(\.contextName) == [nil, "second", "second", "third"])
  }

  @Test("A step that belongs to no other stage is that of the stage with the first version")
  func stageOfFirstVersion() throws {
    try fill()
    try migrate("v3", [try lightweight(["v1"], "first"), try custom("v2", "v3", "second")])
    #expect(try history("v3").map(\.contextName) == [nil, "first", "second"])
  }

  @Test("A migration that fails leaves no transaction")
  func failing() throws {
    try fill()
    var migration = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, version: "v2")
    migration.historyMarks = [HistoryOrigin(contextName: "drop numbers")]
    #expect(throws: NSError.self) {
      try migration.run { if $0.isStepDone { throw Broken() } }
    }
    #expect(try notes.version() == "v1")
    #expect(try history("v1").count == 1)
    try migration.run()
    #expect(try history("v2").map(\.contextName) == [nil, "drop numbers"])
  }

  @Test("A handler that is repeated after a failure records what it saves under the label again")
  func repeated() throws {
    try fill()
    let stage = try custom("v1", "v2", "drop numbers")
    var runs = 0
    stage.didMigrateHandler = { manager, _ in
      runs += 1
      if runs == 1 { throw Broken() }
      try rename(manager)
    }
    #expect(throws: NSError.self) { try migrate("v2", [stage]) }
    try notes.store.close()
    try migrate("v2", [stage])
    #expect(try history("v2").map { $0.changes?.count } == [2, 0, 2])
    #expect(try history("v2").map(\.contextName) == [nil, "drop numbers", "drop numbers"])
  }
}
