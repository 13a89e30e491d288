// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// The location of a relationship's pairs of objects in a store, and the queries that read them.
///
/// The object that has the relationship is called the owner, and its destination the member.
package struct RelationshipPairs {
  /// The table with a row for each pair: the owner's own for a foreign key, the members' for its inverse, or a join
  /// table.
  package let table: String
  /// The column with the owner's primary key.
  package let ownerColumn: String
  /// The column with the member's primary key.
  package let memberColumn: String
  /// The column with the member's order key among the owner's members, if the relationship is ordered.
  package let orderColumn: String?
  /// The column with the owner's order key among the member's owners, if the inverse is ordered.
  package let inverseOrderColumn: String?
  /// Whether the relationship is its own inverse: a pair is valid in both directions, though the table may contain it
  /// once.
  package let isReflexive: Bool
  /// Whether the pairs are in the table of one of the two entities, where a row without a key is not a pair.
  package let isForeignKey: Bool
  private let dialect: SQLDialect

  package init(of relationship: RelationshipLayout, in schema: StoreSchema) {
    dialect = schema.dialect
    switch relationship.storage {
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

  /// Returns queries for all pairs, with the columns OWNER, MEMBER, PLACE and OWNERPLACE: the keys, and the order keys
  /// of member and owner.
  ///
  /// - Parameters:
  ///   - fromOwner: false swaps the two objects, to give the pairs of the inverse relationship.
  ///   - names: the present names of renamed tables, by their names in the schema.
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

  /// Returns the FROM and WHERE clauses that select one owner's members, in no particular order.
  ///
  /// - Parameters:
  ///   - destination: the entity of the members.
  ///   - alias: the alias of the members' table in the query.
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

  /// Returns a query for the keys and entity numbers of the members of the owner `?1`, sorted by order key, then by
  /// primary key.
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

  /// Returns a query for the owners, keys and entity numbers of the members of some owners
  /// (`SQLDialect.values(ofKeys:)`), sorted by order key, then by primary key; nil for a relationship whose members
  /// must be queried for each owner separately.
  package func members(of destination: EntityLayout, ownerCount: Int) -> String? {
    if isReflexive || (isForeignKey && memberColumn != "Z_PK") { return nil }
    let (pairs, members) = isForeignKey ? ("d", "d") : ("j", "d")
    let owner = "\(pairs).\(SQLName.quoted(ownerColumn))"
    let order = orderColumn.map { "\(pairs).\(SQLName.quoted($0))\(dialect.ascending), " } ?? ""
    let join =
      isForeignKey
      ? "" : " JOIN \(SQLName.quoted(destination.table)) d ON d.Z_PK = j.\(SQLName.quoted(memberColumn))"
    return "SELECT \(owner), \(members).Z_PK, \(members).Z_ENT FROM \(SQLName.quoted(table)) \(pairs)\(join) "
      + "WHERE \(dialect.isKey(owner, count: ownerCount)) ORDER BY \(order)\(members).Z_PK"
  }

  /// Returns a query for columns of the rows of some owners (`SQLDialect.values(ofKeys:)`), with the owner as the last
  /// column; nil unless the rows contain their owners' keys. The rows of each owner are consecutive, sorted by order
  /// key if there is one, otherwise by primary key.
  package func memberRows(columns: [String], ownerCount: Int) -> String? {
    guard isForeignKey, memberColumn == "Z_PK" else { return nil }
    let owner = SQLName.quoted(ownerColumn)
    let list = (columns.map(SQLName.quoted) + [owner]).joined(separator: ", ")
    let order = orderColumn.map { "\(SQLName.quoted($0))\(dialect.ascending), " } ?? ""
    return "SELECT \(list) FROM \(SQLName.quoted(table)) WHERE \(dialect.isKey(owner, count: ownerCount)) "
      + "ORDER BY \(owner), \(order)Z_PK"
  }

  /// Returns a query for the number of pairs whose owners are in a table, as `o`; the caller may append a WHERE clause.
  package func count(ofOwnersIn owners: String) -> String {
    "SELECT COUNT(*) FROM \(SQLName.quoted(table)) p JOIN \(SQLName.quoted(owners)) o "
      + "ON o.Z_PK = p.\(SQLName.quoted(ownerColumn))"
  }
}
