// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// One step of a migration inside a database server, from one version of the model to the next, as PostgreSQL
/// statements.
///
/// The statements are executed in order, in one transaction (`ServerStepRun`). If possible, rows stay in their tables
/// and entities keep their numbers, so that most steps only change the catalog. A step that needs more, such as one
/// that merges two tables, throws `ServerStepObstacle`.
package struct ServerStep {
  package let step: InPlaceStep
  package let statements: [ServerStatement]
  /// The rows of `Z_PRIMARYKEY` after the step, which the statements write.
  package let primaryKeys: [PrimaryKeyRow]

  /// The layout of the store after the step.
  package var schema: StoreSchema { step.destinationSchema }

  /// Plans a step. Does not access the store, so that the next step can be planned from the result of this one.
  ///
  /// - Parameters:
  ///   - schema: The layout of the store before the step.
  ///   - primaryKeys: The rows of `Z_PRIMARYKEY` before the step.
  /// - Throws: `ServerStepObstacle` if the step cannot be run as statements; `InPlaceProblem`, `SchemaProblem` and
  ///   `InferenceFailure` as for a step inside a file.
  package init(
    from source: ModelDocument, schema: StoreSchema, primaryKeys: [PrimaryKeyRow], to destination: ModelDocument,
    configuration: String?, values: some ProgramValues
  ) throws {
    step = try InPlaceStep(
      from: source, schema: schema, to: destination, configuration: configuration, mapping: nil, values: values)
    var entities = ServerEntities(step: step, before: primaryKeys)
    self.primaryKeys = try entities.rows()
    statements = try ServerStepBuilder(step: step).statements() + entities.statements
  }
}

/// The rows of `Z_PRIMARYKEY` after a step.
private struct ServerEntities {
  let step: InPlaceStep
  let before: [PrimaryKeyRow]
  private(set) var statements: [ServerStatement] = []

  init(step: InPlaceStep, before: [PrimaryKeyRow]) { (self.step, self.before) = (step, before) }

  mutating func rows() throws -> [PrimaryKeyRow] {
    let old = Dictionary(before.map { ($0.number, $0) }) { first, _ in first }
    let kept = Set(step.destinationSchema.entities.map(\.number))
    for entity in step.removedEntities where !kept.contains(entity.number) {
      write("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = \(value: .integer(Int64(entity.number)))", entity.name)
    }
    let removed = Set(step.removedEntities.map(\.number))
    var rows = before.filter { !kept.contains($0.number) && !removed.contains($0.number) }
    for entity in step.destinationSchema.entities {
      let isNew = step.mapping.sourceEntity(of: entity.name).flatMap { step.sourceSchema[$0] } == nil
      let known = old[entity.number]
      if isNew, known != nil {
        throw ServerStepObstacle(
          entity: entity.name, reason: "The store has another entity with the number \(entity.number).")
      }
      let row = PrimaryKeyRow(
        number: entity.number, name: entity.name, parentNumber: entity.parentNumber, maximum: known?.maximum ?? 0)
      rows.append(row)
      if row == known { continue }
      let (number, name) = (SQLiteValue.integer(Int64(row.number)), SQLiteValue.text(row.name))
      let parent = SQLiteValue.integer(Int64(row.parentNumber))
      if known == nil {
        write(
          "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (\(values: [number, name, parent]), 0)",
          entity.name)
      } else {
        write(
          "UPDATE Z_PRIMARYKEY SET Z_NAME = \(value: name), Z_SUPER = \(value: parent) WHERE Z_ENT = \(value: number)",
          entity.name)
      }
    }
    return rows.sorted { $0.number < $1.number }
  }

  private mutating func write(_ sql: BoundSQL, _ entity: String) {
    statements.append(
      ServerStatement(sql, entity: entity, .catalogue, locks: [.init(table: "z_primarykey", mode: .rowExclusive)]))
  }
}

/// Builds the statements of a step.
///
/// Obsolete constraints and indexes are dropped first. The pairs of relationships whose storage changes are collected
/// while tables have their old names. Tables are renamed, created and filled, and columns are renamed and added. Then
/// rows are changed, and obsolete tables and columns dropped. Indexes and constraints are created last.
struct ServerStepBuilder {
  private static let temporaryPrefix = "z_migration_"

  private let step: InPlaceStep
  private let tables: ServerTables
  private let objects: ServerIndexes
  private let new: PostgreSQLDefinitions
  private let old: PostgreSQLDefinitions
  /// The defaults of columns after the step.
  private let defaults: PostgreSQLDefinitions.Defaults
  /// The changes of defaults by the new name of the table.
  private let changes: [String: DefaultChanges]
  private var result: [ServerStatement] = []

  init(step: InPlaceStep) throws {
    self.step = step
    defaults = ServerDefaults.all(step.destination.document, step.destinationSchema, values: step.values)
    let before = ServerDefaults.all(step.source.document, step.sourceSchema, values: step.values)
    new = PostgreSQLDefinitions(step.destinationSchema, defaults: defaults)
    old = PostgreSQLDefinitions(step.sourceSchema)
    tables = try ServerTables(step: step)
    objects = ServerIndexes(step: step, tables: tables)
    var changes: [String: DefaultChanges] = [:]
    for table in tables.altered {
      changes[table.new.name] = DefaultChanges(
        of: table, from: before[table.old.name] ?? [:], to: defaults[table.new.name] ?? [:])
    }
    self.changes = changes
  }

  func statements() throws -> [ServerStatement] {
    var copy = self
    try copy.build()
    return copy.result
  }

  private mutating func build() throws {
    dropConstraints()
    let keys = RelationshipKey.all(step).enumerated().map { (link: "\(Self.temporaryPrefix)link_\($0)", key: $1) }
    var links: [String] = []
    for (link, key) in keys {
      let collecting = key.collecting(into: link)
      if !collecting.isEmpty { links.append(link) }
      result += collecting.map { ServerStatement($0, entity: key.declaringEntity, property: key.name) }
    }
    let relations = renameRelations()
    makeTables(relations)
    makeJoinTables(relations)
    for table in tables.altered { alterColumns(table) }
    for join in tables.keptJoins { renameColumns(of: join) }
    let first = result.count
    deleteRows()
    for table in tables.altered { changeRows(table) }
    for join in step.destinationSchema.joinTables {
      result += JoinTablePlanner(step: step).forgetting(join).map {
        ServerStatement($0, entity: join.ownerEntity, property: join.relationship)
      }
    }
    for (link, key) in keys {
      result += key.finishing(from: link, positions: "\(Self.temporaryPrefix)places").map {
        ServerStatement($0, entity: key.declaringEntity, property: key.name)
      }
    }
    result += try DerivedColumns(step: step).statements().map { ServerStatement($0, entity: nil) }
    if result[first...].contains(where: { $0.work == .rows && !$0.locks.isEmpty }) {
      // A table with pending constraint checks cannot be altered. The next step may have inconsistent rows again.
      append("SET CONSTRAINTS ALL IMMEDIATE", entity: nil, .catalogue, check: .duplicates)
      append("SET CONSTRAINTS ALL DEFERRED", entity: nil, .catalogue)
    }
    setDefaults()
    dropRemains(relations, links)
    makeConstraints()
  }

  private mutating func append(
    _ sql: String, entity: String?, property: String? = nil, _ work: ServerStatement.Work,
    locks: [ServerStatement.Lock] = [], check: StatementCheck? = nil
  ) {
    result.append(
      ServerStatement(BoundSQL(sql), entity: entity, property: property, work, locks: locks, check: check))
  }

  private mutating func alter(
    _ table: String, _ change: String, entity: String?, property: String? = nil,
    _ work: ServerStatement.Work = .catalogue, check: StatementCheck? = nil
  ) {
    append(
      "ALTER TABLE \(SQLName.quoted(table)) \(change)", entity: entity, property: property, work,
      locks: [.init(table: table, mode: .accessExclusive)], check: check)
  }

  // MARK: Constraints and indexes

  private mutating func dropConstraints() {
    for key in objects.droppedKeys {
      let locks = Set([key.table, key.destination]).sorted()
        .map { ServerStatement.Lock(table: $0, mode: .accessExclusive) }
      // Delete rules are not part of a version, so the store may have been created without the constraint.
      append(
        "ALTER TABLE \(SQLName.quoted(key.table)) DROP CONSTRAINT IF EXISTS \(SQLName.quoted(key.name))",
        entity: entity(ofTable: key.table, in: step.sourceSchema), .catalogue, locks: locks)
    }
    for index in objects.droppedIndexes {
      append(
        old.removal(of: index).sql, entity: entity(ofTable: index.table, in: step.sourceSchema), .catalogue,
        locks: [.init(table: index.table, mode: .accessExclusive)])
    }
  }

  private mutating func makeConstraints() {
    for index in step.destinationSchema.indexes where objects.madeIndexes.contains(index.name) {
      append(
        new.statement(of: index).sql, entity: entity(ofTable: index.table, in: step.destinationSchema),
        tables.isEmpty(index.table) ? .catalogue : .index,
        locks: [.init(table: index.table, mode: index.isUnique ? .accessExclusive : .share)],
        check: index.isUnique ? .duplicates : nil)
    }
    for key in new.foreignKeys where objects.madeKeys.contains(key) {
      let name = entity(ofTable: key.table, in: step.destinationSchema)
      if !tables.isNew(key.table) {
        alter(key.table, "DROP CONSTRAINT IF EXISTS \(SQLName.quoted(key.name))", entity: name)
      }
      let locks = Set([key.table, key.destination]).sorted()
        .map { ServerStatement.Lock(table: $0, mode: .shareRowExclusive) }
      append(
        key.statement.sql, entity: name, tables.isEmpty(key.table) ? .catalogue : .scan, locks: locks)
    }
  }

  private func entity(ofTable name: String, in schema: StoreSchema) -> String? {
    schema.table(named: name)?.rootEntity ?? schema.joinTable(named: name)?.ownerEntity
  }

  // MARK: Tables

  /// Renames tables, with their sequences and indexes.
  private mutating func renameRelations() -> Renames {
    var wanted: [String: String] = [:]
    var kinds: [String: String] = [:]
    var owners: [String: String] = [:]
    func add(_ name: String, _ new: String?, _ kind: String, of table: String) {
      kinds[name] = kind
      owners[name] = table
      wanted[name] = new
    }
    var created: Set<String> = []
    for table in step.sourceSchema.tables {
      let new = tables.altered.first { $0.old.name == table.name }?.new
      add(table.name, new?.name, "TABLE", of: table.name)
      add(table.sequence, new?.sequence, "SEQUENCE", of: table.name)
      addKey(of: table.name, new?.name)
    }
    for join in step.sourceSchema.joinTables {
      let new = tables.keptJoins.first { $0.old.name == join.name }?.new
      add(join.name, new?.name, "TABLE", of: join.name)
      addKey(of: join.name, new?.name)
    }
    func addKey(of table: String, _ new: String?) {
      // PostgreSQL truncates long key names by its own rules.
      guard let name = Self.keyName(of: table) else { return }
      add(name, new.map { Self.keyName(of: $0) ?? name }, "INDEX IF EXISTS", of: table)
    }
    for index in step.sourceSchema.indexes {
      if let new = objects.keptIndexes[index.name] { add(index.name, new, "INDEX", of: index.table) }
    }
    created.formUnion(
      step.destinationSchema.tables.flatMap { [$0.name, $0.sequence, Self.keyName(of: $0.name) ?? ""] })
    created.formUnion(step.destinationSchema.joinTables.flatMap { [$0.name, Self.keyName(of: $0.name) ?? ""] })
    created.formUnion(step.destinationSchema.indexes.map(\.name))
    let renames = Renames(
      taken: Set(kinds.keys), wanted: wanted, created: created, temporary: Self.temporaryPrefix + "relation_")
    var names: [String: String] = [:]
    for (from, to) in renames.steps {
      let first = names.removeValue(forKey: from) ?? from
      names[to] = first
      let owner = owners[first] ?? first
      append(
        "ALTER \(kinds[first] ?? "TABLE") \(SQLName.quoted(from)) RENAME TO \(SQLName.quoted(to))",
        entity: entity(ofTable: owner, in: step.sourceSchema), .catalogue,
        locks: [.init(table: owner, mode: .accessExclusive)])
    }
    return renames
  }

  /// Returns the name that PostgreSQL gives to the index of a table's primary key, or nil if it truncates the name.
  private static func keyName(of table: String) -> String? {
    let name = table + "_pkey"
    return name.utf8.count <= (SQLDialect.postgreSQL.longestName ?? .max) ? name : nil
  }

  /// Creates the tables of new root entities and of entities that leave a hierarchy.
  private mutating func makeTables(_ relations: Renames) {
    for table in tables.created {
      append(new.statement(of: table).sql, entity: table.rootEntity, .catalogue)
      append(new.sequenceStatement(of: table).sql, entity: table.rootEntity, .catalogue)
    }
    for split in tables.split {
      append(definitions(of: split).statement(of: split.new).sql, entity: split.new.rootEntity, .catalogue)
      append(new.sequenceStatement(of: split.new).sql, entity: split.new.rootEntity, .catalogue)
      // Continue the old sequence, so that no key is reused.
      append(
        "SELECT setval(\(Self.literal(SQLName.quoted(split.new.sequence))), last_value, is_called) "
          + "FROM \(SQLName.quoted(relations.name(split.old.sequence)))", entity: split.new.rootEntity, .catalogue)
      for copy in split.copies {
        let columns = split.new.columns.filter { copy.columns[$0.name] != nil }
        let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns.map { SQLName.quoted($0.name) }).joined(separator: ", ")
        let values = columns.compactMap { copy.columns[$0.name]?.expression }.map { ", \($0)" as BoundSQL }.joined("")
        let from = relations.name(split.old.name)
        result.append(
          ServerStatement(
            """
            INSERT INTO \(column: split.new.name) (\(raw: names)) SELECT Z_PK, \(raw: "\(copy.destination.number)"), Z_OPT\
            \(values) FROM \(column: from) WHERE Z_ENT = \(raw: "\(copy.source.number)")
            """,
            entity: copy.destination.name, .rows,
            locks: [.init(table: split.new.name, mode: .rowExclusive)]))
      }
    }
  }

  /// Returns the definitions for a table whose rows come from another one. Only columns whose values the step makes are
  /// required: others may be NULL in rows of stores that were made without the constraint.
  private func definitions(of split: ServerTables.Split) -> PostgreSQLDefinitions {
    let kept = (defaults[split.new.name] ?? [:]).filter { column, _ in
      split.copies.allSatisfy { copy in
        if case .constant? = copy.columns[column] { return true }
        return false
      }
    }
    return PostgreSQLDefinitions(step.destinationSchema, defaults: [split.new.name: kept])
  }

  private static func literal(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }

  /// Creates and fills the join tables whose rows cannot stay in place.
  private mutating func makeJoinTables(_ relations: Renames) {
    for (join, source) in tables.madeJoins {
      append(new.statement(of: join).sql, entity: join.ownerEntity, property: join.relationship, .catalogue)
      guard case .query(let query) = source else { continue }
      let columns = JoinTablePlanner.columns(of: join).map(SQLName.quoted).joined(separator: ", ")
      append(
        "INSERT INTO \(SQLName.quoted(join.name)) (\(columns)) \(query.sql(names: relations.present)) "
          + "ON CONFLICT DO NOTHING", entity: join.ownerEntity, property: join.relationship, .rows,
        locks: [.init(table: join.name, mode: .rowExclusive)])
    }
  }

  // MARK: Columns

  private mutating func alterColumns(_ table: ServerTables.Altered) {
    rename(table.renames, of: table.new.name, columns: table.old.columns, entity: table.new.rootEntity)
    let defaults = changes[table.new.name]
    for column in defaults?.dropped ?? [] {
      let name = SQLName.quoted(column)
      alter(
        table.new.name, "ALTER COLUMN \(name) DROP DEFAULT, ALTER COLUMN \(name) DROP NOT NULL",
        entity: table.new.rootEntity, property: table.new.columns.first { $0.name == column }?.role.owner?.property)
    }
    if !table.retyped.isEmpty {
      let changes = table.retyped.map { column, value in
        let type = PostgreSQLDefinitions.declaration(of: column.type)
        return "ALTER COLUMN \(SQLName.quoted(column.name)) TYPE \(type) USING \(value.postgreSQLLiterals)"
      }
      let only = table.retyped.count == 1 ? table.retyped[0].column.role.owner : nil
      alter(
        table.new.name, changes.joined(separator: ", "), entity: only?.entity ?? table.new.rootEntity,
        property: only?.property, .rewrite, check: .duplicates)
    }
    for column in table.columns.added {
      let (name, subject) = (SQLName.quoted(column.name), column.role.owner)
      if let value = defaults?.added[column.name] {
        alter(
          table.new.name,
          "ADD COLUMN \(new.definition(column))\(value.isRequired ? " NOT NULL" : "") \(value.clause)",
          entity: subject?.entity, property: subject?.property)
        continue
      }
      let constant = table.defaults[column.name].map { " DEFAULT \($0.postgreSQLLiterals)" }
      alter(
        table.new.name, "ADD COLUMN \(new.definition(column))\(constant ?? "")", entity: subject?.entity,
        property: subject?.property)
      if constant != nil {
        alter(
          table.new.name, "ALTER COLUMN \(name) DROP DEFAULT", entity: subject?.entity, property: subject?.property)
      }
    }
  }

  private mutating func rename(_ renames: Renames, of table: String, columns: [ColumnLayout], entity: String) {
    var names: [String: String] = [:]
    for (from, to) in renames.steps {
      let first = names.removeValue(forKey: from) ?? from
      names[to] = first
      let subject = columns.first { $0.name == first }?.role.owner
      alter(
        table, "RENAME COLUMN \(SQLName.quoted(from)) TO \(SQLName.quoted(to))", entity: subject?.entity ?? entity,
        property: subject?.property)
    }
  }

  private mutating func renameColumns(of join: ServerTables.KeptJoin) {
    for (from, to) in join.renames.steps {
      alter(
        join.new.name, "RENAME COLUMN \(SQLName.quoted(from)) TO \(SQLName.quoted(to))",
        entity: join.new.ownerEntity, property: join.new.relationship)
    }
    for column in join.removed {
      alter(
        join.new.name, "DROP COLUMN \(SQLName.quoted(join.renames.name(column)))", entity: join.new.ownerEntity,
        property: join.new.relationship)
    }
  }

  // MARK: Rows

  /// Deletes the rows of entities that are removed or were copied into another table.
  private mutating func deleteRows() {
    for table in tables.altered {
      let removed = step.removedEntities(inTable: table.old.name)
      if !removed.isEmpty {
        let numbers = removed.map { String($0.number) }.joined(separator: ", ")
        append(
          "DELETE FROM \(SQLName.quoted(table.new.name)) WHERE Z_ENT IN (\(numbers))", entity: removed[0].name, .rows,
          locks: [.init(table: table.new.name, mode: .rowExclusive)])
      }
      for split in tables.split where split.old.name == table.old.name {
        for copy in split.copies {
          var statement = ServerStatement(
            "DELETE FROM \(column: table.new.name) WHERE Z_ENT = \(raw: "\(copy.source.number)")",
            entity: copy.destination.name, .rows, locks: [.init(table: table.new.name, mode: .rowExclusive)])
          statement.counterpart = result.firstIndex { other in
            other.entity == copy.destination.name && other.work == .rows
              && other.locks == [.init(table: split.new.name, mode: .rowExclusive)]
          }
          result.append(statement)
        }
      }
    }
  }

  private mutating func changeRows(_ table: ServerTables.Altered) {
    for change in table.rowChanges {
      var conditions: [String] = []
      let list = change.entities.map { String($0.number) }.joined(separator: ", ")
      if change.entities.count < table.concreteCount { conditions.append("Z_ENT IN (\(list))") }
      if let column = change.nullColumn { conditions.append("\(SQLName.quoted(column)) IS NULL") }
      let values = change.values.map { "\(column: $0.column) = \($0.value)" as BoundSQL }.joined(", ")
      let condition = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
      result.append(
        ServerStatement(
          "UPDATE \(column: table.new.name) SET \(values)\(raw: condition)" as BoundSQL,
          entity: change.entities.count == 1 ? change.entities[0].name : table.new.rootEntity,
          property: change.property, .rows, locks: [.init(table: table.new.name, mode: .rowExclusive)]))
    }
    for (column, values) in changes[table.new.name]?.filled ?? [] {
      let list = values.map { "\(column: $0.column) = \($0.value)" as BoundSQL }.joined(", ")
      result.append(
        ServerStatement(
          "UPDATE \(column: table.new.name) SET \(list) WHERE \(column: column) IS NULL",
          entity: table.new.rootEntity, property: table.new.columns.first { $0.name == column }?.role.owner?.property,
          .rows, locks: [.init(table: table.new.name, mode: .rowExclusive)]))
    }
  }

  /// Sets the defaults of columns whose rows have got their values.
  private mutating func setDefaults() {
    for table in tables.altered {
      for setting in changes[table.new.name]?.set ?? [] {
        let name = SQLName.quoted(setting.column)
        let required = setting.isRequired ? ", ALTER COLUMN \(name) SET NOT NULL" : ""
        alter(
          table.new.name, "ALTER COLUMN \(name) SET \(setting.value.clause)\(required)",
          entity: table.new.rootEntity,
          property: table.new.columns.first { $0.name == setting.column }?.role.owner?.property,
          setting.isRequired ? .scan : .catalogue)
      }
    }
  }

  private mutating func dropRemains(_ relations: Renames, _ links: [String]) {
    for table in tables.altered {
      for column in table.columns.removed where !table.retypedOrigins.contains(column) {
        let subject = table.old.columns.first { $0.name == column }?.role.owner
        alter(
          table.new.name, "DROP COLUMN \(SQLName.quoted(table.renames.name(column)))", entity: subject?.entity,
          property: subject?.property)
      }
    }
    for join in step.sourceSchema.joinTables where !tables.keptJoins.contains(where: { $0.old.name == join.name }) {
      drop(relations.name(join.name), entity: join.ownerEntity, property: join.relationship)
    }
    for table in step.sourceSchema.tables where !tables.altered.contains(where: { $0.old.name == table.name }) {
      drop(relations.name(table.name), entity: table.rootEntity)
    }
    for link in links { append("DROP TABLE \(link)", entity: nil, .catalogue) }
  }

  private mutating func drop(_ table: String, entity: String, property: String? = nil) {
    append(
      "DROP TABLE \(SQLName.quoted(table))", entity: entity, property: property, .catalogue,
      locks: [.init(table: table, mode: .accessExclusive)])
  }
}
