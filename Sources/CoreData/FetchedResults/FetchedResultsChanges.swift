// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The changes of a controller's contents in the form in which its delegate is notified of them.
struct FetchedResultsChanges {
  struct ObjectChange {
    let object: NSManagedObject
    let type: NSFetchedResultsChangeType
    let old: FetchedResultsContent.Entry?
    let new: FetchedResultsContent.Entry?
  }

  /// The indexes of deleted sections in the old contents, in descending order.
  private(set) var deletedSections: [Int] = []
  /// The indexes of inserted sections in the new contents, in ascending order.
  private(set) var insertedSections: [Int] = []
  /// The changes of objects: deletions from last to first, then insertions, moves and updates from first to last.
  private(set) var objects: [ObjectChange] = []

  var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && objects.isEmpty }

  init(
    from old: FetchedResultsContent, to new: FetchedResultsContent, _ difference: FetchedResultsContent.Difference
  ) {
    let staying = setSections(old, new, difference)
    var arrivals = Dictionary(difference.added.map { ($0.key, $0) }) { first, _ in first }
    var deleted: [ObjectChange] = []
    var moved: [ObjectChange] = []
    // Objects in the same section with the same number of unchanged objects before them. These need not move, unless
    // they have changed places with one another.
    var candidates: [(old: FetchedResultsContent.Entry, new: FetchedResultsContent.Entry)] = []
    let addedRanks = Dictionary(difference.added.enumerated().map { ($1.position, $1.position - $0) }) { first, _ in
      first
    }
    for (number, entry) in difference.removed.enumerated() {
      guard let arrival = arrivals.removeValue(forKey: entry.key) else {
        deleted.append(.init(object: entry.object, type: .delete, old: entry, new: nil))
        continue
      }
      if staying[entry.section] == arrival.section, entry.position - number == addedRanks[arrival.position] {
        candidates.append((entry, arrival))
      } else {
        moved.append(.init(object: arrival.object, type: .move, old: entry, new: arrival))
      }
    }
    let inPlace = Set(Increasing.longest(candidates.map(\.new.position)))
    var updated: [ObjectChange] = []
    for (index, (entry, arrival)) in candidates.enumerated() {
      if inPlace.contains(index) {
        updated.append(.init(object: arrival.object, type: .update, old: entry, new: arrival))
      } else {
        moved.append(.init(object: arrival.object, type: .move, old: entry, new: arrival))
      }
    }
    let inserted = difference.added.filter { arrivals[$0.key] != nil }
      .map { ObjectChange(object: $0.object, type: .insert, old: nil, new: $0) }
    moved.sort { ($0.old?.position ?? 0) < ($1.old?.position ?? 0) }
    objects = deleted.reversed() + inserted + moved + updated
  }

  /// Determines the deleted and inserted sections, and returns the new indexes of all others by their old ones.
  private mutating func setSections(
    _ old: FetchedResultsContent, _ new: FetchedResultsContent, _ difference: FetchedResultsContent.Difference
  ) -> [Int: Int] {
    guard old.isDivided else { return [0: 0] }
    let indexes = Dictionary(new.sections.enumerated().map { ($1.name, $0) }) { first, _ in first }
    var left = old.sections.map(\.objects.count)
    for entry in difference.removed { left[entry.section] -= 1 }
    // Sections with an unchanged object keep their order. A section whose objects have all changed also stays, if the
    // same number of these sections precedes it as before.
    let anchors = Set(old.sections.indices.filter { left[$0] > 0 }.compactMap { indexes[old.sections[$0].name] })
    var anchorsBefore: [Int] = []
    var count = 0
    for index in new.sections.indices {
      anchorsBefore.append(count)
      if anchors.contains(index) { count += 1 }
    }
    var candidates: [(old: Int, new: Int)] = []
    var staying: [Int: Int] = [:]
    count = 0
    for (index, section) in old.sections.enumerated() {
      guard let place = indexes[section.name] else { continue }
      if left[index] > 0 {
        staying[index] = place
        count += 1
      } else if anchorsBefore[place] == count {
        candidates.append((index, place))
      }
    }
    for index in Increasing.longest(candidates.map(\.new)) { staying[candidates[index].old] = candidates[index].new }
    let kept = Set(staying.values)
    deletedSections = old.sections.indices.filter { staying[$0] == nil }.reversed()
    insertedSections = new.sections.indices.filter { !kept.contains($0) }
    return staying
  }

  /// The changes as a difference of identifiers, for contents without sections.
  var difference: CollectionDifference<NSManagedObjectID>? {
    var changes: [CollectionDifference<NSManagedObjectID>.Change] = []
    for change in objects {
      let id = change.object.objectID
      if let old = change.old {
        changes.append(.remove(offset: old.position, element: id, associatedWith: change.new?.position))
      }
      if let new = change.new {
        changes.append(.insert(offset: new.position, element: id, associatedWith: change.old?.position))
      }
    }
    return CollectionDifference(changes)
  }
}
