// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Staged migration")
struct StagedMigrationTests {
  private let first = model(entity("Note", [attribute("text")]))
  private let second = model(entity("Note", [attribute("text"), attribute("words", .integer32AttributeType)]))
  private let third = model(
    entity("Note", [attribute("text"), attribute("words", .integer32AttributeType), attribute("mood")]))

  private func reference(_ model: NSManagedObjectModel) -> NSManagedObjectModelReference {
    NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
  }

  private func options(_ stages: [NSMigrationStage]) -> [AnyHashable: Any] {
    var options = MigrationWay.automatic
    options[NSPersistentStoreStagedMigrationManagerOptionKey] = NSStagedMigrationManager(stages)
    return options
  }

  /// A store of a version with one note.
  private func store(of model: NSManagedObjectModel) throws -> StoreDirectory {
    let stack = try Stack(model)
    try stack.run { context in
      context.insert("Note", ["text": "two words"])
      try context.save()
    }
    try stack.close()
    return stack.directory
  }

  @Test("A lightweight stage migrates to the last of its versions by inference")
  func lightweight() throws {
    let directory = try store(of: first)
    let stages = [
      NSLightweightMigrationStage([first.versionChecksum, second.versionChecksum, third.versionChecksum])
    ]
    let stack = try Stack(third, in: directory, options: options(stages))
    try stack.run { context in
      let note = try #require(try context.all("Note").first)
      #expect(note.text("text") == "two words")
      #expect(note.value(forKey: "mood") == nil)
    }
  }

  @Test("A custom stage calls its handlers before and after its step, each with a container of the version it sees")
  func custom() throws {
    let directory = try store(of: first)
    let log = Log()
    let stage = NSCustomMigrationStage(migratingFrom: reference(first), to: reference(second))
    stage.willMigrateHandler = { manager, _ in
      let properties = manager.container?.managedObjectModel.entitiesByName["Note"]?.attributesByName.keys.sorted()
      log.add("will \(properties ?? [])")
    }
    stage.didMigrateHandler = { manager, _ in
      guard let container = manager.container else { return }
      let properties = container.managedObjectModel.entitiesByName["Note"]?.attributesByName.keys.sorted()
      log.add("did \(properties ?? [])")
      let context = container.newBackgroundContext()
      try context.performAndWait {
        for note in try context.all("Note") {
          note.setValue(note.text("text")?.split(separator: " ").count, forKey: "words")
        }
        try context.save()
      }
    }
    let stack = try Stack(second, in: directory, options: options([stage]))
    #expect(log.all == [#"will ["text"]"#, #"did ["text", "words"]"#])
    #expect(try stack.run { try $0.all("Note").first?.number("words") } == 2)
  }

  @Test("The error that a handler throws comes out of opening, and the store stays of its version")
  func throwing() throws {
    let directory = try store(of: first)
    let stage = NSCustomMigrationStage(migratingFrom: reference(first), to: reference(second))
    stage.willMigrateHandler = { _, _ in throw NSError(domain: "Conformance", code: 9) }
    let failure = try thrown { _ = try Stack(second, in: directory, options: options([stage])) }
    #expect(carries(failure, code: 9))
    #expect(throws: Never.self) { try Stack(first, in: directory) }
  }

  @Test("A store whose version is in no stage is error 134504")
  func unknownVersion() throws {
    let directory = try store(of: first)
    let stages = [NSLightweightMigrationStage([second.versionChecksum, third.versionChecksum])]
    let failure = error { _ = try Stack(third, in: directory, options: options(stages)) }
    #expect(failure?.code == NSManagedObjectModelReferenceNotFoundError)
  }

  @Test("Stages that lead back to an earlier version are error 134506")
  func backwards() throws {
    let directory = try store(of: third)
    let stages = [
      NSLightweightMigrationStage([first.versionChecksum]), NSLightweightMigrationStage([second.versionChecksum]),
      NSLightweightMigrationStage([third.versionChecksum]),
    ]
    let failure = error { _ = try Stack(first, in: directory, options: options(stages)) }
    #expect(failure?.code == NSStagedMigrationBackwardMigrationError)
  }

  @Test("A manager has its stages in the order given, and a stage has the label \"\" at first")
  func stages() {
    let stages = [
      NSLightweightMigrationStage([first.versionChecksum]), NSLightweightMigrationStage([second.versionChecksum]),
    ]
    #expect(NSStagedMigrationManager(stages).stages == stages)
    #expect(stages[0].label == "")
    #expect(stages[0].versionChecksums == [first.versionChecksum])
  }
}
