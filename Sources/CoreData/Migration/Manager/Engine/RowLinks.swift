// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// Reads which rows a relationship of the source leads to, for many rows at once and without objects.
struct RowLinkReader {
  private let entities: StoredEntities
  private let destination: EntityLayout
  private let isKey: Bool
  private let statement: String

  /// - Returns: nil for a relationship that the store does not hold.
  init?(_ name: String, of entity: EntityLayout, _ entities: StoredEntities) {
    guard let relationship = entity.relationships[name],
      let destination = entities.schema[relationship.destinationEntity]
    else { return nil }
    self.entities = entities
    self.destination = destination
    let quoted = SQLName.quoted
    let (near, far) = (quoted(entity.table), quoted(destination.table))
    let isShared = entities.schema.entity(number: entity.rootNumber)?.hasSubentities ?? false
    // Rows of other entities in the same table have relationships of their own.
    func owner(_ key: String) -> String {
      isShared ? " JOIN \(near) o ON o.Z_PK = \(key) AND o.Z_ENT = \(entity.number)" : ""
    }
    switch relationship.place {
    case .foreignKey(let key):
      guard !relationship.isToMany else { return nil }
      isKey = true
      let number = key.entityColumn.map { "o.\(quoted($0))" } ?? "0"
      statement =
        "SELECT o.Z_PK, o.\(quoted(key.column)), \(number) FROM \(near) o WHERE o.Z_PK BETWEEN ?1 AND ?2 "
        + "AND o.\(quoted(key.column)) IS NOT NULL" + (isShared ? " AND o.Z_ENT = \(entity.number)" : "")
    case .inverseForeignKey(let table, let key):
      isKey = false
      let column = "d.\(quoted(key.column))"
      let order = relationship.isOrdered ? key.orderColumn.map { "d.\(quoted($0)), " } ?? "" : ""
      statement =
        "SELECT \(column), d.Z_PK, d.Z_ENT FROM \(quoted(table)) d\(owner(column)) WHERE \(column) BETWEEN ?1 AND ?2 "
        + "ORDER BY \(column), \(order)d.Z_PK"
    case .joinTable(let end):
      isKey = false
      let (source, target) = (quoted(end.sourceColumn), quoted(end.destinationColumn))
      let order = end.orderColumn.map { "j.\(quoted($0)), " } ?? ""
      let pairs =
        end.isReflexive
        // A relationship that is its own inverse stands in the table once, in either direction.
        ? "(SELECT \(source), \(target) FROM \(quoted(end.table)) WHERE \(source) BETWEEN ?1 AND ?2 UNION "
          + "SELECT \(target), \(source) FROM \(quoted(end.table)) WHERE \(target) BETWEEN ?1 AND ?2)"
        : quoted(end.table)
      statement =
        "SELECT j.\(source), d.Z_PK, d.Z_ENT FROM \(pairs) j JOIN \(far) d ON d.Z_PK = j.\(target)"
        + "\(owner("j.\(source)")) WHERE j.\(source) BETWEEN ?1 AND ?2 ORDER BY j.\(source), \(order)d.Z_PK"
    }
  }

  /// The members of the rows in a range of keys, by the rows' keys, in order where the relationship is ordered.
  func read(_ keys: ClosedRange<Int64>, _ connection: SQLiteConnection) throws -> [Int64: [RowKey]] {
    try connection.cached(statement) { statement in
      try statement.bind([.integer(keys.lowerBound), .integer(keys.upperBound)])
      var found: [Int64: [RowKey]] = [:]
      while try statement.step() {
        let (owner, key, number) = (statement.int64(at: 0), statement.int64(at: 1), statement.int64(at: 2))
        let entity = entities.number(ofRow: number, like: destination)
        guard let entity = entity ?? (isKey ? destination.number : nil) else {
          throw RowProblem(
            kind: .unknownEntity(number: number), table: destination.table, primaryKey: key, property: "")
        }
        found[owner, default: []].append(RowKey(entity: Int32(entity), number: key))
      }
      return found
    }
  }
}

/// Sets relationships of the destination's rows as setting them on objects would, inverses included.
///
/// Nobody has read the rows: a run has all objects give up their values before a mapping is carried out.
struct RowLinkWriter {
  private let store: SQLiteStore.Opened
  private let relationship: RelationshipLayout
  private let entity: EntityLayout
  /// The place of the relationship among the slots of its entity, and those of an object without values.
  private let position: Int
  private let slots: [Slot]
  /// The other end of a one-to-one relationship: its column, and the table that it stands in.
  private let opposite: (table: String, key: ForeignKeyLayout)?

  /// - Returns: nil for a relationship that leaves too much to the order in which it is set.
  init?(
    _ relationship: NSRelationshipDescription, position: Int, of entity: EntityLayout, _ store: SQLiteStore.Opened
  ) {
    guard let layout = entity.relationships[relationship.name],
      let description = store.entities.description(number: entity.number)
    else { return nil }
    self.store = store
    self.relationship = layout
    self.entity = entity
    self.position = position
    slots = description.slotTable.defaults
    guard case .foreignKey(let key) = layout.place, let inverse = layout.inverseName,
      let far = store.entities.schema[layout.destinationEntity], let other = far.relationships[inverse], !other.isToMany
    else {
      opposite = nil
      return
    }
    guard case .foreignKey(let farKey) = other.place,
      (far.rootNumber, farKey.column) != (entity.rootNumber, key.column)
    else { return nil }
    opposite = (far.table, farKey)
  }

  private var connection: SQLiteConnection { store.connection }

  /// Has a row's relationship lead to certain rows, and to no others.
  func set(_ owner: RowKey, to members: [RowKey]) throws {
    switch relationship.place {
    case .foreignKey(let key):
      let changed = try setKey(key, of: owner, to: members.first)
      if changed, key.orderColumn != nil { try writeOutside(owner, members) }
    case .inverseForeignKey(let table, let key):
      if relationship.inverseName != nil { try setKeys(key, in: table, of: owner, members) }
      if relationship.inverseName == nil || relationship.isOrdered { try writeOutside(owner, members) }
    case .joinTable: try writeOutside(owner, members)
    }
  }

  /// What stands outside the row is written as for a changed object.
  private func writeOutside(_ owner: RowKey, _ members: [RowKey]) throws {
    func id(_ key: RowKey) -> NSManagedObjectID? { store.entities.id(entity: Int(key.entity), primaryKey: key.number) }
    guard let row = id(owner) else { return }
    var slots = slots
    let ids = members.compactMap(id)
    slots[position] =
      relationship.isToMany
      ? .toMany(ToMany(ids, isOrdered: relationship.isOrdered)) : ids.first.map { .toOne($0) } ?? .null
    try RowWriter(
      connection: connection, entities: store.entities, external: store.external, plans: store.plans
    ).writeRelationships(of: [RowChange(kind: .update, id: row, old: nil, slots: slots, changed: [position])])
  }

  // MARK: Keys

  /// - Returns: whether the row has changed.
  private func setKey(_ key: ForeignKeyLayout, of owner: RowKey, to member: RowKey?) throws -> Bool {
    if let opposite {
      let column = SQLName.quoted(key.column)
      let sql = "SELECT \(column) FROM \(SQLName.quoted(entity.table)) WHERE Z_PK = ?"
      let current = try connection.scalar(sql, [.integer(owner.number)])?.integer
      if current == member?.number { return false }
      // Whoever had one of the two has nobody now.
      if let current { try write(opposite.key, in: opposite.table, of: current, nil) }
      if let member {
        let back = SQLName.quoted(opposite.key.column)
        let sql = "SELECT \(back) FROM \(SQLName.quoted(opposite.table)) WHERE Z_PK = ?"
        if let other = try connection.scalar(sql, [.integer(member.number)])?.integer {
          try write(key, in: entity.table, of: other, nil)
        }
        try write(opposite.key, in: opposite.table, of: member.number, owner)
      }
    }
    return try write(key, in: entity.table, of: owner.number, member)
  }

  /// Sets the keys of members, and takes away those of rows that are no members.
  private func setKeys(_ key: ForeignKeyLayout, in table: String, of owner: RowKey, _ members: [RowKey]) throws {
    let sql = "SELECT Z_PK FROM \(SQLName.quoted(table)) WHERE \(SQLName.quoted(key.column)) = ?"
    let before = try connection.cached(sql) { statement in
      try statement.bind(owner.number, at: 1)
      var keys: [Int64] = []
      while try statement.step() { keys.append(statement.int64(at: 0)) }
      return keys
    }
    if !before.isEmpty {
      let wanted = Set(members.map(\.number))
      for row in before where !wanted.contains(row) { try write(key, in: table, of: row, nil) }
    }
    for member in members { try write(key, in: table, of: member.number, owner) }
  }

  /// - Returns: whether the row had another key.
  @discardableResult
  private func write(_ key: ForeignKeyLayout, in table: String, of row: Int64, _ value: RowKey?) throws -> Bool {
    let column = SQLName.quoted(key.column)
    var settings = ["\(column) = ?2"]
    var values: [SQLiteValue] = [.integer(row), value.map { .integer($0.number) } ?? .null]
    if let name = key.entityColumn {
      settings.append("\(SQLName.quoted(name)) = ?3")
      values.append(value.map { .integer(Int64($0.entity)) } ?? .null)
    }
    // A place among the rows of one key is none among those of another.
    if let name = key.orderColumn { settings.append("\(SQLName.quoted(name)) = NULL") }
    try connection.run(
      "UPDATE \(SQLName.quoted(table)) SET \(settings.joined(separator: ", ")), Z_OPT = IFNULL(Z_OPT, 0) + 1 "
        + "WHERE Z_PK = ?1 AND \(column) IS NOT ?2", values)
    return connection.changes == 1
  }
}
