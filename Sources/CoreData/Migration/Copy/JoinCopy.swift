// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Fills join tables from the pairs of objects that relationships of the source join.
struct JoinCopy {
  /// A statement that goes through the rows of a source table whose keys lie from the first to the second of its last two
  /// values.
  struct Insertion {
    let statement: BoundSQL
    /// Expressions for the least and the greatest key of that table.
    let leastKey: String
    let greatestKey: String
  }

  let source: CopySide
  let target: CopySide
  let joins: [CopyLink]

  /// The statements for one link.
  ///
  /// - Throws: `CopyBarrier` where the outcome depends on the order in which objects are told.
  func statements(for link: CopyLink) throws -> [Insertion] {
    guard case .joinTable(let end) = link.relationship.place else { return [] }
    if end.isReflexive, end.orderColumn != nil {
      throw CopyBarrier(
        mapping: link.owner.name, property: link.relationship.name,
        reason: "orders the relationship '\(link.relationship.name)', which is its own inverse")
    }
    // Of a relationship that is its own inverse each pair is told twice, and that once differently.
    if end.isReflexive, link.source.inverseName != link.source.name { throw link.contradiction() }
    let earlier = joins.filter { other in
      guard case .joinTable(let far) = other.relationship.place, !end.isReflexive else { return false }
      return far.table == end.table && far.sourceColumn == end.destinationColumn && other.comes(before: link)
        && other.leads(to: link.owner)
    }
    guard earlier.allSatisfy({ $0.isInverse(of: link, in: source) }) else { throw link.contradiction() }
    let told = earlier.map(\.owner)
    return try link.targets.filter { target in
      target.rows.isReachable(link.source.destinationEntity, in: source) && !told.contains { $0 === target }
    }.map { try insertion(link, end, $0) }
  }

  private func insertion(_ link: CopyLink, _ end: JoinEnd, _ member: EntityCopy) throws -> Insertion {
    let pairs = try pairs(of: link, member)
    var columns = [SQLName.quoted(end.sourceColumn), SQLName.quoted(end.destinationColumn)]
    var values = [pairs.owner, pairs.member]
    if end.isReflexive {
      // Such a pair stands in the table once, for both directions.
      values = ["MIN(\(pairs.owner), \(pairs.member))", "MAX(\(pairs.owner), \(pairs.member))"]
    }
    if let order = end.orderColumn, let place = pairs.place {
      columns.append(SQLName.quoted(order))
      values.append("\(raw: place)")
    }
    if let order = end.inverseOrderColumn, let place = pairs.ownerPlace {
      columns.append(SQLName.quoted(order))
      values.append("\(raw: place)")
    }
    let conditions = pairs.conditions + ["\(raw: pairs.key) BETWEEN ? AND ?"]
    return Insertion(
      statement: """
        INSERT OR IGNORE INTO \(raw: target.table(end.table)) (\(raw: columns.joined(separator: ", "))) \
        SELECT \(values.joined(", ")) FROM \(raw: pairs.tables) WHERE \(conditions.joined(" AND "))
        """, leastKey: pairs.leastKey, greatestKey: pairs.greatestKey)
  }

  /// The pairs of a source relationship's objects as parts of a query.
  private struct Pairs {
    var owner: BoundSQL
    var member: BoundSQL
    var tables: String
    var conditions: [BoundSQL]
    var place: String?
    var ownerPlace: String?
    /// What numbers the rows that the query goes through.
    var key: String
    var leastKey: String
    var greatestKey: String
  }

  private func pairs(of link: CopyLink, _ member: EntityCopy) throws -> Pairs {
    guard link.isDirect else {
      throw CopyBarrier(
        mapping: link.owner.name, property: link.relationship.name,
        reason: "reaches the objects of '\(link.relationship.name)' through others")
    }
    let builder = source.predicates()
    let owner = SQLScope(entity: link.owner.rows.entity, names: builder.aliases)
    let far = SQLScope(entity: member.rows.entity, names: builder.aliases)
    let ownerConditions = try link.owner.rows.conditions(owner, builder, in: source)
    let memberConditions = try member.rows.conditions(far, builder, in: source)
    let (ownerTable, memberTable) = (table(owner), table(far))
    let covers = member.rows.cover(link.source.destinationEntity, in: source)
    let name = SQLName.quoted
    switch link.source.place {
    case .joinTable(let end):
      let join = builder.aliases.next("j")
      let (near, opposite) = ("\(join).\(name(end.sourceColumn))", "\(join).\(name(end.destinationColumn))")
      // Both ends are looked at where a row may be of another mapping.
      let ownerCovered = ownerConditions.isEmpty
      var tables = "\(source.table(end.table)) \(join)"
      if !ownerCovered { tables += " JOIN \(ownerTable) ON \(owner.alias).Z_PK = \(near)\(owner.joins)" }
      if !covers { tables += " JOIN \(memberTable) ON \(far.alias).Z_PK = \(opposite)\(far.joins)" }
      guard !end.isReflexive || link.relationship.isReflexive else {
        throw CopyBarrier(
          mapping: link.owner.name, property: link.relationship.name,
          reason: "makes '\(link.relationship.name)' of a relationship that is its own inverse")
      }
      return Pairs(
        owner: link.owner.copiedKey("\(raw: near)"), member: member.copiedKey("\(raw: opposite)"), tables: tables,
        conditions: (ownerCovered ? [link.owner.hasKey(near)] : ownerConditions)
          + (covers ? [member.hasKey(opposite)] : memberConditions),
        place: end.orderColumn.map { "\(join).\(name($0))" },
        ownerPlace: end.inverseOrderColumn.map { "\(join).\(name($0))" }, key: "\(join).rowid",
        leastKey: "(SELECT MIN(rowid) FROM \(source.table(end.table)))",
        greatestKey: "(SELECT MAX(rowid) FROM \(source.table(end.table)))")
    case .inverseForeignKey(_, let key):
      let near = "\(far.alias).\(name(key.column))"
      var tables = memberTable + far.joins
      if !ownerConditions.isEmpty { tables += " JOIN \(ownerTable) ON \(owner.alias).Z_PK = \(near)\(owner.joins)" }
      return Pairs(
        owner: link.owner.copiedKey("\(raw: near)"), member: member.copiedKey("\(raw: far.alias).Z_PK"), tables: tables,
        conditions: [link.owner.hasKey(near)] + memberConditions + ownerConditions,
        place: key.orderColumn.map { "\(far.alias).\(name($0))" }, ownerPlace: nil, key: "\(far.alias).Z_PK",
        leastKey: "\(member.keys.lowerBound)", greatestKey: "\(member.keys.upperBound)")
    case .foreignKey(let key):
      let opposite = "\(owner.alias).\(name(key.column))"
      var tables = ownerTable + owner.joins
      if !covers { tables += " JOIN \(memberTable) ON \(far.alias).Z_PK = \(opposite)\(far.joins)" }
      return Pairs(
        owner: link.owner.copiedKey("\(raw: owner.alias).Z_PK"), member: member.copiedKey("\(raw: opposite)"),
        tables: tables,
        conditions: [member.hasKey(opposite)] + ownerConditions + (covers ? [] : memberConditions), place: nil,
        ownerPlace: key.orderColumn.map { "\(owner.alias).\(name($0))" }, key: "\(owner.alias).Z_PK",
        leastKey: "\(link.owner.keys.lowerBound)", greatestKey: "\(link.owner.keys.upperBound)")
    }
  }

  private func table(_ scope: SQLScope) -> String { "\(source.table(scope.entity.table)) \(scope.alias)" }
}

extension RelationshipLayout {
  fileprivate var isReflexive: Bool {
    if case .joinTable(let end) = place { return end.isReflexive }
    return false
  }
}
