// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// What a step does with the table of one root entity.
package enum TablePlan {
  /// It is created empty.
  case create(TableLayout)
  /// Its rows stay in place; columns are renamed and added.
  case alter(TableLayout, from: TableLayout, AlteredColumns)
  /// Rows are copied into a new table. Those of several tables have got keys that do not collide.
  case rebuild(TableLayout, from: [TableLayout])
}

/// The changes to the columns of a table that stays.
package struct AlteredColumns {
  package var renamed: [(old: String, new: String)] = []
  package var added: [ColumnLayout] = []
  /// The new values of columns, for the rows of a source entity.
  package var updates: [(entity: EntityLayout, values: [(column: String, value: BoundSQL)])] = []

  /// Whether the table's definition stays as it is.
  package var isEmpty: Bool { renamed.isEmpty && added.isEmpty }
}

/// Decides whether a table is altered or rebuilt: rows stay in place where columns are only renamed, added or filled.
package struct TablePlanner {
  package let step: InPlaceStep
  private let tablesBySource: [String: Set<String>]

  package init(step: InPlaceStep) {
    self.step = step
    var tablesBySource: [String: Set<String>] = [:]
    for table in step.destinationSchema.tables {
      for pair in step.pairs(in: table) { tablesBySource[pair.source.table, default: []].insert(table.name) }
    }
    self.tablesBySource = tablesBySource
  }

  /// - Throws: `InPlaceProblem` for values that cannot be converted.
  package func plan(_ table: TableLayout) throws -> TablePlan {
    let pairs = step.pairs(in: table)
    let names = Set(pairs.map(\.source.table)).sorted()
    guard let name = names.first, let old = step.sourceSchema.table(named: name) else { return .create(table) }
    if names.count == 1, step.cleanup.spares(name, step.extraColumns[name] ?? []), tablesBySource[name]?.count == 1,
      nameIsFree(table.name, insteadOf: name),
      let columns = try alteredColumns(of: table, from: old, pairs)
    {
      return .alter(table, from: old, columns)
    }
    return .rebuild(table, from: names.compactMap { step.sourceSchema.table(named: $0) })
  }

  /// Whether a table can take the new name while the other tables still have their old ones.
  private func nameIsFree(_ name: String, insteadOf old: String) -> Bool {
    name == old || step.sourceSchema.table(named: name) == nil
  }

  /// The changes to columns; nil where the rows must be copied.
  private func alteredColumns(
    of table: TableLayout, from old: TableLayout,
    _ pairs: [(source: EntityLayout, destination: EntityLayout)]
  ) throws -> AlteredColumns? {
    let sources = try pairs.map { pair in
      (pair, try ColumnSources(step: step, source: pair.source, destination: pair.destination).all())
    }
    var result = AlteredColumns()
    var used: Set<String> = []
    var updates: [Int: [(column: String, value: BoundSQL)]] = [:]
    for column in table.columns.dropFirst(TableLayout.housekeepingColumns.count) {
      let values = sources.map { pair, columns in (pair, columns[column.name]) }
      let given = values.compactMap { pair, value in value.map { (pair, $0) } }
      if let origin = given.lazy.compactMap(\.1.origin).first,
        let oldColumn = old.columns.first(where: { $0.name == origin })
      {
        // Rows of entities that do not continue the old column must not keep its values, and only one column can replace it.
        guard oldColumn.type == column.type, used.insert(origin).inserted,
          values.allSatisfy({ pair, value in value.map { $0.origin == origin } ?? !uses(pair.source, origin) })
        else { return nil }
        if origin != column.name { result.renamed.append((origin, column.name)) }
      } else {
        result.added.append(column)
      }
      for (pair, value) in given {
        switch value {
        case .column, .constant(.null): continue
        case .changed(_, let change):
          updates[pair.source.number, default: []].append((column.name, change("\(column: column.name)")))
        case .constant(let constant):
          updates[pair.source.number, default: []].append((column.name, "\(value: constant)"))
        }
      }
    }
    let kept = Set(old.columns.map(\.name)).subtracting(TableLayout.housekeepingColumns.map(\.name))
    guard kept == used || step.cleanup == .deferred else { return nil }
    let taken = Set(old.columns.map(\.name)).union(step.extraColumns[old.name] ?? [])
    // A new name that another column still has would need a temporary name: copying is simpler and as safe.
    guard result.renamed.allSatisfy({ !taken.contains($0.new) }), result.added.allSatisfy({ !taken.contains($0.name) })
    else { return nil }
    result.updates = pairs.compactMap { pair in updates[pair.source.number].map { (pair.source, $0) } }
    return result
  }

  private func uses(_ entity: EntityLayout, _ column: String) -> Bool {
    let isOwnerKey = step.sourceSchema.entities.contains { owner in
      owner.relationships.values.contains { relationship in
        guard relationship.inverseName == nil, case .inverseForeignKey(entity.table, let key) = relationship.place
        else {
          return false
        }
        return [key.column, key.orderColumn].contains(column)
      }
    }
    return isOwnerKey || entity.attributes.values.contains { $0.columns.contains(column) }
      || entity.relationships.values.contains { relationship in
        guard case .foreignKey(let key) = relationship.place else { return false }
        return [key.column, key.entityColumn, key.orderColumn].contains(column)
      }
  }
}
