// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The members of a to-many relationship: identifiers in order, each once.
///
/// Membership is looked up in a table that is built with the first question, so that reading a large relationship costs
/// an array and no more.
struct ToMany: @unchecked Sendable {
  private final class Storage {
    var ids: [NSManagedObjectID]
    var positions: [ObjectKey: Int]?

    init(ids: [NSManagedObjectID], positions: [ObjectKey: Int]? = nil) {
      self.ids = ids
      self.positions = positions
    }
  }

  /// Up to so many members are searched one by one.
  private static let few = 8

  private var storage: Storage
  let isOrdered: Bool

  /// Members in the order given; a member met twice keeps its first place.
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

  func contains(_ id: NSManagedObjectID) -> Bool {
    position(of: id) != nil
  }

  /// Adds a member at the end; false when it is there already.
  mutating func insert(_ id: NSManagedObjectID) -> Bool {
    guard !contains(id) else { return false }
    makeUnique()
    storage.positions?[id.key] = storage.ids.count
    storage.ids.append(id)
    return true
  }

  /// Takes a member out; false when it is not there.
  mutating func remove(_ id: NSManagedObjectID) -> Bool {
    guard let position = position(of: id) else { return false }
    makeUnique()
    if isOrdered {
      storage.ids.remove(at: position)
      storage.positions = nil
    } else {
      storage.positions?[id.key] = nil
      let last = storage.ids.removeLast()
      if position < storage.ids.count {
        storage.ids[position] = last
        storage.positions?[last.key] = position
      }
    }
    return true
  }

  var hasTemporaryIDs: Bool { storage.ids.contains { $0.key.store == 0 } }

  /// With the identifiers that saving has made in the place of temporary ones.
  func withPermanentIDs() -> ToMany {
    var copy = self
    copy.storage = Storage(ids: storage.ids.map(\.current))
    return copy
  }

  /// Takes out the members that are not wanted.
  mutating func removeAll(where isUnwanted: (NSManagedObjectID) -> Bool) {
    guard storage.ids.contains(where: isUnwanted) else { return }
    storage = Storage(ids: storage.ids.filter { !isUnwanted($0) })
  }

  /// These members, which were made from `base`, as if they had been made from `stored`: what was added and removed is
  /// added to and removed from what the store has now. An order that was changed stands, with the store's additions last.
  func rebased(from base: ToMany, onto stored: ToMany) -> ToMany {
    if base.hasSameMembers(as: stored) { return self }
    let kept = ids.filter { stored.contains($0) || !base.contains($0) }
    let added = stored.ids.filter { !base.contains($0) && !contains($0) }
    return ToMany(kept + added, isOrdered: isOrdered)
  }

  /// Whether both have the same members, in the same order where order counts.
  func hasSameMembers(as other: ToMany) -> Bool {
    if storage === other.storage { return true }
    guard count == other.count else { return false }
    if isOrdered { return zip(ids, other.ids).allSatisfy { $0.key == $1.key } }
    return ids.allSatisfy { other.contains($0) }
  }

  private func position(of id: NSManagedObjectID) -> Int? {
    // No table for a few members; and none ever for the empty default, which objects of all contexts share.
    if storage.positions == nil, storage.ids.count <= ToMany.few {
      return storage.ids.firstIndex { $0.key == id.key }
    }
    if storage.positions == nil {
      storage.positions = Dictionary(uniqueKeysWithValues: storage.ids.enumerated().map { ($1.key, $0) })
    }
    return storage.positions?[id.key]
  }

  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&storage) {
      storage = Storage(ids: storage.ids, positions: storage.positions)
    }
  }
}
