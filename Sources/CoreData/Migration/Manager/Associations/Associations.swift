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
