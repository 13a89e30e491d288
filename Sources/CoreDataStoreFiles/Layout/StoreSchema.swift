// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

/// The tables and columns of a model's entities and properties in a SQL store: Core Data's own layout, with the names
/// and column types of one engine.
///
/// `init(document:configuration:dialect:)` computes the layout of a new store.
/// `init(document:configuration:catalog:primaryKeys:)` is for an existing one, whose names may have been changed by
/// migrations in ways that no rule predicts.
package struct StoreSchema: Hashable, Sendable {
  /// The engine of these names and column types.
  package let dialect: SQLDialect
  /// Entities by ascending number.
  package let entities: [EntityLayout]
  /// The entities' tables, by the numbers of their root entities.
  package let tables: [TableLayout]
  package let joinTables: [JoinTableLayout]
  package internal(set) var indexes: [IndexLayout]
  private let positions: SchemaPositions

  package init(
    dialect: SQLDialect, entities: [EntityLayout], tables: [TableLayout], joinTables: [JoinTableLayout],
    indexes: [IndexLayout]
  ) {
    self.dialect = dialect
    self.entities = entities
    self.tables = tables
    self.joinTables = joinTables
    self.indexes = indexes
    positions = SchemaPositions(entities: entities, tables: tables, joinTables: joinTables)
  }

  /// Computes the layout of a new store for the entities of a configuration; all entities if it is nil.
  ///
  /// - Throws: `SchemaProblem` if the model names entities or types that cannot be stored.
  package init(document: ModelDocument, configuration: String? = nil, dialect: SQLDialect = .sqlite) throws {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    var builder = SchemaBuilder(
      selection: selection, numbers: selection.freshNumbers(), elementNames: ElementNames(dialect))
    self = try builder.build().named(for: dialect)
  }

  /// Computes the layout of a store after an in-place migration: that of a new store, except that names of join tables
  /// and their columns that no rule predicts stay. On a server, entities also keep their numbers.
  ///
  /// - Throws: the same errors as `init(document:configuration:dialect:)`.
  package init(document: ModelDocument, configuration: String?, after source: StoreSchema, mapping: some EarlierNames)
    throws
  {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    let isRenumbered = source.dialect == .sqlite
    var builder = SchemaBuilder(
      selection: selection,
      numbers: isRenumbered ? selection.freshNumbers() : selection.numbers(after: source, mapping),
      joinNames: try JoinNames(selection, from: source, mapping: mapping), elementNames: ElementNames(source.dialect))
    self = try builder.build().named(for: source.dialect)
  }

  package subscript(name: String) -> EntityLayout? {
    positions.entities[name].map { entities[$0] }
  }

  /// Returns the layout of the entity with the given `Z_ENT`.
  package func entity(number: Int) -> EntityLayout? {
    positions.numbers[number].map { entities[$0] }
  }

  /// Returns the entities with rows in a table, by ascending number.
  package func entities(inTable name: String) -> [EntityLayout] {
    (positions.members[name] ?? []).map { entities[$0] }
  }

  package func table(named name: String) -> TableLayout? {
    positions.tables[name].map { tables[$0] }
  }

  package func joinTable(named name: String) -> JoinTableLayout? {
    positions.joinTables[name].map { joinTables[$0] }
  }

  /// Whether statements for another layout work in this one: numbers, tables and columns are the same. Indexes do not
  /// matter, nor does the order of columns, which changes when superfluous ones are removed.
  package func hasNames(of other: StoreSchema) -> Bool {
    func columns(_ schema: StoreSchema) -> [String: Set<ColumnLayout>] {
      Dictionary(schema.tables.map { ($0.name, Set($0.columns)) }) { $0.union($1) }
    }
    return dialect == other.dialect && entities == other.entities && joinTables == other.joinTables
      && columns(self) == columns(other)
  }

  /// Returns a column of an attribute or a relationship with its type; nil if the table has no such column.
  package func column(named name: String, of entity: EntityLayout) -> ColumnLayout? {
    guard let table = positions.tables[entity.table], let column = positions.columns[table][name] else { return nil }
    return tables[table].columns[column]
  }

  /// Returns the to-many relationships without inverse whose columns are in a table, each once, sorted by the numbers
  /// of the declaring entities and by name.
  package func ownerKeys(inTable name: String) -> [(layout: RelationshipLayout, key: ForeignKeyLayout)] {
    (positions.ownerKeys[name] ?? []).compactMap { place in
      guard let layout = entities[place.entity].relationships[place.relationship],
        case .inverseForeignKey(_, let key) = layout.storage
      else { return nil }
      return (layout, key)
    }
  }
}

extension StoreSchema {
  /// Determines the layout of an existing store.
  ///
  /// After in-place migrations the columns are where they were added, and entity numbers and names may follow no rule.
  /// So every table and column is looked up in the file.
  ///
  /// - Parameters:
  ///   - allowsMissing: whether missing tables and columns get the names of a new store, instead of being an error.
  ///   - keepsMissingIndexes: whether the layout includes indexes that the store lacks.
  /// - Throws: `SchemaProblem` naming the part of the model that the file lacks.
  package init(
    document: ModelDocument, configuration: String? = nil, catalog: StoreCatalog, primaryKeys: [PrimaryKeyRow],
    allowsMissing: Bool = false, keepsMissingIndexes: Bool = false
  ) throws {
    let selection = try SchemaSelection(
      document: document, configuration: configuration, stored: Set(primaryKeys.map(\.name)))
    let numbers = try EntityNumbers(selection: selection, rows: primaryKeys, allowsMissing: allowsMissing).resolved()
    let oldNames = Dictionary(primaryKeys.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
    var names = ElementNames(catalog.dialect)
    func expected() throws -> StoreSchema {
      var builder = SchemaBuilder(selection: selection, numbers: numbers, elementNames: names)
      return try builder.build().named(for: catalog.dialect)
    }
    var schema = try expected()
    if catalog.dialect == .sqlite, schema.tables.contains(where: \.hasElements) {
      let plain = schema
      names = .qualified
      names = try ElementNames(of: plain, or: expected()) { table in
        catalog.table(of: table, earlierName: plain[table.rootEntity].flatMap { oldNames[$0.number] })
      }
      schema = names == .plain ? plain : try expected()
    }
    self = try SchemaReconciler(
      expected: schema, catalog: catalog, storedNames: oldNames, elementNames: names, allowsMissing: allowsMissing,
      keepsMissingIndexes: keepsMissingIndexes
    ).reconciled()
  }

  /// Determines the layout of an existing SQLite store.
  ///
  /// - Throws: the same errors as the initializer for any catalog.
  package init(
    document: ModelDocument, configuration: String? = nil, catalog: DatabaseCatalog, primaryKeys: [PrimaryKeyRow],
    allowsMissing: Bool = false
  ) throws {
    try self.init(
      document: document, configuration: configuration, catalog: StoreCatalog(catalog), primaryKeys: primaryKeys,
      allowsMissing: allowsMissing)
  }
}

/// Finds the number of every entity in the rows of `Z_PRIMARYKEY`.
private struct EntityNumbers {
  let selection: SchemaSelection
  let rows: [PrimaryKeyRow]
  let allowsMissing: Bool

  /// Matches by name, otherwise by renaming identifier, otherwise by elimination among the sub-entities of one parent:
  /// a renamed entity may keep its old name in the row, and later model versions may no longer contain that name.
  func resolved() throws -> [String: Int] {
    var numbers: [String: Int] = [:]
    let named = Dictionary(rows.map { ($0.name, $0.number) }) { first, _ in first }
    var taken: Set<Int> = []
    for entity in selection.entities {
      if let number = named[entity.name], taken.insert(number).inserted { numbers[entity.name] = number }
    }
    for entity in selection.entities where numbers[entity.name] == nil {
      guard let number = entity.renamingIdentifier.flatMap({ named[$0] }), taken.insert(number).inserted else {
        continue
      }
      numbers[entity.name] = number
    }
    var unresolved = selection.entities.filter { numbers[$0.name] == nil }
    guard !unresolved.isEmpty else { return try checked(numbers) }
    let free = rows.filter { !taken.contains($0.number) && $0.number <= PrimaryKeyRow.maxEntityNumber }
    var candidates = Dictionary(grouping: free, by: \.parentNumber)
    var greatest = rows.map(\.number).max() ?? 0
    // The loop ends, since every iteration but the last resolves an entity.
    while !unresolved.isEmpty {
      let before = unresolved.count
      let rivals = Dictionary(grouping: unresolved) { parentNumber(of: $0, in: numbers) }
      for (parent, entities) in rivals where entities.count == 1 {
        guard let parent, let rows = candidates[parent], rows.count == 1 else { continue }
        numbers[entities[0].name] = rows[0].number
        candidates[parent] = nil
      }
      unresolved.removeAll { numbers[$0.name] != nil }
      guard unresolved.count == before else { continue }
      guard allowsMissing else { throw SchemaProblem.entityNotInStore(entity: unresolved[0].name) }
      var remaining = rivals.mapValues(\.count)
      var numbered = 0
      for entity in unresolved {
        let parent = parentNumber(of: entity, in: numbers)
        greatest += 1
        numbers[entity.name] = greatest
        numbered += 1
        remaining[parent, default: 0] -= 1
        // An entity without rivals, or one whose parent now has a number, may now be found by elimination.
        if remaining[parent] == 1 || !selection.subentities(of: entity.name).isEmpty { break }
      }
      unresolved.removeFirst(numbered)
    }
    return try checked(numbers)
  }

  private func checked(_ numbers: [String: Int]) throws -> [String: Int] {
    for (entity, number) in numbers.sorted(by: { $0.key < $1.key }) where number > PrimaryKeyRow.maxEntityNumber {
      throw SchemaProblem.unusableNumber(entity: entity, number: number)
    }
    return numbers
  }

  private func parentNumber(of entity: EntityDocument, in numbers: [String: Int]) -> Int? {
    guard let parent = entity.parentName else { return 0 }
    return numbers[parent]
  }
}

/// A statement that creates a table or an index, with the name of the created object.
package struct SchemaStatement: Hashable, Sendable {
  package let name: String
  package let sql: String
}

extension TableLayout {
  /// `CREATE TABLE`, exactly as Core Data writes it.
  package var statement: SchemaStatement {
    let definitions = columns.map { column in
      let key = column.role == .primaryKey ? " PRIMARY KEY" : ""
      return "\(SQLName.quoted(column.name)) \(column.type.rawValue)\(key)"
    }
    return SchemaStatement(
      name: name, sql: "CREATE TABLE \(SQLName.quoted(name)) ( \(definitions.joined(separator: ", ")) )")
  }
}

extension JoinTableLayout {
  /// `CREATE TABLE`, exactly as Core Data writes it.
  package var statement: SchemaStatement {
    let keys = [ownerColumn, destinationColumn].map(SQLName.quoted)
    let orders = [inverseOrderColumn, orderColumn].compactMap { $0 }.map(SQLName.quoted)
    let definitions = (keys + orders).map { "\($0) INTEGER" } + ["PRIMARY KEY (\(keys.joined(separator: ", ")))"]
    return SchemaStatement(
      name: name, sql: "CREATE TABLE \(SQLName.quoted(name)) ( \(definitions.joined(separator: ", ")) )")
  }
}

extension IndexLayout {
  /// `CREATE INDEX`, exactly as Core Data writes it.
  package var statement: SchemaStatement {
    let collated: Bool
    switch purpose {
    case .fetch, .uniqueness: collated = true
    case .foreignKey, .entityNumber, .joinTable: collated = false
    }
    let columns = elements.map { element in
      let direction = element.isAscending ? "ASC" : "DESC"
      return SQLName.quoted(element.column) + (collated ? " COLLATE BINARY \(direction)" : "")
    }
    let kind = isUnique ? "UNIQUE INDEX" : "INDEX"
    return SchemaStatement(
      name: name,
      sql: "CREATE \(kind) \(SQLName.quoted(name)) ON \(SQLName.quoted(table)) (\(columns.joined(separator: ", ")))")
  }
}

extension StoreSchema {
  /// The names of the tables that every store has.
  static let housekeepingNames = housekeepingStatements.map(\.name)

  /// The tables that every store has, in the order in which Core Data creates them.
  package static let housekeepingStatements = [
    SchemaStatement(
      name: "Z_PRIMARYKEY",
      sql: "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"),
    SchemaStatement(
      name: "Z_METADATA",
      sql: "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"),
    SchemaStatement(name: "Z_MODELCACHE", sql: "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"),
  ]

  /// Entity tables, each followed by the join tables of its hierarchy.
  package var tableStatements: [SchemaStatement] {
    let joins = Dictionary(grouping: joinTables) { self[$0.ownerEntity]?.table ?? "" }
    return tables.flatMap { [$0.statement] + (joins[$0.name] ?? []).map(\.statement) }
  }

  /// The statements that create the entities' tables, and then their indexes.
  var entityStatements: [CreationStatement] {
    tableStatements.map { CreationStatement(name: $0.name, sql: $0.sql, table: $0.name) }
      + indexes.map { CreationStatement(name: $0.name, sql: $0.statement.sql, table: $0.table) }
  }

  /// All statements that create an empty store, in the order of `sqlite_master` in stores made by Core Data.
  package var creationStatements: [SchemaStatement] {
    tableStatements + indexes.map(\.statement) + Self.housekeepingStatements
  }
}
