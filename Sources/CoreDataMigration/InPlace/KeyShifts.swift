// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// New primary keys for the rows of tables that are merged.
///
/// Entities that get a common parent share a table from then on, so their keys can collide. The rows of the largest
/// table keep their keys. The keys of every other table are increased by an offset per table, which preserves their
/// order. All references to them are updated before any other change, while the store still has the layout of the
/// source: foreign keys, join tables and persistent history.
package struct KeyShifts {
  /// The offsets added to keys, by source table. Tables that keep their keys have none.
  package private(set) var offsets: [String: Int64] = [:]
  /// The ranges of keys that are shifted, by source table.
  private var keys: [String: ClosedRange<Int64>] = [:]
  private let step: InPlaceStep

  /// Creates an empty set of shifts.
  package init(none step: InPlaceStep) { self.step = step }

  /// Determines the shifts of a step.
  ///
  /// - Parameters:
  ///   - rows: The row counts of the source entities.
  ///   - maxima: The maximum keys ever assigned, by the numbers of the source's root entities.
  /// - Throws: `InPlaceProblem` if the shifted keys would be out of range; `SQLiteError`.
  package init(step: InPlaceStep, connection: SQLiteConnection, rows: [String: Int], maxima: [Int: Int64]) throws {
    self.step = step
    for table in step.destinationSchema.tables {
      let sources = Set(step.pairs(in: table).map(\.source.table)).compactMap { step.sourceSchema.table(named: $0) }
      guard sources.count > 1 else { continue }
      func count(_ table: TableLayout) -> Int {
        step.sourceSchema.entities(inTable: table.name).reduce(0) { $0 + (rows[$1.name] ?? 0) }
      }
      let sorted = sources.map { ($0, count($0)) }.sorted { ($1.1, $0.0.name) < ($0.1, $1.0.name) }.map(\.0)
      var taken: Int64 = 0
      for (position, source) in sorted.enumerated() {
        let name = SQLName.quoted(source.name)
        let given = step.sourceSchema[source.rootEntity].flatMap { maxima[$0.number] } ?? 0
        let greatest = max(given, try connection.scalar("SELECT MAX(Z_PK) FROM \(name)")?.integer ?? 0)
        let least = min(1, try connection.scalar("SELECT MIN(Z_PK) FROM \(name)")?.integer ?? 1)
        guard position > 0 else {
          taken = greatest
          continue
        }
        // Shift beyond the table's own old keys too, so that the update does not collide with them.
        let (distance, isTooFar) = max(taken, greatest).subtractingReportingOverflow(least)
        let (offset, isTooLarge) = distance.addingReportingOverflow(1)
        let (last, overflow) = offset.addingReportingOverflow(greatest)
        guard !isTooFar, !isTooLarge, !overflow else {
          throw noRoom(source, table, keys: least...max(least, greatest))
        }
        offsets[source.name] = offset
        keys[source.name] = least...max(least, greatest)
        taken = last
      }
    }
  }

  private func noRoom(_ source: TableLayout, _ table: TableLayout, keys: ClosedRange<Int64>) -> InPlaceProblem {
    InPlaceProblem(
      entity: source.rootEntity,
      reason:
        "The objects of '\(source.rootEntity)' move into the table \(table.name) and need new primary keys, but keys from "
        + "\(keys.lowerBound) to \(keys.upperBound) leave no room for them.",
      suggestion:
        "Check Z_MAX of '\(source.rootEntity)' in Z_PRIMARYKEY and Z_PK in \(source.name); they were not written by Core Data."
    )
  }

  /// Returns the original key of a row, given its key in a destination table.
  package func original(_ key: Int64, in table: String) -> Int64 {
    let sources = step.destinationSchema.table(named: table).map { step.pairs(in: $0).map(\.source.table) } ?? []
    let offset = sources.compactMap { offsets[$0] }.filter { $0 < key }.max() ?? 0
    return key - offset
  }

  /// Returns statements that change the keys and all references to them.
  package func statements(hasHistory: Bool) -> [MigrationStatement] {
    guard !offsets.isEmpty else { return [] }
    return entityTables() + joinTables() + (hasHistory ? history() : [])
  }

  private func entityTables() -> [MigrationStatement] {
    var columns: [String: [String: Shift]] = [:]
    for table in offsets.keys { columns[table] = ["Z_PK": shift(of: table)].compactMapValues { $0 } }
    for entity in step.sourceSchema.entities {
      for relationship in entity.relationships.values {
        switch relationship.storage {
        case .foreignKey(let key):
          columns[entity.table, default: [:]][key.column] = shift(ofEntity: relationship.destinationEntity)
        case .inverseForeignKey(let table, let key) where relationship.inverseName == nil:
          columns[table, default: [:]][key.column] = shift(ofEntity: relationship.declaringEntity)
        case .inverseForeignKey, .joinTable: continue
        }
      }
    }
    return columns.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { table, columns in
      update(table, columns, purpose: .keys(table: table))
    }
  }

  private func joinTables() -> [MigrationStatement] {
    step.sourceSchema.joinTables.flatMap { table -> [MigrationStatement] in
      var columns: [String: Shift] = [:]
      columns[table.ownerColumn] = shift(ofEntity: table.ownerEntity)
      columns[table.destinationColumn] = shift(ofEntity: table.inverseEntity)
      guard !columns.isEmpty else { return [] }
      let unassigned = columns.sorted { $0.key < $1.key }.map { $0.value.unassigned(SQLName.quoted($0.key)) }
      return [
        MigrationStatement(
          "DELETE FROM \(SQLName.quoted(table.name)) WHERE \(unassigned.joined(separator: " OR "))", [], .housekeeping,
          reading: [table.name]),
        update(table.name, columns, purpose: .housekeeping),
      ]
    }
  }

  private func history() -> [MigrationStatement] {
    offsets.keys.sorted().compactMap { table in
      guard let shift = shift(of: table) else { return nil }
      let numbers = step.sourceSchema.entities(inTable: table).map { String($0.number) }
      return MigrationStatement(
        "UPDATE ACHANGE SET ZENTITYPK = ZENTITYPK + \(shift.offset) "
          + "WHERE ZENTITY IN (\(numbers.joined(separator: ", "))) AND ZENTITYPK BETWEEN \(shift.keys.lowerBound) AND \(shift.keys.upperBound)",
        [], .housekeeping)
    }
  }

  /// The offset of a table's keys, and the range of keys it is added to.
  private struct Shift {
    let offset: Int64
    let keys: ClosedRange<Int64>

    /// Returns the new key as SQL; NULL for a key that was never assigned, because it could become the key of another
    /// row.
    func moved(_ column: String) -> String { "CASE WHEN \(known(column)) THEN \(column) + \(offset) END" }

    /// Returns the SQL condition that a key was never assigned.
    func unassigned(_ column: String) -> String { "NOT IFNULL(\(known(column)), 0)" }

    private func known(_ column: String) -> String {
      "\(column) BETWEEN \(keys.lowerBound) AND \(keys.upperBound)"
    }
  }

  private func shift(of table: String) -> Shift? {
    offsets[table].flatMap { offset in keys[table].map { Shift(offset: offset, keys: $0) } }
  }

  private func shift(ofEntity entity: String) -> Shift? {
    step.sourceSchema[entity].flatMap { shift(of: $0.table) }
  }

  private func update(
    _ table: String, _ columns: [String: Shift], purpose: MigrationStatement.Purpose
  ) -> MigrationStatement {
    let names = columns.sorted { $0.key < $1.key }.map { (name: SQLName.quoted($0.key), shift: $0.value) }
    let values = names.map { "\($0.name) = \($0.shift.moved($0.name))" }.joined(separator: ", ")
    let condition = names.map { "\($0.name) IS NOT NULL" }.joined(separator: " OR ")
    return MigrationStatement(
      "UPDATE \(SQLName.quoted(table)) SET \(values) WHERE \(condition)", [], purpose, reading: [table])
  }
}
