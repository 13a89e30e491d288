// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension StoreSchema {
  /// Checks that the columns of a catalog have the types of this layout. Not needed for SQLite, in which each value has
  /// its own type.
  ///
  /// - Throws: `SchemaProblem.columnOfOtherType` for the first column whose values would be misread.
  package func checkColumnTypes(in catalog: StoreCatalog) throws {
    for table in tables {
      guard let found = catalog.table(named: table.name) else { continue }
      for column in table.columns {
        let (entity, property) = column.role.owner ?? (table.rootEntity, column.name)
        try found.check(column.name, column.type, entity: entity, property: property)
      }
    }
    for join in joinTables {
      guard let found = catalog.table(named: join.name) else { continue }
      let columns = [join.ownerColumn, join.destinationColumn, join.orderColumn, join.inverseOrderColumn]
      for name in columns.compactMap({ $0 }) {
        try found.check(name, .bigint, entity: join.ownerEntity, property: join.relationship)
      }
    }
  }
}

extension StoreCatalog.Table {
  fileprivate func check(_ name: String, _ type: ColumnType, entity: String, property: String) throws {
    guard let column = columns.first(where: { $0.name == name }), column.type != type.rawValue else { return }
    throw SchemaProblem.columnOfOtherType(
      entity: entity, property: property, column: "\(self.name).\(name)", found: column.type, expected: type.rawValue)
  }
}

extension ColumnRole {
  /// The entity and property that a column belongs to; nil for Core Data's own columns.
  package var owner: (entity: String, property: String)? {
    switch self {
    case .primaryKey, .entityNumber, .version: nil
    case .attribute(let entity, let path), .remainder(let entity, let path): (entity, path.joined(separator: "."))
    case .foreignKey(let entity, let name), .foreignEntity(let entity, let name), .ownerKey(let entity, let name),
      .order(let entity, let name):
      (entity, name)
    }
  }
}
