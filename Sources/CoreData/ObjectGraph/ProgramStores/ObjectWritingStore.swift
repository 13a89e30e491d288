// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A custom store, which receives objects to write instead of rows.
protocol ObjectWritingStore: RowStore, ObjectCopyDestination {
  /// Returns permanent identifiers for new objects, in the same order.
  func makeIdentifiers(forObjects objects: [NSManagedObject]) throws -> [NSManagedObjectID]

  /// Writes all changes of a context. The objects hold the values.
  ///
  /// - Throws: `RowConflicts` if rows have changed since they were read; the store's errors.
  func writeObjects(_ changes: [RowChange], of context: NSManagedObjectContext) throws
}

extension ObjectWritingStore {
  package func receiveCopies(of source: any RowStore, coordinator: NSPersistentStoreCoordinator) throws {
    try ObjectCopy(source: source, destination: self, coordinator: coordinator).run()
  }
}
