// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Counts the rows of a step's entities, and determines which tables need not be counted.
///
/// Counting scans the whole table, whereas adding a column takes a few milliseconds for tables of any size. Therefore
/// rows are not counted if the step cannot change their number: if the table and all its entities are kept, and no row
/// changes its entity. Nor are they counted before a single statement without a condition copies a table: the statement
/// reports the number of copied rows, and the copies are counted. If SQLite has checked the file, which reads all of
/// it, everything is counted.
///
/// Counting never uses an index: an index that does not match its table would hide rows.
package struct RowCounter {
  private let step: InPlaceStep
  private let connection: SQLiteConnection
  /// The destination tables whose rows are neither moved nor removed, by source table.
  private let steady: [String: String]
  /// The source tables that need not be counted: tables that stay and either are not written or have only one entity,
  /// and tables that are copied as a whole.
  private let uncounted: Set<String>
  /// The source entities whose tables are copied as a whole, by destination table.
  private let copied: [String: String]
  /// The destination tables whose rows stay, but whose set of entities changes.
  private let regrouped: Set<String>
  /// The destination tables that are rebuilt from rows of the source.
  package let madeTables: [String]
  /// Whether rows are copied, changed or removed. False if tables only get columns.
  package let movesRows: Bool

  /// Determines the tables to count.
  ///
  /// - Throws: `InPlaceProblem` for changes that cannot be made in place.
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
      // Counting detects unknown entity numbers, which do not matter in a table with one entity.
      if inSource.count == 1 || (columns.updates.isEmpty && keepsNumbers) { uncounted.insert(old.name) }
    }
    self.steady = steady
    self.uncounted = uncounted
    self.copied = copied
    self.regrouped = regrouped
    madeTables = made
    movesRows = changesRows || !made.isEmpty || !regrouped.isEmpty
  }

  /// Returns whether rows of a destination table may have unknown entity numbers.
  ///
  /// Copying sets the number of every row. If the only entity of a table stays, its rows can be read as before,
  /// whatever their number.
  package func mayHaveStrays(_ table: TableLayout) -> Bool { regrouped.contains(table.name) }

  /// Returns the only entity of a source table if all its rows are copied into a table that gets no other rows.
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

  /// Returns the row counts of the source entities.
  ///
  /// - Parameters:
  ///   - includingAll: Whether to count also tables that need not be counted.
  ///   - allowsStrays: Whether to ignore rows with unknown entity numbers in tables that need not be counted.
  ///   - known: The known row counts by entity. Tables whose entities are all known are not counted again.
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

  /// Records the number of rows found by copying a whole table, if they have not been counted.
  package func note(_ count: Int, copiedInto table: String, in before: inout [String: Int]) {
    guard let entity = copied[table], before[entity] == nil else { return }
    before[entity] = count
  }

  /// Returns the row counts of the destination entities.
  ///
  /// - Parameter includingAll: Whether to count also rows whose number the step cannot change.
  package func after(_ before: [String: Int], includingAll: Bool) throws -> [String: Int] {
    let kept = includingAll ? [] : Set(steady.values)
    var counts = try counts(of: step.destinationSchema, strays: Set(steady.values)) { !kept.contains($0) }
    for entity in step.destinationSchema.entities where kept.contains(entity.table) {
      counts[entity.name] = step.mapping.sourceEntity(of: entity.name).flatMap { before[$0] }
    }
    return counts
  }

  /// Counts the rows of entities.
  ///
  /// - Parameter strays: The tables in which rows with unknown entity numbers are ignored.
  private func counts(
    of schema: StoreSchema, strays: Set<String>, where isWanted: (String) -> Bool
  ) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for table in schema.tables where isWanted(table.name) {
      let hierarchy = schema.entities(inTable: table.name)
      for entity in hierarchy { counts[entity.name] = 0 }
      let name = SQLName.quoted(table.name)
      if hierarchy.count == 1, let only = hierarchy.first {
        // Manually inserted rows may have any number here.
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
            suggestion: "Check the store; something other than Core Data has changed it.")
        }
        counts[entity.name, default: 0] += Int(count)
      }
    }
    return counts
  }
}
