// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

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

/// Sets a relationship of the destination's rows as setting it on objects would, the inverse included.
///
/// Nobody has read the rows: a run has all objects give up their values before a mapping is carried out.
struct RowLinkWriter {
  private let store: SQLiteStore.Opened
  private let place: Place
  /// The place of the relationship among the slots of its entity, and those of an object without values.
  private let position: Int
  private let slots: [Slot]
  private let isToMany: Bool
  private let isOrdered: Bool

  private enum Place {
    /// A key in the row; of a one-to-one relationship, another one in the row that it leads to.
    case key(KeyColumn, opposite: KeyColumn?)
    /// Keys in the rows that the relationship leads to.
    case members(KeyColumn)
    /// Nothing in rows, or nothing that the relationship itself does not write.
    case outside
  }

  /// - Returns: nil for a relationship that the store does not hold, and for one that is one-to-one with itself.
  init?(
    _ relationship: NSRelationshipDescription, position: Int, of entity: EntityLayout, _ store: SQLiteStore.Opened
  ) {
    guard let layout = entity.relationships[relationship.name],
      let description = store.entities.description(number: entity.number)
    else { return nil }
    self.store = store
    self.position = position
    slots = description.slotTable.defaults
    (isToMany, isOrdered) = (layout.isToMany, layout.isOrdered)
    switch layout.place {
    case .joinTable: place = .outside
    case .inverseForeignKey(let table, let key):
      place = layout.inverseName == nil ? .outside : .members(KeyColumn(key, in: table))
    case .foreignKey(let key):
      var opposite: KeyColumn?
      if let far = store.entities.schema[layout.destinationEntity], let name = layout.inverseName,
        let inverse = far.relationships[name], !inverse.isToMany, case .foreignKey(let back) = inverse.place
      {
        if far.table == entity.table, back.column == key.column { return nil }
        opposite = KeyColumn(back, in: far.table)
      }
      place = .key(KeyColumn(key, in: entity.table), opposite: opposite)
    }
  }

  /// Whether rows are looked for by anything but their keys.
  var isSearching: Bool {
    if case .key(let key, _) = place { key.isOrdered } else { true }
  }

  /// Has a row's relationship lead to certain rows, and to no others.
  func set(_ owner: RowKey, to members: [RowKey]) throws {
    switch place {
    case .key(let key, let opposite):
      let hasChanged = try set(key, opposite, of: owner, to: members.first)
      if hasChanged, key.isOrdered { try writeOutside(owner, members) }
    case .members(let key):
      try set(key, of: members, to: owner)
      if isOrdered { try writeOutside(owner, members) }
    case .outside: try writeOutside(owner, members)
    }
  }

  /// What stands outside the row is written as for a changed object.
  private func writeOutside(_ owner: RowKey, _ members: [RowKey]) throws {
    func id(_ key: RowKey) -> NSManagedObjectID? { store.entities.id(entity: Int(key.entity), primaryKey: key.number) }
    guard let row = id(owner) else { return }
    var slots = slots
    let ids = members.compactMap(id)
    slots[position] =
      isToMany ? .toMany(ToMany(ids, isOrdered: isOrdered)) : ids.first.map { .toOne($0) } ?? .null
    try RowWriter(
      connection: store.connection, entities: store.entities, external: store.external, plans: store.plans
    ).writeRelationships(of: [RowChange(kind: .update, id: row, old: nil, slots: slots, changed: SlotSet([position]))])
  }

  // MARK: Keys

  /// - Returns: whether the row has changed.
  private func set(
    _ key: KeyColumn, _ opposite: KeyColumn?, of owner: RowKey, to member: RowKey?
  ) throws -> Bool {
    let connection = store.connection
    if let opposite {
      let current = try key.value(of: owner.number, connection)
      if current == member?.number { return false }
      // Whoever had one of the two has nobody now.
      if let current { try opposite.write(nil, to: current, connection) }
      if let member {
        if let other = try opposite.value(of: member.number, connection) { try key.write(nil, to: other, connection) }
        try opposite.write(owner, to: member.number, connection)
      }
    }
    return try key.write(member, to: owner.number, connection)
  }

  /// Sets the keys of members, and takes away those of rows that are no members.
  private func set(_ key: KeyColumn, of members: [RowKey], to owner: RowKey) throws {
    let connection = store.connection
    let before = try key.rows(with: owner.number, connection)
    if !before.isEmpty {
      let wanted = Set(members.map(\.number))
      for row in before where !wanted.contains(row) { try key.write(nil, to: row, connection) }
    }
    for member in members { try key.write(owner, to: member.number, connection) }
  }
}

/// A column of keys, and what is asked of it.
private struct KeyColumn {
  /// Whether rows have places among those of one key.
  let isOrdered: Bool
  private let hasEntity: Bool
  private let reading: String
  private let finding: String
  private let writing: String

  init(_ key: ForeignKeyLayout, in table: String) {
    let (table, column) = (SQLName.quoted(table), SQLName.quoted(key.column))
    isOrdered = key.orderColumn != nil
    hasEntity = key.entityColumn != nil
    reading = "SELECT \(column) FROM \(table) WHERE Z_PK = ?"
    finding = "SELECT Z_PK FROM \(table) WHERE \(column) = ?"
    var settings = ["\(column) = ?2"]
    if let name = key.entityColumn { settings.append("\(SQLName.quoted(name)) = ?3") }
    // A place among the rows of one key is none among those of another.
    if let name = key.orderColumn { settings.append("\(SQLName.quoted(name)) = NULL") }
    writing =
      "UPDATE \(table) SET \(settings.joined(separator: ", ")), Z_OPT = \(RowVersion.following) "
      + "WHERE Z_PK = ?1 AND \(column) IS NOT ?2"
  }

  func value(of row: Int64, _ connection: SQLiteConnection) throws -> Int64? {
    try connection.scalar(reading, [.integer(row)])?.integer
  }

  func rows(with key: Int64, _ connection: SQLiteConnection) throws -> [Int64] {
    try connection.cached(finding) { statement in
      try statement.bind(key, at: 1)
      var found: [Int64] = []
      while try statement.step() { found.append(statement.int64(at: 0)) }
      return found
    }
  }

  /// - Returns: whether the row had another key.
  @discardableResult
  func write(_ key: RowKey?, to row: Int64, _ connection: SQLiteConnection) throws -> Bool {
    try connection.cached(writing) { statement in
      try statement.bind(row, at: 1)
      if let key {
        try statement.bind(key.number, at: 2)
        if hasEntity { try statement.bind(Int64(key.entity), at: 3) }
      }
      while try statement.step() {}
    }
    return connection.changes == 1
  }
}
