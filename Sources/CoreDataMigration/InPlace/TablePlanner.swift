// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The way in which a step produces the table of one root entity.
package enum TablePlan {
  /// The table is created empty.
  case create(TableLayout)
  /// The rows stay in place; columns are renamed and added.
  case alter(TableLayout, from: TableLayout, AlteredColumns)
  /// The rows are copied into a new table. Rows of several tables already have keys that do not collide.
  case rebuild(TableLayout, from: [TableLayout])
}

/// The changes to the columns of a table whose rows stay in place.
package struct AlteredColumns {
  package var renamed: [(old: String, new: String)] = []
  package var added: [ColumnLayout] = []
  /// The columns that no property uses anymore, sorted.
  package var removed: [String] = []
  /// The new values of columns, for the rows of a source entity.
  package var updates: [(entity: EntityLayout, values: [(column: String, value: ColumnSource)])] = []
  /// The names of new columns whose values are computed from columns that are not renamed to them. Also listed in
  /// `added`.
  package var recomputed: Set<String> = []
}

/// Decides whether to alter or to rebuild a table. Rows stay in place if columns are only renamed, added or filled.
package struct TablePlanner {
  package let step: InPlaceStep
  private let tablesBySource: [String: Set<String>]
  /// The columns used by each source entity's own properties.
  private let usedColumns: [String: Set<String>]
  /// The columns in each source table used by to-many relationships without inverse.
  private let ownerColumns: [String: Set<String>]

  package init(step: InPlaceStep) {
    self.step = step
    usedColumns = Dictionary(
      step.sourceSchema.entities.map { entity -> (String, Set<String>) in
        let keys = entity.relationships.values.flatMap { relationship -> [String?] in
          guard case .foreignKey(let key) = relationship.storage else { return [] }
          return [key.column, key.entityColumn, key.orderColumn]
        }
        return (entity.name, Set(entity.attributes.values.flatMap(\.columns) + keys.compactMap { $0 }))
      }
    ) { first, _ in first }
    ownerColumns = Dictionary(
      step.sourceSchema.tables.map { table -> (String, Set<String>) in
        let keys = step.sourceSchema.ownerKeys(inTable: table.name)
        return (table.name, Set(keys.flatMap { [$0.key.column, $0.key.orderColumn] }.compactMap { $0 }))
      }
    ) { first, _ in first }
    var tablesBySource: [String: Set<String>] = [:]
    for table in step.destinationSchema.tables {
      for pair in step.pairs(in: table) { tablesBySource[pair.source.table, default: []].insert(table.name) }
    }
    self.tablesBySource = tablesBySource
  }

  /// Returns the plan for a destination table.
  ///
  /// - Throws: `InPlaceProblem` for values that cannot be converted.
  package func plan(_ table: TableLayout) throws -> TablePlan {
    let pairs = step.pairs(in: table)
    let names = Set(pairs.map(\.source.table)).sorted()
    guard let name = names.first, let old = step.sourceSchema.table(named: name) else { return .create(table) }
    if names.count == 1, step.cleanup.spares(name, step.extraColumns[name] ?? []), isOnlyTable(of: old, table),
      nameIsFree(table.name, insteadOf: name)
    {
      let columns = try alteredColumns(of: table, from: old)
      if staysInPlace(columns, of: old, as: table) { return .alter(table, from: old, columns) }
    }
    return .rebuild(table, from: names.compactMap { step.sourceSchema.table(named: $0) })
  }

  /// Returns whether a table can take its new name while the other tables still have their old names.
  private func nameIsFree(_ name: String, insteadOf old: String) -> Bool {
    name == old || step.sourceSchema.table(named: name) == nil
  }

  /// Returns whether a destination table is the only one that gets rows of a source table.
  package func isOnlyTable(of source: TableLayout, _ table: TableLayout) -> Bool {
    tablesBySource[source.name] == [table.name]
  }

  /// Whether source columns are known to be NULL in rows of entities that do not use them. This is not known of files,
  /// which may come from anywhere.
  private var hasNoStrayValues: Bool { step.sourceSchema.dialect != .sqlite }

  /// Returns whether SQLite can make the changes without copying the rows.
  private func staysInPlace(_ columns: AlteredColumns, of old: TableLayout, as new: TableLayout) -> Bool {
    guard columns.recomputed.isEmpty, columns.removed.isEmpty || step.cleanup == .deferred else { return false }
    let extra = step.extraColumns[old.name] ?? []
    if new.leavesQualifiedName(extra.union(columns.removed)) { return false }
    let taken = Set(old.columns.map(\.name)).union(extra)
    // If another column still has the new name, a temporary name would be needed. Copying is simpler and as safe.
    return columns.renamed.allSatisfy { !taken.contains($0.new) }
      && columns.added.allSatisfy { !taken.contains($0.name) }
  }

  /// Returns the changes to the columns of a table that gets its rows from one source table.
  ///
  /// - Throws: `InPlaceProblem` for values that cannot be converted.
  package func alteredColumns(of table: TableLayout, from old: TableLayout) throws -> AlteredColumns {
    let pairs = step.pairs(in: table)
    // The sources of all columns for each pair, computed once, because a deep hierarchy has many pairs.
    let sources = try pairs.map { pair in
      try ColumnSources(step: step, source: pair.source, destination: pair.destination).all()
    }
    var result = AlteredColumns()
    var used: Set<String> = []
    var updates: [Int: [(column: String, value: ColumnSource)]] = [:]
    let isHousekeeping = Set(TableLayout.housekeepingColumns.map(\.role))
    let oldColumns = Dictionary(old.columns.map { ($0.name, $0) }) { first, _ in first }
    for column in table.columns where !isHousekeeping.contains(column.role) {
      let given = sources.indices.compactMap { pair in sources[pair][column.name].map { (pair, $0) } }
      let origins = Set(given.compactMap(\.1.origin))
      // Rows of entities that do not continue the old column must not keep its values. Only one column can replace it.
      func isContinued(_ oldColumn: ColumnLayout) -> Bool {
        oldColumn.type == column.type && !used.contains(oldColumn.name)
          && pairs.indices.allSatisfy { pair in
            let value = sources[pair][column.name]
            if let origin = value?.origin { return origin == oldColumn.name }
            return (value == nil || hasNoStrayValues) && !uses(pairs[pair].source, oldColumn.name)
          }
      }
      let origin = origins.count == 1 ? origins.first.flatMap { oldColumns[$0] } : nil
      let replaced = origin.flatMap { isContinued($0) ? $0 : nil }
      if let replaced {
        used.insert(replaced.name)
        if replaced.name != column.name { result.renamed.append((replaced.name, column.name)) }
      } else {
        result.added.append(column)
        if !origins.isEmpty { result.recomputed.insert(column.name) }
      }
      for (pair, value) in given {
        switch value {
        case .column where replaced != nil: continue
        case _ where value.isNothing: continue
        default: updates[pairs[pair].source.number, default: []].append((column.name, value))
        }
      }
    }
    result.removed = old.columns.filter { !isHousekeeping.contains($0.role) && !used.contains($0.name) }
      .map(\.name).sorted()
    result.updates = pairs.compactMap { pair in updates[pair.source.number].map { (pair.source, $0) } }
    return result
  }

  private func uses(_ entity: EntityLayout, _ column: String) -> Bool {
    (ownerColumns[entity.table] ?? []).contains(column) || (usedColumns[entity.name] ?? []).contains(column)
  }
}

/// The source of a join table's rows.
package enum JoinTableSource {
  /// A join table that does not change.
  case same
  /// A query over the source tables that returns the columns in the order of `columns(of:)`.
  case query(JoinTableQuery)
  /// No source, because the relationship is new.
  case none
}

/// The parts of the query that fills a join table. Tables may have been renamed when it is executed.
package struct JoinTableQuery {
  package let values: [String]
  /// The source relationships with pairs for the table, and whether each is the owner's side.
  package let pairs: [(pairs: RelationshipPairs, fromOwner: Bool)]
  /// NULL with the type of an order key.
  package let missingKey: String

  /// The tables that contain the pairs, sorted.
  package var tables: [String] { Set(pairs.map(\.pairs.table)).sorted() }

  package func sql(names: [String: String]) -> String {
    "SELECT \(values.joined(separator: ", ")) FROM (\(source(names))) AS j"
  }

  private func source(_ names: [String: String]) -> String {
    let queries = pairs.flatMap { $0.pairs.queries(fromOwner: $0.fromOwner, names: names) }
      .joined(separator: " UNION ALL ")
    guard Set(pairs.map(\.fromOwner)).count > 1 else { return queries }
    // Merge a pair present on both sides into one row with the order keys of both.
    let pairQueries = pairs.flatMap { known in
      known.pairs.queries(fromOwner: known.fromOwner, names: names).map { query in
        let places =
          known.fromOwner ? "PLACE, \(missingKey) AS OWNERPLACE" : "\(missingKey) AS PLACE, OWNERPLACE"
        return "SELECT OWNER, MEMBER, \(places) FROM (\(query)) AS q"
      }
    }
    return "SELECT OWNER, MEMBER, MAX(PLACE) AS PLACE, MAX(OWNERPLACE) AS OWNERPLACE FROM "
      + "(\(pairQueries.joined(separator: " UNION ALL "))) AS t GROUP BY OWNER, MEMBER"
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
    if forward.count + backward.count == 1, case .joinTable(let end) = first.storage,
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
          + backward.map { (RelationshipPairs(of: $0, in: step.sourceSchema), false) },
        missingKey: step.sourceSchema.dialect.missingKey))
  }

  /// Returns the source join table that has the same rows as a destination table, possibly with other names.
  package func renamed(_ table: JoinTableLayout) -> JoinTableLayout? {
    let (forward, backward) = sources(of: table)
    guard forward.count == 1, backward.isEmpty, let first = forward.first, case .joinTable(let end) = first.storage,
      let old = step.sourceSchema.joinTable(named: end.table),
      old.ownerColumn == end.sourceColumn, old.isReflexive == table.isReflexive
    else { return nil }
    let hasOrder = table.orderColumn == nil || old.orderColumn != nil
    let hasInverseOrder = table.inverseOrderColumn == nil || old.inverseOrderColumn != nil
    return hasOrder && hasInverseOrder ? old : nil
  }

  /// Returns statements that delete rows whose objects no longer exist or have an entity that the relationship does not
  /// allow.
  package func forgetting(_ table: JoinTableLayout) -> [MigrationStatement] {
    let (forward, backward) = sources(of: table)
    let owners = forward.map(\.declaringEntity) + backward.map(\.destinationEntity)
    let members = forward.map(\.destinationEntity) + backward.map(\.declaringEntity)
    let name = SQLName.quoted(table.name)
    var conditions: [String] = []
    if owners.contains(where: { step.losesObjects(from: $0, to: table.ownerEntity) }) {
      conditions.append(step.isMissing("\(name).\(SQLName.quoted(table.ownerColumn))", from: table.ownerEntity))
    }
    if members.contains(where: { step.losesObjects(from: $0, to: table.inverseEntity) }) {
      conditions.append(
        step.isMissing("\(name).\(SQLName.quoted(table.destinationColumn))", from: table.inverseEntity))
    }
    guard !conditions.isEmpty else { return [] }
    return [
      MigrationStatement(
        "DELETE FROM \(name) WHERE \(conditions.joined(separator: " OR "))", [],
        .rows(table: table.name))
    ]
  }

  /// Returns the columns of a join table: its two keys, then its order keys.
  package static func columns(of table: JoinTableLayout) -> [String] {
    [table.ownerColumn, table.destinationColumn] + [table.inverseOrderColumn, table.orderColumn].compactMap { $0 }
  }

  private func sources(of table: JoinTableLayout) -> (forward: [RelationshipLayout], backward: [RelationshipLayout]) {
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

  /// Returns an expression for order keys of a new order: first the members that had one, then by primary key, with
  /// Core Data's spacing.
  private func place(
    of member: String, after place: String, _ sources: [RelationshipLayout], within group: String
  ) -> String {
    let isOrdered = !sources.isEmpty && sources.allSatisfy(\.isOrdered)
    let order = isOrdered ? "\(place) IS NULL, \(place), \(member)" : member
    return "1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(group) ORDER BY \(order))"
  }
}
