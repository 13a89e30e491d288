// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the articles "Staged migration" and "Deferred migration".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The guide on stages and deferred work", .serialized)
struct StagesGuideTests {
  private static let first = """
    <entity name="Person">
      <attribute name="name" optional="YES" attributeType="String"/>
    </entity>
    """
  private static let second = """
    <entity name="Person">
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="givenName" optional="YES" attributeType="String"/>
      <attribute name="familyName" optional="YES" attributeType="String"/>
    </entity>
    """
  private static let third = """
    <entity name="Person">
      <attribute name="givenName" optional="YES" attributeType="String"/>
      <attribute name="familyName" optional="YES" attributeType="String"/>
    </entity>
    """

  private func people(_ count: Int = 2) throws -> GuideVersions {
    let people = try GuideVersions("People", [Self.first, Self.second, Self.third])
    try people.fill { context in
      context.make("Person", ["name": "Ada Lovelace"])
      for number in 1..<count { context.make("Person", ["name": "Number \(number)"]) }
    }
    return people
  }

  private func reference(_ model: NSManagedObjectModel) -> NSManagedObjectModelReference {
    NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
  }

  /// Opens the store with stages, and closes it again.
  private func migrate(_ people: GuideVersions, to number: Int = 3, _ stages: [NSMigrationStage]) throws {
    let description = NSPersistentStoreDescription(url: people.storeURL)
    description.setOption(
      NSStagedMigrationManager(stages), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    let container = NSPersistentContainer(name: "People", managedObjectModel: try people.model(number))
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  /// The stages of the article.
  private func splitting(_ people: GuideVersions) throws -> [NSMigrationStage] {
    let (v1, v2, v3) = (try people.model(1), try people.model(2), try people.model(3))
    // guide: stages-split
    let splitting = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: v1, versionChecksum: v1.versionChecksum),
      to: NSManagedObjectModelReference(model: v2, versionChecksum: v2.versionChecksum))
    splitting.label = "Split names"
    splitting.didMigrateHandler = { manager, _ in
      guard let context = manager.container?.newBackgroundContext() else { return }
      try context.performAndWait {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
        request.predicate = NSPredicate(format: "name != nil AND givenName == nil AND familyName == nil")
        request.fetchLimit = 500
        var people = try context.fetch(request)
        while !people.isEmpty {
          for person in people {
            let words = (person.value(forKey: "name") as? String ?? "").split(separator: " ", maxSplits: 1)
            person.setValue(words.first.map(String.init) ?? "", forKey: "givenName")
            person.setValue(words.count > 1 ? String(words[1]) : nil, forKey: "familyName")
          }
          try context.save()
          context.reset()
          people = try context.fetch(request)
        }
      }
    }
    let dropping = NSLightweightMigrationStage([v3.versionChecksum])
    dropping.label = "Drop the full name"
    let stages = [splitting, dropping]
    // end
    return stages
  }

  @Test("A value is split in the version that has both")
  func split() throws {
    let people = try people(1_200)
    try migrate(people, splitting(people))
    #expect(try people.version() == 3)
    let rows = try people.rows("Person", "givenName", "familyName", version: 3)
    #expect(rows.count == 1_200 && rows[0] == "Ada, Lovelace" && rows[1] == "Number, 1")
  }

  private static let handlerError = """
    The didMigrateHandler of the stage 'Split names' has failed: Ada has no family name.
    """

  @Test("A handler that throws stops the migration at its version, and is called again: 134110")
  func handlerFails() throws {
    let people = try people()
    let stages = try splitting(people)
    let custom = try #require(stages[0] as? NSCustomMigrationStage)
    let right = custom.didMigrateHandler
    custom.didMigrateHandler = { _, _ in
      throw NSError(domain: "People", code: 1, userInfo: [NSLocalizedDescriptionKey: "Ada has no family name."])
    }
    let error = try #require(throws: NSError.self) { try migrate(people, stages) }
    #expect(error.code == NSMigrationError)
    #expect(error.localizedFailureReason?.hasPrefix(Self.handlerError) == true, "\(error.localizedFailureReason ?? "")")
    #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == "People")
    #expect(try people.version() == 2)
    custom.didMigrateHandler = right
    try migrate(people, stages)
    #expect(try people.rows("Person", "givenName", version: 3) == ["Ada", "Number"])
  }

  @Test("A process that is killed in a handler leaves the stage unfinished; the next one goes on with it")
  func killed() async throws {
    let people = try people(1_200)
    let (modelPath, storePath) = (people.modelURL.path, people.storeURL.path)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [modelPath = modelPath as String, storePath = storePath as String] in
      let modelURL = URL(fileURLWithPath: modelPath)
      let (v1, v2) = (
        try NSManagedObjectModel.load(contentsOf: modelURL, version: "People"),
        try NSManagedObjectModel.load(contentsOf: modelURL, version: "People 2")
      )
      let stage = NSCustomMigrationStage(
        migratingFrom: NSManagedObjectModelReference(model: v1, versionChecksum: v1.versionChecksum),
        to: NSManagedObjectModelReference(model: v2, versionChecksum: v2.versionChecksum))
      stage.didMigrateHandler = { manager, _ in
        let context = try #require(manager.container).newBackgroundContext()
        try context.performAndWait {
          let person = try #require(try context.all("Person").first)
          person.setValue("Ada", forKey: "givenName")
          try context.save()
        }
        kill(getpid(), SIGKILL)
      }
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: v2)
      let options: [String: Any] = [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage]),
      ]
      try coordinator.addPersistentStore(type: .sqlite, at: URL(fileURLWithPath: storePath), options: options)
    }
    #expect(try people.version() == 2)
    try migrate(people, splitting(people))
    let rows = try people.rows("Person", "givenName", "familyName", version: 3)
    // The handler skipped the person whose given name it found.
    #expect(rows.count == 1_200 && rows[0] == "Ada, nil" && rows[1] == "Number, 1")
  }

  private static let unknownError = "Cannot use staged migration with an unknown model version."
  private static let backwardError = "A store file cannot be migrated backwards with staged migration."
  private static let elsewhereError = """
    Incompatible metadata after migration because the store version hashes didn't migrate: no stage leads to the version
    """

  @Test("A version without a stage, stages that go backwards, and stages that lead elsewhere are errors")
  func stageErrors() throws {
    let people = try people()
    let (v1, v2, v3) = (try people.model(1), try people.model(2), try people.model(3))
    func failure(_ number: Int, _ stages: [NSMigrationStage]) throws -> NSError {
      let error = try #require(throws: NSError.self) { try migrate(people, to: number, stages) }
      #expect(try people.version() == 1)
      return error
    }
    let unknown = try failure(3, [NSLightweightMigrationStage([v2.versionChecksum, v3.versionChecksum])])
    #expect(unknown.code == NSManagedObjectModelReferenceNotFoundError)
    #expect(unknown.localizedFailureReason?.hasPrefix(Self.unknownError) == true)
    let backward = try failure(
      3, [NSLightweightMigrationStage([v3.versionChecksum]), NSLightweightMigrationStage([v1.versionChecksum])])
    #expect(backward.code == NSStagedMigrationBackwardMigrationError)
    #expect(backward.localizedFailureReason?.hasPrefix(Self.backwardError) == true)
    let elsewhere = try failure(3, [NSLightweightMigrationStage([v1.versionChecksum, v2.versionChecksum])])
    #expect(elsewhere.code == NSMigrationError)
    #expect(elsewhere.localizedFailureReason?.hasPrefix(Self.elsewhereError) == true)
  }

  @Test("willMigrateHandler sees the old model, didMigrateHandler the new one")
  func models() throws {
    let people = try people()
    let stages = try splitting(people)
    let custom = try #require(stages[0] as? NSCustomMigrationStage)
    let seen = Guarded<[[String]]>([])
    let note: NSCustomMigrationStage.Handler = { manager, _ in
      let person = manager.container?.managedObjectModel.entitiesByName["Person"]
      seen.update { $0.append((person?.attributesByName.keys.sorted()) ?? []) }
    }
    custom.willMigrateHandler = note
    custom.didMigrateHandler = note
    try migrate(people, stages)
    #expect(seen.value == [["name"], ["familyName", "givenName", "name"]])
  }

  // MARK: Deferred migration

  private static let large = """
    <entity name="Photo">
      <attribute name="title" optional="YES" attributeType="String"/>
      <attribute name="preview" optional="YES" attributeType="Binary"/>
    </entity>
    """
  private static let slim = """
    <entity name="Photo">
      <attribute name="title" optional="YES" attributeType="String"/>
      <attribute name="rating" attributeType="Integer 16" defaultValueString="0"/>
    </entity>
    """

  private func photos() throws -> GuideVersions {
    let photos = try GuideVersions("Photos", [Self.large, Self.slim])
    try photos.fill { context in
      for number in 1...50 {
        context.make("Photo", ["title": "Photo \(number)", "preview": Data(repeating: 7, count: 2_000)])
      }
    }
    return photos
  }

  private func isPending(_ photos: GuideVersions) throws -> Bool {
    let storeURL = photos.storeURL
    // guide: deferred-pending
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: storeURL)
    let isPending = metadata[NSPersistentStoreDeferredLightweightMigrationOptionKey] as? Bool == true
    // end
    return isPending
  }

  @Test("The store can be used at once; the tasks remove what is superfluous later")
  func deferred() throws {
    let photos = try photos()
    let (model, storeURL) = (try photos.model(2), photos.storeURL)
    // guide: deferred-open
    let description = NSPersistentStoreDescription(url: storeURL)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreDeferredLightweightMigrationOptionKey)
    let container = NSPersistentContainer(name: "Photos", managedObjectModel: model)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    // end
    let request = NSFetchRequest<NSManagedObject>(entityName: "Photo")
    #expect(try container.viewContext.count(for: request) == 50)
    #expect(try container.viewContext.fetch(request).first?.value(forKey: "rating") as? Int == 0)
    #expect(try isPending(photos))
    // guide: deferred-task
    let coordinator = container.persistentStoreCoordinator
    try coordinator.finishDeferredLightweightMigrationTask()
    // end
    #expect(try !isPending(photos))
    // guide: deferred-finish
    try coordinator.finishDeferredLightweightMigration()
    // end
    #expect(try !isPending(photos))
    #expect(try container.viewContext.count(for: request) == 50)
  }

  @Test("A task that is not done stays to be done, and the store opens without the option")
  func pending() throws {
    let photos = try photos()
    var migration = try StoreMigration(storeAt: photos.storeURL, modelsAt: photos.modelURL)
    // guide: deferred-migration
    migration.defersCleanup = true
    try migration.run()
    // end
    #expect(try photos.version() == 2 && isPending(photos))
    try photos.fill(2) { $0.make("Photo", ["title": "Another"]) }
    #expect(try photos.rows("Photo", "title", version: 2).count == 51)
    #expect(try isPending(photos))
  }

  @Test("Without the option, or where nothing is removed, nothing is pending")
  func notPending() throws {
    let photos = try photos()
    try StoreMigration(storeAt: photos.storeURL, modelsAt: photos.modelURL).run()
    #expect(try !isPending(photos))
    let people = try people()
    var migration = try StoreMigration(storeAt: people.storeURL, modelsAt: people.modelURL, version: "People 2")
    migration.defersCleanup = true
    try migration.run()
    #expect(try !isPending(people))
  }

  @Test("Stages and deferred work go together")
  func stagesDeferred() throws {
    let people = try people()
    let description = NSPersistentStoreDescription(url: people.storeURL)
    description.setOption(
      NSStagedMigrationManager(try splitting(people)), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreDeferredLightweightMigrationOptionKey)
    let container = NSPersistentContainer(name: "People", managedObjectModel: try people.model(3))
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    #expect(try isPending(people))
    try container.persistentStoreCoordinator.finishDeferredLightweightMigration()
    #expect(try !isPending(people))
  }

  private static let wholeSQL = """
    ALTER TABLE ZPHOTO RENAME TO Z_MIGRATION_ZPHOTO
    CREATE TABLE ZPHOTO ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZRATING INTEGER, ZTITLE VARCHAR )
    INSERT INTO ZPHOTO (Z_PK, Z_ENT, Z_OPT, ZRATING, ZTITLE) SELECT Z_PK, 1, Z_OPT, ?, ZTITLE FROM Z_MIGRATION_ZPHOTO
    DROP TABLE Z_MIGRATION_ZPHOTO
    """
  private static let deferredSQL = """
    ALTER TABLE ZPHOTO ADD COLUMN ZRATING INTEGER
    UPDATE ZPHOTO SET ZRATING = ?
    """

  @Test("The file becomes smaller when it is vacuumed after the tasks")
  func size() throws {
    let photos = try photos()
    func size() throws -> Int {
      try Data(contentsOf: photos.storeURL).count
    }
    func open(_ options: [String: Any], _ body: (NSPersistentStoreCoordinator) throws -> Void) throws {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try photos.model(2))
      let store = try coordinator.addPersistentStore(type: .sqlite, at: photos.storeURL, options: options)
      try body(coordinator)
      try coordinator.remove(store)
    }
    var migration = try StoreMigration(storeAt: photos.storeURL, modelsAt: photos.modelURL)
    #expect(try migration.statements().joined(separator: "\n") == Self.wholeSQL)
    migration.defersCleanup = true
    #expect(try migration.run().statements.joined(separator: "\n") == Self.deferredSQL)
    try open([:]) { try $0.finishDeferredLightweightMigration() }
    let finished = try size()
    try open([NSSQLiteManualVacuumOption: true]) { _ in }
    #expect(try size() * 4 < finished)
  }

  @Test("A step of a stage that cannot be inferred is an error, before the first stage begins: 134140")
  func notInferable() throws {
    let number = Self.first.replacingOccurrences(of: "String", with: "Integer 16")
    let people = try GuideVersions("People", [Self.first, Self.second, number])
    try people.fill { $0.make("Person", ["name": "Ada"]) }
    let stages = [NSLightweightMigrationStage(try (1...3).map { try people.model($0).versionChecksum })]
    let error = try #require(throws: NSError.self) { try migrate(people, stages) }
    #expect(error.code == NSMigrationMissingMappingModelError)
    #expect(error.userInfo["entity"] as? String == "Person" && error.userInfo["property"] as? String == "name")
    #expect(try people.version() == 1)
  }
}
