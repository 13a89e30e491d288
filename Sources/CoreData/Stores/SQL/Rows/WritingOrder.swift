// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The positions of changes in the order in which they are written.
package struct WritingOrder {
  /// By kind. Those of a kind are in the order of their rows in the tables: changing one page after the other takes
  /// less than coming back to pages that the cache has given up.
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
