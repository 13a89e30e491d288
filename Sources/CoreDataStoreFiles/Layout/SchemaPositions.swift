// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The positions of a schema's entities, tables and columns, by name.
struct SchemaPositions: Hashable, Sendable {
  /// A relationship, with the entity that declares it.
  struct OwnerKey: Sendable {
    let entity: Int
    let relationship: String
  }

  let entities: [String: Int]
  let numbers: [Int: Int]
  let tables: [String: Int]
  let joinTables: [String: Int]
  /// The positions of columns by name, for each table.
  let columns: [[String: Int]]
  /// The entities of each table.
  let members: [String: [Int]]
  /// The to-many relationships without inverse whose columns are in each table.
  let ownerKeys: [String: [OwnerKey]]

  init(entities: [EntityLayout], tables: [TableLayout], joinTables: [JoinTableLayout]) {
    self.entities = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.name, $0) })
    numbers = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.number, $0) })
    self.tables = Dictionary(tables.enumerated().map { ($1.name, $0) }) { first, _ in first }
    self.joinTables = Dictionary(joinTables.enumerated().map { ($1.name, $0) }) { first, _ in first }
    columns = tables.map { Dictionary($0.columns.enumerated().map { ($1.name, $0) }) { first, _ in first } }
    members = Dictionary(grouping: entities.indices) { entities[$0].table }
    var ownerKeys: [String: [OwnerKey]] = [:]
    for (position, entity) in entities.enumerated() {
      for name in entity.relationships.keys.sorted() {
        guard let layout = entity.relationships[name], layout.declaringEntity == entity.name,
          layout.inverseName == nil, case .inverseForeignKey(let table, _) = layout.storage
        else { continue }
        ownerKeys[table, default: []].append(OwnerKey(entity: position, relationship: name))
      }
    }
    self.ownerKeys = ownerKeys
  }

  // The positions follow from the rest of the schema, so they never make two schemas differ.
  static func == (left: SchemaPositions, right: SchemaPositions) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
