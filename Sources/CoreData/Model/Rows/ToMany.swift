// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The rows of one entity that are the members of a relationship. Their identifiers are created on demand.
package struct MemberRows {
  package let layout: RowLayout
  /// Primary keys without duplicates.
  package let numbers: [Int64]
  /// The members' rows from `start`, if they have been read ahead.
  package let waiting: PrefetchedMembers?
  package let start: Int

  fileprivate var ids: [NSManagedObjectID] { numbers.map { layout.identifier($0) } }

  /// Returns the row of a member that a context has read ahead; nil if there is none.
  package func row(at index: Int, for context: AnyObject) -> RowSnapshot? {
    guard let waiting, waiting.areAvailable(for: context) else { return nil }
    return waiting.rows[start + index]
  }
}

/// The members' rows read by one prefetch of a context, kept until objects are created for them. The relationships of
/// all owners share them.
///
/// Other contexts may have copies of the relationships, so each use passes its context.
package final class PrefetchedMembers: @unchecked Sendable {
  private let reader: ObjectIdentifier
  /// Used only by the context that has read them.
  @exclusivity(unchecked) package private(set) var rows: [RowSnapshot]

  package init(_ rows: [RowSnapshot], for context: AnyObject) {
    self.rows = rows
    reader = ObjectIdentifier(context)
  }

  /// Returns whether a context may use the rows.
  package func areAvailable(for context: AnyObject) -> Bool { ObjectIdentifier(context) == reader && !rows.isEmpty }

  /// Removes the rows.
  package func removeAll() { rows = [] }
}

/// The members of a to-many relationship: an ordered set of identifiers.
///
/// Members that have just been read may be rows without identifiers until the relationship changes.
///
/// The first membership test builds a table, so that reading a large relationship costs only an array. Edits keep the
/// table. An edit at either end takes constant time, and one in between moves the identifiers after it in memory, as in
/// Foundation's ordered set.
package struct ToMany: @unchecked Sendable {
  /// The positions of members, by key.
  ///
  /// An edit in the middle of an order does not correct the stored positions of the members after it. The table knows
  /// the maximum error, and a search begins at the stored position.
  private final class Table {
    private var positions: [ObjectKey: Int]
    /// The stored position of the first member, which edits at the start change.
    private var origin = 0
    /// The maximum distance between a member's index and its stored position.
    private(set) var drift = 0

    init(_ positions: [ObjectKey: Int]) { self.positions = positions }

    convenience init(copyOf other: Table) {
      self.init(other.positions)
      (origin, drift) = (other.origin, other.drift)
    }

    func contains(_ key: ObjectKey) -> Bool { positions[key] != nil }

    /// Returns the index at which a search for a member begins; nil if it is not a member.
    func start(of key: ObjectKey) -> Int? { positions[key].map { $0 - origin } }

    /// Records that a member is inserted at an index.
    func insert(_ key: ObjectKey, at index: Int, count: Int) {
      if index == 0, count > 0 { origin -= 1 } else if index < count { drift += 1 }
      set(index, of: key)
    }

    /// Records that the member at an index is removed, and the members after it move up.
    func remove(_ key: ObjectKey, at index: Int, count: Int) {
      positions[key] = nil
      if index == 0 { origin += 1 } else if index < count - 1 { drift += 1 }
    }

    func set(_ index: Int, of key: ObjectKey) { positions[key] = index + origin }

    /// Removes a member without moving others.
    func forget(_ key: ObjectKey) { positions[key] = nil }
  }

  /// Shared by copies, possibly on several threads. Changed only by a single owner, except for the table, which any
  /// copy may build.
  private final class Storage {
    /// Empty for rows.
    var knownIDs: [NSManagedObjectID]
    let rows: MemberRows?
    /// Retained. Set only once while the storage is shared.
    private let table = Atomic<Unmanaged<Table>?>(nil)

    init(ids: [NSManagedObjectID], table known: Table? = nil) {
      knownIDs = ids
      rows = nil
      if let known { table.store(Unmanaged.passRetained(known), ordering: .releasing) }
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

    /// Builds the table. If several threads build it, all use the first one.
    func makeTable() -> Table {
      let made = Table(Dictionary(uniqueKeysWithValues: (0..<count).lazy.map { (self.key(at: $0), $0) }))
      let reference = Unmanaged.passRetained(made)
      let (isFirst, known) = table.compareExchange(expected: nil, desired: reference, ordering: .acquiringAndReleasing)
      if isFirst { return made }
      reference.release()
      return known?.takeUnretainedValue() ?? made
    }

    /// Must be called only by a single owner.
    func removeTable() { table.exchange(nil, ordering: .acquiringAndReleasing)?.release() }

    /// Removes the table once looking up members takes longer than building another. Must be called only by a single
    /// owner.
    func removeInexactTable() {
      guard let drift = knownTable?.drift, drift > ToMany.exactEnough else { return }
      if drift > 4 * Int(Double(count).squareRoot()) { removeTable() }
    }
  }

  /// The number of members up to which a linear search needs no table.
  private static let linearSearchLimit = 8
  /// The error of stored positions that any table may have.
  private static let exactEnough = 64

  private var storage: Storage
  package let isOrdered: Bool

  /// Creates a set of members in the given order. A duplicate keeps its first position.
  package init(_ ids: [NSManagedObjectID] = [], isOrdered: Bool) {
    storage = Storage(ids: ids)
    self.isOrdered = isOrdered
    if ids.count > 1, Set(ids.map(\.key)).count != ids.count {
      var seen: Set<ObjectKey> = []
      storage.knownIDs = ids.filter { seen.insert($0.key).inserted }
    }
  }

  /// Creates a set of rows that have just been read.
  package init(_ rows: MemberRows, isOrdered: Bool) {
    storage = Storage(rows)
    self.isOrdered = isOrdered
  }

  package var ids: [NSManagedObjectID] { storage.ids }
  /// The members, if they are rows without identifiers.
  package var rows: MemberRows? { storage.rows }
  package var count: Int { storage.count }
  package var isEmpty: Bool { storage.count == 0 }

  package func contains(_ id: NSManagedObjectID) -> Bool { contains(id.key) }

  /// Returns the index of a member; nil if it is not a member.
  package func index(of id: NSManagedObjectID) -> Int? { position(of: id.key) }

  /// Returns the member at an index.
  package func id(at index: Int) -> NSManagedObjectID {
    if let rows = storage.rows { return rows.layout.identifier(rows.numbers[index]) }
    return storage.knownIDs[index]
  }

  /// Returns whether both are copies of one value, unchanged since.
  package func isCopy(of other: ToMany) -> Bool { storage === other.storage }

  /// Appends a member; returns false if it is already contained.
  package mutating func insert(_ id: NSManagedObjectID) -> Bool { insert(id, at: count) }

  /// Inserts a member at an index; returns false if it is already contained.
  package mutating func insert(_ id: NSManagedObjectID, at index: Int) -> Bool {
    guard !contains(id.key) else { return false }
    makeUnique()
    let count = storage.knownIDs.count
    if index == count { storage.knownIDs.append(id) } else { storage.knownIDs.insert(id, at: index) }
    storage.knownTable?.insert(id.key, at: index, count: count)
    storage.removeInexactTable()
    return true
  }

  /// Removes a member.
  ///
  /// - Returns: its former index; nil if it is not contained.
  package mutating func remove(_ id: NSManagedObjectID) -> Int? {
    guard let index = position(of: id.key) else { return nil }
    makeUnique()
    let (count, key) = (storage.knownIDs.count, storage.knownIDs[index].key)
    if isOrdered {
      storage.knownIDs.remove(at: index)
      storage.knownTable?.remove(key, at: index, count: count)
      storage.removeInexactTable()
    } else {
      storage.knownTable?.forget(key)
      let last = storage.knownIDs.removeLast()
      if index < count - 1 {
        storage.knownIDs[index] = last
        storage.knownTable?.set(index, of: last.key)
      }
    }
    return index
  }

  /// Exchanges two members.
  package mutating func swapAt(_ one: Int, _ other: Int) {
    makeUnique()
    storage.knownIDs.swapAt(one, other)
    for index in [one, other] { storage.knownTable?.set(index, of: storage.knownIDs[index].key) }
  }

  package var hasTemporaryIDs: Bool { storage.knownIDs.contains { $0.key.store == 0 } }

  /// Returns a copy in which replaced temporary identifiers are permanent ones.
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

  /// Returns whether both have the same members, for an ordered relationship in the same order.
  package func hasSameMembers(as other: ToMany) -> Bool {
    if storage === other.storage { return true }
    guard count == other.count else { return false }
    if isOrdered { return (0..<count).allSatisfy { storage.key(at: $0) == other.storage.key(at: $0) } }
    return (0..<count).allSatisfy { other.contains(storage.key(at: $0)) }
  }

  private func contains(_ key: ObjectKey) -> Bool { table?.contains(key) ?? (linearPosition(of: key) != nil) }

  private func position(of key: ObjectKey) -> Int? {
    guard let table else { return linearPosition(of: key) }
    guard let start = table.start(of: key) else { return nil }
    let count = storage.count
    for distance in 0...table.drift {
      for index in [start - distance, start + distance] where (0..<count).contains(index) {
        if storage.key(at: index) == key { return index }
      }
    }
    return linearPosition(of: key)
  }

  private func linearPosition(of key: ObjectKey) -> Int? { (0..<storage.count).first { storage.key(at: $0) == key } }

  /// The table; nil if a linear search is sufficient.
  private var table: Table? {
    if let table = storage.knownTable { return table }
    // This also keeps the empty default, which the objects of all contexts share, from getting a table.
    return storage.count <= ToMany.linearSearchLimit ? nil : storage.makeTable()
  }

  /// Converts the storage to identifiers with a single owner.
  private mutating func makeUnique() {
    if storage.rows != nil || !isKnownUniquelyReferenced(&storage) {
      storage = Storage(ids: storage.ids, table: storage.knownTable.map { Table(copyOf: $0) })
    }
  }
}
