// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The source of a join table's rows.
package enum JoinTableSource {
  /// A join table that stays as it is.
  case same
  /// A query over the source's tables that returns the columns in the order of `columns(of:)`.
  case query(JoinTableQuery)
  /// The relationship is new.
  case none
}

/// The parts of the query that fills a join table. Tables may have been renamed when it is executed.
package struct JoinTableQuery {
  package let values: [String]
  /// The source relationships with pairs for the table, each with whether it is the owner's side.
  package let pairs: [(pairs: RelationshipPairs, fromOwner: Bool)]

  package func sql(names: [String: String]) -> String {
    "SELECT \(values.joined(separator: ", ")) FROM (\(source(names)))"
  }

  private func source(_ names: [String: String]) -> String {
    let queries = pairs.flatMap { $0.pairs.queries(fromOwner: $0.fromOwner, names: names) }
      .joined(separator: " UNION ALL ")
    guard Set(pairs.map(\.fromOwner)).count > 1 else { return queries }
    // A pair that both sides had becomes one row, with the order keys of either side.
    let told = pairs.flatMap { known in
      known.pairs.queries(fromOwner: known.fromOwner, names: names).map { query in
        let places = known.fromOwner ? "PLACE, NULL AS OWNERPLACE" : "NULL AS PLACE, OWNERPLACE"
        return "SELECT OWNER, MEMBER, \(places) FROM (\(query))"
      }
    }
    return "SELECT OWNER, MEMBER, MAX(PLACE) AS PLACE, MAX(OWNERPLACE) AS OWNERPLACE FROM "
      + "(\(told.joined(separator: " UNION ALL "))) GROUP BY OWNER, MEMBER"
  }
}

/// Determines the source of the rows of a destination join table.
package struct JoinTablePlanner {
  package let step: InPlaceStep

  package func plan(_ table: JoinTableLayout) -> JoinTableSource {
    let (forward, backward) = sources(of: table)
    guard let first = (forward + backward).first else { return .none }
    let known = forward.isEmpty ? [] : backward
    // If the two sides were inverses in the source, one side has all pairs.
    let inverses = step.sourceRelationshipLayouts(of: table.inverse, in: table.inverseEntity)
    let keepsOrder = known.isEmpty && !forward.isEmpty && forward.allSatisfy(\.isOrdered)
    let keepsInverseOrder = known.isEmpty && !inverses.isEmpty && inverses.allSatisfy(\.isOrdered)
    if forward.count + backward.count == 1, case .joinTable(let end) = first.place,
      isUnchanged(end, table, isOwner: !forward.isEmpty),
      table.orderColumn == nil || keepsOrder, table.inverseOrderColumn == nil || keepsInverseOrder
    {
      return .same
    }
    var values = ["OWNER", "MEMBER"]
    if table.inverseOrderColumn != nil {
      values.append(
        keepsInverseOrder ? "OWNERPLACE" : place(of: "OWNER", after: "OWNERPLACE", inverses, within: "MEMBER"))
    }
    if table.orderColumn != nil {
      values.append(keepsOrder ? "PLACE" : place(of: "MEMBER", after: "PLACE", forward, within: "OWNER"))
    }
    return .query(
      JoinTableQuery(
        values: values,
        pairs: forward.map { (RelationshipPairs(of: $0, in: step.sourceSchema), true) }
          + backward.map { (RelationshipPairs(of: $0, in: step.sourceSchema), false) }))
  }

  /// Deletes rows whose objects are gone, or are of an entity that the relationship does not allow.
  package func forgetting(_ table: JoinTableLayout) -> [MigrationStatement] {
    let (forward, backward) = sources(of: table)
    let owners = forward.map(\.declaringEntity) + backward.map(\.destinationEntity)
    let members = forward.map(\.destinationEntity) + backward.map(\.declaringEntity)
    var conditions: [String] = []
    if owners.contains(where: { step.losesObjects(from: $0, to: table.ownerEntity) }) {
      conditions.append("\(SQLName.quoted(table.ownerColumn)) NOT IN \(step.keys(of: table.ownerEntity))")
    }
    if members.contains(where: { step.losesObjects(from: $0, to: table.inverseEntity) }) {
      conditions.append("\(SQLName.quoted(table.destinationColumn)) NOT IN \(step.keys(of: table.inverseEntity))")
    }
    guard !conditions.isEmpty else { return [] }
    return [
      MigrationStatement(
        "DELETE FROM \(SQLName.quoted(table.name)) WHERE \(conditions.joined(separator: " OR "))", [],
        .rows(table: table.name))
    ]
  }

  /// The columns of a join table: its two keys, then its order keys.
  package static func columns(of table: JoinTableLayout) -> [String] {
    [table.ownerColumn, table.destinationColumn] + [table.inverseOrderColumn, table.orderColumn].compactMap { $0 }
  }

  private func sources(
    of table: JoinTableLayout
  ) -> (forward: [RelationshipLayout], backward: [RelationshipLayout]) {
    let layouts = step.sourceLayouts(
      of: table.relationship, in: table.ownerEntity, inverse: table.inverse, in: table.inverseEntity)
    return (layouts.own, layouts.inverse)
  }

  private func isUnchanged(_ end: JoinEnd, _ table: JoinTableLayout, isOwner: Bool) -> Bool {
    let new =
      isOwner
      ? table.end(entity: table.ownerEntity, relationship: table.relationship)
      : JoinEnd(
        table: table.name, sourceColumn: table.destinationColumn, destinationColumn: table.ownerColumn,
        orderColumn: table.inverseOrderColumn, inverseOrderColumn: table.orderColumn)
    return end == new
  }

  /// Order keys where the order is new: first the members that had one, then by primary key, spaced as Core Data spaces them.
  private func place(
    of member: String, after place: String, _ sources: [RelationshipLayout], within group: String
  ) -> String {
    let isOrdered = !sources.isEmpty && sources.allSatisfy(\.isOrdered)
    let order = isOrdered ? "\(place) IS NULL, \(place), \(member)" : member
    return "1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(group) ORDER BY \(order))"
  }
}
