// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The list in the terminal, which a fetched results controller keeps up to date.
final class BookList: NSObject, NSFetchedResultsControllerDelegate {
  private let controller: NSFetchedResultsController<Book>
  private var events: [String] = []

  init(_ context: NSManagedObjectContext) throws {
    controller = NSFetchedResultsController(
      fetchRequest: Book.request(), managedObjectContext: context, sectionNameKeyPath: "genre", cacheName: nil)
    super.init()
    controller.delegate = self
    try controller.performFetch()
  }

  /// The book at a place of the list.
  func book(_ item: Int, in section: Int) -> Book { controller.object(at: IndexPath(item: item, section: section)) }

  /// Prints what has changed since the last call, and the first books of every section.
  func show(_ heading: String) {
    print("== \(heading)")
    for event in events.prefix(4) { print("   \(event)") }
    if events.count > 4 { print("   and \(events.count - 4) more") }
    events = []
    for section in controller.sections ?? [] {
      print("\(section.name) (\(section.numberOfObjects))")
      for case let book as Book in (section.objects ?? []).prefix(3) {
        print("  [\(book.isRead ? "x" : " ")] \(book.title), \(book.author ?? "unknown")")
      }
    }
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    func place(_ path: IndexPath?) -> String { path.map { "\($0.section).\($0.item)" } ?? "-" }
    switch type {
    case .insert: events.append("insert at \(place(newIndexPath))")
    case .delete: events.append("delete at \(place(indexPath))")
    case .move: events.append("move from \(place(indexPath)) to \(place(newIndexPath))")
    case .update: events.append("update at \(place(indexPath))")
    @unknown default: events.append("something else")
    }
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {
    events.append("\(type == .insert ? "new" : "removed") section '\(sectionInfo.name)' at \(sectionIndex)")
  }
}
