// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Replacement names for the tables and columns of a schema.
struct SchemaRenaming {
  /// The renamed tables, by their names in the schema.
  var tables: [String: TableLayout] = [:]
  /// The new names of columns, by tables and columns as named in the schema.
  var columns: [String: [String: String]] = [:]
  /// The renamed join tables, by their names in the schema.
  var joinTables: [String: JoinTableLayout] = [:]

  /// Returns the schema with the new names. Indexes keep theirs.
  func renamed(_ schema: StoreSchema) -> StoreSchema {
    // In most stores all names follow the rules.
    if keepsEverything(of: schema) { return schema }
    return StoreSchema(
      dialect: schema.dialect, entities: schema.entities.map(renamed),
      tables: schema.tables.compactMap { tables[$0.name] },
      joinTables: schema.joinTables.compactMap { joinTables[$0.name] }, indexes: schema.indexes.map(renamed))
  }

  private func keepsEverything(of schema: StoreSchema) -> Bool {
    schema.joinTables.allSatisfy { joinTables[$0.name] == $0 }
      && schema.tables.allSatisfy { table in
        guard let names = columns[table.name] else { return false }
        return tables[table.name] == table && table.columns.allSatisfy { names[$0.name] == $0.name }
      }
  }

  private func renamed(_ entity: EntityLayout) -> EntityLayout {
    var entity = entity
    let names = columns[entity.table] ?? [:]
    entity.attributes = entity.attributes.mapValues { renamed($0, names) }
    entity.relationships = entity.relationships.mapValues { relationship in
      var relationship = relationship
      relationship.storage = storage(of: relationship, names)
      return relationship
    }
    entity.table = tables[entity.table]?.name ?? entity.table
    return entity
  }

  private func renamed(_ attribute: AttributeLayout, _ names: [String: String]) -> AttributeLayout {
    var attribute = attribute
    attribute.column = attribute.column.map { names[$0] ?? $0 }
    attribute.remainderColumn = attribute.remainderColumn.map { names[$0] ?? $0 }
    attribute.elements = attribute.elements.map { renamed($0, names) }
    return attribute
  }

  private func renamed(_ key: ForeignKeyLayout, _ names: [String: String]) -> ForeignKeyLayout {
    ForeignKeyLayout(
      column: names[key.column] ?? key.column, entityColumn: key.entityColumn.flatMap { names[$0] },
      orderColumn: key.orderColumn.map { names[$0] ?? $0 })
  }

  private func storage(of relationship: RelationshipLayout, _ names: [String: String]) -> RelationshipStorage {
    switch relationship.storage {
    case .foreignKey(let key): .foreignKey(renamed(key, names))
    case .inverseForeignKey(let table, let key):
      .inverseForeignKey(table: tables[table]?.name ?? table, key: renamed(key, columns[table] ?? [:]))
    case .joinTable(let end):
      joinTables[end.table].map {
        .joinTable($0.end(entity: relationship.declaringEntity, relationship: relationship.name))
      } ?? relationship.storage
    }
  }

  private func renamed(_ index: IndexLayout) -> IndexLayout {
    var index = index
    let names = columns[index.table] ?? [:]
    index.table = tables[index.table]?.name ?? joinTables[index.table]?.name ?? index.table
    for position in index.elements.indices {
      let element = index.elements[position]
      index.elements[position].column = names[element.column] ?? element.column
      index.elements[position].remainderColumn = element.remainderColumn.map { names[$0] ?? $0 }
    }
    return index
  }
}
