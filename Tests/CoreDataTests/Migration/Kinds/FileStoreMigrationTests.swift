// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData

@Suite("XML and binary stores of an earlier version that are opened", .serialized)
struct FileStoreMigrationTests {
  static let kinds: [StoreKind] = [.xml, .binary]

  private func options(_ sample: StoreTypeSample, _ more: [String: Any] = [:]) -> [AnyHashable: Any] {
    let own: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [sample.models], MigrationOption.mappings: [URL](),
    ]
    return own.merging(more) { $1 }
  }

  /// Opens the store with the second version, and returns the titles of the books.
  private func open(_ sample: StoreTypeSample, _ more: [String: Any] = [:]) throws -> [String] {
    let context = try sample.context(sample.kind, sample.url, options(sample, more))
    defer { sample.close(context) }
    return try context.all("Book").compactMap { $0["name"] as? String }
  }

  private func failure(_ sample: StoreTypeSample, _ more: [String: Any] = [:]) throws -> NSError {
    let before = try sample.files()
    let error = try #require(throws: NSError.self) { try open(sample, more) }
    #expect(try sample.files() == before)
    return error
  }

  private let all = ["B1", "B2", "B3", "B4", "B5"]

  @Test("A store of a configuration, of which a model has entities outside it", arguments: kinds)
  func configuration(_ kind: StoreKind) throws {
    func model(_ attribute: String, renamedFrom: String? = nil) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Note", [.make(attribute, .stringAttributeType, renamedFrom: renamedFrom)])
      builder.entity("Setting", [.make("key", .stringAttributeType)])
      let model = builder.model()
      for name in ["Note", "Setting"] {
        model.setEntities(model.entities.filter { $0.name == name }, forConfigurationName: "\(name)s")
      }
      return model
    }
    let folder = try TemporaryStore()
    let models = folder.folder.appendingPathComponent("Model.momd")
    try ModelBundle.writeCompiled(
      [("v1", model("name").document), ("v2", model("title", renamedFrom: "name").document)], current: "v2", to: models)
    func open(_ version: String) throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(
        managedObjectModel: try .load(contentsOf: models, version: version))
      for name in ["Note", "Setting"] {
        try coordinator.addPersistentStore(
          ofType: kind.type.rawValue, configurationName: "\(name)s", at: folder.folder.appendingPathComponent(name),
          options: [
            NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
            MigrationOption.models: [models], MigrationOption.mappings: [URL](),
          ])
      }
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    func all(_ context: NSManagedObjectContext, _ entity: String) throws -> [NSManagedObject] {
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity))
    }
    let writer = try open("v1")
    writer.make("Note", ["name": "one"])
    writer.make("Setting", ["key": "two"])
    try writer.save()
    for store in writer.coordinator.persistentStores { try writer.coordinator.remove(store) }
    let reader = try open("v2")
    #expect(try all(reader, "Note").map { $0["title"] as? String } == ["one"])
    #expect(try all(reader, "Setting").map { $0["key"] as? String } == ["two"])
  }

  @Test("The working copy of a migration that was killed after replacing the file is removed", arguments: kinds)
  func abandonedCopy(_ kind: StoreKind) throws {
    let sample = try StoreTypeSample(kind)
    #expect(try open(sample) == all)
    let names = try sample.files().names
    // Its lock ends with the object, as with a process.
    let abandoned = try CopyDirectory.make(for: sample.url).url
    try Data("rows".utf8).write(to: abandoned.appendingPathComponent("Data.sqlite"))
    #expect(try open(sample) == all)
    #expect(try sample.files().names == names)
    let running = try CopyDirectory.make(for: sample.url)
    #expect(try open(sample) == all)
    #expect(FileManager.default.fileExists(atPath: running.url.path))
    try running.remove()
  }

  @Test("An inferred mapping: identifiers, UUID and metadata stay, and nothing is left", arguments: kinds)
  func inferred(_ kind: StoreKind) throws {
    let sample = try StoreTypeSample(kind)
    let before = try sample.files()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: sample.old)
    let store = try coordinator.addPersistentStore(type: kind.type, at: sample.url)
    let reader = NSManagedObjectContext(.privateQueue)
    reader.persistentStoreCoordinator = coordinator
    let uris = try reader.all("Book", by: "title").map { $0.objectID.uriRepresentation() }
    try coordinator.remove(store)
    let context = try sample.context(kind, sample.url, options(sample))
    let books = try context.all("Book")
    #expect(books.map { $0.objectID.uriRepresentation() } == uris)
    #expect(books.map { $0["name"] as? String } == all)
    #expect(
      (try context.all("Author")[0]["books"] as? NSOrderedSet)?.array
        .compactMap { ($0 as? NSManagedObject)?["name"] as? String } == ["B3", "B1", "B4"])
    #expect(context.coordinator.metadata(for: context.coordinator.persistentStores[0])["App"] as? String == "mine")
    #expect(try sample.files().names == before.names)
    // It has the new version now, and can be saved and opened.
    books[0]["name"] = "changed"
    try context.save()
    try context.coordinator.remove(context.coordinator.persistentStores[0])
    #expect(try sample.contents(kind, sample.url).contains { $0.contains("name=changed") })
  }

  @Test(
    "A mapping model with a policy keeps the replaced store beside the new one, if that is asked for",
    arguments: kinds, [true, false])
  func mapped(_ kind: StoreKind, _ keeps: Bool) throws {
    let sample = try StoreTypeSample(kind)
    let before = try sample.files()
    #expect(
      try open(
        sample,
        [
          MigrationOption.mappings: [sample.mapping(policy: ChapterPolicy.self)],
          MigrationOption.keepsReplacedStore: keeps,
        ]) == all)
    #expect(try sample.context(kind, sample.url).all("Chapter", by: "title").count == 10)
    let kept = sample.folder.folder.appendingPathComponent("Old~.\(sample.url.pathExtension)")
    #expect(try sample.files().names == before.names.union(keeps ? [kept.lastPathComponent] : []))
    if keeps { #expect(try Data(contentsOf: kept) == before.data) }
  }

  @Test("Whatever fails, the store is what it was, and nothing is beside it", arguments: kinds)
  func failures(_ kind: StoreKind) throws {
    let sample = try StoreTypeSample(kind)
    let before = try sample.files()
    #expect(throws: BreakingPolicy.Failure(title: "B3")) {
      try open(sample, [MigrationOption.mappings: [sample.mapping(policy: BreakingPolicy.self)]])
    }
    #expect(try sample.files() == before)
    #expect(
      try failure(sample, [NSMigratePersistentStoresAutomaticallyOption: false]).code
        == NSPersistentStoreIncompatibleVersionHashError)
    #expect(try failure(sample, [NSReadOnlyPersistentStoreOption: true]).code == NSMigrationError)
    let missing = try failure(sample, [NSInferMappingModelAutomaticallyOption: false])
    #expect(missing.code == NSMigrationMissingMappingModelError)
    #expect(missing.userInfo["URL"] as? URL == sample.url)
    #expect(!"\(missing.userInfo)".contains("-copy-"))
    #expect(try open(sample) == all)
  }

  @Test("A store of a version that no model has is refused", arguments: kinds)
  func unknown(_ kind: StoreKind) throws {
    let sample = try StoreTypeSample(kind)
    let alone = sample.models.deletingLastPathComponent().appendingPathComponent("Alone.mom")
    try FileManager.default.copyItem(at: sample.models.appendingPathComponent("v2.mom"), to: alone)
    let before = try sample.files()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try .load(contentsOf: alone))
    #expect {
      try coordinator.addPersistentStore(
        type: kind.type, at: sample.url, options: options(sample, [MigrationOption.models: [URL]()]))
    } throws: { ($0 as NSError).code == NSMigrationMissingSourceModelError }
    #expect(try sample.files() == before)
  }

  @Test("What another program writes during the migration is not lost", arguments: kinds)
  func writtenMeanwhile(_ kind: StoreKind) throws {
    let sample = try StoreTypeSample(kind)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: sample.old)
    try coordinator.addPersistentStore(type: kind.type, at: sample.url)
    let writer = NSManagedObjectContext(.privateQueue)
    writer.persistentStoreCoordinator = coordinator
    final class Writes: @unchecked Sendable {
      var save: () throws -> Void = {}
      var count = 0
    }
    let writes = Writes()
    writes.save = {
      writes.count += 1
      if writes.count > 1 { return }
      writer.make("Author", ["name": "Theirs"])
      try writer.save()
    }
    let factory = MigrationManagerFactory { source, destination in
      let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
      manager.progressHandler = { _ in #expect(throws: Never.self) { try writes.save() } }
      return manager
    }
    let more: [String: Any] = [
      MigrationOption.mappings: [sample.mapping()], MigrationOption.managerFactory: factory,
    ]
    let error = try #require(throws: NSError.self) { try open(sample, more) }
    #expect(error.code == NSPersistentStoreOperationError && writes.count > 0)
    #expect(try sample.files().names.filter { $0.contains("~") || $0.contains("copy") } == [])
    #expect(try open(sample, more) == all)
    #expect(try sample.context(kind, sample.url).all("Author").map { $0["name"] as? String } == ["A1", "A2", "Theirs"])
    // What had the old version open cannot overwrite the new one.
    writer.make("Author", ["name": "Late"])
    #expect(throws: NSError.self) { try writer.save() }
  }

  @Test("Several openers at once migrate the store once", arguments: kinds)
  func openers(_ kind: StoreKind) async throws {
    let sample = try StoreTypeSample(kind)
    let url = sample.url
    let models = sample.models
    let failures = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          do {
            let coordinator = NSPersistentStoreCoordinator(
              managedObjectModel: try .load(contentsOf: models, version: "v2"))
            try coordinator.addPersistentStore(
              type: kind.type, at: url,
              options: [
                NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
                MigrationOption.models: [models], MigrationOption.mappings: [URL](),
              ])
            return 0
          } catch {
            return 1
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(failures == 0)
    #expect(try open(sample) == all)
    #expect(try sample.files().names.filter { $0.contains("copy") } == [])
  }

  @Test("A process that is killed while it migrates leaves the store, and the next one cleans up", arguments: kinds)
  func killed(_ kind: StoreKind) async throws {
    let sample = try StoreTypeSample(kind)
    let before = try sample.files()
    let (path, models, type) = (sample.url.path, sample.models.path, kind.rawValue)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, models = models as String, type = type as String] in
      let versions = URL(fileURLWithPath: models)
      let old = try NSManagedObjectModel.load(contentsOf: versions, version: "v1")
      let new = try NSManagedObjectModel.load(contentsOf: versions, version: "v2")
      let mapping = StoreTypeSample.mapping(old, new, policy: KillingPolicy.self)
      try NSPersistentStoreCoordinator(managedObjectModel: new).addPersistentStore(
        type: .init(rawValue: type), at: URL(fileURLWithPath: path),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, MigrationOption.models: [versions],
          MigrationOption.mappings: [mapping],
        ])
    }
    let after = try sample.files()
    #expect(after.data == before.data)
    #expect(after.names.subtracting(before.names).count == 1)
    #expect(try open(sample) == all)
    #expect(try sample.files().names == before.names)
  }

  #if os(Linux)
  @Test(
    "Whatever call of the file system fails, the file is the old one or the new one, and the next opening works",
    arguments: zip(kinds, [ENOSPC, EIO]))
  func failingCalls(_ kind: StoreKind, _ number: Int32) throws {
    let sample = try StoreTypeSample(kind)
    let before = try sample.files()
    let folder = sample.folder.folder.resolvingSymlinksInPath()
    func run(_ call: Int) -> Faults.Outcome {
      Faults.run(below: folder, call: call, call == 0 ? FaultKindNone : FaultKindOnce, error: number) {
        _ = try open(sample)
      }
    }
    let whole = run(0)
    try #require(whole.failure == nil && whole.calls > 40)
    let new = try Data(contentsOf: sample.url)
    var failed = 0
    // The end of it, where the file is replaced, and some calls before that.
    for call in Array(stride(from: 1, to: whole.calls - 16, by: 31)) + Array((whole.calls - 16)...whole.calls) {
      try before.data.write(to: sample.url)
      let outcome = run(call)
      if outcome.failure != nil { failed += 1 }
      let now = try Data(contentsOf: sample.url)
      #expect(now == before.data || now == new, "call \(call): \(outcome.call)")
      if outcome.failure == nil { #expect(now == new, "call \(call): \(outcome.call)") }
      #expect(try open(sample) == all, "call \(call): \(outcome.call)")
      #expect(try sample.files().names.filter { !$0.contains("-copy-") } == before.names)
    }
    #expect(failed > 3)
    // Directories that could not be removed go with the next migration.
    try before.data.write(to: sample.url)
    #expect(try open(sample) == all)
    #expect(try sample.files().names == before.names)
  }
  #endif

  @Test("Stages run their handlers on the store as a SQLite store; one that throws changes nothing", arguments: kinds)
  func stages(_ kind: StoreKind) throws {
    struct Broken: Error {}
    let sample = try StoreTypeSample(kind)
    let before = try sample.files()
    let stage = NSCustomMigrationStage(
      migratingFrom: .init(model: sample.old, versionChecksum: sample.old.versionChecksum),
      to: .init(model: sample.new, versionChecksum: sample.new.versionChecksum))
    stage.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for author in try context.all("Author") { author["name"] = "\(author["name"] ?? "")+" }
        try context.save()
      }
    }
    stage.didMigrateHandler = { _, _ in throw Broken() }
    let options = [NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage])]
    let error = try #require(throws: NSError.self) { try open(sample, options) }
    #expect(error.code == NSMigrationError && !"\(error.userInfo)".contains("-copy-"))
    #expect(try sample.files() == before)
    stage.didMigrateHandler = nil
    #expect(try open(sample, options) == all)
    #expect(try open(sample, options) == all)
    #expect(try sample.context(kind, sample.url).all("Author").map { $0["name"] as? String } == ["A1+", "A2+"])
  }
}
