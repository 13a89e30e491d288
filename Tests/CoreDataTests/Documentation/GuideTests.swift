// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's articles, between `guide:` and `end`. `GuideTextTests` makes sure that the articles have no other.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: policy
/// Splits the name of a person.
final class SplitNamePolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
    let words = (source.value(forKey: "name") as? String ?? "").split(separator: " ", maxSplits: 1)
    made.first?.setValue(words.first.map(String.init), forKey: "givenName")
    made.first?.setValue(words.count > 1 ? String(words[1]) : nil, forKey: "familyName")
  }
}
// end

@Suite("The code of the guide")
struct GuideTests {
  private let store: TemporaryStore
  private var storeURL: URL { store.url }
  /// A model of three versions.
  private let modelURL: URL

  /// A store of a list of things to do, of the first version, with 300 items.
  init() throws {
    store = try TemporaryStore("Done.sqlite")
    let example = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Examples/Done").standardizedFileURL
    modelURL = example.appendingPathComponent("Done.xcdatamodeld")
    try FileManager.default.copyItem(at: example.appendingPathComponent("Done.sqlite"), to: store.url)
  }

  @Test("Getting started")
  func gettingStarted() throws {
    // guide: open
    let model = try NSManagedObjectModel.load(contentsOf: modelURL)
    let container = NSPersistentContainer(name: "Done", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: storeURL)]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    // end

    // guide: fetch
    let context = container.viewContext
    let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
    request.predicate = NSPredicate(format: "isDone == NO AND name BEGINSWITH[c] %@", "buy")
    request.sortDescriptors = [NSSortDescriptor(key: "createdAt", ascending: true)]
    let items = try context.fetch(request)
    // end
    #expect(!items.isEmpty)

    // guide: save
    let list = NSEntityDescription.insertNewObject(forEntityName: "TSPList", into: context)
    list.setValue("Groceries", forKey: "name")
    list.setValue(NSSet(array: items), forKey: "items")
    try context.save()
    // end
    #expect(
      items.allSatisfy {
        ($0.value(forKey: "list") as? NSManagedObject)?.value(forKey: "name") as? String == "Groceries"
      })
  }

  @Test("Models and versions")
  func models() throws {
    // guide: match
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: storeURL)
    let first = try NSManagedObjectModel.load(contentsOf: modelURL, version: "Done")
    let current = try NSManagedObjectModel.load(contentsOf: modelURL)
    let isFirst = first.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    let isCurrent = current.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    // end
    #expect(isFirst && !isCurrent)

    // guide: refused
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: current)
    do {
      try coordinator.addPersistentStore(type: .sqlite, at: storeURL)
    } catch let error as NSError where error.code == NSPersistentStoreIncompatibleVersionHashError {
      print(error.localizedFailureReason ?? "")
    }
    // end
    #expect(coordinator.persistentStores.isEmpty)

    // guide: code
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    name.isOptional = false
    let city = NSEntityDescription()
    city.name = "City"
    city.properties = [name]
    let atlas = NSManagedObjectModel()
    atlas.entities = [city]
    let hash = atlas.entityVersionHashesByName["City"]
    // end
    #expect(hash?.count == 32)
  }

  @Test("Lightweight migration")
  func lightweight() throws {
    // guide: plan
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL)
    for step in migration.steps {
      print("\(step.source) -> \(step.destination), \(step.isInPlace ? "in place" : "by a copy")")
    }
    // end
    #expect(migration.steps.map(\.destination) == ["Done 2", "Done 3"])

    // guide: run
    let report = try migration.run { progress in
      print("step \(progress.step) of \(progress.stepCount): \(progress.rowsDone) of \(progress.rowCount) rows")
    }
    for (entity, rows) in report.rows { print("\(entity): \(rows.before) rows before, \(rows.after) after") }
    // end
    #expect(report.rows["TSPItem"]?.after == 300)
    #expect(try !StoreMigration(storeAt: storeURL, modelsAt: modelURL).isNeeded)
  }

  @Test("Migration at opening, with the options of a description")
  func options() throws {
    let model = try NSManagedObjectModel.load(contentsOf: modelURL)
    // guide: options
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      type: .sqlite, at: storeURL,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true,
        NSInferMappingModelAutomaticallyOption: true,
      ])
    // end
    #expect(coordinator.persistentStores.count == 1)
  }

  /// Makes a store with people, and returns the version of its model and the one after it.
  private func people(at url: URL) throws -> (old: NSManagedObjectModel, new: NSManagedObjectModel) {
    var before = ModelBuilder()
    before.entity("Person", [.make("name", .stringAttributeType)])
    var after = ModelBuilder()
    after.entity(
      "Person", [.make("givenName", .stringAttributeType), .make("familyName", .stringAttributeType)])
    let (old, new) = (before.model(), after.model())
    let context = try store.context(old, at: url)
    context.make("Person", ["name": "Ada Lovelace"])
    try context.save()
    try store.close()
    return (old, new)
  }

  @Test("Mapping models and policies")
  func mapping() throws {
    let (source, target) = (
      store.folder.appendingPathComponent("People.sqlite"), store.folder.appendingPathComponent("New.sqlite")
    )
    let (old, new) = try people(at: source)
    // guide: mapping
    let mapping = NSEntityMapping()
    mapping.name = "PersonToPerson"
    mapping.mappingType = .customEntityMappingType
    mapping.sourceEntityName = "Person"
    mapping.destinationEntityName = "Person"
    mapping.sourceEntityVersionHash = old.entityVersionHashesByName["Person"]
    mapping.destinationEntityVersionHash = new.entityVersionHashesByName["Person"]
    mapping.entityMigrationPolicyClassName = NSStringFromClass(SplitNamePolicy.self)
    let mappingModel = NSMappingModel()
    mappingModel.entityMappings = [mapping]
    // end

    // guide: manager
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    try manager.migrateStore(
      from: source, type: .sqlite, mapping: mappingModel, to: target, type: .sqlite)
    // end
    let context = try store.context(new, at: target)
    let person = try #require(try context.all("Person", by: "givenName").first)
    #expect(person.value(forKey: "givenName") as? String == "Ada")
    #expect(person.value(forKey: "familyName") as? String == "Lovelace")
  }

  @Test("Staged migration")
  func staged() throws {
    var versions: [NSManagedObjectModel] = []
    for name in ["Done", "Done 2", "Done 3"] {
      versions.append(try NSManagedObjectModel.load(contentsOf: modelURL, version: name))
    }
    let (v1, v2, v3) = (versions[0], versions[1], versions[2])
    // guide: stages
    let first = NSLightweightMigrationStage([v1.versionChecksum])
    first.label = "Dates"
    let second = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: v2, versionChecksum: v2.versionChecksum),
      to: NSManagedObjectModelReference(model: v3, versionChecksum: v3.versionChecksum))
    second.label = "Lists"
    second.didMigrateHandler = { manager, _ in
      guard let context = manager.container?.newBackgroundContext() else { return }
      try context.performAndWait {
        // The handler is called again if the process ended before the stage did.
        let lists = NSFetchRequest<NSManagedObject>(entityName: "TSPList")
        lists.predicate = NSPredicate(format: "name == %@", "Inbox")
        guard try context.count(for: lists) == 0 else { return }
        let list = NSEntityDescription.insertNewObject(forEntityName: "TSPList", into: context)
        list.setValue("Inbox", forKey: "name")
        let items = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "TSPItem"))
        list.setValue(NSSet(array: items), forKey: "items")
        try context.save()
      }
    }

    let description = NSPersistentStoreDescription(url: storeURL)
    description.setOption(
      NSStagedMigrationManager([first, second]), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    let container = NSPersistentContainer(name: "Done", managedObjectModel: v3)
    container.persistentStoreDescriptions = [description]
    // end
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    let lists = try container.viewContext.all("TSPList")
    #expect((lists.first?.value(forKey: "items") as? NSSet)?.count == 300)
  }

  @Test("Backups and recovery")
  func recovery() throws {
    // guide: backup
    let backup = try StoreBackup.make(of: storeURL)
    do {
      _ = try StoreMigration(storeAt: storeURL, modelsAt: modelURL).run()
    } catch {
      try StoreBackup.restore(backup, to: storeURL)
      throw error
    }
    // end
    #expect(FileManager.default.fileExists(atPath: backup.path))

    // guide: recover
    if let outcome = try StoreRecovery.recover(storeAt: storeURL) {
      print("earlier work was \(outcome)")
    }
    // end

    try Data("no store any more".utf8).write(to: storeURL)
    let model = try NSManagedObjectModel.load(contentsOf: modelURL)
    // guide: aside
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let opened = try coordinator.addPersistentStore(
      type: .sqlite, at: storeURL, options: [StoreSetAsideOption: true])
    if let aside = opened.storeSetAside {
      print("The old store could not be used. It is kept as \(aside.url.path).")
    }
    // end
    #expect(opened.storeSetAside != nil)
  }

  @Test("Large stores")
  func large() throws {
    let model = try NSManagedObjectModel.load(contentsOf: modelURL)
    let container = NSPersistentContainer(name: "Done", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: storeURL)]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    // guide: batches
    let context = container.newBackgroundContext()
    var number = 0
    let insert = NSBatchInsertRequest(entityName: "TSPItem") { (values: NSMutableDictionary) -> Bool in
      guard number < 10_000 else { return true }
      values["name"] = "item \(number)"
      values["isDone"] = false
      number += 1
      return false
    }
    try context.performAndWait { _ = try context.execute(insert) }
    // end

    // guide: walk
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      request.fetchBatchSize = 500
      var done = 0
      for item in try context.fetch(request) where item.value(forKey: "isDone") as? Bool == true { done += 1 }
      context.reset()
      print("\(done) items are done")
    }
    // end
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "TSPItem")) == 10_300)
  }
}
