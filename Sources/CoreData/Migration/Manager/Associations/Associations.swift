// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The association tables of a migration, found by the names of entity mappings.
final class Associations {
  private(set) var tables: [AssociationTable] = []
  private var names: [String] = []
  private var byName: [String: [Int]] = [:]
  private var namesBySourceEntity: [Int32: [String]] = [:]
  /// The stores that the tables are about; tables of other stores mean nothing.
  let stores: [String]
  /// Grows with every change.
  private(set) var changeCount = 0

  init(stores: [String] = []) {
    self.stores = stores
  }

  /// Adds a table; several of one name are those of passes made one after another.
  func add(_ table: AssociationTable, named name: String) -> Int {
    tables.append(table)
    names.append(name)
    byName[name, default: []].append(tables.count - 1)
    note(name, ofSource: table.source)
    return tables.count - 1
  }

  /// The tables of an entity mapping; nil when there is none of that name.
  func tables(named name: String) -> [Int]? { byName[name] }

  /// The names of the mappings of a source entity.
  func names(ofSource entity: Int32) -> [String] { namesBySourceEntity[entity] ?? [] }

  private func note(_ name: String, ofSource entity: Int32) {
    if namesBySourceEntity[entity]?.contains(name) != true { namesBySourceEntity[entity, default: []].append(name) }
  }

  /// The destinations that one mapping has made of a source: those of the last pass that has made any.
  func destinations(of source: RowKey, in tables: [Int], exists: (RowKey) throws -> Bool) rethrows -> [RowKey] {
    for table in tables.reversed() {
      let found = try self.tables[table].destinations(of: source, exists: exists)
      if !found.isEmpty { return found }
    }
    return []
  }

  /// The destination of a source in the ordinary case; nil where it is another, or cannot be told so easily.
  func ordinaryDestination(of source: RowKey, in tables: [Int]) -> RowKey? {
    tables.count == 1 ? self.tables[tables[0]].ordinaryDestination(of: source) : nil
  }

  var knownNames: [String] { byName.keys.sorted() }

  func add(_ source: RowKey, _ destination: RowKey, to table: Int, after previous: Int64?) {
    changeCount += 1
    tables[table].add(source, destination, after: previous)
    // Rows of other entities are rare; the mapping then is one of theirs too.
    if source.entity != tables[table].source { note(names[table], ofSource: source.entity) }
  }

  func addAll(_ keys: ClosedRange<Int64>, offset: Int64, isPartial: Bool, to table: Int) {
    changeCount += 1
    tables[table].addAll(keys, offset: offset, isPartial: isPartial)
  }

  /// Forgets the tables that were added after the first ones.
  func removeTables(after count: Int) {
    tables.removeSubrange(count...)
    names.removeSubrange(count...)
    byName = byName.mapValues { $0.filter { $0 < count } }.filter { !$0.value.isEmpty }
    namesBySourceEntity = namesBySourceEntity.mapValues { names in names.filter { byName[$0] != nil } }
  }
}

/// Which source rows have become which destination rows by one entity mapping, as numbers.
///
/// In the ordinary case a source row has become one destination row whose key is the source's key plus an offset: then a
/// run of thousands of rows takes three numbers. What is not ordinary – several destinations of one source, rows of other
/// entities, associations made in another order – is kept as pairs.
final class AssociationTable {
  /// The entity whose rows the mapping is about.
  let source: Int32
  /// The entity that the mapping makes rows of.
  let destination: Int32
  // Asked with every object, by one thread, and never while they change.
  @exclusivity(unchecked) private(set) var runs: [Run] = []
  @exclusivity(unchecked) private var others = RowPairs()
  @exclusivity(unchecked) private var othersBack = RowPairs()
  /// The runs by their destinations, for all but the newest ones.
  @exclusivity(unchecked) private var runsBack = RunIndex()

  /// Source keys that follow one another, as far as there are rows.
  struct Run: Hashable, Sendable {
    var first: Int64
    var last: Int64
    var offset: Int64
    /// Whether only a part of the sources in it has destinations; then there is no destination row for the others.
    var isPartial = false

    var destinations: ClosedRange<Int64> { (first + offset)...(last + offset) }
  }

  init(source: Int32, destination: Int32) {
    self.source = source
    self.destination = destination
  }

  /// How many runs and pairs there are, which is what the table's memory grows with.
  var storedCount: Int { runs.count + others.count }

  /// Whether each source has at most one destination, which its key and the runs tell.
  var isOrdinary: Bool { others.count == 0 }

  /// Notes that a source has become a destination.
  ///
  /// - Parameter previous: the row of the source entity that comes before this one, where that is known; an ordinary run
  ///   that ends there goes on with this source.
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

  /// Notes that the rows of the source entity in a range of keys have become rows with the keys plus an offset.
  ///
  /// - Parameter isPartial: whether a condition has left some of them out.
  func addAll(_ keys: ClosedRange<Int64>, offset: Int64, isPartial: Bool) {
    runs.append(Run(first: keys.lowerBound, last: keys.upperBound, offset: offset, isPartial: isPartial))
    runs.sort { $0.first < $1.first }
    runsBack = RunIndex()
  }

  private func run(of number: Int64) -> Run? {
    let position = runs.firstPosition { $0.last >= number }
    return position < runs.count && runs[position].first <= number ? runs[position] : nil
  }

  /// The destinations of a source.
  ///
  /// - Parameter exists: asked where only the destination row itself can tell.
  func destinations(of key: RowKey, exists: (RowKey) throws -> Bool) rethrows -> [RowKey] {
    var result: [RowKey] = []
    if key.entity == source, let run = run(of: key.number) {
      let found = RowKey(entity: destination, number: key.number + run.offset)
      if try !run.isPartial || exists(found) { result.append(found) }
    }
    if others.count > 0 { result += others.values(of: key) }
    return result
  }

  /// The destination of a source in the ordinary case; nil where it is another, or cannot be told so easily.
  func ordinaryDestination(of key: RowKey) -> RowKey? {
    guard others.count == 0, key.entity == source, let run = run(of: key.number), !run.isPartial else { return nil }
    return RowKey(entity: destination, number: key.number + run.offset)
  }

  /// The source of a destination; nil where there are none or several.
  func onlySource(of key: RowKey) -> RowKey? {
    if othersBack.count == 0, key.entity == destination, runs.count == 1 {
      // The ordinary case, which takes no list.
      guard runs[0].destinations.contains(key.number) else { return nil }
      return RowKey(entity: source, number: key.number - runs[0].offset)
    }
    let all = sources(of: key)
    return all.count == 1 ? all[0] : nil
  }

  /// Whether a row is beyond all sources that have destinations.
  func isBeyond(_ key: RowKey) -> Bool {
    guard others.count == 0, key.entity == source else { return false }
    return runs.last.map { $0.last < key.number } ?? true
  }

  /// The sources of a destination.
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

  /// The spans of keys that hold all destinations, without overlaps; other rows than destinations may lie in them only
  /// where a run is partial, and then none do.
  var destinationSpans: [RowSpan] {
    spans(runs.map(\.destinations), of: destination, and: othersBack.keys)
  }

  /// The spans of keys that hold all sources; in partial runs sources without destination lie among them.
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

/// Finds runs by a destination key.
///
/// Runs overlap where several sources have become one destination, so that each entry also has the greatest end so far.
struct RunIndex: Sendable {
  private struct Entry {
    let first: Int64
    let position: Int
    var greatestEnd: Int64
  }

  private static let longestTail = 64

  private var entries: [Entry] = []
  private var covered = 0

  /// Takes new runs in, but for the last ones, which may still grow.
  mutating func update(_ runs: [AssociationTable.Run]) {
    let settled = runs.count - 1
    guard settled - covered > max(Self.longestTail, covered / 4) else { return }
    entries = runs[..<settled].enumerated().map { position, run in
      Entry(first: run.destinations.lowerBound, position: position, greatestEnd: run.destinations.upperBound)
    }
    entries.sort { ($0.first, $0.position) < ($1.first, $1.position) }
    for position in entries.indices.dropFirst() {
      entries[position].greatestEnd = max(entries[position].greatestEnd, entries[position - 1].greatestEnd)
    }
    covered = settled
  }

  /// The positions of the runs that hold a destination.
  func runs(around number: Int64, in runs: [AssociationTable.Run]) -> [Int] {
    var found: [Int] = []
    var position = entries.firstPosition { $0.first > number } - 1
    while position >= 0, entries[position].greatestEnd >= number {
      if runs[entries[position].position].destinations.contains(number) { found.append(entries[position].position) }
      position -= 1
    }
    found.reverse()
    for position in covered..<runs.count where runs[position].destinations.contains(number) { found.append(position) }
    return found
  }
}

/// Pairs of rows, found by the first of the two.
///
/// The pairs are kept sorted, but for a tail of new ones, which is looked through one by one and sorted in when it has
/// grown.
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
    // What comes in order needs no sorting.
    if sortedCount == pairs.count, pairs.last.map({ $0 < pair }) ?? true { sortedCount += 1 }
    pairs.append(pair)
    if pairs.count - sortedCount > max(Self.longestTail, sortedCount / 4) {
      pairs.sort()
      sortedCount = pairs.count
    }
  }

  /// The second rows of the pairs that have this first one.
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

  /// All first rows, each once, ascending.
  var keys: [RowKey] {
    var result: [RowKey] = []
    for pair in (sortedCount == pairs.count ? pairs : pairs.sorted()) where result.last != pair.key {
      result.append(pair.key)
    }
    return result
  }
}

extension RandomAccessCollection where Index == Int {
  /// The first position at which a condition holds that, once it holds, holds to the end.
  func firstPosition(where holds: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
