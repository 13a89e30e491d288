// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Deletes a set of rows according to the deletion rules of their relationships.
struct BatchDelete {
  private let run: BatchRun

  init(_ run: BatchRun) {
    self.run = run
  }

  /// Adds the rows that cascading rules delete too, and deletes all of them.
  ///
  /// - Throws: 1600 if a rule denies the deletion, 1570 if a required relationship would lose its object.
  func perform(_ rows: BatchRows) throws {
    try cascade(rows)
    let layouts = try rows.entityLayouts()
    for layout in layouts { try checkDenials(rows, layout) }
    for layout in layouts { try clearInverses(rows, layout) }
    try run.recordDeletions(rows)
    try run.noteReplacedFiles(rows)
    for layout in layouts { try forgetRelationships(rows, layout) }
    for layout in rootLayouts(of: layouts) {
      try run.database.run(
        "DELETE FROM \(SQLName.quoted(layout.table)) WHERE \(rows.contains("Z_PK", root: layout.rootNumber))")
    }
    for layout in rootLayouts(of: layouts) { try BatchDerivations(run).updateOthers(affected: layout) }
  }

  private func rootLayouts(of layouts: [EntityLayout]) -> [EntityLayout] {
    Set(layouts.map(\.rootNumber)).sorted().compactMap { run.entities.schema.entity(number: $0) }
  }

  /// Returns the relationships of an entity with a given deletion rule, by name.
  private func relationships(
    _ layout: EntityLayout, _ rules: Set<NSDeleteRule>
  ) -> [(layout: RelationshipLayout, description: NSRelationshipDescription)] {
    let descriptions = run.entities.description(number: layout.number)?.relationshipsByName ?? [:]
    return layout.relationships.values.sorted { $0.name < $1.name }.compactMap { relationship in
      guard let description = descriptions[relationship.name], rules.contains(description.deleteRule) else {
        return nil
      }
      return (relationship, description)
    }
  }

  /// Returns a query for the keys of a relationship's destinations from the rows of one entity.
  private func members(_ relationship: RelationshipLayout, _ layout: EntityLayout, _ rows: BatchRows) -> String {
    let owners = "SELECT Z_PK FROM \(rows.table) WHERE Z_ENT = \(layout.number)"
    return RelationshipPairs(of: relationship, in: run.entities.schema).queries(fromOwner: true)
      .map { "SELECT MEMBER FROM (\($0)) p WHERE OWNER IN (\(owners))" }.joined(separator: " UNION ")
  }

  private func cascade(_ rows: BatchRows) throws {
    var count = -1
    while true {
      let now = try rows.count()
      if now == count { return }
      count = now
      for layout in try rows.entityLayouts() {
        for (relationship, _) in relationships(layout, [.cascadeDeleteRule]) {
          guard let destination = run.entities.schema[relationship.destinationEntity] else { continue }
          try rows.add(
            """
            SELECT \(raw: "\(destination.rootNumber)"), Z_PK, Z_ENT FROM \(column: destination.table) \
            WHERE Z_PK IN (\(raw: members(relationship, layout, rows)))
            """,
            like: destination)
        }
      }
    }
  }

  private func checkDenials(_ rows: BatchRows, _ layout: EntityLayout) throws {
    for (relationship, _) in relationships(layout, [.denyDeleteRule]) {
      guard let destination = run.entities.schema[relationship.destinationEntity] else { continue }
      let remaining =
        "SELECT 1 FROM \(SQLName.quoted(destination.table)) "
        + "WHERE Z_PK IN (\(members(relationship, layout, rows))) "
        + "AND NOT \(rows.contains("Z_PK", root: destination.rootNumber)) LIMIT 1"
      if try run.database.scalar(remaining) != nil {
        throw BatchErrors.deniedDelete(relationship.name, of: layout.name)
      }
    }
  }

  /// Clears the to-one relationships of remaining rows that refer to deleted rows of an entity.
  private func clearInverses(_ rows: BatchRows, _ layout: EntityLayout) throws {
    for (relationship, description) in relationships(layout, [.nullifyDeleteRule, .cascadeDeleteRule]) {
      guard let inverse = description.inverseRelationship, !inverse.isToMany,
        let destination = run.entities.schema[inverse.owningEntity?.name ?? relationship.destinationEntity],
        case .foreignKey(let key)? = destination.relationships[inverse.name]?.storage
      else { continue }
      let others = try run.rows()
      let owners = "SELECT Z_PK FROM \(rows.table) WHERE Z_ENT = \(layout.number)"
      try others.add(
        """
        SELECT \(raw: "\(destination.rootNumber)"), Z_PK, Z_ENT FROM \(column: destination.table) \
        WHERE \(column: key.column) IN (\(raw: owners)) \
        AND NOT \(raw: rows.contains("Z_PK", root: destination.rootNumber))
        """,
        like: destination)
      if try others.count() == 0 { continue }
      if !inverse.isOptional {
        throw BatchErrors.mandatoryInverse(inverse.name, of: destination.name, deleting: layout.name)
      }
      let columns = [key.column, key.entityColumn, key.orderColumn].compactMap { $0 }
      try run.assign(columns.map { "\(column: $0) = NULL" }, to: others, in: destination)
      try run.recordUpdates(of: [inverse.name], others)
    }
  }

  /// Removes join table rows and the keys of relationships without inverse, as a save does.
  private func forgetRelationships(_ rows: BatchRows, _ layout: EntityLayout) throws {
    let owners = "(SELECT Z_PK FROM \(rows.table) WHERE Z_ENT = \(layout.number))"
    for relationship in layout.relationships.values {
      switch relationship.storage {
      case .foreignKey: continue
      case .inverseForeignKey(let table, let key):
        guard relationship.inverseName == nil else { continue }
        let column = SQLName.quoted(key.column)
        try run.database.run(
          "UPDATE \(SQLName.quoted(table)) SET \(column) = NULL WHERE \(column) IN \(owners)")
      case .joinTable(let end):
        let table = SQLName.quoted(end.table)
        try run.database.run("DELETE FROM \(table) WHERE \(SQLName.quoted(end.sourceColumn)) IN \(owners)")
        if end.isReflexive {
          try run.database.run("DELETE FROM \(table) WHERE \(SQLName.quoted(end.destinationColumn)) IN \(owners)")
        }
      }
    }
  }
}
