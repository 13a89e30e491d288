// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A context over one of the two stores of a migration.
///
/// It posts no notifications and saves without validation: `DestinationValidation` checks the objects when all are made. The
/// destination's context also tells the migration when a policy looks at what has been made so far.
final class MigrationContext: NSManagedObjectContext, @unchecked Sendable {
  /// How many objects have been deleted in this context so far.
  private(set) var deletionCount = 0
  /// Called before a fetch, and before the members of a relationship are read.
  var willAskStores: (() -> Void)?
  /// Called before a single row is read.
  var willReadRow: (() -> Void)?
  /// Registers all objects that the migration has made in this context so far, and returns them.
  var madeByMigration: (() -> Set<NSManagedObject>)?
  /// Called with the objects that a policy has fetched.
  var didFetch: (([NSManagedObject]) -> Void)?

  override var postsNotifications: Bool { false }
  override var validatesOnSave: Bool { false }

  /// All objects that the migration has made so far, saved ones included.
  override var insertedObjects: Set<NSManagedObject> {
    let inserted = super.insertedObjects
    guard let madeByMigration else { return inserted }
    return inserted.union(madeByMigration().filter { !$0.isDeleted })
  }

  override var registeredObjects: Set<NSManagedObject> {
    _ = madeByMigration?()
    return super.registeredObjects
  }

  override func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    if let known = super.registeredObject(for: objectID) { return known }
    guard let madeByMigration else { return nil }
    _ = madeByMigration()
    return super.registeredObject(for: objectID)
  }

  override func delete(_ object: NSManagedObject) {
    if object.context === self, !object.isDeleted { deletionCount += 1 }
    super.delete(object)
  }

  override func willQueryStores() { willAskStores?() }

  override func willReadStoredRow() { willReadRow?() }

  override func noteFetchResults<Result>(_ results: [Result]) {
    if let didFetch { didFetch(results.compactMap { $0 as? NSManagedObject }) }
  }
}
