// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("What a migration manager writes")
struct ManagerStoreTests {
  private static func pictures(isUnique: Bool = false) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let entity = builder.entity(
      "Picture",
      [
        .make("name", .stringAttributeType), .make("image", .binaryDataAttributeType, external: true),
        .make("token", .UUIDAttributeType),
      ])
    if isUnique { entity.uniquenessConstraints = [["name"]] }
    return builder.model()
  }

  private func mapping() -> NSMappingModel {
    let mapping = NSMappingModel()
    mapping.entityMappings = [
      ManagerSample.entity(
        "Pictures", "Picture", "Picture",
        ["name": "$source.name", "image": "$source.image", "token": "$source.token"])
    ]
    return mapping
  }

  private func filled(_ store: TemporaryStore, names: [String?], size: Int = 10) throws {
    let context = try store.context(Self.pictures())
    for (number, name) in names.enumerated() {
      let object = context.make(
        "Picture", ["image": Data(repeating: UInt8(number), count: size + number), "token": UUID()])
      object.setValue(name, forKey: "name")
    }
    try context.save()
    try store.close()
  }

  private func externalFiles(_ url: URL) throws -> [String] { try ManagerSample.Snapshot.externalFiles(of: url) }

  @Test("External data go along, and not a file stays after a failure")
  func externalData() throws {
    let store = try TemporaryStore()
    try filled(store, names: ["a", "b", "c"], size: 200_000)
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: Self.pictures())
    func migrate() throws {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping(), to: target, type: .sqlite)
    }
    let before = try externalFiles(store.url)
    #expect(before.count == 3)
    try migrate()
    #expect(try externalFiles(store.url) == before)
    let first = try externalFiles(target)
    #expect(first.count == 3)
    #expect(try store.files() == [".New_SUPPORT", ".Store_SUPPORT", "New.sqlite", "Store.sqlite"])
    try store.open(target, Self.pictures()) { context in
      let pictures = try context.all("Picture")
      let images = pictures.map { $0.value(forKey: "image") as? Data }
      #expect(images == (0..<3).map { Data(repeating: UInt8($0), count: 200_000 + $0) })
    }
    // Appending that fails takes its files away again.
    manager.progressHandler = { manager in
      if manager.migrationProgress > 0.9 { manager.cancelMigrationWithError(NSError(domain: "Enough", code: 1)) }
    }
    #expect(throws: NSError.self) { try migrate() }
    #expect(try externalFiles(target) == first)
    manager.progressHandler = nil
    try migrate()
    #expect(try externalFiles(target).count == 6)
  }

  @Test("Values that must be unique and are not are 134111, with the values")
  func uniqueness() throws {
    let store = try TemporaryStore()
    try filled(store, names: ["a", "b", "a", nil, nil, "b", "c"])
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: Self.pictures(isUnique: true))
    let error = try #require(throws: NSError.self) {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping(), to: target, type: .sqlite)
    }
    #expect(error.code == NSMigrationConstraintViolationError)
    #expect(error.userInfo["entity"] as? String == "Picture")
    #expect(error.userInfo["property"] as? String == "name")
    #expect(error.localizedFailureReason?.contains("'a' (2 rows); 'b' (2 rows)") == true)
    #expect(try store.files() == ["Store.sqlite"])
  }

  @Test("A policy may mend what must be unique, until the end")
  func mended() throws {
    final class MendingPolicy: NSEntityMigrationPolicy {
      override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        for picture in try manager.destinationContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Picture")) {
          picture.setValue(
            "\(picture.text("name") ?? "") \(picture.objectID.uriRepresentation().lastPathComponent)", forKey: "name")
        }
      }
    }
    MigrationPolicyClasses.register(MendingPolicy.self)
    let store = try TemporaryStore()
    try filled(store, names: ["a", "a", "b"])
    let target = store.folder.appendingPathComponent("New.sqlite")
    let model = Self.pictures(isUnique: true)
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: model)
    let mapping = mapping()
    mapping.entityMappings[0].entityMigrationPolicyClassName = "MendingPolicy"
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    try StoreChecks.check(target, Self.pictures(isUnique: true))
    try store.open(target, Self.pictures(isUnique: true)) { context in
      let names = try context.all("Picture").compactMap { $0.text("name") }
      #expect(names == ["a p1", "a p2", "b p3"])
    }
  }

  @Test("Keys go on beyond those that the source has ever given out")
  func greatestKeys() throws {
    let store = try TemporaryStore()
    try filled(store, names: ["a", "b", "c"])
    try store.open(store.url, Self.pictures()) { context in
      let last = try context.all("Picture").last
      last.map { context.delete($0) }
      try context.save()
    }
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: Self.pictures())
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping(), to: target, type: .sqlite)
    try store.open(target, Self.pictures()) { context in
      let made = context.make("Picture", ["name": "new"])
      try context.save()
      #expect(StoreDump.key(made.objectID) == "Picture/p4")
    }
  }

  @Test("Number values that a type cannot hold are refused, others converted")
  func conversions() throws {
    func model(_ type: NSAttributeType) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Thing", [.make("value", type)])
      return builder.model()
    }
    let store = try TemporaryStore()
    let context = try store.context(model(.doubleAttributeType))
    for value in [1.5, 70_000] { context.make("Thing", ["value": value]) }
    try context.save()
    try store.close()
    let mapping = NSMappingModel()
    mapping.entityMappings = [ManagerSample.entity("Things", "Thing", "Thing", ["value": "$source.value"])]
    for (type, isFit) in [
      (NSAttributeType.integer16AttributeType, false), (.integer32AttributeType, true), (.decimalAttributeType, true),
      (.stringAttributeType, false), (.dateAttributeType, false), (.floatAttributeType, true),
    ] {
      let target = store.folder.appendingPathComponent("\(type.rawValue).sqlite")
      let manager = NSMigrationManager(sourceModel: model(.doubleAttributeType), destinationModel: model(type))
      do {
        try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
        #expect(isFit, "\(type)")
      } catch let error as NSError {
        #expect(!isFit && error.code == NSMigrationError && error.userInfo["property"] as? String == "value")
      }
      #expect(FileManager.default.fileExists(atPath: target.path) == isFit)
    }
  }

  @Test("A store that another made at the destination meanwhile stays, and is an error")
  func madeMeanwhile() throws {
    let store = try TemporaryStore()
    try filled(store, names: ["a", "b"])
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: Self.pictures())
    var other: Data?
    manager.progressHandler = { manager in
      guard other == nil, manager.migrationProgress > 0 else { return }
      other = FileManager.default.contents(atPath: store.url.path)
      #expect(FileManager.default.createFile(atPath: target.path, contents: other))
    }
    let error = try #require(throws: NSError.self) {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping(), to: target, type: .sqlite)
    }
    #expect(error.code == NSMigrationManagerDestinationStoreError)
    #expect(error.localizedFailureReason?.contains("in the meantime") == true, "\(error)")
    #expect(try other != nil && Data(contentsOf: target) == other)
    #expect(try store.files() == ["New.sqlite", "Store.sqlite"])
  }

  /// Counts what it is told.
  final class CountingManager: NSMigrationManager, @unchecked Sendable {
    var count = 0

    override func associate(
      sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject,
      for entityMapping: NSEntityMapping
    ) {
      count += 1
      super.associate(
        sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: entityMapping)
    }
  }

  @Test("A subclass of the manager sees what is associated; a store names the manager's class")
  func subclass() throws {
    let sample = try ManagerSample()
    sample.manager = CountingManager(sourceModel: sample.old, destinationModel: sample.new)
    for mapping in sample.mapping.entityMappings {
      mapping.entityMigrationPolicyClassName = "CoreDataTests.PlainPolicy"
    }
    try sample.migrate()
    #expect((sample.manager as? CountingManager)?.count == 12)
    #expect(NSPersistentStore.migrationManagerClass() is NSMigrationManager.Type)
  }

  @Test("A subclass of the manager sees it too where no mapping has a policy")
  func subclassWithoutPolicies() throws {
    let sample = try ManagerSample()
    let manager = CountingManager(sourceModel: sample.old, destinationModel: sample.new)
    sample.manager = manager
    try sample.migrate()
    #expect(manager.count == 12)
  }

  @Test("What SQL has made is found by a later pass, with the keys that it got")
  func associationsOfCopies() throws {
    var (old, new) = (ModelBuilder(), ModelBuilder())
    for name in ["Cat", "Dog"] { old.entity(name, [.make("name", .stringAttributeType)]) }
    old.entity("Toy", [.make("name", .stringAttributeType)])
    old.point(.init("Toy", "dog"), to: "Dog")
    new.entity("Animal", [.make("name", .stringAttributeType)])
    new.entity("Toy", [.make("name", .stringAttributeType)])
    new.relate(.init("Toy", "owner"), .init("Animal", "toys", toMany: true))
    let (source, destination) = (old.model(), new.model())
    let store = try TemporaryStore()
    let context = try store.context(source)
    for number in 1...3 { context.make("Cat", ["name": "cat \(number)"]) }
    for number in 1...3 {
      let dog = context.make("Dog", ["name": "dog \(number)"])
      context.make("Toy", ["name": "toy of dog \(number)", "dog": dog])
    }
    try context.save()
    try store.close()
    let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
    let target = store.folder.appendingPathComponent("New.sqlite")
    func pass(_ mappings: [NSEntityMapping]) throws {
      let model = NSMappingModel()
      model.entityMappings = mappings
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: model, to: target, type: .sqlite)
    }
    // The second gets other keys than its sources have.
    try pass(
      ["Cat", "Dog"].map { (name: String) in
        ManagerSample.entity("\(name)s", name, "Animal", ["name": "$source.name"])
      })
    try pass([
      ManagerSample.entity(
        "Toys", "Toy", "Toy", ["name": "$source.name"], ["owner": ManagerSample.of("Dogs", "dog")])
    ])
    try store.open(target, destination) { context in
      let toys = try context.all("Toy", by: "name")
      #expect(
        toys.map {
          "\($0.value(forKey: "name") as? String ?? "") - \($0.value(forKeyPath: "owner.name") as? String ?? "")"
        }
          == (1...3).map { "toy of dog \($0) - dog \($0)" })
    }
  }

  @Test("Objects of entities that no mapping is about are validated as well")
  func validationOfTheRest() throws {
    final class AddingPolicy: NSEntityMigrationPolicy {
      override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        _ = NSEntityDescription.insertNewObject(forEntityName: "Log", into: manager.destinationContext)
      }
    }
    MigrationPolicyClasses.register(AddingPolicy.self, as: "AddingLogPolicy")
    var builder = ModelBuilder()
    builder.entity("Picture", [.make("name", .stringAttributeType)])
    builder.entity("Log", [.make("text", .stringAttributeType, optional: false)])
    let store = try TemporaryStore()
    try filled(store, names: ["a"])
    let mapping = NSMappingModel()
    mapping.entityMappings = [ManagerSample.entity("Pictures", "Picture", "Picture", ["name": "$source.name"])]
    mapping.entityMappings[0].entityMigrationPolicyClassName = "AddingLogPolicy"
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: builder.model())
    let error = try #require(throws: NSError.self) {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    }
    #expect(error.code == NSValidationMissingMandatoryPropertyError, "\(error)")
    #expect(try store.files() == ["Store.sqlite"])
  }

  #if os(Linux)
  @Test(
    "A store with a log, in a folder that cannot be written, is migrated to another place", arguments: [true, false])
  func readOnlyMedia(usesSQL: Bool) async throws {
    let store = try TemporaryStore()
    let media = store.folder.appendingPathComponent("media")
    let place = store.folder.appendingPathComponent("place")
    for folder in [media, place] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    let hot = media.appendingPathComponent("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 20, photos: 2)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log'")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.url.path + suffix, toPath: hot.path + suffix)
    }
    try connection.close()
    try FileManager.default.copyItem(at: StoreFiles.externalData(of: store.url), to: StoreFiles.externalData(of: hot))
    let before = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: hot.path + $0)) }
    let folders = [(media, 0o555), (StoreLocation.externalData(of: hot), 0o555), (place, 0o777), (store.folder, 0o755)]
    for (folder, rights) in folders {
      try FileManager.default.setAttributes([.posixPermissions: rights], ofItemAtPath: folder.path)
    }
    let (source, target) = (hot.path, place.appendingPathComponent("New.sqlite").path)
    await #expect(processExitsWith: .success) {
      [source = source as String, target = target as String, usesSQL = usesSQL as Bool] in
      // Whoever may write everything gives that up.
      if geteuid() == 0 { try #require(setuid(65534) == 0) }
      try #require(!FileManager.default.createFile(atPath: source + ".probe", contents: nil))
      let (url, destination) = (URL(fileURLWithPath: source), URL(fileURLWithPath: target))
      let step = try RecoverySample.migration(url, [(2, .mapping)]).steps[0]
      let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
      manager.usesStoreSpecificMigrationManager = usesSQL
      try manager.migrateStore(
        from: url, type: .sqlite, mapping: step.mappingModel, to: destination, type: .sqlite)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: media.path)
    #expect(try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: hot.path + $0)) } == before)
    #expect(try RecoverySample.files(media) == ["Data.sqlite", "2 values"])
    let content = try RecoverySample.content(URL(fileURLWithPath: target))
    #expect(content.count == 20 && content.allSatisfy { $0.contains("|from the log|") })
    #expect(try RecoverySample.files(place) == ["New.sqlite", "2 values"])
    try StoreChecks.check(URL(fileURLWithPath: target), RecoverySample.model(2))
  }

  @Test("A killed migration leaves no store, and the next one clears what it left")
  func killed() async throws {
    let store = try TemporaryStore()
    try RecoverySample.fill(store.url, rows: 5, photos: 3)
    let place = store.folder.appendingPathComponent("place")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let (source, target) = (store.url.path, place.appendingPathComponent("New.sqlite").path)
    await #expect(processExitsWith: .exitCode(9)) {
      [source = source as String, target = target as String] in
      let url = URL(fileURLWithPath: source)
      let step = try RecoverySample.migration(url, [(2, .mapping)]).steps[0]
      let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
      manager.progressHandler = { if $0.migrationProgress > 0.3 { _exit(9) } }
      try manager.migrateStore(
        from: url, type: .sqlite, mapping: step.mappingModel, to: URL(fileURLWithPath: target), type: .sqlite)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [".New.sqlite-migration"])
    let step = try RecoverySample.migration(store.url, [(2, .mapping)]).steps[0]
    let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
    try manager.migrateStore(
      from: store.url, type: .sqlite, mapping: step.mappingModel, to: URL(fileURLWithPath: target), type: .sqlite)
    #expect(try RecoverySample.files(place) == ["New.sqlite", "3 values"])
    try StoreChecks.check(URL(fileURLWithPath: target), RecoverySample.model(2))
  }

  @Test("A link in place of the work directory is refused, and what it leads to stays")
  func linkedWorkDirectory() throws {
    let store = try TemporaryStore()
    try RecoverySample.fill(store.url, rows: 5, photos: 3)
    let (place, victim) = (
      store.folder.appendingPathComponent("place"), store.folder.appendingPathComponent("victim")
    )
    for folder in [place, victim] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    for name in ["new.sqlite", "journal.json", "mine"] {
      try Data(name.utf8).write(to: victim.appendingPathComponent(name))
    }
    try FileManager.default.createSymbolicLink(
      at: place.appendingPathComponent(".New.sqlite-migration"), withDestinationURL: victim)
    let step = try RecoverySample.migration(store.url, [(2, .mapping)]).steps[0]
    let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
    let target = place.appendingPathComponent("New.sqlite")
    let error = try #require(throws: NSError.self) {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: step.mappingModel, to: target, type: .sqlite)
    }
    #expect(error.code == NSMigrationManagerDestinationStoreError)
    #expect(error.localizedFailureReason?.contains(".New.sqlite-migration") == true, "\(error)")
    #expect(try FileCalls.names(in: victim).sorted() == ["journal.json", "mine", "new.sqlite"])
    #expect(try Data(contentsOf: victim.appendingPathComponent("new.sqlite")) == Data("new.sqlite".utf8))
    #expect(!FileCalls.exists(target) && FileCalls.exists(store.url))
  }

  @Test("A dead log at the destination is kept under another name, and not applied")
  func deadLog() throws {
    let store = try TemporaryStore()
    try RecoverySample.fill(store.url, rows: 5, photos: 3)
    let place = store.folder.appendingPathComponent("place")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let target = place.appendingPathComponent("New.sqlite")
    let log = Data(repeating: 7, count: 5_000)
    try log.write(to: URL(fileURLWithPath: target.path + "-wal"))
    let step = try RecoverySample.migration(store.url, [(2, .mapping)]).steps[0]
    let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: step.mappingModel, to: target, type: .sqlite)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target.path + "-wal~")) == log)
    #expect(try RecoverySample.content(target).count == 5)
    try StoreChecks.check(target, RecoverySample.model(2))
  }

  @Test("Files of values that were put in their place go when the store cannot be", arguments: [ENOSPC, EIO])
  func failingMove(_ number: Int32) throws {
    let store = try TemporaryStore()
    try RecoverySample.fill(store.url, rows: 5, photos: 3)
    let step = try RecoverySample.migration(store.url, [(2, .mapping)]).steps[0]
    let folder = store.folder.appendingPathComponent("place").resolvingSymlinksInPath()
    let target = folder.appendingPathComponent("New.sqlite")
    func migrate(_ call: Int) throws -> (failure: (any Error)?, calls: Int) {
      try? FileManager.default.removeItem(at: folder)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
      manager.usesStoreSpecificMigrationManager = false
      let outcome = Faults.run(below: folder, call: call, call == 0 ? FaultKindNone : FaultKindOnce, error: number) {
        try manager.migrateStore(
          from: store.url, type: .sqlite, mapping: step.mappingModel, to: target, type: .sqlite)
      }
      return (outcome.failure, outcome.calls)
    }
    let calls = try migrate(0).calls
    var refused = 0
    // The end of it: where the parts get their names.
    for call in max(1, calls - 24)...calls where try migrate(call).failure != nil {
      refused += 1
      #expect(try FileCalls.names(in: StoreLocation.externalData(of: target)) == [], "call \(call) of \(calls)")
      #expect(!FileCalls.exists(target), "call \(call) of \(calls)")
    }
    #expect(refused > 3)
  }
  #endif

  @Test("The older spelling does the same")
  @available(*, deprecated)
  func olderSpelling() throws {
    let sample = try ManagerSample()
    try sample.manager.migrateStore(
      from: sample.store.url, sourceType: NSSQLiteStoreType, with: sample.mapping,
      toDestinationURL: sample.destination, destinationType: NSSQLiteStoreType)
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.count == 7)
    }
    let error = try #require(throws: NSError.self) {
      try sample.manager.migrateStore(
        from: sample.store.url, sourceType: NSSQLiteStoreType, with: nil, toDestinationURL: sample.destination,
        destinationType: NSSQLiteStoreType)
    }
    #expect(error.code == NSMigrationMissingMappingModelError)
  }

  @Test(
    "A new store has its indexes at the end, and before when somebody asks for what they find", .serialized,
    arguments: [true, false])
  func indexes(_ asks: Bool) throws {
    final class WatchingPolicy: NSEntityMigrationPolicy {
      nonisolated(unsafe) static var asks = false
      nonisolated(unsafe) static var seen: [Int] = []

      private func note(_ manager: NSMigrationManager) throws {
        let count = try manager.running.destination.store.withState {
          try $0.connection.scalar("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")?
            .integer
        }
        Self.seen.append(Int(count ?? -1))
      }

      override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
      ) throws {
        if Self.seen.isEmpty { try note(manager) }
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard Self.asks, Self.seen.count == 1 else { return }
        let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
        request.predicate = NSPredicate(format: "title == %@", argumentArray: ["N1"])
        #expect(try manager.destinationContext.fetch(request).count == 1)
        try note(manager)
      }
    }
    WatchingPolicy.asks = asks
    WatchingPolicy.seen = []
    let sample = try ManagerSample()
    MigrationPolicyClasses.register(WatchingPolicy.self, as: "WatchingPolicy")
    sample["NoteToNote"].entityMigrationPolicyClassName = "WatchingPolicy"
    try sample.migrate()
    let connection = try SQLiteConnection(url: sample.destination, mode: .readOnly)
    let all = try connection.scalar("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    let wanted = Int(try #require(all?.integer))
    #expect(wanted > 2)
    #expect(WatchingPolicy.seen == (asks ? [0, wanted] : [0]))
    #expect(try connection.scalar("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'Z_MIGRATION%'") == 0)
  }

  @Test("What a migration saves is nobody else's business: its contexts post nothing")
  func silence() throws {
    final class ListeningPolicy: NSEntityMigrationPolicy {
      nonisolated(unsafe) static var posted: [Notification.Name] = []
      private var observers: [any NSObjectProtocol] = []

      override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        let names: [Notification.Name] = [
          .NSManagedObjectContextDidSave, .NSManagedObjectContextWillSave, .NSManagedObjectContextObjectsDidChange,
          .NSManagedObjectContextDidSaveObjectIDs,
        ]
        observers = names.map { name in
          NotificationCenter.default.addObserver(forName: name, object: manager.destinationContext, queue: nil) {
            Self.posted.append($0.name)
          }
        }
      }

      override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        observers.forEach { NotificationCenter.default.removeObserver($0) }
      }
    }
    ListeningPolicy.posted = []
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "ListeningPolicy"
    MigrationPolicyClasses.register(ListeningPolicy.self, as: "ListeningPolicy")
    try sample.migrate()
    #expect(ListeningPolicy.posted.isEmpty)
  }

  @Test("Indexes that nobody has asked for are there in the end")
  func unaskedIndexes() throws {
    let store = try TemporaryStore()
    try filled(store, names: ["a", "b"])
    let indexed = Self.pictures()
    let entity = try #require(indexed.entitiesByName["Picture"])
    let name = try #require(entity.attributesByName["name"])
    entity.indexes = [
      NSFetchIndexDescription(
        name: "byName", elements: [NSFetchIndexElementDescription(property: name, collationType: .binary)])
    ]
    let target = store.folder.appendingPathComponent("New.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.pictures(), destinationModel: indexed)
    manager.usesStoreSpecificMigrationManager = false
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping(), to: target, type: .sqlite)
    let fresh = store.folder.appendingPathComponent("Fresh.sqlite")
    try StoreFile.create(at: fresh, document: indexed.document)
    func indexes(_ url: URL) throws -> Set<String> {
      let connection = try SQLiteConnection(url: url, mode: .readOnly)
      #expect(try connection.integrityCheck() == [])
      let found = try connection.rows("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
      try connection.close()
      return Set(found.compactMap { $0[0].text })
    }
    #expect(try !indexes(fresh).isEmpty && indexes(target) == indexes(fresh))
  }
}

final class PlainPolicy: NSEntityMigrationPolicy {}
