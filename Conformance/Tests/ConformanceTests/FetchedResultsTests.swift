// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// Records what a controller tells.
final class Delegate: NSObject, NSFetchedResultsControllerDelegate {
  let log = Log()

  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
    log.add("will")
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    func place(_ path: IndexPath?) -> String { path.map { $0.map(String.init).joined(separator: ".") } ?? "-" }
    log.add("\(name(type)) \(place(indexPath)) \(place(newIndexPath))")
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {
    log.add("\(name(type)) section \(sectionIndex)")
  }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
    log.add("did")
  }

  private func name(_ type: NSFetchedResultsChangeType) -> String {
    switch type {
    case .insert: "insert"
    case .delete: "delete"
    case .move: "move"
    case .update: "update"
    @unknown default: "unknown"
    }
  }
}

@Suite("Fetched results controllers")
struct FetchedResultsTests {
  private let stack: Stack
  private let delegate = Delegate()

  /// Books b, d and f.
  init() throws {
    stack = try Stack(library())
    try stack.run { context in
      for (index, title) in ["b", "d", "f"].enumerated() {
        context.insert("Book", ["title": title, "pages": index])
      }
      try context.save()
    }
  }

  private func controller(
    _ context: NSManagedObjectContext, section: String? = nil, predicate: NSPredicate? = nil
  ) throws -> NSFetchedResultsController<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    request.predicate = predicate
    let result = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: section, cacheName: nil)
    result.delegate = delegate
    try result.performFetch()
    return result
  }

  private func titles(_ controller: NSFetchedResultsController<NSManagedObject>) -> [String?] {
    (controller.fetchedObjects ?? []).map { $0.text("title") }
  }

  @Test("A controller has nothing before its fetch, and the ordered objects afterwards")
  func fetching() throws {
    try stack.run { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      #expect(controller.fetchedObjects == nil)
      try controller.performFetch()
      #expect(titles(controller) == ["f", "d", "b"])
      #expect(controller.sections?.count == 1)
      #expect(controller.object(at: IndexPath(indexes: [0, 2])).text("title") == "b")
      #expect(
        try controller.indexPath(forObject: #require(controller.fetchedObjects?[1])) == IndexPath(indexes: [0, 1]))
    }
  }

  @Test("An insertion is told with its new place, between the calls before and after it")
  func insertion() throws {
    try stack.run { context in
      let controller = try controller(context)
      context.insert("Book", ["title": "c"])
      context.processPendingChanges()
      #expect(delegate.log.all == ["will", "insert - 0.1", "did"])
      #expect(titles(controller) == ["b", "c", "d", "f"])
    }
  }

  @Test("A deletion is told with its old place")
  func deletion() throws {
    try stack.run { context in
      let controller = try controller(context)
      context.delete(controller.object(at: IndexPath(indexes: [0, 1])))
      context.processPendingChanges()
      #expect(delegate.log.all == ["will", "delete 0.1 -", "did"])
      #expect(titles(controller) == ["b", "f"])
    }
  }

  @Test("A change that keeps the order is an update")
  func update() throws {
    try stack.run { context in
      let controller = try controller(context)
      controller.object(at: IndexPath(indexes: [0, 0])).setValue(99, forKey: "pages")
      context.processPendingChanges()
      #expect(delegate.log.all.count == 3)
      #expect(delegate.log.all[1].hasPrefix("update 0.0"))
    }
  }

  @Test("A change of a sort key that changes the place is a move with both places")
  func move() throws {
    try stack.run { context in
      let controller = try controller(context)
      controller.object(at: IndexPath(indexes: [0, 0])).setValue("z", forKey: "title")
      context.processPendingChanges()
      #expect(delegate.log.all == ["will", "move 0.0 0.2", "did"])
      #expect(titles(controller) == ["d", "f", "z"])
    }
  }

  @Test("A change of a sort key that keeps the place is a move too")
  func moveInPlace() throws {
    try stack.run { context in
      let controller = try controller(context)
      controller.object(at: IndexPath(indexes: [0, 0])).setValue("c", forKey: "title")
      context.processPendingChanges()
      deviation("OpenCoreData tells an update (NSFetchedResultsController in DEVIATIONS.md)") {
        #expect(delegate.log.all == ["will", "move 0.0 0.0", "did"])
      }
    }
  }

  @Test("An object that no longer meets the predicate is told as deleted, one that meets it anew as inserted")
  func predicateChanges() throws {
    try stack.run { context in
      let controller = try controller(context, predicate: predicate("pages < 2"))
      controller.object(at: IndexPath(indexes: [0, 0])).setValue(5, forKey: "pages")
      context.processPendingChanges()
      #expect(delegate.log.all == ["will", "delete 0.0 -", "did"])
      try context.all("Book", where: predicate("title == 'f'")).first?.setValue(0, forKey: "pages")
      context.processPendingChanges()
      #expect(delegate.log.all.suffix(3) == ["will", "insert - 0.1", "did"])
    }
  }

  @Test("A change that concerns no object of the controller is not told")
  func unrelated() throws {
    try stack.run { context in
      _ = try controller(context)
      context.insert("Tag")
      context.processPendingChanges()
      #expect(delegate.log.all.isEmpty)
    }
  }

  @Test("Sections have the values of their key path as names, and a new one is told with its index")
  func sections() throws {
    try stack.run { context in
      let controller = try controller(context, section: "title")
      #expect(controller.sections?.map(\.name) == ["b", "d", "f"])
      #expect(controller.sections?.map(\.numberOfObjects) == [1, 1, 1])
      context.insert("Book", ["title": "e"])
      context.processPendingChanges()
      #expect(delegate.log.all == ["will", "insert section 2", "insert - 2.0", "did"])
      #expect(controller.sections?.map(\.name) == ["b", "d", "e", "f"])
    }
  }
}
