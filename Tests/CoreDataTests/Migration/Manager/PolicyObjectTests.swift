// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Makes animals of the entity that their kind names, and an extra note for each.
final class SortingPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let context = manager.destinationContext
    let animal = context.make(sInstance.text("kind") ?? "Animal", optional: ["name": sInstance.text("name")])
    manager.associate(sourceInstance: sInstance, withDestinationInstance: animal, for: mapping)
    if manager.userInfo?["notes"] != nil {
      let note = context.make("Note", optional: ["name": sInstance.text("name")])
      manager.associate(sourceInstance: sInstance, withDestinationInstance: note, for: mapping)
    }
  }
}

/// Takes back what it has made of objects named `bad`.
final class DiscardingPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    guard sInstance.text("name") == "bad" else { return }
    switch manager.userInfo?["by"] as? String {
    case "reset": manager.destinationContext.reset()
    case "rollback": manager.destinationContext.rollback()
    default: manager.destinationContext.insertedObjects.forEach(manager.destinationContext.delete)
    }
  }
}

@Suite("The objects that a policy makes and discards")
struct PolicyObjectTests {
  private let store: TemporaryStore
  private var target: URL { store.folder.appendingPathComponent("Target.sqlite") }

  init() throws { store = try TemporaryStore() }

  private func animals(sorted: Bool) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let kind: [NSAttributeDescription] = sorted ? [] : [.make("kind", .stringAttributeType)]
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.entity("Note", [.make("name", .stringAttributeType)])
    builder.entity("Animal", [.make("name", .stringAttributeType)] + kind)
    if sorted {
      builder.entity("Cat", parent: "Animal", [.make("claws", .integer16AttributeType)])
      builder.entity("Dog", parent: "Animal")
      builder.relate(.init("Cat", "keeper"), .init("Owner", "keeps", toMany: true))
    }
    builder.relate(.init("Animal", "owner"), .init("Owner", "pets", toMany: true))
    return builder.model()
  }

  private func migrate(
    _ old: NSManagedObjectModel, _ new: NSManagedObjectModel, _ entity: String, _ policy: String,
    userInfo: [AnyHashable: Any], _ edit: (NSMappingModel) -> Void = { _ in }
  ) throws {
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    try #require(mapping.entityMappings.first { $0.destinationEntityName == entity }).entityMigrationPolicyClassName =
      "CoreDataTests.\(policy)"
    edit(mapping)
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    manager.userInfo = userInfo
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
  }

  @Test(
    "Relationships of objects of other entities are found by their names", arguments: [false, true], [false, true])
  func otherEntities(hasInverse: Bool, makesNotes: Bool) throws {
    let old = animals(sorted: false)
    let seed = try store.context(old)
    let owners = ["ann", "bob"].map { seed.make("Owner", ["name": $0]) }
    for (name, kind, owner) in [("eel", nil, 1), ("kit", "Cat", 1), ("rex", "Dog", 0), ("tom", "Cat", 0)] {
      seed.make("Animal", optional: ["name": name, "kind": kind, "owner": owners[owner]])
    }
    try seed.save()
    let new = animals(sorted: true)
    try migrate(old, new, "Animal", "SortingPolicy", userInfo: makesNotes ? ["notes": true] : [:]) { mapping in
      if !hasInverse {
        mapping.entityMappings.first { $0.destinationEntityName == "Owner" }?.relationshipMappings = []
      }
    }
    let result = try store.context(new, at: target)
    let found = try result.all("Animal").map { animal in
      [animal.entity.name, animal.text("name"), (animal["owner"] as? NSManagedObject)?.text("name")]
    }
    #expect(
      found == [
        ["Animal", "eel", "bob"], ["Cat", "kit", "bob"], ["Dog", "rex", "ann"], ["Cat", "tom", "ann"],
      ])
    #expect(try result.all("Cat").allSatisfy { $0["keeper"] == nil })
    #expect(try result.all("Note").count == (makesNotes ? 4 : 0))
  }

  @Test("Links to objects that a policy has discarded are left out", arguments: ["rollback", "reset", "delete"])
  func discarded(by way: String) throws {
    func model(_ attributes: [NSAttributeDescription]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Folder", [.make("name", .stringAttributeType)] + attributes)
      builder.entity("Item", [.make("name", .stringAttributeType)])
      builder.relate(.init("Folder", "items", toMany: true), .init("Item", "folder"))
      return builder.model()
    }
    let (old, new) = (model([]), model([.make("color", .stringAttributeType)]))
    let seed = try store.context(old)
    for name in ["bad", "good"] {
      seed.make("Item", ["name": name, "folder": seed.make("Folder", ["name": name])])
      try seed.save()
    }
    try migrate(old, new, "Folder", "DiscardingPolicy", userInfo: ["by": way])
    let result = try store.context(new, at: target)
    #expect(try result.all("Folder").map { $0.text("name") } == ["good"])
    let folders = try result.all("Item").map { ($0["folder"] as? NSManagedObject)?.text("name") }
    #expect(folders == [nil, "good"])
    let keys = try SQLiteConnection(url: target, mode: .readOnly).rows(
      "SELECT COUNT(*) FROM ZITEM WHERE ZFOLDER NOT IN (SELECT Z_PK FROM ZFOLDER)")
    #expect(keys.first?[0].integer == 0)
  }

  @Test("A mapping model for all entities migrates a store of one configuration", arguments: [false, true])
  func configuration(isAutomatic: Bool) throws {
    func model(_ attributes: [NSAttributeDescription]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      let plan = builder.entity("Plan", [.make("name", .stringAttributeType)] + attributes)
      let cache = builder.entity("Cache", [.make("name", .stringAttributeType)])
      let model = builder.model()
      model.setEntities([plan], forConfigurationName: "Own")
      model.setEntities([cache], forConfigurationName: "Shared")
      return model
    }
    let (old, new) = (model([]), model([.make("title", .stringAttributeType)]))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: old)
    try coordinator.addPersistentStore(type: .sqlite, configuration: "Own", at: store.url)
    let seed = NSManagedObjectContext(.privateQueue)
    seed.persistentStoreCoordinator = coordinator
    seed.make("Plan", ["name": "a"])
    try seed.save()
    for open in coordinator.persistentStores { try coordinator.remove(open) }

    let mapping = NSMappingModel()
    mapping.entityMappings = ["Cache", "Plan"].map { name in
      let entity = NSEntityMapping()
      entity.name = "\(name)To\(name)"
      entity.mappingType = .transformEntityMappingType
      (entity.sourceEntityName, entity.destinationEntityName) = (name, name)
      entity.sourceEntityVersionHash = old.entityVersionHashesByName[name]
      entity.destinationEntityVersionHash = new.entityVersionHashesByName[name]
      entity.attributeMappings = ManagerSample.properties(
        ["name": "$source.name"].merging(name == "Plan" ? ["title": "uppercase:($source.name)"] : [:]) { $1 })
      return entity
    }
    var place = target
    var options: [AnyHashable: Any] = [:]
    if isAutomatic {
      place = store.url
      options = [NSMigratePersistentStoresAutomaticallyOption: true, MigrationOption.mappings: [mapping]]
    } else {
      try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
        from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    }
    let opened = NSPersistentStoreCoordinator(managedObjectModel: new)
    try opened.addPersistentStore(type: .sqlite, configuration: "Own", at: place, options: options)
    let result = NSManagedObjectContext(.privateQueue)
    result.persistentStoreCoordinator = opened
    #expect(try result.all("Plan").map { $0.text("title") } == ["A"])
  }
}
