// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Replaces the names in a computed schema with those of a database.
package struct SchemaReconciler {
  package let expected: StoreSchema
  package let catalog: StoreCatalog
  /// The names in `Z_PRIMARYKEY` by number, which may be outdated after a rename.
  package let storedNames: [Int: String]
  /// The naming rule for columns of elements in `expected`.
  package let elementNames: ElementNames
  /// Whether missing tables and columns keep their computed names; the database then rejects statements that use them.
  package var allowsMissing: Bool
  /// Whether the layout includes indexes that the database lacks.
  package var keepsMissingIndexes = false

  package func reconciled() throws -> StoreSchema {
    var renaming = SchemaRenaming()
    let numbered = NumberedNames(
      expected.joinTables.isEmpty ? [] : Array(catalog.tables.enumerated()), name: \.element.name)
    for table in expected.tables {
      let found: StoreCatalog.Table
      do {
        found = try file(for: table)
      } catch SchemaProblem.tableNotInStore where allowsMissing {
        renaming.tables[table.name] = table
        continue
      }
      guard found.hasNumericKey else {
        throw SchemaProblem.keyNotPrimary(entity: table.rootEntity, table: found.name)
      }
      let columns = try columnNames(of: table, in: found)
      renaming.columns[table.name] = columns
      var layout = table
      layout.name = found.name
      layout.columns = inFileOrder(
        table.columns.compactMap { column in
          columns[column.name].map { ColumnLayout(name: $0, type: column.type, role: column.role) }
        }, of: found)
      renaming.tables[table.name] = layout
    }
    for join in expected.joinTables {
      do {
        renaming.joinTables[join.name] = try reconciled(join, numbered)
      } catch SchemaProblem.joinTableNotInStore where allowsMissing {
        renaming.joinTables[join.name] = join
      }
    }
    for join in renaming.joinTables.values {
      if let table = catalog.table(named: join.name) { _ = try plain(table) }
    }
    for (name, join) in renaming.joinTables {
      guard let old = expected.joinTable(named: name) else { continue }
      renaming.columns[name] = [old.ownerColumn: join.ownerColumn, old.destinationColumn: join.destinationColumn]
    }
    var schema = renaming.renamed(expected)
    for position in schema.indexes.indices {
      guard case .joinTable = schema.indexes[position].purpose, !catalog.hasIndex(schema.indexes[position].name),
        let join = schema.joinTable(named: schema.indexes[position].table)
      else { continue }
      // The index is named after the column, whose name in the store cannot be predicted, or after the other column if
      // the store has named the table after the inverse.
      for (column, other) in [
        (join.destinationColumn, join.ownerColumn), (join.ownerColumn, join.destinationColumn),
      ] {
        let name = catalog.dialect.spelling(of: "\(join.name)_\(column)_INDEX")
        guard catalog.hasIndex(name) else { continue }
        schema.indexes[position].name = name
        schema.indexes[position].elements = [.init(column: column), .init(column: other)]
        break
      }
    }
    return keepsMissingIndexes ? schema : schema.withoutIndexes(missingIn: catalog)
  }

  private func file(for table: TableLayout) throws -> StoreCatalog.Table {
    let earlier = expected[table.rootEntity].flatMap { storedNames[$0.number] }
    if let found = catalog.table(of: table, earlierName: earlier) { return try plain(found) }
    throw SchemaProblem.tableNotInStore(entity: table.rootEntity, table: table.name)
  }

  /// Returns the table; throws if its definition computes values or can remove rows.
  private func plain(_ table: StoreCatalog.Table) throws -> StoreCatalog.Table {
    if let unsupportedFeature = table.unsupportedFeature {
      throw SchemaProblem.foreignTable(table.name, found: unsupportedFeature)
    }
    return table
  }

  private func inFileOrder(_ columns: [ColumnLayout], of table: StoreCatalog.Table) -> [ColumnLayout] {
    if columns.elementsEqual(table.columns, by: { $0.name == $1.name }) { return columns }
    let positions = Dictionary(
      table.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return columns.sorted { (positions[$0.name] ?? 0) < (positions[$1.name] ?? 0) }
  }

  /// Returns the database's name for each expected column.
  private func columnNames(of table: TableLayout, in file: StoreCatalog.Table) throws -> [String: String] {
    var names: [String: String] = [:]
    // Needed only for columns not found under their own names.
    lazy var numbered = NumberedNames(file.columns, name: \.name)
    func likeNumbered(_ name: String) -> String? { numbered.only(like: name)?.name }
    for column in table.columns {
      // Remainder columns are added at the end, since their names derive from the others.
      if case .remainder = column.role { continue }
      if let found = file.spelling(of: column.name) {
        names[column.name] = found
        continue
      }
      switch column.role {
      case .foreignEntity:
        // Optional for reading: a store from before the destination had sub-entities does not have this column.
        names[column.name] = likeNumbered(column.name)
      case .ownerKey where allowsMissing, .order where allowsMissing, .attribute where allowsMissing,
        .foreignKey where allowsMissing:
        names[column.name] = likeNumbered(column.name) ?? column.name
      case .ownerKey, .order:
        guard let found = likeNumbered(column.name) else { throw missing(column, of: table, in: file) }
        names[column.name] = found
      case .attribute, .foreignKey, .primaryKey, .entityNumber, .version: throw missing(column, of: table, in: file)
      case .remainder: continue
      }
    }
    names = sortedByType(names, of: table, in: file)
    try addRemainders(to: &names, of: table, in: file)
    return names
  }

  /// Adds the names of the second columns of dates, which are named after the first.
  private func addRemainders(
    to names: inout [String: String], of table: TableLayout, in file: StoreCatalog.Table
  ) throws {
    guard catalog.dialect == .postgreSQL else { return }
    var free = Set(file.columns.map(\.name)).subtracting(names.values)
    let byRole = Dictionary(table.columns.map { ($0.role, $0) }) { first, _ in first }
    for column in table.columns {
      guard case .remainder(let entity, let path) = column.role else { continue }
      let date = byRole[.attribute(entity: entity, path: path)]
      let name = date.flatMap { names[$0.name] }.map {
        catalog.dialect.spelling(of: $0 + SQLDialect.remainderSuffix)
      }
      let found = [name, column.name].compactMap { $0 }.first(where: free.contains)
      guard let found = found ?? (allowsMissing ? name : nil) else {
        throw missing(column, of: table, in: file)
      }
      free.remove(found)
      names[column.name] = found
    }
  }

  /// Properties of one name in several sub-entities, and elements of one name, share the names `ZVALUE`, `ZVALUE1` ….
  /// In a migrated store, differing declared types show which column belongs to which property.
  private func sortedByType(
    _ names: [String: String], of table: TableLayout, in file: StoreCatalog.Table
  ) -> [String: String] {
    let rivals = Dictionary(grouping: table.columns) { column -> String in
      guard case .attribute(_, let path) = column.role else { return "" }
      return elementNames.column(path, inTableOf: table.rootEntity)
    }.filter { !$0.key.isEmpty && $0.value.count > 1 }
    guard !rivals.isEmpty else { return names }
    var names = names
    let types = Dictionary(
      file.columns.map { ($0.name, $0.type.uppercased()) }, uniquingKeysWith: { first, _ in first })
    for columns in rivals.values {
      let held = columns.compactMap { names[$0.name] }
      let mismatched = columns.contains { types[names[$0.name] ?? ""] != $0.type.rawValue.uppercased() }
      guard mismatched, Set(columns.map(\.type)).count == columns.count else { continue }
      for column in columns {
        if let fitting = held.first(where: { types[$0] == column.type.rawValue.uppercased() }) {
          names[column.name] = fitting
        }
      }
    }
    return names
  }

  private func missing(_ column: ColumnLayout, of table: TableLayout, in file: StoreCatalog.Table) -> SchemaProblem {
    let (entity, property) = column.role.owner ?? (table.rootEntity, column.name)
    return .columnNotInStore(entity: entity, property: property, table: file.name, column: column.name)
  }

  /// Returns the join table as the database has it.
  ///
  /// It is searched under the expected name, then under that of the inverse (the model does not determine which of the
  /// two names a table within one entity has), then under both with another number.
  private func reconciled(
    _ join: JoinTableLayout, _ numbered: NumberedNames<EnumeratedSequence<[StoreCatalog.Table]>.Element>
  ) throws -> JoinTableLayout {
    let inverse = "Z_\(number(in: join.destinationColumn))\(join.inverse.uppercased())"
    let others = [catalog.dialect.spelling(of: inverse), join.name]
    let exact = ([join.name] + others).compactMap(catalog.table(named:))
    let alike = others.flatMap { numbered.all(like: $0) }.sorted { $0.offset < $1.offset }.map(\.element)
    for table in exact + alike {
      if let found = columns(of: join, in: table) { return found }
    }
    throw SchemaProblem.joinTableNotInStore(entity: join.ownerEntity, relationship: join.relationship, table: join.name)
  }

  private func number(in column: String) -> Substring { NumberedName(column.uppercased()).number }

  private func columns(of join: JoinTableLayout, in table: StoreCatalog.Table) -> JoinTableLayout? {
    let keys = table.columns.map(\.name).filter { !$0.uppercased().hasPrefix("Z_FOK_") }
    guard keys.count == 2, let owner = key(join.ownerColumn, of: join.inverse, among: keys) else { return nil }
    let rest = keys.filter { $0 != owner }
    guard let destination = key(join.destinationColumn, of: join.relationship, among: rest) else { return nil }
    var found = join
    found.name = table.name
    found.ownerColumn = owner
    found.destinationColumn = destination
    found.orderColumn = order(join.orderColumn, in: table)
    found.inverseOrderColumn = order(join.inverseOrderColumn, in: table)
    let isComplete =
      (found.orderColumn == nil) == (join.orderColumn == nil)
      && (found.inverseOrderColumn == nil) == (join.inverseOrderColumn == nil)
    return isComplete ? found : nil
  }

  /// Returns the name of a relationship's key column: as expected, or with another number, or with another suffix after
  /// a name clash.
  private func key(_ expected: String, of relationship: String, among names: [String]) -> String? {
    if let exact = names.first(where: { $0.uppercased() == expected.uppercased() }) { return exact }
    return names.first { name in
      let rest = NumberedName(name.uppercased()).rest
      let base = relationship.uppercased()
      return rest.hasPrefix(base) && rest.dropFirst(base.count).allSatisfy { $0.isASCII && $0.isNumber }
    }
  }

  private func order(_ expected: String?, in table: StoreCatalog.Table) -> String? {
    expected.flatMap { name in
      table.spelling(of: name) ?? NumberedNames(table.columns, name: \.name).only(like: name)?.name
    }
  }
}

/// Facts about a store's join tables that no known rule predicts: after which of two relationships within one entity a
/// table is named, and the numbers of columns whose names would clash.
///
/// A migration keeps both. In the one known store that gained another relationship to an entity by a migration, the new
/// column has the next number.
package struct JoinNames {
  /// The number at the end of the column that is named after a relationship, by entity and relationship; 0 for none.
  package private(set) var columnNumbers: [[String]: Int] = [:]
  /// The entities and relationships after which tables are named.
  package private(set) var tableNames: Set<[String]> = []

  /// Creates the value for a new store, whose names all follow the rules.
  package init() {}

  /// Creates the names in a store, for the relationships of the version that it is migrated to.
  ///
  /// - Parameters:
  ///   - selection: the entities of the new version.
  ///   - source: the store's present layout.
  ///   - mapping: the earlier names of entities and relationships.
  package init(_ selection: SchemaSelection, from source: StoreSchema, mapping: some EarlierNames) throws {
    for entity in selection.entities {
      for relationship in try selection.storedRelationships(of: entity) {
        guard let oldEntity = mapping.sourceEntity(of: entity.name),
          let oldName = mapping.sourceRelationship(of: relationship.name, in: entity.name),
          case .joinTable(let end)? = source[oldEntity]?.relationships[oldName]?.storage
        else { continue }
        let name = [entity.name, relationship.name]
        columnNumbers[name] = Self.number(in: end.destinationColumn, after: oldName)
        if Self.number(in: end.table, after: oldName) != nil { tableNames.insert(name) }
      }
    }
  }

  /// Returns the number after a relationship's name in the name of a table or column; nil if it has another name.
  private static func number(in name: String, after relationship: String) -> Int? {
    let (rest, base) = (NumberedName(name.uppercased()).rest, relationship.uppercased())
    guard rest.hasPrefix(base) else { return nil }
    let digits = rest.dropFirst(base.count)
    return digits.isEmpty ? 0 : digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int(digits) : nil
  }
}

/// The names of entities and relationships in the previous version.
package protocol EarlierNames {
  /// Returns the earlier name of an entity; nil for a new one.
  func sourceEntity(of destination: String) -> String?

  /// Returns the earlier name of a relationship; nil for a new one.
  func sourceRelationship(of name: String, in destination: String) -> String?
}

extension StoreSchema {
  /// Returns the layout without the indexes that a database lacks.
  package func withoutIndexes(missingIn catalog: StoreCatalog) -> StoreSchema {
    withIndexes { catalog.hasIndex($0) }
  }

  /// Returns the layout with only those indexes whose names meet a condition.
  package func withIndexes(where isPresent: (String) -> Bool) -> StoreSchema {
    var schema = self
    schema.indexes.removeAll { !isPresent($0.name) }
    return schema
  }
}
