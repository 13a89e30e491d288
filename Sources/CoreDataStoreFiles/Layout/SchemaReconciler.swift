// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

/// Puts the names that a file has in the place of those that the rules would give.
package struct SchemaReconciler {
  package let expected: StoreSchema
  package let catalog: DatabaseCatalog
  /// Names of `Z_PRIMARYKEY` by number, which may be those from before a rename.
  package let storedNames: [Int: String]

  package init(
    expected: StoreSchema, catalog: DatabaseCatalog, storedNames: [Int: String], allowsMissing: Bool = false
  ) {
    self.allowsMissing = allowsMissing
    self.expected = expected
    self.catalog = catalog
    self.storedNames = storedNames
  }
  /// Whether tables and columns that the file does not have keep the names that the rules give: SQLite refuses the statement
  /// that needs one.
  package var allowsMissing: Bool

  package func reconciled() throws -> StoreSchema {
    var tables: [String: TableLayout] = [:]
    var names: [String: [String: String]] = [:]
    for table in expected.tables {
      let found: DatabaseCatalog.Table
      do {
        found = try file(for: table)
      } catch SchemaProblem.tableNotInStore where allowsMissing {
        tables[table.name] = table
        continue
      }
      guard hasNumericKey(found) else {
        throw SchemaProblem.keyNotPrimary(entity: table.rootEntity, table: found.name)
      }
      let columns = try columnNames(of: table, in: found)
      names[table.name] = columns
      var layout = table
      layout.name = found.name
      layout.columns = inFileOrder(
        table.columns.compactMap { column in
          columns[column.name].map { ColumnLayout(name: $0, type: column.type, role: column.role) }
        }, of: found)
      tables[table.name] = layout
    }
    let joins = try expected.joinTables.map { join in
      do {
        return try reconciled(join)
      } catch SchemaProblem.joinTableNotInStore where allowsMissing {
        return join
      }
    }
    for join in joins { if let table = catalog.table(named: join.name) { _ = try plain(table) } }
    let joinNames = Dictionary(uniqueKeysWithValues: zip(expected.joinTables.map(\.name), joins))
    let entities = expected.entities.map { entity in
      var entity = entity
      let columns = names[entity.table] ?? [:]
      entity.attributes = entity.attributes.mapValues { renamed($0, columns) }
      entity.relationships = entity.relationships.mapValues { relationship in
        var relationship = relationship
        relationship.place = renamed(relationship, columns: columns, tables: tables, allNames: names, joins: joinNames)
        return relationship
      }
      entity.table = tables[entity.table]?.name ?? entity.table
      return entity
    }
    let indexes = expected.indexes.compactMap { index in
      var index = index
      index.table = tables[index.table]?.name ?? joinNames[index.table]?.name ?? index.table
      return catalog.index(named: index.name) == nil ? nil : index
    }
    return StoreSchema(
      entities: entities, tables: expected.tables.compactMap { tables[$0.name] }, joinTables: joins, indexes: indexes)
  }

  private func file(for table: TableLayout) throws -> DatabaseCatalog.Table {
    if let found = catalog.table(named: table.name) { return try plain(found) }
    if let number = expected[table.rootEntity]?.number, let old = storedNames[number],
      let found = catalog.table(named: "Z" + old.uppercased())
    {
      return try plain(found)
    }
    throw SchemaProblem.tableNotInStore(entity: table.rootEntity, table: table.name)
  }

  /// The table, unless its definition computes values or lets rows vanish.
  private func plain(_ table: DatabaseCatalog.Table) throws -> DatabaseCatalog.Table {
    if let oddity = table.oddity { throw SchemaProblem.foreignTable(table.name, found: oddity) }
    return table
  }

  /// Whether SQLite ensures that `Z_PK` is an integer and different in every row: it is another name of the row's number.
  private func hasNumericKey(_ table: DatabaseCatalog.Table) -> Bool {
    guard let key = table.column(named: "Z_PK") else { return true }  // Told as a missing column.
    // A primary key with an index of its own, or of a table without row numbers, can be anything.
    let hasIndex = catalog.indexes.contains { index in
      index.table == table.name && index.sql == nil && index.columns.map(\.name) == [key.name]
    }
    let words = table.sql.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    return key.primaryKeyPosition == 1 && key.declaredType.uppercased() == ColumnType.integer.rawValue
      && table.columns.count { $0.primaryKeyPosition > 0 } == 1 && !hasIndex && !words.contains("ROWID")
  }

  private func inFileOrder(_ columns: [ColumnLayout], of table: DatabaseCatalog.Table) -> [ColumnLayout] {
    let positions = Dictionary(
      table.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return columns.sorted { (positions[$0.name] ?? 0) < (positions[$1.name] ?? 0) }
  }

  /// The file's name for each expected column.
  private func columnNames(of table: TableLayout, in file: DatabaseCatalog.Table) throws -> [String: String] {
    var names: [String: String] = [:]
    for column in table.columns {
      if let found = file.spelling(of: column.name) {
        names[column.name] = found
        continue
      }
      switch column.role {
      case .foreignEntity:
        // Not needed for reading; stores from before the destination had sub-entities are without it.
        names[column.name] = file.column(likeNumbered: column.name)
      case .ownerKey where allowsMissing, .order where allowsMissing, .attribute where allowsMissing,
        .foreignKey where allowsMissing:
        names[column.name] = file.column(likeNumbered: column.name) ?? column.name
      case .ownerKey(let entity, let property), .order(let entity, let property):
        guard let found = file.column(likeNumbered: column.name) else {
          throw missing(column, entity: entity, property: property, in: file)
        }
        names[column.name] = found
      case .attribute(let entity, let path):
        throw missing(column, entity: entity, property: path.joined(separator: "."), in: file)
      case .foreignKey(let entity, let property):
        throw missing(column, entity: entity, property: property, in: file)
      case .primaryKey, .entityNumber, .version:
        throw missing(column, entity: table.rootEntity, property: column.name, in: file)
      }
    }
    return sortedByType(names, of: table, in: file)
  }

  /// Properties of one name in several sub-entities share the names `ZVALUE`, `ZVALUE1` …; in a store that has grown,
  /// who has which is told by the declared types where these differ.
  private func sortedByType(
    _ names: [String: String], of table: TableLayout, in file: DatabaseCatalog.Table
  ) -> [String: String] {
    var names = names
    let types = Dictionary(
      file.columns.map { ($0.name, $0.declaredType.uppercased()) }, uniquingKeysWith: { first, _ in first })
    let rivals = Dictionary(grouping: table.columns) { column -> String in
      if case .attribute(_, let path) = column.role { return path.map { $0.uppercased() }.joined(separator: "_") }
      return ""
    }
    for (base, columns) in rivals where !base.isEmpty && columns.count > 1 {
      let held = columns.compactMap { names[$0.name] }
      let mismatched = columns.contains { types[names[$0.name] ?? ""] != $0.type.rawValue }
      guard mismatched, Set(columns.map(\.type)).count == columns.count else { continue }
      for column in columns {
        if let fitting = held.first(where: { types[$0] == column.type.rawValue }) { names[column.name] = fitting }
      }
    }
    return names
  }

  private func missing(
    _ column: ColumnLayout, entity: String, property: String, in file: DatabaseCatalog.Table
  ) -> SchemaProblem {
    .columnNotInStore(entity: entity, property: property, table: file.name, column: column.name)
  }

  private func renamed(_ attribute: AttributeLayout, _ columns: [String: String]) -> AttributeLayout {
    var attribute = attribute
    attribute.column = attribute.column.map { columns[$0] ?? $0 }
    attribute.elements = attribute.elements.map { renamed($0, columns) }
    return attribute
  }

  private func renamed(_ key: ForeignKeyLayout, _ columns: [String: String]) -> ForeignKeyLayout {
    ForeignKeyLayout(
      column: columns[key.column] ?? key.column, entityColumn: key.entityColumn.flatMap { columns[$0] },
      orderColumn: key.orderColumn.map { columns[$0] ?? $0 })
  }

  private func renamed(
    _ relationship: RelationshipLayout, columns: [String: String], tables: [String: TableLayout],
    allNames: [String: [String: String]], joins: [String: JoinTableLayout]
  ) -> RelationshipPlace {
    switch relationship.place {
    case .foreignKey(let key): .foreignKey(renamed(key, columns))
    case .inverseForeignKey(let table, let key):
      .inverseForeignKey(table: tables[table]?.name ?? table, key: renamed(key, allNames[table] ?? [:]))
    case .joinTable(let end):
      joins[end.table].map {
        .joinTable($0.end(entity: relationship.declaringEntity, relationship: relationship.name))
      } ?? relationship.place
    }
  }
}
