// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The association tables of a migration, by the names of entity mappings.
final class Associations {
  private(set) var tables: [AssociationTable] = []
  private var names: [String] = []
  private var byName: [String: [Int]] = [:]
  private var namesBySourceEntity: [Int32: [String]] = [:]
  /// The UUIDs of the stores. The tables have no meaning for other stores.
  let stores: [String]
  /// The number of changes so far.
  private(set) var changeCount = 0

  init(stores: [String] = []) {
    self.stores = stores
  }

  /// Adds a table. A name has several tables if several passes have a mapping of that name.
  func add(_ table: AssociationTable, named name: String) -> Int {
    tables.append(table)
    names.append(name)
    byName[name, default: []].append(tables.count - 1)
    note(name, ofSource: table.source)
    return tables.count - 1
  }

  /// Returns the tables of an entity mapping; nil if there are none.
  func tables(named name: String) -> [Int]? { byName[name] }

  /// Returns the names of the mappings of a source entity.
  func names(ofSource entity: Int32) -> [String] { namesBySourceEntity[entity] ?? [] }

  private func note(_ name: String, ofSource entity: Int32) {
    if namesBySourceEntity[entity]?.contains(name) != true { namesBySourceEntity[entity, default: []].append(name) }
  }

  /// Returns the destinations of a source by one mapping, from the latest pass that has any.
  func destinations(of source: RowKey, in tables: [Int], exists: (RowKey) throws -> Bool) rethrows -> [RowKey] {
    for table in tables.reversed() {
      let found = try self.tables[table].destinations(of: source, exists: exists)
      if !found.isEmpty { return found }
    }
    return []
  }

  var knownNames: [String] { byName.keys.sorted() }

  func add(_ source: RowKey, _ destination: RowKey, to table: Int, after previous: Int64?) {
    changeCount += 1
    tables[table].add(source, destination, after: previous)
    // A row of another entity is rare. Its entity then belongs to the mapping too.
    if source.entity != tables[table].source { note(names[table], ofSource: source.entity) }
  }

  func addAll(_ keys: ClosedRange<Int64>, offset: Int64, isPartial: Bool, to table: Int) {
    changeCount += 1
    tables[table].addAll(keys, offset: offset, isPartial: isPartial)
  }

  /// Removes all tables but the first ones.
  func removeTables(after count: Int) {
    tables.removeSubrange(count...)
    names.removeSubrange(count...)
    byName = byName.mapValues { $0.filter { $0 < count } }.filter { !$0.value.isEmpty }
    namesBySourceEntity = namesBySourceEntity.mapValues { names in names.filter { byName[$0] != nil } }
  }
}

/// The source and destination rows of one entity mapping, as numbers.
///
/// Usually, a source row becomes one destination row whose key is the source's key plus an offset. A run of thousands
/// of such rows takes three numbers. All other associations are stored as pairs: several destinations of one source,
/// rows of other entities, and associations made out of order.
final class AssociationTable {
  /// The number of the mapping's source entity.
  let source: Int32
  /// The number of the mapping's destination entity.
  let destination: Int32
  // Read for every object on a single thread, and never during a change.
  @exclusivity(unchecked) private(set) var runs: [Run] = []
  @exclusivity(unchecked) private var others = RowPairs()
  @exclusivity(unchecked) private var othersBack = RowPairs()
  /// The runs by their destinations, except the newest ones.
  @exclusivity(unchecked) private var runsBack = RunIndex()

  /// Consecutive rows of the source, by the range of their keys.
  struct Run: Hashable, Sendable {
    var first: Int64
    var last: Int64
    var offset: Int64
    /// Whether some of its sources have no destination. Their destination rows do not exist.
    var isPartial = false

    var destinations: ClosedRange<Int64> { (first + offset)...(last + offset) }
  }

  init(source: Int32, destination: Int32) {
    self.source = source
    self.destination = destination
  }

  /// The number of runs and pairs, with which the table's memory grows.
  var storedCount: Int { runs.count + others.count }

  /// Whether the runs hold all associations, so that each source has at most one destination.
  var isOrdinary: Bool { others.count == 0 }

  /// The runs, if they hold all associations, and no row is the destination of several sources; nil otherwise.
  var runsOfDifferentRows: [Run]? {
    guard isOrdinary else { return nil }
    let sorted = runs.sorted { $0.destinations.lowerBound < $1.destinations.lowerBound }
    let areApart = zip(sorted, sorted.dropFirst()).allSatisfy {
      $0.destinations.upperBound < $1.destinations.lowerBound
    }
    return areApart ? sorted : nil
  }

  /// Associates a source with a destination.
  ///
  /// - Parameter previous: the key of the source entity's row before this one, if known. A run that ends there is
  ///   extended.
  func add(_ source: RowKey, _ destination: RowKey, after previous: Int64? = nil) {
    guard source.entity == self.source, destination.entity == self.destination else {
      addPair(source, destination)
      return
    }
    let (offset, overflow) = destination.number.subtractingReportingOverflow(source.number)
    guard !overflow else {
      addPair(source, destination)
      return
    }
    guard let last = runs.last, source.number <= last.last else {
      if let last = runs.last, last.offset == offset, !last.isPartial,
        source.number == last.last + 1 || last.last == previous
      {
        runs[runs.count - 1].last = source.number
      } else {
        runs.append(Run(first: source.number, last: source.number, offset: offset))
        runsBack.update(runs)
      }
      return
    }
    if let run = run(of: source.number), run.offset == offset { return }
    addPair(source, destination)
  }

  private func addPair(_ source: RowKey, _ destination: RowKey) {
    if others.values(of: source).contains(destination) { return }
    others.add(source, destination)
    othersBack.add(destination, source)
  }

  /// Associates the rows of the source entity in a range of keys with the rows whose keys are greater by an offset.
  ///
  /// - Parameter isPartial: whether a filter has excluded some of them.
  func addAll(_ keys: ClosedRange<Int64>, offset: Int64, isPartial: Bool) {
    runs.append(Run(first: keys.lowerBound, last: keys.upperBound, offset: offset, isPartial: isPartial))
    runs.sort { $0.first < $1.first }
    runsBack = RunIndex()
  }

  private func run(of number: Int64) -> Run? {
    let position = runs.firstPosition { $0.last >= number }
    return position < runs.count && runs[position].first <= number ? runs[position] : nil
  }

  /// Returns the destinations of a source.
  ///
  /// - Parameter exists: returns whether a destination row exists, for partial runs.
  func destinations(of key: RowKey, exists: (RowKey) throws -> Bool) rethrows -> [RowKey] {
    var result: [RowKey] = []
    if key.entity == source, let run = run(of: key.number) {
      let found = RowKey(entity: destination, number: key.number + run.offset)
      if try !run.isPartial || exists(found) { result.append(found) }
    }
    if others.count > 0 { result += others.values(of: key) }
    return result
  }

  /// Returns the destination of a source if a complete run holds it and the table has no pairs; nil otherwise.
  func ordinaryDestination(of key: RowKey) -> RowKey? {
    guard others.count == 0, key.entity == source, let run = run(of: key.number), !run.isPartial else { return nil }
    return RowKey(entity: destination, number: key.number + run.offset)
  }

  /// Returns the source of a destination; nil if there are none or several.
  func onlySource(of key: RowKey) -> RowKey? {
    if othersBack.count == 0, key.entity == destination, runs.count == 1 {
      // The common case needs no array.
      guard runs[0].destinations.contains(key.number) else { return nil }
      return RowKey(entity: source, number: key.number - runs[0].offset)
    }
    let all = sources(of: key)
    return all.count == 1 ? all[0] : nil
  }

  /// Returns whether a row comes after all sources that have destinations.
  func isBeyond(_ key: RowKey) -> Bool {
    guard others.count == 0, key.entity == source else { return false }
    return runs.last.map { $0.last < key.number } ?? true
  }

  /// Returns the sources of a destination.
  func sources(of key: RowKey) -> [RowKey] {
    var result: [RowKey] = []
    if key.entity == destination {
      for position in runsBack.runs(around: key.number, in: runs) {
        result.append(RowKey(entity: source, number: key.number - runs[position].offset))
      }
    }
    if othersBack.count > 0 { result += othersBack.values(of: key) }
    return result
  }

  /// The spans of keys that contain all destinations, without overlaps. They contain no other existing rows.
  var destinationSpans: [RowSpan] {
    spans(runs.map(\.destinations), of: destination, and: othersBack.keys)
  }

  /// The spans of keys that contain all sources. In partial runs these include sources without a destination.
  var sourceSpans: [RowSpan] {
    spans(runs.map { $0.first...$0.last }, of: source, and: others.keys)
  }

  private func spans(_ ranges: [ClosedRange<Int64>], of entity: Int32, and rows: [RowKey]) -> [RowSpan] {
    let isAscending = zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
    let sorted =
      isAscending && rows.isEmpty
      ? ranges
      : (ranges + rows.filter { $0.entity == entity }.map { $0.number...$0.number }).sorted {
        $0.lowerBound < $1.lowerBound
      }
    var merged: [ClosedRange<Int64>] = []
    for range in sorted {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged.map { RowSpan(entity: entity, keys: $0) }
      + rows.filter { $0.entity != entity }.map { RowSpan(entity: $0.entity, keys: $0.number...$0.number) }
  }
}

/// An index of runs by their destination keys.
///
/// Runs overlap if several sources have become one destination. So each entry also has the greatest end up to it.
struct RunIndex: Sendable {
  private struct Entry {
    let first: Int64
    let position: Int
    var maxEnd: Int64
  }

  private static let longestTail = 64

  private var entries: [Entry] = []
  private var covered = 0

  /// Adds new runs, except the last one, which may still grow.
  mutating func update(_ runs: [AssociationTable.Run]) {
    let settled = runs.count - 1
    guard settled - covered > max(Self.longestTail, covered / 4) else { return }
    entries = runs[..<settled].enumerated().map { position, run in
      Entry(first: run.destinations.lowerBound, position: position, maxEnd: run.destinations.upperBound)
    }
    entries.sort { ($0.first, $0.position) < ($1.first, $1.position) }
    for position in entries.indices.dropFirst() {
      entries[position].maxEnd = max(entries[position].maxEnd, entries[position - 1].maxEnd)
    }
    covered = settled
  }

  /// Returns the positions of the runs that contain a destination.
  func runs(around number: Int64, in runs: [AssociationTable.Run]) -> [Int] {
    var found: [Int] = []
    var position = entries.firstPosition { $0.first > number } - 1
    while position >= 0, entries[position].maxEnd >= number {
      if runs[entries[position].position].destinations.contains(number) { found.append(entries[position].position) }
      position -= 1
    }
    found.reverse()
    for position in covered..<runs.count where runs[position].destinations.contains(number) { found.append(position) }
    return found
  }
}

/// Pairs of rows, found by their first row.
///
/// The pairs are sorted, except for a tail of new ones, which is searched linearly and sorted in once it has grown.
struct RowPairs: Sendable {
  private struct Pair: Comparable {
    let key: RowKey
    let value: RowKey

    static func < (left: Pair, right: Pair) -> Bool { (left.key, left.value) < (right.key, right.value) }
  }

  private static let longestTail = 256

  private var pairs: [Pair] = []
  private var sortedCount = 0

  var count: Int { pairs.count }

  mutating func add(_ key: RowKey, _ value: RowKey) {
    let pair = Pair(key: key, value: value)
    // A pair added in order needs no sorting.
    if sortedCount == pairs.count, pairs.last.map({ $0 < pair }) ?? true { sortedCount += 1 }
    pairs.append(pair)
    if pairs.count - sortedCount > max(Self.longestTail, sortedCount / 4) {
      pairs.sort()
      sortedCount = pairs.count
    }
  }

  /// Returns the second rows of the pairs with the given first row.
  func values(of key: RowKey) -> [RowKey] {
    var result: [RowKey] = []
    var position = pairs[..<sortedCount].firstPosition { $0.key >= key }
    while position < sortedCount, pairs[position].key == key {
      result.append(pairs[position].value)
      position += 1
    }
    for pair in pairs[sortedCount...] where pair.key == key { result.append(pair.value) }
    return result
  }

  /// All first rows without duplicates, in ascending order.
  var keys: [RowKey] {
    var result: [RowKey] = []
    for pair in (sortedCount == pairs.count ? pairs : pairs.sorted()) where result.last != pair.key {
      result.append(pair.key)
    }
    return result
  }
}

extension RandomAccessCollection where Index == Int {
  /// Returns the first position at which a condition is true, by binary search. The condition must be true for all
  /// elements after it.
  func firstPosition(where holds: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
