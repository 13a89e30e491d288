// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The order in which changes are written, as positions in the list of changes.
package struct WritingOrder {
  /// The positions by kind of change. Within a kind, they follow the order of rows in the tables, so that a page is
  /// changed only once, before it leaves the cache.
  package private(set) var positions: [(kind: RowChange.Kind, positions: [Int])]

  package init(_ changes: [RowChange]) {
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
