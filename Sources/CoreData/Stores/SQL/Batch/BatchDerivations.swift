// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Updates derived attributes after rows were changed without objects.
struct BatchDerivations {
  private let run: BatchRun

  init(_ run: BatchRun) {
    self.run = run
  }

  /// Computes the derived attributes of rows that were inserted or updated. Their versions do not grow for this.
  ///
  /// - Parameters:
  ///   - changed: the properties that have changed; nil for all.
  ///   - keepsTimes: whether derived times of changes stay, since only other derived values have changed.
  func updateRows(_ rows: BatchRows, changed: Set<String>? = nil, keepsTimes: Bool = false) throws {
    if run.derivations.isEmpty { return }
    for layout in try rows.entityLayouts() {
      guard let entity = run.entities.description(number: layout.number) else { continue }
      for rule in run.derivations.rules(of: entity) where changed.map({ rule.concerns($0) }) ?? true {
        if keepsTimes && rule.isTimed { continue }
        guard let attribute = entity.attributesByName[rule.name], let stored = layout.attributes[rule.name],
          stored.column != nil
        else { continue }
        let found = try run.rows(values: [stored.kind])
        try found.add(layout.number, from: rows)
        try BatchValues(run: run, layout: layout, attribute: attribute).compute(
          rule.expression, in: found, position: 0)
        try run.assign(run.assignments(of: stored, 0, found, layout), to: found, in: layout, isNewVersion: false)
      }
    }
  }

  /// A derived attribute of an entity, and its value in SQL.
  private struct Derived {
    let name: String
    let stored: AttributeLayout
    /// The value that is stored now, in a form that can be compared with the new one.
    let present: BoundSQL
    let value: BoundSQL
  }

  /// Computes the derived attributes of other rows that refer to changed or deleted rows of an entity, and those that
  /// depend on these.
  ///
  /// - Parameter depth: the number of derived values between these and the changed rows.
  func updateOthers(affected: EntityLayout, depth: Int = 0) throws {
    if run.derivations.isEmpty || depth == Derivations.maximumDepth { return }
    for layout in run.entities.schema.entities {
      let names = AliasNames()
      let scope = SQLScope(entity: layout, names: names)
      let derived = try self.derived(of: layout, affected: affected, scope, names)
      if derived.isEmpty { continue }
      let found = try run.rows(values: derived.map(\.stored.kind))
      let list = derived.map(\.value).joined(", ")
      let isDifferent = run.database.dialect.isDifferent
      let test = derived.map { "\($0.present) \(raw: isDifferent) \($0.value)" as BoundSQL }.joined(" OR ")
      let numbers = layout.numbers.map(String.init).joined(separator: ", ")
      let isShared = (run.entities.schema.entity(number: layout.rootNumber)?.numbers.count ?? 1) > 1
      let entities = isShared ? " AND \(scope.alias).Z_ENT IN (\(numbers))" : ""
      try found.add(
        """
        SELECT \(raw: "\(layout.rootNumber)"), \(raw: scope.alias).Z_PK, \(raw: scope.alias).Z_ENT, \(list) \
        FROM \(column: layout.table) \(raw: scope.alias)\(raw: scope.joins) WHERE (\(test))\(raw: entities)
        """,
        values: derived.count, like: layout)
      if try found.count() == 0 { continue }
      var changed: Set<String> = []
      var assignments: [BoundSQL] = []
      for (position, attribute) in derived.enumerated() where try differs(attribute, position, found, scope, layout) {
        changed.insert(attribute.name)
        assignments += run.assignments(of: attribute.stored, position, found, layout)
      }
      try run.assign(assignments, to: found, in: layout)
      try updateRows(found, changed: changed, keepsTimes: true)
      try run.recordUpdates(of: changed, found)
      try updateOthers(affected: layout, depth: depth + 1)
    }
  }

  /// Returns whether the new value of an attribute differs from the old one in any row.
  private func differs(
    _ derived: Derived, _ position: Int, _ rows: BatchRows, _ scope: SQLScope, _ layout: EntityLayout
  ) throws -> Bool {
    let alias = scope.alias
    let query: BoundSQL = """
      SELECT 1 FROM \(raw: rows.table) b JOIN \(column: layout.table) \(raw: alias) ON \(raw: alias).Z_PK = b.Z_PK \
      WHERE \(derived.present) \(raw: run.database.dialect.isDifferent) b.V\(raw: "\(position)") LIMIT 1
      """
    return try run.database.scalar(query.sql, query.values) != nil
  }

  /// Returns the derived attributes that an entity declares and that depend on another entity.
  private func derived(
    of layout: EntityLayout, affected: EntityLayout, _ scope: SQLScope, _ names: AliasNames
  ) throws -> [Derived] {
    guard let entity = run.entities.description(number: layout.number) else { return [] }
    return try run.derivations.rules(of: entity).compactMap { rule in
      guard !rule.isTimed, entity.superentity?.attributesByName[rule.name] == nil,
        leads(rule, from: entity, to: affected), let attribute = entity.attributesByName[rule.name],
        let stored = layout.attributes[rule.name], let column = stored.column
      else { return nil }
      do {
        let values = BatchValues(run: run, layout: layout, attribute: attribute)
        // In PostgreSQL, a column's type may differ from that of calculated values.
        let present: BoundSQL =
          run.database.dialect == .sqlite
          ? "\(raw: scope.alias).\(column: column)" : try values.operand(.keyPath(rule.name), scope, names)
        return Derived(
          name: rule.name, stored: stored, present: present, value: try values.operand(rule.expression, scope, names))
      } catch let obstacle as NotExpressibleInSQL {
        throw BatchErrors.badRequest(
          "The derived attribute '\(rule.name)' of '\(layout.name)' depends on the changed objects, and SQL cannot "
            + "compute \(obstacle).", entity: layout.name, property: rule.name,
          suggestion: "Change the objects in a context, which computes it.")
      }
    }
  }

  /// Returns the tables whose rows `updateOthers(affected:)` may change.
  func tables(affectedBy affected: EntityLayout) -> Set<String> {
    if run.derivations.isEmpty { return [] }
    return Set(
      run.entities.schema.entities.compactMap { layout in
        guard let entity = run.entities.description(number: layout.number) else { return nil }
        return run.derivations.rules(of: entity).contains { leads($0, from: entity, to: affected) } ? layout.table : nil
      })
  }

  /// Returns whether a key path of a rule crosses a relationship to an entity, to one of its ancestors, or to one of
  /// its sub-entities.
  private func leads(_ rule: Derivations.Rule, from entity: NSEntityDescription, to affected: EntityLayout) -> Bool {
    rule.expression.keyPaths.contains { path in
      var source = entity
      for key in path.split(separator: ".").map(String.init) where !key.hasPrefix("@") {
        guard let destination = source.relationshipsByName[key]?.destinationEntity else { return false }
        if run.entities.schema[destination.name ?? ""]?.rootNumber == affected.rootNumber { return true }
        source = destination
      }
      return false
    }
  }
}

extension Derivations.Rule {
  /// Returns whether changes of an object's properties require a new value.
  func concerns(_ changed: Set<String>) -> Bool { isTimed || !triggers.isDisjoint(with: changed) }
}
