// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The kind of change of an object or a section in a fetched results controller.
public enum NSFetchedResultsChangeType: UInt, Sendable {
  /// The object or section was added.
  case insert = 1
  /// The object or section was removed.
  case delete = 2
  /// The object changed, and with it its position or its section.
  case move = 3
  /// The object changed and kept its position among the others.
  case update = 4
}

/// A section of a fetched results controller.
public protocol NSFetchedResultsSectionInfo {
  /// The section's name: the value of the controller's section name key path as a string; empty if there is none.
  var name: String { get }
  /// The section's title in an index.
  var indexTitle: String? { get }
  /// The number of objects in the section.
  var numberOfObjects: Int { get }
  /// The objects of the section, in order.
  var objects: [Any]? { get }
}

/// Receives the changes of a fetched results controller's contents.
///
/// For one set of changes a controller calls `controllerWillChangeContent(_:)` before its contents change, then, after
/// they have changed, the methods for sections, those for objects, and `controllerDidChangeContent(_:)`. Index paths of
/// deleted, moved and updated objects and indexes of deleted sections refer to the contents before all changes; those of
/// inserted sections and objects, and the new index paths of moved and updated ones, to the contents after all changes.
/// A list that applies them as one batch shows the new contents.
///
/// All methods are optional. Differs from Apple: they have default implementations. There is no
/// `controller(_:didChangeContentWith:)` with a snapshot, because that class belongs to user interface frameworks.
public protocol NSFetchedResultsControllerDelegate: NSObjectProtocol {
  /// Called before the contents change.
  ///
  /// - Parameter controller: the controller, which still has the old contents.
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// Called for each inserted, deleted, moved or updated object.
  ///
  /// - Parameters:
  ///   - controller: the controller.
  ///   - anObject: the object.
  ///   - indexPath: its index path before the changes; nil for an inserted object.
  ///   - type: the kind of change. A moved object may also have changed.
  ///   - newIndexPath: its index path after the changes; nil for a deleted object.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)

  /// Called for each inserted or deleted section.
  ///
  /// The objects of a deleted section are deleted or moved, and those of an inserted one inserted or moved; each is
  /// also passed to `controller(_:didChange:at:for:newIndexPath:)`.
  ///
  /// - Parameters:
  ///   - controller: the controller.
  ///   - sectionInfo: the section; a deleted one no longer has objects.
  ///   - sectionIndex: the index of a deleted section before, and of an inserted section after the changes.
  ///   - type: `insert` or `delete`.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType)

  /// Called after the contents have changed.
  ///
  /// - Parameter controller: the controller.
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// Called after the contents have changed, if the controller has no section name key path. If the delegate implements
  /// this method, the controller calls no other method for these changes.
  ///
  /// - Parameters:
  ///   - controller: the controller.
  ///   - diff: the removed and inserted identifiers. A moved or updated object is both removed and inserted, and each
  ///     of the two changes refers to the offset of the other.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// Returns the title of a section in an index; by default the controller's own `sectionIndexTitle(forSectionName:)`.
  ///
  /// - Parameters:
  ///   - controller: the controller.
  ///   - sectionName: the name of a section.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String?
}

extension NSFetchedResultsControllerDelegate {
  /// Does nothing.
  public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}

  /// Does nothing.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}

  /// Does nothing.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {}

  /// Does nothing.
  public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}

  /// Makes the controller call the other methods instead.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    controller.results.delegateTakesDifferences = false
  }

  /// Returns the controller's own title for a section.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? {
    controller.sectionIndexTitle(forSectionName: sectionName)
  }
}
