// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Builds the SQL statements of a step.
///
/// First, while the entity tables still have their old names and keys, the pairs of relationships whose storage changes
/// are collected, and join tables are filled. Then the old versions of rebuilt tables are renamed. Foreign keys are set
/// once all rows are in place, then derived values. Indexes are created last.
package struct StatementBuilder {
  /// The prefix of tables that exist only during a migration.
  private static let temporaryPrefix = "Z_MIGRATION_"

  private let step: InPlaceStep
  private let catalog: DatabaseCatalog
  private let tablePlans: [TablePlan]
  private let joinPlans: [(table: JoinTableLayout, source: JoinTableSource)]
  /// The sources of join tables, by table name.
  private let joinSources: [String: JoinTableSource]
  private let keptIndexes: Set<String>
  private let shifts: KeyShifts

  /// Plans the statements of a step.
  ///
  /// - Throws: `InPlaceProblem` for changes that cannot be made in place.
  package init(step: InPlaceStep, catalog: DatabaseCatalog, shifts: KeyShifts) throws {
    self.step = step
    self.shifts = shifts
    self.catalog = catalog
    let tables = TablePlanner(step: step)
    tablePlans = try step.destinationSchema.tables.map { try tables.plan($0) }
    let joins = JoinTablePlanner(step: step)
    joinPlans = step.destinationSchema.joinTables.map { ($0, joins.plan($0)) }
    joinSources = Dictionary(joinPlans.map { ($0.table.name, $0.source) }) { first, _ in first }
    keptIndexes = Self.keptIndexes(step, catalog, tablePlans, joinPlans)
  }

  /// Returns all statements that change tables and rows, in the order of execution.
  package func statements() throws -> [MigrationStatement] {
    var obsolete: [String] = []
    var statements = dropped() + shifts.statements(hasHistory: catalog.table(named: "ACHANGE") != nil)
    let keys = RelationshipKey.all(step).enumerated().map { (number: $0, key: $1) }
    for (number, key) in keys {
      let collecting = key.collecting(into: Self.linkTable(number))
      if !collecting.isEmpty { obsolete.append(Self.linkTable(number)) }
      statements += collecting
    }
    statements += joinTableStatements(&obsolete)
    statements += try entityTableStatements(&obsolete)
    statements += joinPlans.flatMap { JoinTablePlanner(step: step).forgetting($0.table) }
    statements += keys.flatMap { $1.finishing(from: Self.linkTable($0), positions: Self.temporaryPrefix + "PLACES") }
    statements += try DerivedColumns(step: step).statements()
    statements += obsolete.map { MigrationStatement("DROP TABLE \(SQLName.quoted($0))") }
    statements += step.destinationSchema.indexes.filter { !keptIndexes.contains($0.name) }
      .map { MigrationStatement($0.statement.sql, [], .index, reading: sources(ofTable: $0.table)) }
    statements += DerivedTriggers.statements(step.destinationSchema, step.destination.document)
      .map { MigrationStatement($0.sql) }
    return statements
  }

  private static func linkTable(_ number: Int) -> String { "\(temporaryPrefix)LINK_\(number)" }

  /// Returns the source tables whose rows a destination table gets.
  private func sources(ofTable name: String) -> [String] {
    if let table = step.destinationSchema.table(named: name) {
      return Set(step.pairs(in: table).map(\.source.table)).sorted()
    }
    return joinSources[name].map { source in
      switch source {
      case .none: []
      case .same: [name]
      case .query(let query): query.tables
      }
    } ?? []
  }

  // MARK: Indexes and triggers

  /// Returns statements that drop the triggers of derived attributes, and indexes that the destination lacks or defines
  /// differently.
  private func dropped() -> [MigrationStatement] {
    let owned = Set(step.sourceSchema.tables.map(\.name) + step.sourceSchema.joinTables.map(\.name))
    let triggers = catalog.triggers.filter { owned.contains($0.table) && $0.name.hasPrefix("Z_DA_") }
    let indexes = catalog.indexes.filter {
      $0.sql != nil && owned.contains($0.table) && !keptIndexes.contains($0.name)
    }
    return triggers.map { MigrationStatement("DROP TRIGGER \(SQLName.quoted($0.name))") }
      + indexes.map { MigrationStatement("DROP INDEX \(SQLName.quoted($0.name))", [], .index) }
  }

  /// Returns the indexes to keep: those of tables that keep their rows, name and columns, if the destination has equal
  /// SQL.
  private static func keptIndexes(
    _ step: InPlaceStep, _ catalog: DatabaseCatalog, _ tables: [TablePlan],
    _ joins: [(table: JoinTableLayout, source: JoinTableSource)]
  ) -> Set<String> {
    var staying = Set(joins.compactMap { join in if case .same = join.source { join.table.name } else { nil } })
    // Changed values may become duplicates. Creating the index once all values are in place detects them.
    var changing: Set<String> = []
    for case .alter(let table, let old, let columns) in tables where old.name == table.name {
      staying.insert(table.name)
      if !columns.updates.isEmpty { changing.insert(table.name) }
    }
    let wanted = Dictionary(step.destinationSchema.indexes.map { ($0.name, $0) }) { first, _ in first }
    return Set(
      catalog.indexes.filter { index in
        guard let layout = wanted[index.name], staying.contains(index.table),
          !layout.isUnique || !changing.contains(index.table)
        else { return false }
        return layout.table == index.table && layout.statement.sql == index.sql
      }.map(\.name))
  }

  // MARK: Join tables

  private func joinTableStatements(_ obsolete: inout [String]) -> [MigrationStatement] {
    let same = Set(joinPlans.compactMap { join in if case .same = join.source { join.table.name } else { nil } })
    var statements: [MigrationStatement] = []
    // Rename obsolete join tables, because new ones may have their names.
    var moved: [String: String] = [:]
    for table in step.sourceSchema.joinTables where !same.contains(table.name) {
      let temporary = Self.temporaryPrefix + table.name
      moved[table.name] = temporary
      obsolete.append(temporary)
      statements.append(
        MigrationStatement("ALTER TABLE \(SQLName.quoted(table.name)) RENAME TO \(SQLName.quoted(temporary))"))
    }
    for (table, source) in joinPlans {
      if case .same = source { continue }
      statements.append(MigrationStatement(table.statement.sql))
      guard case .query(let query) = source else { continue }
      let columns = JoinTablePlanner.columns(of: table).map(SQLName.quoted).joined(separator: ", ")
      statements.append(
        MigrationStatement(
          "INSERT OR IGNORE INTO \(SQLName.quoted(table.name)) (\(columns)) "
            + query.sql(names: moved), [], .rows(table: table.name), reading: query.tables))
    }
    return statements
  }

  // MARK: Entity tables

  private func entityTableStatements(_ obsolete: inout [String]) throws -> [MigrationStatement] {
    var moved: [String: String] = [:]
    var altered: Set<String> = []
    for plan in tablePlans {
      switch plan {
      case .alter(_, let old, _): altered.insert(old.name)
      case .rebuild(_, let olds): for old in olds { moved[old.name] = Self.temporaryPrefix + old.name }
      case .create: continue
      }
    }
    for table in step.sourceSchema.tables where !altered.contains(table.name) {
      moved[table.name] = Self.temporaryPrefix + table.name
    }
    obsolete += moved.values.sorted()
    var statements = moved.sorted { $0.key < $1.key }.map { old, temporary in
      MigrationStatement("ALTER TABLE \(SQLName.quoted(old)) RENAME TO \(SQLName.quoted(temporary))")
    }
    // Rename tables that stay before rebuilt tables take their old names.
    for case .alter(let table, let old, let columns) in tablePlans {
      statements += redefinition(of: table, from: old, columns)
    }
    for case .alter(let table, let old, let columns) in tablePlans {
      statements += rowChanges(in: table, from: old, columns)
    }
    for plan in tablePlans {
      switch plan {
      case .alter: continue
      case .create(let table):
        statements.append(MigrationStatement(table.statement.sql))
      case .rebuild(let table, _):
        statements.append(MigrationStatement(table.statement.sql))
        statements += try copies(into: table, from: moved)
      }
    }
    return statements
  }

  private func redefinition(
    of table: TableLayout, from old: TableLayout, _ columns: AlteredColumns
  ) -> [MigrationStatement] {
    let name = SQLName.quoted(table.name)
    var statements: [MigrationStatement] = []
    if old.name != table.name {
      statements.append(MigrationStatement("ALTER TABLE \(SQLName.quoted(old.name)) RENAME TO \(name)"))
    }
    statements += columns.renamed.map { MigrationStatement(.renamed(from: $0.old, to: $0.new), in: table.name) }
    statements += columns.added.map { MigrationStatement(.added($0), in: table.name) }
    return statements
  }

  private func rowChanges(
    in table: TableLayout, from old: TableLayout, _ columns: AlteredColumns
  ) -> [MigrationStatement] {
    let name = SQLName.quoted(table.name)
    var statements: [MigrationStatement] = []
    /// Changes the rows of the table one by one.
    func change(_ sql: String, _ values: [SQLiteValue] = [], where condition: String?) {
      statements.append(MigrationStatement(eachRowOf: table.name, sql, values, where: condition, in: table.name))
    }
    let removed = step.removedEntities(inTable: old.name).map(\.number)
    if !removed.isEmpty {
      change("DELETE FROM \(name)", where: "Z_ENT IN (\(removed.map(String.init).joined(separator: ", ")))")
    }
    for update in columns.updates {
      let values = update.values.map { column, value in
        "\(column: column) = \(value.expression { _ in column })" as BoundSQL
      }.joined(", ")
      change("UPDATE \(name) SET \(values.sql)", values.values, where: step.condition(update.entity))
    }
    let pairs = step.pairs(in: table)
    if let only = pairs.first, step.condition(only.source) == nil {
      let number = only.destination.number
      guard only.source.number != number || only.destination.hasSubentities || !only.destination.isRoot else {
        return statements
      }
      change("UPDATE \(name) SET Z_ENT = \(number)", where: "Z_ENT IS NOT \(number)")
      return statements
    }
    let renumbering = pairs.map { InPlaceStep.Renumbering(old: $0.source.number, new: $0.destination.number) }
      .filter { $0.old != $0.new }
    if !renumbering.isEmpty {
      let list = renumbering.map { String($0.old) }.joined(separator: ", ")
      change("UPDATE \(name) SET Z_ENT = CASE Z_ENT \(InPlaceStep.cases(renumbering)) END", where: "Z_ENT IN (\(list))")
    }
    return statements
  }

  private func copies(into table: TableLayout, from moved: [String: String]) throws -> [MigrationStatement] {
    try step.pairs(in: table).filter { !$0.source.isAbstract }.map { source, destination in
      let sources = try ColumnSources(step: step, source: source, destination: destination).all()
      let columns = table.columns.filter { sources[$0.name] != nil }
      let values = columns.compactMap { sources[$0.name]?.expression }
      let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns.map { SQLName.quoted($0.name) }).joined(separator: ", ")
      let expressions = (["Z_PK", "\(destination.number)", "Z_OPT"] + values.map(\.sql)).joined(separator: ", ")
      let old = moved[source.table] ?? source.table
      var statement = MigrationStatement(
        eachRowOf: old,
        "INSERT INTO \(SQLName.quoted(table.name)) (\(names)) SELECT \(expressions) FROM \(SQLName.quoted(old))",
        values.flatMap(\.values), where: step.condition(source), in: table.name)
      statement.isCopy = true
      return statement
    }
  }
}

/// An SQL statement of an in-place migration, shown by a plan and executed by a run.
package struct MigrationStatement: Sendable {
  /// The purpose of a statement, for progress and error messages.
  package enum Purpose: Hashable, Sendable {
    case structure
    /// Moves or changes the rows of a table.
    case rows(table: String)
    /// Changes the keys of a source table's rows, or references to them.
    case keys(table: String)
    case index
    /// Finds objects with more than one object for a to-one relationship.
    case link(LinkCheck)
    case housekeeping
  }

  package let sql: BoundSQL
  package let purpose: Purpose
  /// The table whose rows are inserted or changed, for progress; nil for all other statements.
  package var table: String? {
    switch purpose {
    case .rows(let table), .keys(let table): table
    case .structure, .index, .link, .housekeeping: nil
    }
  }
  /// The problem that rows may have, for which the statement fails; nil for other statements.
  var check: StatementCheck? {
    switch purpose {
    case .index: .duplicates
    case .link(let check): .link(check)
    case .structure, .rows, .keys, .housekeeping: nil
    }
  }
  /// Whether the statement copies the rows of one entity into a new table.
  package var isCopy = false
  /// The table whose rows the statement reads or changes one by one; nil if it must be executed as a whole.
  package private(set) var scannedTable: String?
  /// The tables, as of before the step, whose rows the statement processes, if `purpose` does not determine them.
  package let sourceTables: [String]
  private var hasCondition = false
  /// The change that the statement makes to a table's columns; nil for other statements.
  package private(set) var columnChange: (table: String, change: ColumnChange)?

  package init(
    _ sql: String, _ values: [SQLiteValue] = [], _ purpose: Purpose = .structure, reading sourceTables: [String] = []
  ) {
    self.sql = BoundSQL(sql, values)
    self.purpose = purpose
    self.sourceTables = sourceTables
  }

  /// Creates a statement that changes the columns of a table.
  package init(_ change: ColumnChange, in table: String) {
    let sql: String
    switch change {
    case .renamed(let from, let to): sql = "RENAME COLUMN \(SQLName.quoted(from)) TO \(SQLName.quoted(to))"
    case .added(let column): sql = "ADD COLUMN \(SQLName.quoted(column.name)) \(column.type.rawValue)"
    }
    self.init("ALTER TABLE \(SQLName.quoted(table)) \(sql)")
    columnChange = (table, change)
  }

  /// Creates a statement that processes each row of a table independently of the other rows and keeps its primary key.
  ///
  /// - Parameters:
  ///   - scannedTable: The name of the table when the statement is executed.
  ///   - sql: The statement without its WHERE clause.
  ///   - condition: A condition without OR; nil for all rows.
  ///   - table: The destination table.
  package init(
    eachRowOf scannedTable: String, _ sql: String, _ values: [SQLiteValue] = [], where condition: String?,
    in table: String
  ) {
    self.init(sql + InPlaceStep.whereClause(condition), values, .rows(table: table))
    self.scannedTable = scannedTable
    hasCondition = condition != nil
  }

  /// Returns the statement restricted to a range of keys.
  package func sql(keys: ClosedRange<Int64>) -> BoundSQL {
    let bounds: [SQLiteValue] = [.integer(keys.lowerBound), .integer(keys.upperBound)]
    return BoundSQL(sql.sql + (hasCondition ? " AND" : " WHERE") + " Z_PK BETWEEN ? AND ?", sql.values + bounds)
  }
}
