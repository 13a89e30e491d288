// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

/// Compares what a server declares for the tables of a store with what this framework declares for them.
struct SchemaCheck {
  /// What a problem would do to a program that uses the store.
  enum Harm {
    /// Reading gives wrong results, or fails.
    case reading
    /// Writing loses or corrupts rows, or fails.
    case writing
    /// Others may change or discard the rows that are written.
    case doubtful
    /// The store works, if slowly.
    case none
  }

  struct Finding {
    let problem: ServerStoreProblem
    let harm: Harm
  }

  let facts: SchemaFacts
  /// The layout, with all indexes.
  let layout: StoreSchema
  /// Whether changes are recorded in persistent history.
  private let recordsHistory: Bool
  private let definitions: PostgreSQLDefinitions

  init(_ facts: SchemaFacts, _ layout: StoreSchema, recordsHistory: Bool = false) {
    (self.facts, self.layout, self.recordsHistory) = (facts, layout, recordsHistory)
    definitions = PostgreSQLDefinitions(layout)
  }

  var findings: [Finding] {
    privileges + hiddenRows + constraints + indexes + sequences + columns + requiredColumns + triggers
  }

  private func isPresent(_ table: String) -> Bool { facts.privileges[table] != nil }

  private func entity(of table: String) -> String? { layout.table(named: table)?.rootEntity }

  private static func quoted(_ name: String) -> String { PostgreSQLConnection.quoted(name) }

  // MARK: Privileges

  private var privileges: [Finding] {
    let tables = layout.tables.map { ($0.name, Set(SchemaFacts.Privilege.allCases)) }
    let joins = layout.joinTables.map { join -> (String, Set<SchemaFacts.Privilege>) in
      // Only positions are ever updated.
      let isOrdered = join.orderColumn != nil || join.inverseOrderColumn != nil
      return (join.name, isOrdered ? Set(SchemaFacts.Privilege.allCases) : [.select, .insert, .delete])
    }
    return (tables + joins + history).compactMap { table, needed in
      guard let held = facts.privileges[table], !held.isSuperset(of: needed) else { return nil }
      let missing = SchemaFacts.Privilege.allCases.filter { needed.contains($0) && !held.contains($0) }
      let list = missing.map(\.rawValue).joined(separator: ", ")
      let problem = ServerStoreProblem(
        .privilege, entity: entity(of: table), "The role \(facts.role) lacks \(list) on the table \(table).",
        cure: "Have its owner execute: GRANT \(list) ON \(SQLName.quoted(table)) TO \(Self.quoted(facts.role))")
      return Finding(problem: problem, harm: missing.contains(.select) ? .reading : .writing)
    }
  }

  private var hiddenRows: [Finding] {
    (layout.tables.map(\.name) + layout.joinTables.map(\.name)).filter(facts.filteredTables.contains).map { table in
      Finding(
        problem: ServerStoreProblem(
          .privilege, entity: entity(of: table),
          "Row-level security may hide rows of the table \(table) from the role \(facts.role).",
          cure: "Let a role with BYPASSRLS own the store, or give each tenant a schema"),
        harm: .reading)
    }
  }

  /// The tables of persistent history, and the one with its greatest numbers, with the privileges for recording.
  private var history: [(String, Set<SchemaFacts.Privilege>)] {
    guard recordsHistory else { return [] }
    let tables = [HistoryTables.change, HistoryTables.transaction, HistoryTables.string].map {
      ($0.table.lowercased(), [.select, .insert] as Set<SchemaFacts.Privilege>)
    }
    return tables.allSatisfy { isPresent($0.0) } ? tables + [("z_primarykey", [.select, .insert, .update])] : []
  }

  // MARK: Constraints and indexes

  private var constraints: [Finding] {
    let unique = layout.indexes.filter { $0.isUnique && isPresent($0.table) && !isEnforced($0) }
    let keys = definitions.foreignKeys.filter { key in
      isPresent(key.table) && isPresent(key.destination)
        && !facts.foreignKeys.contains(.init(table: key.table, column: key.column, destination: key.destination))
    }
    return unique.map { index in
      let sql = definitions.statement(of: index).sql
      return constraint(
        index.table, index.name, sql,
        "The uniqueness constraint \(index.name) of \(index.table) is missing: the server accepts duplicates.")
    }
      + keys.map { key in
        constraint(
          key.table, key.name, key.statement.sql,
          "The foreign key \(key.name) of \(key.table) is missing: the server accepts links to rows that are gone.")
      }
  }

  private func constraint(_ table: String, _ name: String, _ sql: String, _ text: String) -> Finding {
    // A constraint of the name may exist that is disabled or declared otherwise.
    let removal = "ALTER TABLE \(Self.quoted(table)) DROP CONSTRAINT IF EXISTS \(Self.quoted(name))"
    return Finding(
      problem: ServerStoreProblem(
        .constraint, entity: entity(of: table), text, repair: [removal, sql], cure: "Execute: \(sql)"),
      harm: .writing)
  }

  private func isEnforced(_ index: IndexLayout) -> Bool {
    if index.elements.allSatisfy({ $0.remainderColumn == nil }) {
      return facts.uniqueKeys.contains(.init(table: index.table, columns: Set(index.elements.map(\.column))))
    }
    return facts.exclusions.contains([index.table, index.name])
  }

  private var indexes: [Finding] {
    layout.indexes.filter { !$0.isUnique && isPresent($0.table) && !facts.indexes.contains($0.name) }.map { index in
      let sql = definitions.statement(of: index).sql
      // What an interrupted CREATE INDEX CONCURRENTLY has left is not used.
      let removal = "DROP INDEX IF EXISTS \(Self.quoted(index.name))"
      return Finding(
        problem: ServerStoreProblem(
          .index, entity: entity(of: index.table), "The index \(index.name) of \(index.table) is missing.",
          repair: [removal, sql], cure: "Execute: \(sql)"),
        harm: .none)
    }
  }

  // MARK: Sequences

  private var sequences: [Finding] {
    layout.tables.filter { isPresent($0.name) }.compactMap { table in
      let name = table.sequence
      let size = PostgreSQLDefinitions.keyBlockSize
      let next = Self.advance(table)
      guard let sequence = facts.sequences[name] else {
        return Finding(
          problem: ServerStoreProblem(
            .keys, entity: table.rootEntity, "The sequence \(name) is missing: no object can be inserted.",
            repair: [definitions.sequenceStatement(of: table).sql, next],
            cure: "Create it, with an increment of \(size), after the greatest z_pk."),
          harm: .writing)
      }
      if sequence.increment != size {
        let change = "ALTER SEQUENCE \(Self.quoted(name)) INCREMENT BY \(size)"
        return Finding(
          problem: ServerStoreProblem(
            .keys, entity: table.rootEntity,
            "The sequence \(name) has the increment \(sequence.increment) instead of \(size): two processes would use "
              + "the same keys.", repair: [change, next], cure: "Execute: \(change); \(next)"),
          harm: .writing)
      }
      if sequence.isUsable { return nil }
      return Finding(
        problem: ServerStoreProblem(
          .privilege, entity: table.rootEntity, "The role \(facts.role) lacks USAGE on the sequence \(name).",
          cure: "Have its owner execute: GRANT USAGE ON SEQUENCE \(SQLName.quoted(name)) TO \(Self.quoted(facts.role))"),
        harm: .writing)
    }
  }

  /// Returns the statement that lets a sequence go on after the greatest key.
  static func advance(_ table: TableLayout) -> String {
    let sequence = quoted(table.sequence).replacingOccurrences(of: "'", with: "''")
    return "SELECT setval('\(sequence)', (SELECT coalesce(max(z_pk), 0) + 1 FROM \(quoted(table.name))), false)"
  }

  // MARK: Columns

  private var columns: [Finding] {
    facts.columns.compactMap { column in
      guard let table = layout.table(named: column.table),
        let wanted = table.columns.first(where: { $0.name == column.name })
      else { return nil }
      let place = "\(column.table).\(column.name)"
      let declaration = PostgreSQLDefinitions.declaration(of: wanted.type)
      let change =
        "ALTER TABLE \(Self.quoted(column.table)) ALTER COLUMN \(Self.quoted(column.name)) TYPE \(declaration)"
      let owner = wanted.role.owner?.entity ?? table.rootEntity
      if column.isLimited {
        // Lifting a limit changes no value. `char(n)` would lose or keep blanks.
        let isSafe = !column.type.hasPrefix("character(") && !column.type.hasPrefix("bit")
        return Finding(
          problem: ServerStoreProblem(
            .column, entity: owner,
            "The column \(place) has the type \(column.type) instead of \(wanted.type.rawValue): the server rounds or "
              + "refuses values.", repair: isSafe ? [change] : [], cure: "Execute: \(change)"),
          harm: .writing)
      }
      guard let collation = column.collation, wanted.type == .text else { return nil }
      return Finding(
        problem: ServerStoreProblem(
          .column, entity: owner,
          "The column \(place) has the collation \(collation) instead of C: comparisons and orders give other results "
            + "than in memory.", repair: [change], cure: "Execute: \(change)"),
        harm: .reading)
    }
  }

  /// Columns of others that would make every insertion fail.
  private var requiredColumns: [Finding] {
    let own = Dictionary(layout.tables.map { ($0.name, Set($0.columns.map(\.name))) }) { $1 }
    return facts.requiredColumns.sorted { ($0.table, $0.name) < ($1.table, $1.name) }.compactMap { column in
      guard let names = own[column.table], !names.contains(column.name) else { return nil }
      return Finding(
        problem: ServerStoreProblem(
          .column, entity: entity(of: column.table),
          "The column \(column.table).\(column.name), which is not the framework's, requires a value and has no default: no "
            + "object can be inserted.", cure: "Give the column a default."),
        harm: .writing)
    }
  }

  // MARK: Triggers

  private var triggers: [Finding] {
    let own = Set(layout.tables.map(\.name) + layout.joinTables.map(\.name))
    return facts.triggers.filter { own.contains($0.table) }.map { trigger in
      let kind = trigger.isRule ? "rule" : "trigger"
      let effect =
        trigger.canDiscardRows
        ? "runs \(trigger.isRule ? "instead of" : "before") writing rows, and can change or discard them"
        : "runs when rows are written"
      return Finding(
        problem: ServerStoreProblem(
          .trigger, entity: entity(of: trigger.table),
          "The \(kind) \(trigger.name) of \(trigger.table), which is not the framework's, \(effect).",
          cure: "Make sure that it leaves z_pk, z_ent, z_opt and the values of objects as they are, or remove it."),
        harm: trigger.canDiscardRows ? .doubtful : .none)
    }
  }
}
