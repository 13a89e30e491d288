// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// Where the pairs of objects that a relationship joins stand in a store, and the queries that read them.
///
/// The object that has the relationship is called the owner, the object that it leads to the member.
package struct RelationshipPairs {
  /// The table that has a row for each pair: the owner's own for a foreign key, the members' for its inverse, or a join table.
  package let table: String
  /// Holds the owner's primary key.
  package let ownerColumn: String
  /// Holds the member's primary key.
  package let memberColumn: String
  /// Holds the member's place among the owner's members, where the relationship is ordered.
  package let orderColumn: String?
  /// Holds the owner's place among the member's owners, where the inverse is ordered.
  package let inverseOrderColumn: String?
  /// Whether the relationship is its own inverse: a pair counts in both directions, though it may stand in the table once.
  package let isReflexive: Bool
  /// Whether the pairs stand in the table of one of the two entities, where rows without a key are no pairs.
  private let isForeignKey: Bool
  private let dialect: SQLDialect

  package init(of relationship: RelationshipLayout, in schema: StoreSchema) {
    dialect = schema.dialect
    switch relationship.place {
    case .joinTable(let end):
      (table, ownerColumn, memberColumn) = (end.table, end.sourceColumn, end.destinationColumn)
      (orderColumn, inverseOrderColumn) = (end.orderColumn, end.inverseOrderColumn)
      (isReflexive, isForeignKey) = (end.isReflexive, false)
    case .foreignKey(let key):
      (table, ownerColumn, memberColumn) = (schema[relationship.declaringEntity]?.table ?? "", "Z_PK", key.column)
      (orderColumn, inverseOrderColumn) = (nil, key.orderColumn)
      (isReflexive, isForeignKey) = (false, true)
    case .inverseForeignKey(let members, let key):
      (table, ownerColumn, memberColumn) = (members, key.column, "Z_PK")
      (orderColumn, inverseOrderColumn) = (relationship.isOrdered ? key.orderColumn : nil, nil)
      (isReflexive, isForeignKey) = (false, true)
    }
  }

  /// Queries for all pairs, with the columns OWNER, MEMBER, PLACE and OWNERPLACE: the keys, and the places of the two objects
  /// among each other's.
  ///
  /// - Parameters:
  ///   - fromOwner: false swaps the two objects, as the inverse relationship sees them.
  ///   - names: the present names of tables by the names in the schema, for tables that have been renamed.
  package func queries(fromOwner: Bool, names: [String: String] = [:]) -> [String] {
    let (owner, member) = (SQLName.quoted(ownerColumn), SQLName.quoted(memberColumn))
    let place = orderColumn.map(SQLName.quoted) ?? dialect.missingKey
    let back = inverseOrderColumn.map(SQLName.quoted) ?? dialect.missingKey
    let condition = isForeignKey ? " WHERE \(ownerColumn == "Z_PK" ? member : owner) IS NOT NULL" : ""
    func query(_ owner: String, _ member: String) -> String {
      let values =
        fromOwner
        ? "\(owner) AS OWNER, \(member) AS MEMBER, \(place) AS PLACE, \(back) AS OWNERPLACE"
        : "\(member) AS OWNER, \(owner) AS MEMBER, \(back) AS PLACE, \(place) AS OWNERPLACE"
      return "SELECT \(values) FROM \(SQLName.quoted(names[table] ?? table))\(condition)"
    }
    return isReflexive ? [query(owner, member), query(member, owner)] : [query(owner, member)]
  }

  /// The FROM and WHERE clauses that select the rows of one owner's members, in no order.
  ///
  /// - Parameters:
  ///   - destination: the entity of the members.
  ///   - alias: the name that the members' table gets in the query.
  ///   - owner: the owner's key, as SQL; it may occur twice.
  package func memberRows(of destination: EntityLayout, as alias: String, owner: String) -> String {
    let (near, far) = (SQLName.quoted(ownerColumn), SQLName.quoted(memberColumn))
    if isForeignKey, memberColumn == "Z_PK" {
      return "FROM \(SQLName.quoted(table)) \(alias) WHERE \(alias).\(near) = \(owner)"
    }
    var keys = "SELECT \(far) FROM \(SQLName.quoted(table)) WHERE \(near) = \(owner)"
    if isReflexive { keys += " UNION SELECT \(near) FROM \(SQLName.quoted(table)) WHERE \(far) = \(owner)" }
    return "FROM \(SQLName.quoted(destination.table)) \(alias) WHERE \(alias).Z_PK IN (\(keys))"
  }

  /// A query for the keys and entity numbers of the members of the owner `?1`, by their places, then by their keys.
  package func members(of destination: EntityLayout) -> String {
    let order = isReflexive ? nil : orderColumn.map(SQLName.quoted)
    guard !isForeignKey, !isReflexive else {
      return "SELECT d.Z_PK, d.Z_ENT \(memberRows(of: destination, as: "d", owner: "?1")) "
        + "ORDER BY \(order.map { "d.\($0)\(dialect.ascending), " } ?? "")d.Z_PK"
    }
    return "SELECT d.Z_PK, d.Z_ENT FROM \(SQLName.quoted(table)) j "
      + "JOIN \(SQLName.quoted(destination.table)) d ON d.Z_PK = j.\(SQLName.quoted(memberColumn)) "
      + "WHERE j.\(SQLName.quoted(ownerColumn)) = ?1 ORDER BY \(order.map { "j.\($0)\(dialect.ascending), " } ?? "")d.Z_PK"
  }

  /// A query for the owners, keys and entity numbers of the members of the owners `?1`, `?2` …, by their places, then by their
  /// keys; nil for a relationship whose members are asked for owner by owner.
  package func members(of destination: EntityLayout, ownerCount: Int) -> String? {
    if isReflexive || (isForeignKey && memberColumn != "Z_PK") { return nil }
    let owners = (1...max(ownerCount, 1)).map { "?\($0)" }.joined(separator: ", ")
    let (pairs, members) = isForeignKey ? ("d", "d") : ("j", "d")
    let owner = "\(pairs).\(SQLName.quoted(ownerColumn))"
    let order = orderColumn.map { "\(pairs).\(SQLName.quoted($0))\(dialect.ascending), " } ?? ""
    let join =
      isForeignKey
      ? "" : " JOIN \(SQLName.quoted(destination.table)) d ON d.Z_PK = j.\(SQLName.quoted(memberColumn))"
    return "SELECT \(owner), \(members).Z_PK, \(members).Z_ENT FROM \(SQLName.quoted(table)) \(pairs)\(join) "
      + "WHERE \(owner) IN (\(owners)) ORDER BY \(order)\(members).Z_PK"
  }

  /// A query for columns of the rows of the owners `?1`, `?2` …, and as the last column the owner; nil unless the rows have
  /// the owners' keys. The rows of an owner are in their order, or else in that of their keys, and follow each other.
  package func memberRows(columns: [String], ownerCount: Int) -> String? {
    guard isForeignKey, memberColumn == "Z_PK" else { return nil }
    let owner = SQLName.quoted(ownerColumn)
    let list = (columns.map(SQLName.quoted) + [owner]).joined(separator: ", ")
    let owners = (1...max(ownerCount, 1)).map { "?\($0)" }.joined(separator: ", ")
    let order = orderColumn.map { "\(SQLName.quoted($0))\(dialect.ascending), " } ?? ""
    return "SELECT \(list) FROM \(SQLName.quoted(table)) WHERE \(owner) IN (\(owners)) ORDER BY \(owner), \(order)Z_PK"
  }

  /// A query for the number of pairs whose owners are in a table, as `o`; it ends before its WHERE clause.
  package func count(ofOwnersIn owners: String) -> String {
    "SELECT COUNT(*) FROM \(SQLName.quoted(table)) p JOIN \(SQLName.quoted(owners)) o "
      + "ON o.Z_PK = p.\(SQLName.quoted(ownerColumn))"
  }
}
