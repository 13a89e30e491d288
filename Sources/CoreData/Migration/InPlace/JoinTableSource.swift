// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Where the rows of a join table come from.
enum JoinTableSource {
  /// A join table that stays as it is.
  case same
  /// A query over one of the source's tables, which gives the columns in the order of `columns(of:)`.
  case query(JoinTableQuery)
  /// The relationship is new.
  case none
}

/// The parts of the query that fills a join table; the table may have got another name before it is carried out.
struct JoinTableQuery {
  let values: [String]
  let table: String
  let condition: String

  func sql(from table: String) -> String {
    "SELECT \(values.joined(separator: ", ")) FROM \(SQLName.quoted(table))\(condition)"
  }
}

/// Works out where the rows of a destination join table come from.
struct JoinTablePlanner {
  let step: InPlaceStep

  func plan(_ table: JoinTableLayout) -> JoinTableSource {
    if let old = step.sourceRelationshipLayout(of: table.relationship, in: table.ownerEntity) {
      return source(of: old, relationship: table.relationship, in: table, isOwner: true)
    }
    if let old = step.sourceRelationshipLayout(of: table.inverse, in: table.inverseEntity) {
      return source(of: old, relationship: table.inverse, in: table, isOwner: false)
    }
    return .none
  }

  /// The columns of a join table: its two keys, then its places.
  static func columns(of table: JoinTableLayout) -> [String] {
    [table.ownerColumn, table.destinationColumn] + [table.inverseOrderColumn, table.orderColumn].compactMap { $0 }
  }

  private func source(
    of old: RelationshipLayout, relationship: String, in table: JoinTableLayout, isOwner: Bool
  ) -> JoinTableSource {
    let near: String
    let far: String
    let from: String
    let order: String?
    let inverseOrder: String?
    var condition = ""
    switch old.place {
    case .joinTable(let end):
      if isUnchanged(end, table, isOwner: isOwner) { return .same }
      (near, far, from) = (end.sourceColumn, end.destinationColumn, end.table)
      (order, inverseOrder) = (end.orderColumn, end.inverseOrderColumn)
    case .foreignKey(let key):
      guard let owner = step.sourceSchema[old.declaringEntity] else { return .none }
      (near, far, from) = ("Z_PK", key.column, owner.table)
      (order, inverseOrder) = (nil, key.orderColumn)
      condition = self.condition(key.column, owner)
    case .inverseForeignKey(let childTable, let key):
      (near, far, from) = (key.column, "Z_PK", childTable)
      (order, inverseOrder) = (key.orderColumn, nil)
      condition = " WHERE \(SQLName.quoted(key.column)) IS NOT NULL"
    }
    let (owner, destination) = isOwner ? (near, far) : (far, near)
    let (forward, backward) = isOwner ? (order, inverseOrder) : (inverseOrder, order)
    var values = [SQLName.quoted(owner), SQLName.quoted(destination)]
    if table.inverseOrderColumn != nil {
      values.append(backward.map(SQLName.quoted) ?? place(of: owner, within: destination))
    }
    if table.orderColumn != nil {
      values.append(forward.map(SQLName.quoted) ?? place(of: destination, within: owner))
    }
    return .query(JoinTableQuery(values: values, table: from, condition: condition))
  }

  private func condition(_ column: String, _ owner: EntityLayout) -> String {
    let numbers = owner.numbers.map(String.init).joined(separator: ", ")
    return " WHERE \(SQLName.quoted(column)) IS NOT NULL AND Z_ENT IN (\(numbers))"
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
    "1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(SQLName.quoted(group)) ORDER BY \(SQLName.quoted(member)))"
  }
}
