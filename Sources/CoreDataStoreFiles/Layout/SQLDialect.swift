// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataSQLite

/// The engine that SQL is written for.
///
/// The layout of a store and its queries are the same on both engines. A `StoreSchema` contains the names and column
/// types of one engine, and SQL that both understand is written once.
package enum SQLDialect: Hashable, Sendable {
  case sqlite
  case postgreSQL

  /// The maximum length of a table or column name, in bytes of UTF-8; nil for no limit.
  package var longestName: Int? { self == .postgreSQL ? 63 : nil }

  /// Returns Core Data's name of a table, a column or an index as spelled by this engine.
  ///
  /// PostgreSQL's names are lowercase, so that unquoted names in SQL match them. A name that exceeds PostgreSQL's limit
  /// is cut, and ends with a hash of the whole name.
  package func spelling(of name: String) -> String {
    guard self == .postgreSQL, let longest = longestName else { return name }
    let folded = SQLName.folded(name)
    guard folded.utf8.count > longest else { return folded }
    let suffix = "_" + Self.hash(of: folded)
    var start = ""
    for scalar in folded.unicodeScalars {
      guard start.utf8.count + UTF8.width(scalar) + suffix.utf8.count <= longest else { break }
      start.unicodeScalars.append(scalar)
    }
    return start + suffix
  }

  /// Returns twelve hexadecimal digits derived from the string alone: the FNV-1a hash of its bytes.
  private static func hash(of text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String((String(repeating: "0", count: 16 - digits.count) + digits).suffix(12))
  }
}

extension StoreSchema {
  /// Returns the same layout with the names and column types of another engine. `self` must be SQLite's.
  package func named(for dialect: SQLDialect) -> StoreSchema {
    trap(
      unless: self.dialect == .sqlite, "Only the names of a SQLite store can be turned into those of another engine.")
    guard dialect == .postgreSQL else { return self }
    return PostgreSQLNames(splittingDates()).renamed()
  }

  /// Returns PostgreSQL's layout, in which a second column after each date's column holds the part that a timestamp
  /// cannot represent.
  private func splittingDates() -> StoreSchema {
    var remainders: [String: [String: String]] = [:]
    var (tables, entities, indexes) = (self.tables, self.entities, self.indexes)
    for position in tables.indices {
      var register = NameRegister(reserved: tables[position].columns.map(\.name))
      var names: [String: String] = [:]
      tables[position].columns = tables[position].columns.flatMap { column -> [ColumnLayout] in
        guard column.type == .timestamp, case .attribute(let entity, let path) = column.role else { return [column] }
        let name = register.unique(column.name + SQLDialect.remainderSuffix)
        names[column.name] = name
        return [column, ColumnLayout(name: name, type: .float, role: .remainder(entity: entity, path: path))]
      }
      remainders[tables[position].name] = names
    }
    for position in entities.indices {
      let names = remainders[entities[position].table] ?? [:]
      entities[position].attributes = entities[position].attributes.mapValues { $0.addingRemainders(names) }
    }
    for position in indexes.indices {
      let names = remainders[indexes[position].table] ?? [:]
      for element in indexes[position].elements.indices {
        indexes[position].elements[element].remainderColumn = names[indexes[position].elements[element].column]
      }
    }
    return StoreSchema(
      dialect: .postgreSQL, entities: entities, tables: tables, joinTables: joinTables, indexes: indexes)
  }
}

extension SQLDialect {
  /// The suffix of the name of a date's second column.
  static let remainderSuffix = "_SUB"
}

extension AttributeLayout {
  fileprivate func addingRemainders(_ names: [String: String]) -> AttributeLayout {
    var attribute = self
    attribute.remainderColumn = column.flatMap { names[$0] }
    attribute.elements = elements.map { $0.addingRemainders(names) }
    return attribute
  }
}

/// Changes all names of a schema to PostgreSQL's spelling. Names of tables, sequences and indexes are unique in a
/// database schema.
private struct PostgreSQLNames {
  let schema: StoreSchema
  private var register = NameRegister(reserved: StoreSchema.housekeepingNames, dialect: .postgreSQL)

  init(_ schema: StoreSchema) { self.schema = schema }

  func renamed() -> StoreSchema {
    var copy = self
    return copy.result()
  }

  private mutating func result() -> StoreSchema {
    var renaming = SchemaRenaming()
    for table in schema.tables {
      var layout = table
      layout.name = tableName(table.name)
      var columns = NameRegister(dialect: .postgreSQL)
      var names: [String: String] = [:]
      for position in layout.columns.indices {
        let column = layout.columns[position]
        names[column.name] = columns.unique(column.name)
        layout.columns[position].name = names[column.name] ?? column.name
        layout.columns[position].type = type(of: column)
      }
      renaming.columns[table.name] = names
      renaming.tables[table.name] = layout
    }
    for join in schema.joinTables {
      var layout = join
      layout.name = tableName(join.name)
      var columns = NameRegister(dialect: .postgreSQL)
      layout.ownerColumn = columns.unique(join.ownerColumn)
      layout.destinationColumn = columns.unique(join.destinationColumn)
      layout.inverseOrderColumn = join.inverseOrderColumn.map { columns.unique($0) }
      layout.orderColumn = join.orderColumn.map { columns.unique($0) }
      renaming.joinTables[join.name] = layout
      // The columns of an index are looked up by their names in the schema.
      renaming.columns[join.name] = [
        join.ownerColumn: layout.ownerColumn, join.destinationColumn: layout.destinationColumn,
      ]
    }
    var renamed = renaming.renamed(schema)
    for position in renamed.indexes.indices {
      renamed.indexes[position].name = register.unique(renamed.indexes[position].name)
    }
    return renamed
  }

  /// Reserves a table's name, together with those of its sequence and of the index of its primary key.
  private mutating func tableName(_ name: String) -> String {
    let unique = register.unique(name)
    _ = register.unique(TableLayout.sequenceName(ofTable: unique))
    _ = register.unique(unique + "_pkey")
    return unique
  }

  private func type(of column: ColumnLayout) -> ColumnType {
    switch column.role {
    case .primaryKey, .foreignKey, .ownerKey, .order: return .bigint
    case .entityNumber, .version, .foreignEntity: return .smallerInteger
    case .remainder: return .doublePrecision
    case .attribute(let entity, let path):
      let attribute = path.dropFirst().reduce(schema[entity]?.attributes[path[0]]) { attribute, name in
        attribute?.elements.first { $0.name == name }
      }
      return attribute.flatMap { ColumnType.postgreSQL($0.kind) } ?? .bytea
    }
  }
}

extension ColumnType {
  /// Returns PostgreSQL's type for an attribute; nil for types that no column can hold.
  fileprivate static func postgreSQL(_ kind: AttributeKind) -> ColumnType? {
    switch kind {
    // All widths have the same type, so that a change of width changes no row.
    case .integer16, .integer32, .integer64: .bigint
    case .boolean: .boolean
    case .double: .doublePrecision
    case .float: .real
    case .decimal: .numeric
    case .string, .uri: .text
    case .date: .timestamptz
    case .uuid: .uuid
    case .binaryData, .transformable: .bytea
    case .undefined, .objectID, .composite: nil
    }
  }
}

extension TableLayout {
  /// The name of the PostgreSQL sequence that allocates blocks of primary keys.
  package var sequence: String { Self.sequenceName(ofTable: name) }

  package static func sequenceName(ofTable name: String) -> String {
    SQLDialect.postgreSQL.spelling(of: name + "_z_pk_seq")
  }
}
