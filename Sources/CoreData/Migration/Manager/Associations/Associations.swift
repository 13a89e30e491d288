// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The association tables of a migration, found by the names of entity mappings.
struct Associations: Sendable {
  private(set) var tables: [AssociationTable] = []
  private var names: [String] = []
  private var byName: [String: [Int]] = [:]
  private var bySourceEntity: [Int32: [Int]] = [:]
  /// The stores that the tables are about; tables of other stores mean nothing.
  let stores: [String]

  init(stores: [String] = []) {
    self.stores = stores
  }

  /// Adds a table; several of one name are those of passes made one after another.
  mutating func add(_ table: AssociationTable, named name: String) -> Int {
    tables.append(table)
    names.append(name)
    byName[name, default: []].append(tables.count - 1)
    bySourceEntity[table.source, default: []].append(tables.count - 1)
    return tables.count - 1
  }

  /// The tables of an entity mapping; nil when there is none of that name.
  func tables(named name: String) -> [Int]? { byName[name] }

  /// The tables of the mappings of a source entity.
  func tables(ofSource entity: Int32) -> [Int] { bySourceEntity[entity] ?? [] }

  var knownNames: [String] { byName.keys.sorted() }

  mutating func add(_ source: RowKey, _ destination: RowKey, to table: Int, after previous: Int64?) {
    tables[table].add(source, destination, after: previous)
    // Rows of other entities are rare; the mapping then is one of theirs too.
    if source.entity != tables[table].source, bySourceEntity[source.entity]?.contains(table) != true {
      bySourceEntity[source.entity, default: []].append(table)
    }
  }

  mutating func addAll(_ keys: ClosedRange<Int64>, offset: Int64, isPartial: Bool, to table: Int) {
    tables[table].addAll(keys, offset: offset, isPartial: isPartial)
  }
}
