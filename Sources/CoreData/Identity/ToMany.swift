// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The rows of one entity that are the members of a relationship, whose identifiers are made when they are asked for.
package struct MemberRows {
  package let layout: RowLayout
  /// Primary keys without duplicates.
  package let numbers: [Int64]
  /// The members' rows from `start`, if they have been read ahead.
  package let waiting: WaitingRows?
  package let start: Int

  fileprivate var ids: [NSManagedObjectID] { numbers.map { layout.identifier($0) } }

  /// Returns the row of a member that a context has read ahead; nil for none.
  package func row(at index: Int, for context: AnyObject) -> RowSnapshot? {
    guard let waiting, waiting.areWaiting(for: context) else { return nil }
    return waiting.rows[start + index]
  }
}

/// The rows of members that one prefetch of a context has read, until objects are made for them. The relationships of all
/// owners share them.
///
/// Relationships are values that other contexts may have too, so each use names its context.
package final class WaitingRows: @unchecked Sendable {
  private let reader: ObjectIdentifier
  /// Used only by the context that has read them.
  @exclusivity(unchecked) package private(set) var rows: [RowSnapshot]

  package init(_ rows: [RowSnapshot], for context: AnyObject) {
    self.rows = rows
    reader = ObjectIdentifier(context)
  }

  /// Whether a context may use the rows.
  package func areWaiting(for context: AnyObject) -> Bool { ObjectIdentifier(context) == reader && !rows.isEmpty }

  /// Forgets the rows.
  package func removeAll() { rows = [] }
}

/// The members of a to-many relationship: an ordered set of identifiers.
///
/// Members that have just been read may be rows without identifiers, until the relationship changes.
///
/// The table for membership tests is built by the first test, so that reading a large relationship costs only an array.
package struct ToMany: @unchecked Sendable {
  /// Positions by key.
  private final class Table {
    var positions: [ObjectKey: Int]

    init(_ positions: [ObjectKey: Int]) { self.positions = positions }
  }

  /// Shared by copies, possibly on several threads. Changed only by a single owner, except for the table, which any
  /// copy may build.
  private final class Storage {
    /// Empty for rows.
    var knownIDs: [NSManagedObjectID]
    let rows: MemberRows?
    /// Retained. Set only once while the storage is shared.
    private let table = Atomic<Unmanaged<Table>?>(nil)

    init(ids: [NSManagedObjectID], positions: [ObjectKey: Int]? = nil) {
      knownIDs = ids
      rows = nil
      if let positions { forceTable(positions) }
    }

    init(_ rows: MemberRows) {
      knownIDs = []
      self.rows = rows
    }

    var ids: [NSManagedObjectID] { rows?.ids ?? knownIDs }
    var count: Int { rows?.numbers.count ?? knownIDs.count }

    func key(at position: Int) -> ObjectKey {
      if let rows { return rows.layout.key(rows.numbers[position]) }
      return knownIDs[position].key
    }

    deinit { removeTable() }

    /// The table, if it has been built. It lives as long as the storage, unless a single owner removes it.
    var knownTable: Table? { table.load(ordering: .acquiring)?.takeUnretainedValue() }

    /// Builds the table. If several threads do, all use the first.
    func makeTable() -> Table {
      let made = Table(Dictionary(uniqueKeysWithValues: (0..<count).map { (key(at: $0), $0) }))
      let reference = Unmanaged.passRetained(made)
      let (isFirst, known) = table.compareExchange(expected: nil, desired: reference, ordering: .acquiringAndReleasing)
      if isFirst { return made }
      reference.release()
      return known?.takeUnretainedValue() ?? made
    }

    private func forceTable(_ positions: [ObjectKey: Int]) {
      table.store(Unmanaged.passRetained(Table(positions)), ordering: .releasing)
    }

    /// Must be called only by a single owner.
    func removeTable() { table.exchange(nil, ordering: .acquiringAndReleasing)?.release() }
  }

  /// The number of members up to which a linear search needs no table.
  private static let linearSearchLimit = 8

  private var storage: Storage
  package let isOrdered: Bool

  /// Makes a set of members in the given order. A duplicate keeps its first position.
  package init(_ ids: [NSManagedObjectID] = [], isOrdered: Bool) {
    storage = Storage(ids: ids)
    self.isOrdered = isOrdered
    if ids.count > 1, Set(ids.map(\.key)).count != ids.count {
      var seen: Set<ObjectKey> = []
      storage.knownIDs = ids.filter { seen.insert($0.key).inserted }
    }
  }

  /// Makes a set of rows that have just been read.
  package init(_ rows: MemberRows, isOrdered: Bool) {
    storage = Storage(rows)
    self.isOrdered = isOrdered
  }

  package var ids: [NSManagedObjectID] { storage.ids }
  /// The members, if they are rows without identifiers.
  package var rows: MemberRows? { storage.rows }
  package var count: Int { storage.count }
  package var isEmpty: Bool { storage.count == 0 }

  package func contains(_ id: NSManagedObjectID) -> Bool { position(of: id.key) != nil }

  /// Appends a member; returns false if it is there already.
  package mutating func insert(_ id: NSManagedObjectID) -> Bool {
    guard !contains(id) else { return false }
    makeUnique()
    storage.knownTable?.positions[id.key] = storage.knownIDs.count
    storage.knownIDs.append(id)
    return true
  }

  /// Removes a member; returns false if it is not there.
  package mutating func remove(_ id: NSManagedObjectID) -> Bool {
    guard let position = position(of: id.key) else { return false }
    makeUnique()
    if isOrdered {
      storage.knownIDs.remove(at: position)
      storage.removeTable()
    } else {
      storage.knownTable?.positions[id.key] = nil
      let last = storage.knownIDs.removeLast()
      if position < storage.knownIDs.count {
        storage.knownIDs[position] = last
        storage.knownTable?.positions[last.key] = position
      }
    }
    return true
  }

  package var hasTemporaryIDs: Bool { storage.knownIDs.contains { $0.key.store == 0 } }

  /// Returns a copy with permanent identifiers in the place of temporary ones that have been replaced.
  package func withPermanentIDs() -> ToMany {
    if storage.rows != nil { return self }
    var copy = self
    copy.storage = Storage(ids: storage.ids.map(\.current))
    return copy
  }

  package mutating func removeAll(where isUnwanted: (NSManagedObjectID) -> Bool) {
    let ids = storage.ids
    guard ids.contains(where: isUnwanted) else { return }
    storage = Storage(ids: ids.filter { !isUnwanted($0) })
  }

  /// Applies the changes from `base` to these members to the store's current members: a three-way merge. Keeps the
  /// order of these members, with the store's additions last.
  package func rebased(from base: ToMany, onto stored: ToMany) -> ToMany {
    if base.hasSameMembers(as: stored) { return self }
    let kept = ids.filter { stored.contains($0) || !base.contains($0) }
    let added = stored.ids.filter { !base.contains($0) && !contains($0) }
    return ToMany(kept + added, isOrdered: isOrdered)
  }

  /// Whether both have the same members, for an ordered relationship in the same order.
  package func hasSameMembers(as other: ToMany) -> Bool {
    if storage === other.storage { return true }
    guard count == other.count else { return false }
    if isOrdered { return (0..<count).allSatisfy { storage.key(at: $0) == other.storage.key(at: $0) } }
    return (0..<count).allSatisfy { other.position(of: storage.key(at: $0)) != nil }
  }

  private func position(of key: ObjectKey) -> Int? {
    if let table = storage.knownTable { return table.positions[key] }
    // This also keeps the empty default, which objects of all contexts share, from getting a table.
    if storage.count <= ToMany.linearSearchLimit { return (0..<storage.count).first { storage.key(at: $0) == key } }
    return storage.makeTable().positions[key]
  }

  /// Makes the storage one of identifiers that has a single owner.
  private mutating func makeUnique() {
    if storage.rows != nil || !isKnownUniquelyReferenced(&storage) {
      storage = Storage(ids: storage.ids, positions: storage.knownTable?.positions)
    }
  }
}
