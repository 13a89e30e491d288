// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The order in which changes are written, as positions in the list of changes.
private struct WritingOrder {
  /// The positions by kind of change. Within a kind, they follow the order of rows in the tables, so that a page is
  /// changed only once, before it leaves the cache.
  private(set) var positions: [(kind: RowChange.Kind, positions: [Int])]

  init(_ changes: [RowChange]) {
    var (deleted, updated, inserted): ([Int], [Int], [Int]) = ([], [], [])
    for position in changes.indices {
      switch changes[position].kind {
      case .delete: deleted.append(position)
      case .update: updated.append(position)
      case .insert: inserted.append(position)
      }
    }
    func isBefore(_ one: Int, _ other: Int) -> Bool {
      let (one, other) = (changes[one].id.key, changes[other].id.key)
      return (one.root, one.number) < (other.root, other.number)
    }
    positions = [(.delete, deleted), (.update, updated), (.insert, inserted)]
    for kind in positions.indices {
      let found = positions[kind].positions
      let isSorted = found.indices.dropFirst().allSatisfy { !isBefore(found[$0], found[$0 - 1]) }
      if !isSorted { positions[kind].positions.sort(by: isBefore) }
    }
  }
}

extension SQLRowSource {
  /// Writes changes in the caller's transaction: first deletions, which free unique values, then updates, insertions,
  /// and the relationships that are stored outside the rows.
  ///
  /// - Parameter write: writes the changes of one kind at some positions, and returns the positions of those whose rows
  ///   have changed since they were read.
  /// - Throws: `RowConflicts` with every row that has changed since it was read; `DiscardedChanges` if the database has not
  ///   written a change to a row that is as it was read. The caller must then roll back.
  package func writeInOrder(
    _ changes: [RowChange], by write: (RowChange.Kind, [Int]) throws -> [Int]
  ) throws {
    var (conflicting, outside): ([Int], [Int]) = ([], [])
    for (kind, positions) in WritingOrder(changes).positions where !positions.isEmpty {
      conflicting += try write(kind, positions)
      if kind == .delete { continue }
      // Indexing avoids copying changes, each of which holds the row before and after.
      outside += try positions.filter {
        try plans.plan(for: changes[$0].id.entityDescription).writesOutside(changes[$0].changed)
      }
    }
    guard conflicting.isEmpty else {
      let conflicts = try conflicting.map { try conflict(changes[$0]) }
      try DiscardedChanges.check(conflicts)
      throw RowConflicts(conflicts: conflicts)
    }
    if outside.isEmpty { return }
    // In the program's order of changes.
    outside.sort()
    try relationships.writeRelationships(outside.map { changes[$0] })
  }

  /// The writer of what is stored outside the rows.
  package var relationships: RelationshipWriter {
    RelationshipWriter(database: database, entities: entities, plans: plans)
  }

  private func conflict(_ change: RowChange) throws -> RowConflicts.Conflict {
    let reader = try readers.reader(for: change.id.entityDescription, includesSubentities: true)
    let stored = try tolerating(reader) { try row(change.id.key.number, reader) }
    return RowConflicts.Conflict(id: change.id, expectedVersion: change.old?.version ?? 0, stored: stored)
  }
}
