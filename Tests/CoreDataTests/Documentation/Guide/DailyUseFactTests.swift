// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// What the articles about daily use state without code.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Facts of the guide's articles about daily use")
struct DailyUseFactTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore("Data.sqlite")
  }

  private func code(_ body: () throws -> Void) -> Int? {
    do { try body() } catch { return (error as NSError).code }
    return nil
  }

  private func people(_ change: (NSEntityDescription) -> Void = { _ in }) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let name = NSAttributeDescription.make("name", .stringAttributeType)
    name.setValidationPredicates([NSPredicate(format: "length >= 2")], withValidationWarnings: ["Too short"])
    change(builder.entity("Person", [name, .make("photo", .binaryDataAttributeType)]))
    return builder.model()
  }

  @Test("A batch insertion does not check the rules of the model, and a save does")
  func rules() throws {
    let context = try store.context(people())
    try context.execute(NSBatchInsertRequest(entityName: "Person", objects: [["name": "A"]]))
    #expect(try context.all("Person").count == 1)
    context.make("Person", ["name": "B"])
    #expect(code { try context.save() } == NSManagedObjectValidationError)
  }

  @Test("A store in memory refuses batch requests, history and generations")
  func inMemory() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: people())
    try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let unsupported = NSPersistentStoreUnsupportedRequestTypeError
    #expect(
      code { try context.execute(NSBatchInsertRequest(entityName: "Person", objects: [["name": "Ada"]])) }
        == unsupported)
    #expect(code { try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date())) } == unsupported)
    #expect(code { try context.setQueryGenerationFrom(.current) } == unsupported)
  }

  @Test("A predicate over authors finds transactions without an author")
  func authors() throws {
    let context = try store.context(people(), options: [NSPersistentHistoryTrackingKey: true])
    for author in ["app", nil] {
      context.transactionAuthor = author
      context.make("Person", ["name": "Ada"])
      try context.save()
    }
    let request = NSPersistentHistoryTransaction.fetchRequest
    request?.predicate = NSPredicate(format: "author != %@", "app")
    let history = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: try #require(request))
    let found = (try context.execute(history) as? NSPersistentHistoryResult)?.result
    #expect((found as? [NSPersistentHistoryTransaction])?.map(\.author) == [nil])
  }

  private func indexes() throws -> Bool {
    try Data(contentsOf: store.url).range(of: Data("CREATE INDEX Z_Person_byName".utf8)) != nil
  }

  @Test("An index comes to a store with the next migration")
  func index() throws {
    func indexed(_ person: NSEntityDescription) {
      guard let name = person.propertiesByName["name"] else { return }
      person.indexes = [
        NSFetchIndexDescription(
          name: "byName", elements: [NSFetchIndexElementDescription(property: name, collationType: .binary)])
      ]
    }
    _ = try store.context(people())
    try store.close()
    _ = try store.context(people(indexed))
    try store.close()
    #expect(try !indexes())
    let modified = people { person in
      indexed(person)
      person.versionHashModifier = "byName"
    }
    _ = try store.context(
      modified,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      ])
    try store.close()
    #expect(try indexes())
  }

  @Test("A migration in place leaves large values in rows until they are set, and moves values of files into rows")
  func files() throws {
    let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    func photos(external: Bool) -> NSManagedObjectModel {
      people { person in
        (person.propertiesByName["photo"] as? NSAttributeDescription)?.allowsExternalBinaryDataStorage = external
      }
    }
    let directory = store.folder.appendingPathComponent(".Data_SUPPORT/_EXTERNAL_DATA").path
    var context = try store.context(photos(external: false))
    context.make("Person", ["name": "Ada", "photo": Data(count: 300_000)])
    try context.save()
    try store.close()
    context = try store.context(photos(external: true), options: options)
    let person = try #require(try context.all("Person").first)
    #expect((person.value(forKey: "photo") as? Data)?.count == 300_000)
    #expect(!FileManager.default.fileExists(atPath: directory))
    person.setValue(Data(count: 400_000), forKey: "photo")
    try context.save()
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1)
    try store.close()
    context = try store.context(photos(external: false), options: options)
    // The directory is removed when it is empty.
    #expect((try? FileManager.default.contentsOfDirectory(atPath: directory))?.isEmpty ?? true)
    #expect((try context.all("Person").first?.value(forKey: "photo") as? Data)?.count == 400_000)
  }

  @Test("A fetch request that is executed outside of a block, and one with an unknown key, are errors")
  func requests() throws {
    let context = try store.context(people())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    #expect(code { _ = try request.execute() } == NSCoreDataError)
    request.predicate = NSPredicate(format: "colour == 'red'")
    #expect(code { _ = try context.fetch(request) } == NSCoreDataError)
  }

  @Test("A controller whose predicate reads another object does not follow that object")
  func related() throws {
    let done = try DailyUseStore()
    let container = try done.container()
    try DailyUseStore.add(["Bread"], to: container, list: "Groceries")
    let context = container.newBackgroundContext()
    final class Delegate: NSObject, NSFetchedResultsControllerDelegate {}
    let delegate = Delegate()
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      request.predicate = NSPredicate(format: "list.name == 'Groceries'")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      controller.delegate = delegate
      try controller.performFetch()
      try context.all("TSPList").first?.setValue("Household", forKey: "name")
      context.processPendingChanges()
      try context.save()
      #expect(controller.fetchedObjects?.count == 1)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.count == 0)
    }
  }
}
