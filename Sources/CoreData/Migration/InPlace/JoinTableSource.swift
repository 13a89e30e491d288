// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Where the rows of a join table come from.
enum JoinTableSource {
  /// A join table that stays as it is.
  case same
  /// A query over the source's tables, which gives the columns in the order of `columns(of:)`.
  case query(JoinTableQuery)
  /// The relationship is new.
  case none
}

/// The parts of the query that fills a join table; tables may have got other names before it is carried out.
struct JoinTableQuery {
  let values: [String]
  let pairs: [RelationshipPairs]

  func sql(names: [String: String]) -> String {
    let queries = pairs.flatMap { $0.queries(reversed: false, names: names) }
    return "SELECT \(values.joined(separator: ", ")) FROM (\(queries.joined(separator: " UNION ALL ")))"
  }
}

/// Works out where the rows of a destination join table come from.
struct JoinTablePlanner {
  let step: InPlaceStep

  func plan(_ table: JoinTableLayout) -> JoinTableSource {
    let (forward, backward) = sources(of: table)
    let olds = forward.isEmpty ? backward : forward
    guard let first = olds.first else { return .none }
    let keepsOrder = !forward.isEmpty && forward.allSatisfy(\.isOrdered)
    let keepsInverseOrder = !backward.isEmpty && backward.allSatisfy(\.isOrdered)
    if olds.count == 1, case .joinTable(let end) = first.place, isUnchanged(end, table, isOwner: !forward.isEmpty),
      table.orderColumn == nil || keepsOrder, table.inverseOrderColumn == nil || keepsInverseOrder
    {
      return .same
    }
    let (owner, member, place, ownerPlace) =
      forward.isEmpty ? ("MEMBER", "OWNER", "OWNERPLACE", "PLACE") : ("OWNER", "MEMBER", "PLACE", "OWNERPLACE")
    var values = [owner, member]
    if table.inverseOrderColumn != nil {
      values.append(keepsInverseOrder ? ownerPlace : self.place(of: owner, within: member))
    }
    if table.orderColumn != nil { values.append(keepsOrder ? place : self.place(of: member, within: owner)) }
    return .query(JoinTableQuery(values: values, pairs: olds.map { RelationshipPairs(of: $0, step: step) }))
  }

  /// Takes rows out whose objects are gone, or are of another kind now.
  func forgetting(_ table: JoinTableLayout) -> [MigrationStatement] {
    let (forward, backward) = sources(of: table)
    let owners = forward.isEmpty ? backward.map(\.destinationEntity) : forward.map(\.declaringEntity)
    let members = forward.isEmpty ? backward.map(\.declaringEntity) : forward.map(\.destinationEntity)
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

  /// The columns of a join table: its two keys, then its places.
  static func columns(of table: JoinTableLayout) -> [String] {
    [table.ownerColumn, table.destinationColumn] + [table.inverseOrderColumn, table.orderColumn].compactMap { $0 }
  }

  private func sources(
    of table: JoinTableLayout
  ) -> (forward: [RelationshipLayout], backward: [RelationshipLayout]) {
    (
      step.sourceRelationshipLayouts(of: table.relationship, in: table.ownerEntity),
      step.sourceRelationshipLayouts(of: table.inverse, in: table.inverseEntity)
    )
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

  /// Places in an order that is new: by primary key, spaced as Core Data spaces them.
  private func place(of member: String, within group: String) -> String {
    "1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(group) ORDER BY \(member))"
  }
}
