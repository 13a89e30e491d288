// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A section of a controller's contents.
struct FetchedSection {
  let name: String
  var objects: [NSObject]
}

/// The contents of a fetched results controller: objects in sections.
struct FetchedResultsContent {
  /// An object removed from or added to the contents.
  struct Entry {
    let object: NSManagedObject
    let section: Int
    let item: Int
    /// The number of objects in all sections before this one.
    let position: Int

    var indexPath: IndexPath { IndexPath(item: item, section: section) }
  }

  /// The difference between two contents. All objects in neither list keep their order and their sections.
  struct Difference {
    /// The removed objects, in the order of the old contents.
    var removed: [Entry] = []
    /// The added objects, in the order of the new contents.
    var added: [Entry] = []
  }

  /// Whether a key path divides the objects into sections. Otherwise there is always one section.
  let isDivided: Bool
  private(set) var sections: [FetchedSection]

  var count: Int { sections.reduce(0) { $0 + $1.objects.count } }

  /// Creates the contents without sections.
  init(undivided objects: [NSObject]) {
    isDivided = false
    sections = [FetchedSection(name: "", objects: objects)]
  }

  /// Creates the contents from objects in the order of their sections, given the sections' names and sizes.
  init(_ objects: [NSObject], divided list: [(name: String, count: Int)]) {
    isDivided = true
    var start = 0
    sections = list.map { name, count in
      defer { start += count }
      return FetchedSection(name: name, objects: Array(objects[start..<start + count]))
    }
  }

  /// Divides objects into sections.
  ///
  /// - Parameters:
  ///   - objects: the objects in order.
  ///   - name: returns the name of an object's section.
  ///   - outOfOrder: called with the position of an object that is separated from its section by others. If it returns,
  ///     the object is appended to its section.
  init(
    _ objects: [NSObject], dividedBy name: (NSObject) throws -> String, outOfOrder: (Int, String) throws -> Void
  ) throws {
    isDivided = true
    sections = []
    var indexes: [String: Int] = [:]
    for (position, object) in objects.enumerated() {
      let name = try name(object)
      if let index = indexes[name] {
        if index != sections.count - 1 { try outOfOrder(position, name) }
        sections[index].objects.append(object)
      } else {
        indexes[name] = sections.count
        sections.append(FetchedSection(name: name, objects: [object]))
      }
    }
  }

  // MARK: Changes of some objects

  /// A wanted object to insert, whether new or just removed.
  private struct Arrival {
    let object: NSManagedObject
    /// The number of remaining objects in the section that precede it; -1 if it was not in the section.
    var rank: Int

    /// Returns whether the object is still in order at its old position.
    func fits(in objects: [NSObject], _ order: (NSObject, NSObject) throws -> ComparisonResult) throws -> Bool {
      guard rank >= 0, rank <= objects.count else { return false }
      if rank > 0, try order(objects[rank - 1], object) == .orderedDescending { return false }
      if rank < objects.count, try order(object, objects[rank]) == .orderedDescending { return false }
      return true
    }
  }

  /// Removes objects, and inserts wanted ones at their sorted positions.
  ///
  /// An object whose old position among the remaining ones is still valid returns to it, even if the remaining ones are
  /// not sorted because objects related to them have changed.
  ///
  /// - Parameters:
  ///   - touched: the objects to remove.
  ///   - wanted: the objects to insert, with the names of their sections.
  ///   - order: returns the order of two objects, which are never equal.
  /// - Returns: the removed and added objects.
  mutating func replace(
    _ touched: Set<ObjectIdentifier>, with wanted: [(object: NSManagedObject, section: String)],
    order: (NSObject, NSObject) throws -> ComparisonResult
  ) throws -> Difference {
    var difference = Difference()
    var remaining = sections
    var ranks: [ObjectIdentifier: (section: String, rank: Int)] = [:]
    var position = 0
    for (index, section) in sections.enumerated() {
      var kept: [NSObject]?
      for (item, object) in section.objects.enumerated() {
        let id = ObjectIdentifier(object)
        if touched.contains(id), let object = object as? NSManagedObject {
          if kept == nil { kept = Array(section.objects[..<item]) }
          ranks[id] = (section.name, kept?.count ?? 0)
          difference.removed.append(.init(object: object, section: index, item: item, position: position))
        } else {
          kept?.append(object)
        }
        position += 1
      }
      if let kept { remaining[index].objects = kept }
    }
    if isDivided { remaining.removeAll { $0.objects.isEmpty } }

    var arrivals: [String: [Arrival]] = [:]
    for (object, name) in wanted {
      let earlier = ranks[ObjectIdentifier(object)]
      arrivals[name, default: []].append(
        Arrival(object: object, rank: earlier?.section == name ? earlier?.rank ?? -1 : -1))
    }
    for index in remaining.indices {
      guard var list = arrivals.removeValue(forKey: remaining[index].name) else { continue }
      let objects = remaining[index].objects
      for place in list.indices where try !list[place].fits(in: objects, order) {
        list[place].rank = try Self.upperBound(of: list[place].object, in: objects, order)
      }
      remaining[index].objects = Self.merged(objects, try Self.sorted(list, order))
    }
    sections = try Self.inserting(arrivals, into: remaining, order)
    difference.added = entries(of: Set(wanted.map { ObjectIdentifier($0.object) }))
    return difference
  }

  /// Inserts new sections among the remaining ones, in the order of their first objects.
  private static func inserting(
    _ arrivals: [String: [Arrival]], into remaining: [FetchedSection],
    _ order: (NSObject, NSObject) throws -> ComparisonResult
  ) throws -> [FetchedSection] {
    if arrivals.isEmpty { return remaining }
    var new: [(section: FetchedSection, place: Int)] = []
    for (name, list) in arrivals {
      let objects = try sorted(list.map { Arrival(object: $0.object, rank: 0) }, order).map(\.object)
      guard let first = objects.first else { continue }
      let place = try upperBound(of: first, in: remaining.compactMap(\.objects.first), order)
      new.append((FetchedSection(name: name, objects: objects), place))
    }
    try new.sort { a, b in
      if a.place != b.place { return a.place < b.place }
      return try order(a.section.objects[0], b.section.objects[0]) == .orderedAscending
    }
    var result: [FetchedSection] = []
    var next = new[...]
    for place in 0...remaining.count {
      while let section = next.first, section.place == place {
        result.append(section.section)
        next.removeFirst()
      }
      if place < remaining.count { result.append(remaining[place]) }
    }
    return result
  }

  /// Sorts by the position among the remaining objects, then by the order.
  private static func sorted(
    _ list: [Arrival], _ order: (NSObject, NSObject) throws -> ComparisonResult
  ) throws -> [Arrival] {
    try list.sorted { a, b in
      if a.rank != b.rank { return a.rank < b.rank }
      return try order(a.object, b.object) == .orderedAscending
    }
  }

  private static func merged(_ objects: [NSObject], _ arrivals: [Arrival]) -> [NSObject] {
    var result: [NSObject] = []
    result.reserveCapacity(objects.count + arrivals.count)
    var start = 0
    for arrival in arrivals {
      result += objects[start..<arrival.rank]
      result.append(arrival.object)
      start = arrival.rank
    }
    return result + objects[start...]
  }

  /// Returns the number of objects that are not after an object.
  private static func upperBound(
    of object: NSObject, in objects: [NSObject], _ order: (NSObject, NSObject) throws -> ComparisonResult
  ) throws -> Int {
    var (low, high) = (0, objects.count)
    while low < high {
      let middle = (low + high) / 2
      if try order(object, objects[middle]) == .orderedAscending { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Returns the current positions of objects.
  func entries(of objects: Set<ObjectIdentifier>) -> [Entry] {
    var result: [Entry] = []
    var position = 0
    for (index, section) in sections.enumerated() {
      for (item, object) in section.objects.enumerated() {
        if objects.contains(ObjectIdentifier(object)), let object = object as? NSManagedObject {
          result.append(.init(object: object, section: index, item: item, position: position))
        }
        position += 1
      }
    }
    return result
  }
}

extension FetchedResultsContent {
  /// Returns the difference from earlier contents, which may have other objects for the same rows.
  ///
  /// - Parameters:
  ///   - old: the earlier contents.
  ///   - touched: the keys of changed objects; nil if any may have changed.
  func difference(from old: FetchedResultsContent, touched: Set<ObjectKey>?) -> Difference {
    let before = old.allEntries
    let after = allEntries
    let now = Dictionary(after.enumerated().map { ($1.key, $0) }) { first, _ in first }
    // Unchanged objects stay, unless their order has changed.
    var staying: [(old: Int, new: Int)] = []
    if let touched {
      for entry in before where !touched.contains(entry.key) {
        guard let new = now[entry.key], sections[after[new].section].name == old.sections[entry.section].name else {
          continue
        }
        staying.append((entry.position, new))
      }
    }
    let inOrder = Increasing.longest(staying.map(\.new))
    let kept = inOrder.map { staying[$0] }
    let keptOld = Set(kept.map(\.old))
    let keptNew = Set(kept.map(\.new))
    return Difference(
      removed: before.filter { !keptOld.contains($0.position) },
      added: after.filter { !keptNew.contains($0.position) })
  }

  private var allEntries: [Entry] {
    entries(of: Set(sections.lazy.flatMap(\.objects).map { ObjectIdentifier($0) }))
  }
}

extension FetchedResultsContent.Entry {
  /// The key of the object's identifier, the same for all objects of a row.
  var key: ObjectKey { object.identifier.current.key }
}

/// Increasing subsequences.
enum Increasing {
  /// Returns the indexes of a longest strictly increasing subsequence.
  static func longest(_ values: [Int]) -> [Int] {
    // `tails[n]` is the index of the smallest value that ends an increasing sequence of n + 1 values.
    var tails: [Int] = []
    var previous = Array(repeating: -1, count: values.count)
    for (index, value) in values.enumerated() {
      var (low, high) = (0, tails.count)
      while low < high {
        let middle = (low + high) / 2
        if values[tails[middle]] < value { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = tails[low - 1] }
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var result: [Int] = []
    var next = tails.last ?? -1
    while next >= 0 {
      result.append(next)
      next = previous[next]
    }
    return result.reversed()
  }
}
