// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The pairs of objects that a relationship of the source joins, as queries over its tables.
package struct RelationshipPairs {
  private let near: String
  private let far: String
  private let order: String?
  private let inverseOrder: String?
  private let table: String
  private let condition: String
  /// Whether a pair counts in both directions, though it may stand in the table once.
  private let isReflexive: Bool

  package init(of layout: RelationshipLayout, step: InPlaceStep) {
    switch layout.place {
    case .joinTable(let end):
      (near, far, table) = (end.sourceColumn, end.destinationColumn, end.table)
      (order, inverseOrder) = (end.orderColumn, end.inverseOrderColumn)
      (condition, isReflexive) = ("", end.isReflexive)
    case .foreignKey(let key):
      let owner = step.sourceSchema[layout.declaringEntity]
      (near, far, table) = ("Z_PK", key.column, owner?.table ?? "")
      (order, inverseOrder) = (nil, key.orderColumn)
      (condition, isReflexive) = (" WHERE \(SQLName.quoted(key.column)) IS NOT NULL", false)
    case .inverseForeignKey(let childTable, let key):
      (near, far, table) = (key.column, "Z_PK", childTable)
      (order, inverseOrder) = (key.orderColumn, nil)
      (condition, isReflexive) = (" WHERE \(SQLName.quoted(key.column)) IS NOT NULL", false)
    }
  }

  /// Queries for OWNER, MEMBER, PLACE and OWNERPLACE: two objects that are joined, and their places among each other's.
  ///
  /// - Parameters:
  ///   - fromOwner: whether the object that has the relationship is called the owner, and the one that it leads to the
  ///     member; else the other way round.
  ///   - names: what tables are called now, by the names that they had in the source.
  package func queries(fromOwner: Bool, names: [String: String] = [:]) -> [String] {
    let (near, far) = (SQLName.quoted(near), SQLName.quoted(far))
    let (place, back) = (order.map(SQLName.quoted) ?? "NULL", inverseOrder.map(SQLName.quoted) ?? "NULL")
    func query(_ near: String, _ far: String) -> String {
      let values =
        fromOwner
        ? "\(near) AS OWNER, \(far) AS MEMBER, \(place) AS PLACE, \(back) AS OWNERPLACE"
        : "\(far) AS OWNER, \(near) AS MEMBER, \(back) AS PLACE, \(place) AS OWNERPLACE"
      return "SELECT \(values) FROM \(SQLName.quoted(names[table] ?? table))\(condition)"
    }
    return isReflexive ? [query(near, far), query(far, near)] : [query(near, far)]
  }
}
