// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Writes the parts of relationships that are stored outside their objects' rows, in the caller's transaction.
package struct RelationshipWriter {
  private let database: any SQLDatabase
  private let entities: StoredEntities
  private let plans: RowPlans

  /// - Parameter plans: the cached plans of the store's entities, if any.
  package init(database: any SQLDatabase, entities: StoredEntities, plans: RowPlans? = nil) {
    (self.database, self.entities, self.plans) = (database, entities, plans ?? RowPlans(entities: entities))
  }

  /// Returns whether writing the changes searches for rows by values other than their primary keys.
  package func isSearching(for changes: [RowChange]) throws -> Bool {
    for position in changes.indices {
      let kind = changes[position].kind
      if kind == .delete { return true }
      let plan = try plans.plan(for: changes[position].id.entityDescription)
      if kind == .update ? !plan.outside.isEmpty : plan.hasPositions { return true }
    }
    return false
  }

  /// Writes the parts of relationships that are stored outside the changed rows: join tables, keys of relationships
  /// without inverse, and positions in ordered relationships.
  ///
  /// - Parameters:
  ///   - changes: insertions and updates.
  ///   - positionsFollow: whether other changes write the positions of these changes' members in ordered relationships.
  package func writeRelationships(_ changes: [RowChange], positionsFollow: Bool = false) throws {
    // Positions come last, because they are written to rows that must already have their keys.
    var ordered: [(RelationshipLayout, owner: Int64, members: [NSManagedObjectID])] = []
    let arranged = try arrangedOwners(of: changes)
    for change in changes {
      let plan = try plans.plan(for: change.id.entityDescription)
      let owner = change.id.key.number
      for (position, relationship) in plan.outside where change.changed.contains(position) {
        switch change.slot(at: position) {
        case .toMany(let members) where relationship.isToMany:
          let before = try membersBefore(change, position, relationship)
          try replace(
            before, by: members.ids, of: relationship, owner: owner, positionsFollow ? nil : arranged)
          if relationship.isOrdered { ordered.append((relationship, owner, members.ids)) }
        case .toOne(let id):
          guard case .foreignKey(let key) = relationship.storage, let order = key.orderColumn else { continue }
          let arrangedOwner = ArrangedOwner(table: plan.layout.table, column: key.column, owner: id.key.number)
          if !arranged.contains(arrangedOwner) {
            try appendToOrder(plan.layout.table, key: key.column, order: order, row: owner)
          } else if change.kind == .update {
            try forgetOrder(plan.layout.table, order: order, row: owner)
          }
        case .null:
          guard case .foreignKey(let key) = relationship.storage, let order = key.orderColumn else { continue }
          try forgetOrder(plan.layout.table, order: order, row: owner)
        default: continue
        }
      }
    }
    for (relationship, owner, members) in ordered { try arrange(members, of: relationship, owner: owner) }
  }

  /// An object whose own change determines the positions of all its ordered members.
  private struct ArrangedOwner: Hashable {
    let table: String
    /// The column with the object's key, in the members' rows or in a join table.
    let column: String
    let owner: Int64
  }

  private func arrangedOwners(of changes: [RowChange]) throws -> Set<ArrangedOwner> {
    var owners: Set<ArrangedOwner> = []
    for change in changes {
      let plan = try plans.plan(for: change.id.entityDescription)
      for (position, relationship) in plan.outside where change.changed.contains(position) {
        guard case .toMany = change.slot(at: position), relationship.isOrdered else { continue }
        let owner = change.id.key.number
        switch relationship.storage {
        case .foreignKey: continue
        case .inverseForeignKey(let table, let key):
          owners.insert(ArrangedOwner(table: table, column: key.column, owner: owner))
        case .joinTable(let end):
          owners.insert(ArrangedOwner(table: end.table, column: end.sourceColumn, owner: owner))
        }
      }
    }
    return owners
  }

  /// Removes references to deleted rows of an entity from rows without a change of their own.
  package func forget(_ keys: [Int64], _ layout: EntityLayout) throws {
    for relationship in layout.relationships.values {
      switch relationship.storage {
      case .foreignKey: continue
      case .inverseForeignKey(let table, let foreign):
        guard relationship.inverseName == nil else { continue }
        let column = SQLName.quoted(foreign.column)
        try run("UPDATE \(SQLName.quoted(table)) SET \(column) = NULL WHERE ", column, keys)
      case .joinTable(let end):
        let delete = "DELETE FROM \(SQLName.quoted(end.table)) WHERE "
        try run(delete, SQLName.quoted(end.sourceColumn), keys)
        if end.isReflexive { try run(delete, SQLName.quoted(end.destinationColumn), keys) }
      }
    }
  }

  /// Runs a statement for the rows in which a column has one of the given keys.
  private func run(_ start: String, _ column: String, _ keys: [Int64]) throws {
    switch database.dialect {
    case .sqlite: for key in keys { try database.run("\(start)\(column) = ?", [.integer(key)]) }
    case .postgreSQL:
      try database.run(
        start + database.dialect.isKey(column, count: keys.count), database.dialect.values(ofKeys: keys))
    }
  }

  private func membersBefore(
    _ change: RowChange, _ position: Int, _ relationship: RelationshipLayout
  ) throws -> [NSManagedObjectID] {
    if change.kind == .insert { return [] }
    if case .toMany(let members)? = change.old?.slots[position] { return members.ids }
    return try MemberReader(database: database, entities: entities)
      .members(of: relationship, primaryKey: change.id.key.number)
  }

  private func replace(
    _ before: [NSManagedObjectID], by after: [NSManagedObjectID], of relationship: RelationshipLayout, owner: Int64,
    _ arranged: Set<ArrangedOwner>?
  ) throws {
    let kept = Set(before.map(\.key)).intersection(after.map(\.key))
    let removed = before.filter { !kept.contains($0.key) }.map(\.key.number)
    let added = after.filter { !kept.contains($0.key) }.map(\.key.number)
    switch relationship.storage {
    case .foreignKey: return
    case .inverseForeignKey(let table, let key):
      // If there is an inverse, the members' own changes write the column.
      guard relationship.inverseName == nil else { return }
      let (table, column) = (SQLName.quoted(table), SQLName.quoted(key.column))
      for member in removed {
        try database.run(
          "UPDATE \(table) SET \(column) = NULL WHERE Z_PK = ? AND \(column) = ?", [.integer(member), .integer(owner)])
      }
      for member in added {
        try database.run(
          "UPDATE \(table) SET \(column) = ? WHERE Z_PK = ?", [.integer(owner), .integer(member)])
      }
    case .joinTable(let end):
      for member in removed { try disconnect(end, owner, member) }
      for member in added { try connect(end, owner, member, arranged) }
    }
  }

  /// Adds a pair to a join table, unless the inverse's change has already added it. Members that are arranged later get
  /// no positions here.
  private func connect(_ end: JoinEnd, _ owner: Int64, _ member: Int64, _ arranged: Set<ArrangedOwner>?) throws {
    let table = SQLName.quoted(end.table)
    let (source, target) = (SQLName.quoted(end.sourceColumn), SQLName.quoted(end.destinationColumn))
    if end.isReflexive {
      let sql = "SELECT 1 FROM \(table) WHERE \(source) = ? AND \(target) = ?"
      if try database.scalar(sql, [.integer(member), .integer(owner)]) != nil { return }
    }
    var columns = [source, target]
    var values = ["?1", "?2"]
    let inverse = ArrangedOwner(table: end.table, column: end.destinationColumn, owner: member)
    if let order = end.inverseOrderColumn.map(SQLName.quoted), arranged?.contains(inverse) == false {
      columns.append(order)
      values.append("(SELECT \(OrderKeys.next(order, database.dialect)) FROM \(table) WHERE \(target) = ?2)")
    }
    try database.run(
      "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", "))) "
        + "ON CONFLICT DO NOTHING",
      [.integer(owner), .integer(member)])
  }

  private func disconnect(_ end: JoinEnd, _ owner: Int64, _ member: Int64) throws {
    let sql =
      "DELETE FROM \(SQLName.quoted(end.table)) WHERE \(SQLName.quoted(end.sourceColumn)) = ? "
      + "AND \(SQLName.quoted(end.destinationColumn)) = ?"
    try database.run(sql, [.integer(owner), .integer(member)])
    if end.isReflexive { try database.run(sql, [.integer(member), .integer(owner)]) }
  }

  /// Clears a row's position in an order.
  private func forgetOrder(_ table: String, order: String, row: Int64) throws {
    try database.run(
      "UPDATE \(SQLName.quoted(table)) SET \(SQLName.quoted(order)) = NULL WHERE Z_PK = ?", [.integer(row)])
  }

  /// Moves a row whose key has changed to the end of the rows with that key.
  private func appendToOrder(_ table: String, key: String, order: String, row: Int64) throws {
    let (table, key, order) = (SQLName.quoted(table), SQLName.quoted(key), SQLName.quoted(order))
    try database.run(
      "UPDATE \(table) SET \(order) = (SELECT \(OrderKeys.next("o.\(order)", database.dialect)) FROM \(table) o "
        + "WHERE o.\(key) = \(table).\(key) AND o.Z_PK <> ?1) WHERE Z_PK = ?1", [.integer(row)])
  }

  /// Assigns positions in the given order, keeping positions that already fit.
  private func arrange(_ members: [NSManagedObjectID], of relationship: RelationshipLayout, owner: Int64) throws {
    let (table, member, column, filter): (String, String, String, String)
    switch relationship.storage {
    case .foreignKey: return
    case .inverseForeignKey(let name, let key):
      guard let order = key.orderColumn else { return }
      (table, member, column, filter) = (name, "Z_PK", order, key.column)
    case .joinTable(let end):
      guard let order = end.orderColumn else { return }
      (table, member, column, filter) = (end.table, end.destinationColumn, order, end.sourceColumn)
    }
    let (quotedTable, quotedMember) = (SQLName.quoted(table), SQLName.quoted(member))
    let (quotedColumn, quotedFilter) = (SQLName.quoted(column), SQLName.quoted(filter))
    let rows = try database.rows(
      "SELECT \(quotedMember), \(quotedColumn) FROM \(quotedTable) WHERE \(quotedFilter) = ?", [.integer(owner)])
    let current = Dictionary(
      rows.compactMap { row in row[0].integer.map { ($0, row[1].integer) } }, uniquingKeysWith: { first, _ in first })
    let keys = OrderKeys.arranged(members.map { current[$0.key.number] ?? nil })
    for (id, orderKey) in zip(members, keys) where (current[id.key.number] ?? nil) != orderKey {
      try database.run(
        "UPDATE \(quotedTable) SET \(quotedColumn) = ? WHERE \(quotedMember) = ? AND \(quotedFilter) = ?",
        [.integer(orderKey), .integer(id.key.number), .integer(owner)])
    }
  }
}
