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

  /// Puts the identifiers that saving has made in the place of temporary ones.
  mutating func replaceTemporaryIDs() {
    guard storage.ids.contains(where: { $0.isTemporaryID }) else { return }
    storage = Storage(ids: storage.ids.map(\.current))
  }

  /// Whether both have the same members, in the same order where order counts.
  func hasSameMembers(as other: ToMany) -> Bool {
    if storage === other.storage { return true }
    guard count == other.count else { return false }
    if isOrdered { return zip(ids, other.ids).allSatisfy { $0.key == $1.key } }
    return ids.allSatisfy { other.contains($0) }
  }

  private func position(of id: NSManagedObjectID) -> Int? {
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
