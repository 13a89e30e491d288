// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The members of a to-many relationship: an ordered set of identifiers.
///
/// The table for membership tests is built by the first test, so that reading a large relationship costs only an array.
struct ToMany: @unchecked Sendable {
  /// Positions by key.
  private final class Table {
    var positions: [ObjectKey: Int]

    init(_ positions: [ObjectKey: Int]) { self.positions = positions }
  }

  /// Shared by copies, possibly on several threads. Changed only by a single owner, except for the table, which any
  /// copy may build.
  private final class Storage {
    var ids: [NSManagedObjectID]
    /// Retained. Set only once while the storage is shared.
    private let table = Atomic<Unmanaged<Table>?>(nil)

    init(ids: [NSManagedObjectID], positions: [ObjectKey: Int]? = nil) {
      self.ids = ids
      if let positions { forceTable(positions) }
    }

    deinit { removeTable() }

    /// The table, if it has been built. It lives as long as the storage, unless a single owner removes it.
    var knownTable: Table? { table.load(ordering: .acquiring)?.takeUnretainedValue() }

    /// Builds the table. If several threads do, all use the first.
    func makeTable() -> Table {
      let made = Table(Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1.key, $0) }))
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
  let isOrdered: Bool

  /// Makes a set of members in the given order. A duplicate keeps its first position.
  init(_ ids: [NSManagedObjectID] = [], isOrdered: Bool) {
    storage = Storage(ids: ids)
    self.isOrdered = isOrdered
    if ids.count > 1, Set(ids.map(\.key)).count != ids.count {
      var seen: Set<ObjectKey> = []
      storage.ids = ids.filter { seen.insert($0.key).inserted }
    }
  }

  var ids: [NSManagedObjectID] { storage.ids }
  var count: Int { storage.ids.count }
  var isEmpty: Bool { storage.ids.isEmpty }

  func contains(_ id: NSManagedObjectID) -> Bool { position(of: id) != nil }

  /// Appends a member; returns false if it is there already.
  mutating func insert(_ id: NSManagedObjectID) -> Bool {
    guard !contains(id) else { return false }
    makeUnique()
    storage.knownTable?.positions[id.key] = storage.ids.count
    storage.ids.append(id)
    return true
  }

  /// Removes a member; returns false if it is not there.
  mutating func remove(_ id: NSManagedObjectID) -> Bool {
    guard let position = position(of: id) else { return false }
    makeUnique()
    if isOrdered {
      storage.ids.remove(at: position)
      storage.removeTable()
    } else {
      storage.knownTable?.positions[id.key] = nil
      let last = storage.ids.removeLast()
      if position < storage.ids.count {
        storage.ids[position] = last
        storage.knownTable?.positions[last.key] = position
      }
    }
    return true
  }

  var hasTemporaryIDs: Bool { storage.ids.contains { $0.key.store == 0 } }

  /// Returns a copy with permanent identifiers in the place of temporary ones that have been replaced.
  func withPermanentIDs() -> ToMany {
    var copy = self
    copy.storage = Storage(ids: storage.ids.map(\.current))
    return copy
  }

  mutating func removeAll(where isUnwanted: (NSManagedObjectID) -> Bool) {
    guard storage.ids.contains(where: isUnwanted) else { return }
    storage = Storage(ids: storage.ids.filter { !isUnwanted($0) })
  }

  /// Applies the changes from `base` to these members to the store's current members: a three-way merge. Keeps the
  /// order of these members, with the store's additions last.
  func rebased(from base: ToMany, onto stored: ToMany) -> ToMany {
    if base.hasSameMembers(as: stored) { return self }
    let kept = ids.filter { stored.contains($0) || !base.contains($0) }
    let added = stored.ids.filter { !base.contains($0) && !contains($0) }
    return ToMany(kept + added, isOrdered: isOrdered)
  }

  /// Whether both have the same members, for an ordered relationship in the same order.
  func hasSameMembers(as other: ToMany) -> Bool {
    if storage === other.storage { return true }
    guard count == other.count else { return false }
    if isOrdered { return zip(ids, other.ids).allSatisfy { $0.key == $1.key } }
    return ids.allSatisfy { other.contains($0) }
  }

  private func position(of id: NSManagedObjectID) -> Int? {
    if let table = storage.knownTable { return table.positions[id.key] }
    // This also keeps the empty default, which objects of all contexts share, from getting a table.
    if storage.ids.count <= ToMany.linearSearchLimit { return storage.ids.firstIndex { $0.key == id.key } }
    return storage.makeTable().positions[id.key]
  }

  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&storage) {
      storage = Storage(ids: storage.ids, positions: storage.knownTable?.positions)
    }
  }
}
