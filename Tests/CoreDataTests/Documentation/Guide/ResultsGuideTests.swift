// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's article about fetched results, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: results-list
/// Prints how a list changes.
final class ItemList: NSObject, NSFetchedResultsControllerDelegate {
  let controller: NSFetchedResultsController<NSManagedObject>
  private(set) var lines: [String] = []

  init(_ context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
    request.sortDescriptors = [
      NSSortDescriptor(key: "list.name", ascending: true), NSSortDescriptor(key: "name", ascending: true),
    ]
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "list.name", cacheName: nil)
    super.init()
    controller.delegate = self
    try controller.performFetch()
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {
    lines.append("\(type) section \(sectionInfo.name)")
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    let name = (anObject as? NSManagedObject)?.value(forKey: "name") as? String ?? ""
    let places = [indexPath, newIndexPath].map { $0.map { "\($0.section).\($0.item)" } ?? "-" }
    lines.append("\(type) \(name) \(places[0]) > \(places[1])")
  }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
    lines.append("done")
  }
}
// end

// guide: results-difference
/// Keeps identifiers in step with a fetch, as for a client that is sent what changes.
final class OpenItems: NSObject, NSFetchedResultsControllerDelegate {
  var ids: [NSManagedObjectID] = []

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    ids = ids.applying(diff) ?? ids
  }
}
// end

@Suite("The code of the guide: fetched results")
struct ResultsGuideTests {
  private let store: DailyUseStore
  private let container: NSPersistentContainer

  init() throws {
    store = try DailyUseStore()
    container = try store.container()
    try DailyUseStore.add(["Bread", "Milk"], to: container, list: "Groceries")
    try DailyUseStore.add(["Soap"], to: container, list: "Household")
  }

  @Test("A list follows the changes of its context, its own and merged ones")
  func list() async throws {
    let context = container.newBackgroundContext()
    // guide: results-merge
    context.automaticallyMergesChangesFromParent = true
    let list = try await context.perform { try ItemList(context) }
    // end
    let sections = await context.perform { () -> [String] in
      // guide: results-sections
      let sections = list.controller.sections ?? []
      let lines = sections.map { "\($0.name): \($0.numberOfObjects)" }
      // end
      return lines
    }
    #expect(sections == ["Groceries: 2", "Household: 1"])

    try await context.perform {
      // guide: results-change
      let bread = list.controller.object(at: IndexPath(item: 0, section: 0))
      bread.setValue("Rolls", forKey: "name")
      context.delete(list.controller.object(at: IndexPath(item: 0, section: 1)))
      context.processPendingChanges()
      // end
      try context.save()
    }
    #expect(list.lines == ["delete section Household", "delete Soap 1.0 > -", "move Rolls 0.0 > 0.1", "done"])
    let before = list.lines.count
    try DailyUseStore.add(["Stamps"], to: container, list: "Post")
    await context.perform {}
    #expect(list.lines.dropFirst(before) == ["insert section Post", "insert Stamps - > 1.0", "done"])
  }

  @Test("A difference of identifiers keeps a copy in step")
  func difference() async throws {
    let context = container.newBackgroundContext()
    context.automaticallyMergesChangesFromParent = true
    let openItems = OpenItems()
    let controller = try await context.perform { () -> NSFetchedResultsController<NSManagedObject> in
      // guide: results-open
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      request.predicate = NSPredicate(format: "isDone == NO")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      try controller.performFetch()
      openItems.ids = controller.fetchedObjects?.map(\.objectID) ?? []
      controller.delegate = openItems
      // end
      return controller
    }
    #expect(openItems.ids.count == 3)
    let other = container.newBackgroundContext()
    let first = openItems.ids[0]
    try other.performAndWait {
      try other.existingObject(with: first).setValue(true, forKey: "isDone")
      try other.save()
    }
    let found = await context.perform { controller.fetchedObjects?.map(\.objectID) }
    #expect(openItems.ids.count == 2 && openItems.ids == found && !openItems.ids.contains(first))
  }

  @Test("Sections that the order does not keep together are an error")
  func unordered() async throws {
    try DailyUseStore.add(["Brush"], to: container, list: "Household")
    let context = container.newBackgroundContext()
    let error = await context.perform { () -> NSError? in
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "list.name", cacheName: nil)
      return thrownError { try controller.performFetch() }
    }
    #expect(error?.code == NSCoreDataError)
    #expect(error?.localizedFailureReason?.contains("has an out of order section name 'Groceries'") == true)
    print(error?.localizedFailureReason ?? "")
  }

  @Test("The contents with a limit are what a fetch returns")
  func limit() async throws {
    let context = container.newBackgroundContext()
    let names = try await context.perform { () -> [String] in
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      request.fetchLimit = 2
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      let openItems = OpenItems()
      controller.delegate = openItems
      try controller.performFetch()
      context.make("TSPItem", ["name": "Apples"])
      context.processPendingChanges()
      return controller.fetchedObjects?.map { $0.value(forKey: "name") as? String ?? "" } ?? []
    }
    #expect(names == ["Apples", "Bread"])
  }
}
