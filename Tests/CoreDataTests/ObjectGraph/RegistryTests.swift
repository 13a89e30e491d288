// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Objects that come and go")
struct RegistryTests {
  @Test("An object that nobody uses leaves the context at once, and comes back as another one")
  func leaving() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    var ada: NSManagedObject? = context.make("Employee", ["name": "Ada"])
    try context.save()
    let id = try #require(ada?.objectID)
    weak var witness: NSManagedObject?
    witness = ada
    #expect(context.registeredObject(for: id) === ada)
    ada = nil
    #expect(witness == nil)
    #expect(context.registeredObject(for: id) == nil)
    #expect(context.registeredObjects.isEmpty)
    #expect(try context.existingObject(with: id).value(forKey: "name") as? String == "Ada")
  }

  @Test("A context that retains its objects lets them go when it goes")
  func retaining() throws {
    let store = try TemporaryStore()
    weak var witness: NSManagedObject?
    do {
      let context = try store.context(CompanyModel.make())
      context.retainsRegisteredObjects = true
      witness = context.make("Employee", ["name": "Ada"])
      try context.save()
      #expect(witness != nil)
      #expect(context.registeredObjects.count == 1)
    }
    try store.close()
    #expect(witness == nil)
  }

  @Test("An object outlives its context, and says that it has none")
  func outliving() throws {
    let store = try TemporaryStore()
    var context: NSManagedObjectContext? = try store.context(CompanyModel.make())
    let ada = try #require(context?.make("Employee", ["name": "Ada"]))
    try context?.save()
    weak var witness: NSManagedObjectContext?
    witness = context
    context = nil
    try store.close()
    #expect(witness == nil)
    #expect(ada.managedObjectContext == nil)
    #expect(ada.value(forKey: "name") as? String == "Ada")
    ada.setValue("Grace", forKey: "name")
    #expect(ada.value(forKey: "name") as? String == "Grace")
  }

  @Test("Objects may go away on other threads while they are looked for")
  func racing() throws {
    let registry = ObjectRegistry()
    let model = CompanyModel.make()
    let entity = try #require(model.entitiesByName["Employee"])
    for _ in 0..<200 {
      let keys = Keys()
      let objects = Objects((0..<20).map { _ in NSManagedObject(entity: entity, insertInto: nil) })
      for object in objects.list {
        keys.list.append(object.identifier.key)
        registry.add(object)
      }
      inThreads(2) { thread in
        if thread == 0 {
          while !objects.list.isEmpty { objects.list.removeLast() }
        } else {
          for key in keys.list {
            if let found = registry[key] { #expect(found.identifier.key == key) }
          }
        }
      }
      #expect(registry.objects.isEmpty)
      for key in keys.list { #expect(registry[key] == nil) }
    }
  }

  private final class Objects: @unchecked Sendable {
    var list: [NSManagedObject]

    init(_ list: [NSManagedObject]) { self.list = list }
  }

  private final class Keys: @unchecked Sendable {
    var list: [ObjectKey] = []
  }

  @Test("Changed objects keep their order through any number of gaps")
  func order() throws {
    let entity = try #require(CompanyModel.make().entitiesByName["Employee"])
    let objects = (0..<500).map { _ in NSManagedObject(entity: entity, insertInto: nil) }
    var list = ChangeList()
    for object in objects { list.add(object) }
    list.add(objects[7])
    #expect(list.count == 500)
    for (position, object) in objects.enumerated() where position % 5 != 0 { list.remove(object) }
    #expect(list.objects == objects.enumerated().filter { $0.offset % 5 == 0 }.map(\.element))
    #expect(list.contains(objects[495]))
    #expect(!list.contains(objects[494]))
    list.add(objects[1])
    #expect(list.objects.last === objects[1])
    list.removeAll()
    #expect(list.isEmpty)
    #expect(!list.contains(objects[0]))
  }

  @Test("A new object is known before it has an identifier, and found by that from when it has one until it is gone")
  func unidentified() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    #expect(ada.knownIdentifier == nil && ada.managedObjectContext === context)
    #expect(context.registeredObjects == [ada])
    let temporary = ada.objectID
    #expect(temporary.isTemporaryID && context.registeredObject(for: temporary) === ada)
    let bob = context.make("Employee", ["name": "Bob"])
    try context.save()
    #expect(!bob.objectID.isTemporaryID && context.registeredObject(for: bob.objectID) === bob)
    #expect(context.registeredObject(for: temporary) === ada)
    #expect(context.registeredObjects == [ada, bob])

    let undone = context.make("Employee", ["name": "Cleo"])
    let deleted = context.make("Employee", ["name": "Dora"])
    context.delete(deleted)
    context.processPendingChanges()
    #expect(deleted.managedObjectContext == nil)
    context.rollback()
    #expect(undone.managedObjectContext == nil)
    #expect(context.registeredObjects == [ada, bob])
    let forgotten = context.make("Employee", ["name": "Eve"])
    context.reset()
    #expect(forgotten.managedObjectContext == nil && ada.managedObjectContext == nil)
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    #expect(forgotten.objectID.isTemporaryID)
    #expect(context.registeredObject(for: forgotten.objectID) == nil)
  }

  @Test("Only contexts that take over what others save are told of it, from when they want to until they do not")
  func takingOver() async throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    try context.save()
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let id = ada.objectID
    func seen() async -> String? { await other.perform { other.object(with: id).value(forKey: "name") as? String } }
    await other.perform { other.retainsRegisteredObjects = true }
    #expect(await seen() == "Ada")
    ada.setValue("Grace", forKey: "name")
    try context.save()
    #expect(await seen() == "Ada")
    await other.perform { other.automaticallyMergesChangesFromParent = true }
    ada.setValue("Hedy", forKey: "name")
    try context.save()
    #expect(await seen() == "Hedy")
    await other.perform { other.automaticallyMergesChangesFromParent = false }
    ada.setValue("Ida", forKey: "name")
    try context.save()
    #expect(await seen() == "Hedy")
  }

  @Test("Whoever asks for the identifier of a new object first, on whatever thread, gets the one that the others get")
  func identifiedByMany() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for _ in 0..<50 {
      nonisolated(unsafe) let ada = context.make("Employee", ["name": "Ada"])
      let lock = NSLock()
      nonisolated(unsafe) var found: Set<NSManagedObjectID> = []
      inThreads(8) { _ in
        let id = ada.objectID
        _ = lock.withLock { found.insert(id) }
      }
      #expect(found.count == 1)
      #expect(context.registeredObject(for: ada.objectID) === ada)
    }
    try context.save()
  }
}
