// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension OpenedSchema: RowSource {
  func rows(for query: RowQuery) throws -> [RowSnapshot]? { try readRows(for: query) { try $0.rows() } }

  func readRows<Result>(for query: RowQuery, _ body: (RowCursor) throws -> Result) throws -> Result? {
    let reader = try reader(for: query.entity, includesSubentities: query.includesSubentities)
    return try answer {
      let select = try entities.selects.select(
        reader.columns, of: entities.layout(of: query.entity), query.criteria)
      let statement = select.postgreSQL
      return try connection.readRows(statement.sql, statement.values.map(PostgreSQLValue.init)) { next in
        try body(
          RowCursor { packer in
            guard let row = try next() else { return false }
            try reader.pack(row, 0, into: packer)
            return true
          })
      }
    }
  }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try answer {
      let layout = try entities.layout(of: query.entity)
      let rows = try self.query(entities.selects.select(["z_pk", "z_ent"], of: layout, query.criteria))
      return try (0..<rows.count).map { try id(key: rows.int64($0, 0), number: rows.int64($0, 1), like: layout) }
    }
  }

  func count(for query: RowQuery) throws -> Int? {
    try answer {
      let rows = try self.query(entities.selects.count(of: entities.layout(of: query.entity), query.criteria))
      return Int(rows.int64(0, 0))
    }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    guard entities.owns(id) else { return nil }
    // The object ID of a to-one destination may name an ancestor of the row's entity.
    let reader = try reader(for: id.entityDescription, includesSubentities: true)
    let rows = try connection.query(reader.rowSelect, [.integer(id.key.number)])
    return rows.count == 0 ? nil : try reader.snapshot(rows, 0)
  }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    guard entities.owns(id), let layout = try entities.layout(of: id.entity).relationships[relationship.name]
    else { return [] }
    return try members.members(of: layout, primaryKey: id.key.number)
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    let owned = ids.filter(entities.owns)
    for (_, group) in Dictionary(grouping: owned, by: { ObjectIdentifier($0.entityDescription) }) {
      guard let layout = try entities.layout(of: group[0].entity).relationships[relationship.name] else { continue }
      let found = try self.members.members(of: layout, primaryKeys: group.map(\.key.number))
      for id in group { members[id.key] = found[id.key.number] }
    }
    return members
  }

  private var members: MemberReader { MemberReader(database: database, entities: entities) }

  func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    guard let layout = try entities.layout(of: entity).relationships[relationship.name],
      let destination = entities.schema[layout.destinationEntity],
      let description = entities.description(number: destination.number)
    else { return nil }
    let reader = try reader(for: description, includesSubentities: true)
    let pairs = RelationshipPairs(of: layout, in: entities.schema)
    guard pairs.isForeignKey, pairs.memberColumn == "Z_PK" else { return nil }
    let ownerColumn = SQLName.quoted(pairs.ownerColumn)
    let list = (reader.columns.map(SQLName.quoted) + [ownerColumn]).joined(separator: ", ")
    let order = pairs.orderColumn.map { "\(SQLName.quoted($0)), " } ?? ""
    let sql =
      "SELECT \(list) FROM \(SQLName.quoted(pairs.table)) WHERE \(ownerColumn) = ANY($1) "
      + "ORDER BY \(ownerColumn), \(order)z_pk"
    var members = RowGroups()
    // The rows of each owner are consecutive.
    var rows = RowCollection()
    var (owner, start): (Int64, Int) = (0, 0)
    func end() {
      if start < rows.count { members.ranges[owner] = start..<rows.count }
      start = rows.count
    }
    try connection.forEachRow(sql, [.integers(primaryKeys)]) { row in
      let next = row.int64(0, reader.columns.count)
      if next != owner {
        end()
        owner = next
      }
      try rows.add { try reader.pack(row, 0, into: $0) }
    }
    end()
    members.rows = rows.rows()
    return members
  }

  func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    let reader = try reader(for: entity, includesSubentities: false)
    let layout = try entities.layout(of: entity)
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    var sql = "SELECT \(columns) FROM \(SQLName.quoted(layout.table)) WHERE z_pk = ANY($1)"
    if entities.schema.entity(number: layout.rootNumber)?.numbers.count != 1 { sql += " AND z_ent = \(layout.number)" }
    var found = RowCollection()
    try connection.forEachRow(sql, [.integers(primaryKeys)]) { row in
      try found.add { try reader.pack(row, 0, into: $0) }
    }
    return found.rows()
  }

  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try answer {
      let select = try entities.selects.select(results, of: entities.layout(of: query.entity), query.criteria)
      let reader = try ResultReader(select, of: query.entity, entities: entities)
      let rows = try self.query(select.statement)
      return try (0..<rows.count).map { try reader.dictionary(rows, $0) }
    }
  }

  func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try answer {
      let keys = [.evaluatedObject] + query.order.map { ExpressionSyntax.keyPath($0.keyPath) }
      let columns = keys.map { ResultCriteria.Column(name: "", expression: $0) }
      let select = try entities.selects.select(
        ResultCriteria(columns: columns), of: entities.layout(of: query.entity), query.criteria)
      let reader = try ResultReader(select, of: query.entity, entities: entities)
      let rows = try self.query(select.statement)
      return try (0..<rows.count).map { row in
        let values = try reader.values(rows, row)
        guard let id = values.first as? NSManagedObjectID else { throw NotExpressibleInSQL() }
        return PlacedIdentifier(id: id, values: Array(values.dropFirst()))
      }
    }
  }

  /// Runs a statement rendered for PostgreSQL.
  func query(_ statement: BoundSQL) throws -> PostgreSQLRows {
    let statement = statement.postgreSQL
    return try connection.query(statement.sql, statement.values.map(PostgreSQLValue.init))
  }

  func id(key: Int64, number: Int64, like layout: EntityLayout) throws -> NSManagedObjectID {
    guard let entity = entities.number(ofRow: number, like: layout),
      let id = entities.id(entity: entity, primaryKey: key)
    else { throw RowProblem(kind: .unknownEntity(number: number), table: layout.table, primaryKey: key, property: "") }
    return id
  }

  /// Runs a query, or returns nil if it must be evaluated in memory.
  ///
  /// Uses a savepoint within a transaction, so that a failing statement does not end the transaction.
  private func answer<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try connection.isInTransaction ? connection.transaction(body) : body()
    } catch is NotExpressibleInSQL {
      return nil
    } catch let error as InvalidPattern {
      throw EvaluationError(error)
    } catch let error as PostgreSQLError where error.isOfValues {
      // In memory, a sum beyond 64 bits is a double, and predicates may be nested more deeply.
      return nil
    }
  }
}

extension PostgreSQLError {
  /// Whether the server refused a value that can be computed in memory: a number out of range, a division by zero, the
  /// root of a negative number, a statement that is too complex.
  var isOfValues: Bool {
    sqlState.map { $0.hasPrefix("22") || ["54000", "54001", "42803"].contains($0) } ?? false
  }
}

extension PostgreSQLValue {
  init(_ value: SQLiteValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text)
    case .blob(let data): self = .bytes(data)
    }
  }
}

extension PostgreSQLStore {
  func rows(for query: RowQuery) throws -> [RowSnapshot]? { try asking { try $0.rows(for: query) } }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try asking { try $0.identifiers(for: query) }
  }

  func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try asking { try $0.placedIdentifiers(for: query) }
  }

  func count(for query: RowQuery) throws -> Int? { try asking { try $0.count(for: query) } }

  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try asking { try $0.dictionaries(for: query, results) }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    try asking { try $0.row(for: id) }
  }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    try asking { try $0.members(of: relationship, for: id) }
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    try asking { try $0.members(of: relationship, forAll: ids) }
  }

  func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    try asking { try $0.memberRows(of: relationship, entity: entity, primaryKeys: primaryKeys) }
  }

  func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    try asking { try $0.rows(of: entity, primaryKeys: primaryKeys) }
  }

  func concurrently<Result>(_ body: (any RowSource) throws -> Result) -> Result? { connections.reading(body) }

  func hasPlace(for entity: NSEntityDescription) -> Bool { opened?.entities.number(of: entity) != nil }

  func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let entities = opened?.entities, let entity = entities.schema[entityName], reference.hasPrefix("p"),
      let key = Int64(reference.dropFirst()), key > 0
    else { return nil }
    entities.noteIdentity()
    return entities.id(entity: entity.number, primaryKey: key)
  }
}
