// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Rows that the database has neither updated nor deleted, without an error, although they are as they were read: a
/// trigger, rule or policy of somebody else has discarded the changes. This is no conflict, which another attempt or a
/// merge policy could resolve.
struct DiscardedChanges: Error, TranslatableError {
  let objects: [NSManagedObjectID]

  /// - Parameter conflicts: What is known of changes that were not written. A row that somebody has changed has another
  ///   version.
  /// - Throws: `DiscardedChanges` if there are rows with the expected version.
  static func check(_ conflicts: [RowConflicts.Conflict]) throws {
    let objects = conflicts.filter { $0.stored?.version == $0.expectedVersion }.map(\.id)
    if !objects.isEmpty { throw DiscardedChanges(objects: objects) }
  }

  func translated(in context: ErrorContext) -> any Error {
    let entities = Set(objects.compactMap(\.entityDescription.name)).sorted().joined(separator: ", ")
    return StoreErrors.operationFailed(
      url: context.url,
      reason:
        "The database has not written the changes of \(objects.count == 1 ? "1 object" : "\(objects.count) objects") "
        + "(\(entities)), whose rows are as they were read: a trigger, rule or policy of the table, which is not the "
        + "framework's, has discarded them. Nothing was saved. coredata store verify lists the triggers.")
  }
}
