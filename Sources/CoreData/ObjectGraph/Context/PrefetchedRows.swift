// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Rows read by prefetching, kept until objects are created for them.
struct PrefetchedRows {
  private var rows: [ObjectKey: RowSnapshot] = [:]
  private var members: [PrefetchedMembers] = []

  subscript(key: ObjectKey) -> RowSnapshot? {
    get { rows.isEmpty ? nil : rows[key] }
    set { rows[key] = newValue }
  }

  /// Keeps rows.
  mutating func add(_ read: [RowSnapshot]) {
    rows.reserveCapacity(rows.count + read.count)
    for row in read { rows[row.key] = row }
  }

  /// Keeps the rows of members, which relationships find without a search.
  mutating func add(_ waiting: PrefetchedMembers) { members.append(waiting) }

  mutating func removeAll() {
    rows = [:]
    for waiting in members { waiting.removeAll() }
    members = []
  }
}

extension NSManagedObjectContext {
  /// Keeps the members of a relationship that have just been read, and their rows.
  ///
  /// - Returns: the members.
  func keepMembers(_ waiting: PrefetchedMembers, _ range: Range<Int>, isOrdered: Bool) -> ToMany {
    let rows = waiting.rows[range]
    guard let layout = rows.first?.packed?.layout, rows.allSatisfy({ $0.packed?.layout === layout }) else {
      for row in rows { keep(row) }
      return ToMany(rows.map(\.id), isOrdered: isOrdered)
    }
    let members = MemberRows(
      layout: layout, numbers: rows.map { $0.packed?.primaryKey ?? $0.key.number }, waiting: waiting,
      start: range.lowerBound)
    for (index, object) in registry.known(layout, members.numbers) where object.isFault && object.snapshot == nil {
      _ = self.object(for: rows[range.lowerBound + index])
    }
    return ToMany(members, isOrdered: isOrdered)
  }

  /// Keeps the rows of a relationship's members for general use, before its members change.
  func keepRows(of members: MemberRows) {
    for index in members.numbers.indices {
      guard let row = members.row(at: index, for: self) else { return }
      prefetchedRows[row.key] = row
    }
  }
}
