// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Counts the rows of a step's entities, and knows which tables need no counting.
///
/// Counting scans the whole table, whereas adding a column to it takes a few milliseconds at any size. So rows are not
/// counted where the step cannot change their number: where the table and all its entities are kept, and no row changes its
/// entity. Nor are they counted before one statement without a condition copies a table: the statement reports how many rows
/// it has copied, and the copies are counted. Where SQLite has checked the file, which reads all of it, everything is
/// counted.
///
/// Counting never uses an index: one that does not fit its table would hide rows.
package struct RowCounter {
  private let step: InPlaceStep
  private let connection: SQLiteConnection
  /// The destination tables whose rows stay, by the names of the source tables: no row is moved or removed.
  private let steady: [String: String]
  /// The source tables that need not be counted: tables that stay and in which no row is written, tables with one entity,
  /// and tables that are copied as a whole.
  private let uncounted: Set<String>
  /// The source entities whose table is copied as a whole, by destination table.
  private let copied: [String: String]
  /// The destination tables that stay, but with a different set of entities.
  private let regrouped: Set<String>
  /// The destination tables that are rebuilt with rows of the source.
  package let madeTables: [String]
  /// Whether rows are copied, changed or removed. False where tables only get columns.
  package let movesRows: Bool

  /// - Throws: `InPlaceProblem` for changes that cannot be made inside the file.
  package init(step: InPlaceStep, connection: SQLiteConnection) throws {
    self.step = step
    self.connection = connection
    let planner = TablePlanner(step: step)
    var steady: [String: String] = [:]
    var uncounted: Set<String> = []
    var copied: [String: String] = [:]
    var regrouped: Set<String> = []
    var made: [String] = []
    var changesRows = !step.removedEntities.isEmpty
    for table in step.destinationSchema.tables {
      let plan = try planner.plan(table)
      if case .rebuild = plan { made.append(table.name) }
      if case .alter(_, _, let columns) = plan, !columns.updates.isEmpty { changesRows = true }
      if case .rebuild(_, let olds) = plan, olds.count == 1,
        let entity = Self.onlyEntity(of: olds[0], to: table, planner)
      {
        copied[table.name] = entity
        uncounted.insert(olds[0].name)
      }
      guard case .alter(_, let old, let columns) = plan else { continue }
      let pairs = step.pairs(in: table)
      let inSource = step.sourceSchema.entities(inTable: old.name)
      let inDestination = step.destinationSchema.entities(inTable: table.name)
      let keepsNumbers = pairs.allSatisfy { $0.source.number == $0.destination.number }
      let becomesAbstract = pairs.contains { $0.destination.isAbstract && !$0.source.isAbstract }
      guard pairs.count == inSource.count, pairs.count == inDestination.count, !becomesAbstract,
        pairs.count == 1 || keepsNumbers
      else {
        regrouped.insert(table.name)
        continue
      }
      steady[old.name] = table.name
      // Counting finds unknown entity numbers, which do not matter in a table with one entity.
      if inSource.count == 1 || (columns.updates.isEmpty && keepsNumbers) { uncounted.insert(old.name) }
    }
    self.steady = steady
    self.uncounted = uncounted
    self.copied = copied
    self.regrouped = regrouped
    madeTables = made
    movesRows = changesRows || !made.isEmpty || !regrouped.isEmpty
  }

  /// Whether rows of a destination table may have unknown entity numbers. Copying gives every row its number; where the only
  /// entity of a table stays, its rows can be read as before, whatever number they have.
  package func mayHaveStrays(_ table: TableLayout) -> Bool { regrouped.contains(table.name) }

  /// The only entity of a source table, where all its rows are copied into a table that gets no other rows.
  private static func onlyEntity(of old: TableLayout, to table: TableLayout, _ planner: TablePlanner) -> String? {
    let step = planner.step
    let entities = step.sourceSchema.entities(inTable: old.name)
    let pairs = step.pairs(in: table)
    guard entities.count == 1, let entity = entities.first, pairs.count == 1, let pair = pairs.first,
      pair.source.name == entity.name, !entity.isAbstract, !pair.destination.isAbstract,
      step.condition(entity) == nil, planner.isOnlyTable(of: old, table)
    else { return nil }
    return entity.name
  }

  /// The rows of the source entities.
  ///
  /// - Parameters:
  ///   - includingAll: whether tables are counted that need no counting.
  ///   - allowsStrays: whether rows with unknown entity numbers are ignored in tables that need no counting.
  ///   - known: rows by entity that have been counted before; tables whose entities are all known are not counted again.
  package func before(includingAll: Bool, allowsStrays: Bool, known: [String: Int] = [:]) throws -> [String: Int] {
    let kept = Set(
      step.sourceSchema.tables.map(\.name).filter { table in
        step.sourceSchema.entities(inTable: table).allSatisfy { known[$0.name] != nil }
      })
    let counted = try counts(of: step.sourceSchema, strays: allowsStrays ? uncounted : []) {
      !kept.contains($0) && (includingAll || !uncounted.contains($0))
    }
    return step.sourceSchema.entities.reduce(into: counted) { result, entity in
      if kept.contains(entity.table) { result[entity.name] = known[entity.name] }
    }
  }

  /// Records how many rows the copy of a whole table has found, where they have not been counted.
  package func note(_ count: Int, copiedInto table: String, in before: inout [String: Int]) {
    guard let entity = copied[table], before[entity] == nil else { return }
    before[entity] = count
  }

  /// The rows of the destination entities.
  ///
  /// - Parameter includingAll: whether rows are counted even where the step cannot change their number.
  package func after(_ before: [String: Int], includingAll: Bool) throws -> [String: Int] {
    let kept = includingAll ? [] : Set(steady.values)
    var counts = try counts(of: step.destinationSchema, strays: Set(steady.values)) { !kept.contains($0) }
    for entity in step.destinationSchema.entities where kept.contains(entity.table) {
      counts[entity.name] = step.mapping.sourceEntity(of: entity.name).flatMap { before[$0] }
    }
    return counts
  }

  /// - Parameter strays: the tables in which rows with unknown entity numbers are ignored.
  private func counts(
    of schema: StoreSchema, strays: Set<String>, where isWanted: (String) -> Bool
  ) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for table in schema.tables where isWanted(table.name) {
      let hierarchy = schema.entities(inTable: table.name)
      for entity in hierarchy { counts[entity.name] = 0 }
      let name = SQLName.quoted(table.name)
      if hierarchy.count == 1, let only = hierarchy.first {
        // Rows inserted by hand may have any number here.
        counts[only.name] = Int(try connection.scalar("SELECT COUNT(*) FROM \(name) NOT INDEXED")?.integer ?? 0)
        continue
      }
      let entities = Dictionary(uniqueKeysWithValues: hierarchy.map { (Int64($0.number), $0) })
      for row in try connection.rows("SELECT Z_ENT, COUNT(*) FROM \(name) NOT INDEXED GROUP BY Z_ENT") {
        let count = row[1].integer ?? 0
        guard let entity = row[0].integer.flatMap({ entities[$0] }) else {
          if strays.contains(table.name) { continue }
          throw InPlaceProblem(
            entity: table.rootEntity,
            reason:
              "The table \(table.name) has \(count) rows of an entity with the number \(row[0].shortLiteral), which the "
              + "store's model does not have.",
            suggestion: "Check the store; it was changed by something else than Core Data.")
        }
        counts[entity.name, default: 0] += Int(count)
      }
    }
    return counts
  }
}
