// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

extension StoreReader {
  /// The rows of exactly each entity, including zeros.
  /// - Throws: `StoreProblem`.
  package func rowCounts() throws -> [String: Int] {
    try checkTables(of: entities)
    var counts = Dictionary(entities.map { ($0.name, 0) }) { first, _ in first }
    try reading {
      for entity in entities where entity.isAlone {
        if let table = entity.table { counts[entity.name] = try connection.rowCount(of: table) }
      }
      for table in Set(entities.filter { !$0.isAlone }.compactMap(\.table)).sorted() {
        let sql = "SELECT Z_ENT, COUNT(*) FROM \(SQLName.quoted(table)) GROUP BY Z_ENT"
        let own = entities.filter { $0.table == table }
        let names = Dictionary(own.map { ($0.number, $0.name) }) { first, _ in first }
        for row in try connection.rows(sql) {
          let count = row[1].integer ?? 0
          guard let number = row[0].integer, let name = names[Int(number)] else {
            throw strayRows(in: table, number: row[0], count: count)
          }
          counts[name] = Int(count)
        }
      }
    }
    return counts
  }

  /// The problem of rows whose entity number is not one of their table.
  private func strayRows(in table: String, number: SQLiteValue, count: Int64) -> StoreProblem {
    let known = entities.filter { $0.table == table }.sorted { $0.number < $1.number }
      .map { "\($0.number) (\($0.name))" }.joined(separator: ", ")
    return StoreProblem(
      .damaged,
      "\(url.lastPathComponent) has \(count) \(count == 1 ? "row" : "rows") in the table \(table) with the entity number "
        + "\(number.shortLiteral), which is not one of \(known). Restore it from a backup, or correct Z_ENT in these rows."
    )
  }

  /// Throws if rows would be left out because their entity is unknown.
  func checkEntityNumbers() throws {
    try reading {
      for table in Set(entities.filter { !$0.isAlone }.compactMap(\.table)).sorted() {
        let numbers = entities.filter { $0.table == table }.map { String($0.number) }.joined(separator: ", ")
        let sql =
          "SELECT Z_ENT, COUNT(*) FROM \(SQLName.quoted(table)) WHERE IFNULL(Z_ENT NOT IN (\(numbers)), 1) "
          + "GROUP BY Z_ENT LIMIT 1"
        guard let row = try connection.rows(sql).first else { continue }
        throw strayRows(in: table, number: row[0], count: row[1].integer ?? 0)
      }
      if schema == nil { try checkTablesOfNobody() }
    }
  }

  /// Without a model, throws if a table looks like that of an entity and has rows, but belongs to no entity in
  /// `Z_PRIMARYKEY`.
  private func checkTablesOfNobody() throws {
    let known = Set(entities.compactMap { $0.table?.uppercased() })
    for table in catalog.tables where table.name.uppercased().hasPrefix("Z") && !table.isVirtual {
      let isOfRows = ["Z_PK", "Z_ENT", "Z_OPT"].allSatisfy { table.column(named: $0) != nil }
      guard isOfRows, !known.contains(table.name.uppercased()) else { continue }
      let count = try connection.rowCount(of: table.name)
      guard count > 0 else { continue }
      throw StoreProblem(
        .damaged,
        "\(url.lastPathComponent) is damaged: the table \(table.name) has \(count) rows, and Z_PRIMARYKEY names no entity "
          + "whose rows they are. Restore it from a backup.")
    }
  }

  /// Counts rows and values, to weigh findings. Without a model only rows are counted.
  /// - Throws: `StoreProblem`.
  package func counts() throws -> StoreCounts {
    var counts = StoreCounts(rows: try rowCounts())
    try reading {
      for entity in entities {
        guard let layout = entity.layout, counts.rows[entity.name] ?? 0 > 0 else { continue }
        counts.values[entity.name] = try values(of: layout, where: entity.condition)
        for attribute in layout.attributes.keys {
          counts.origins[entity.name, default: [:]][attribute] = AttributeOrigin(
            entity: entity.name, property: attribute)
        }
      }
    }
    return counts
  }

  private func values(of layout: EntityLayout, where condition: String) throws -> [String: Int] {
    var names: [String] = []
    var terms: [String] = []
    for (name, attribute) in layout.attributes.sorted(by: { $0.key < $1.key }) {
      let columns = attribute.columns.map { "o.\(SQLName.quoted($0))" }
      guard let first = columns.first else { continue }
      names.append(name)
      terms.append(columns.count == 1 ? "COUNT(\(first))" : "COUNT(COALESCE(\(columns.joined(separator: ", "))))")
    }
    var links: [(name: String, sql: String)] = []
    let table = SQLName.quoted(layout.table)
    let isOwner = condition == "1" ? condition : "o." + condition
    for (name, relationship) in layout.relationships.sorted(by: { $0.key < $1.key }) {
      if case .foreignKey(let key) = relationship.place {
        names.append(name)
        terms.append("COUNT(o.\(SQLName.quoted(key.column)))")
      } else if let schema {
        let pairs = RelationshipPairs(of: relationship, in: schema)
        links.append((name, "\(pairs.count(ofOwnersIn: layout.table)) WHERE \(isOwner)"))
      }
    }
    var result: [String: Int] = [:]
    // SQLite limits the number of result columns; entities with more properties than this are rare.
    for start in stride(from: 0, to: terms.count, by: 500) {
      let part = start..<min(start + 500, terms.count)
      let sql = "SELECT \(terms[part].joined(separator: ", ")) FROM \(table) o WHERE \(isOwner)"
      guard let row = try connection.rows(sql).first else { continue }
      for (name, value) in zip(names[part], row.values) { result[name] = Int(value.integer ?? 0) }
    }
    for link in links { result[link.name] = Int(try connection.scalar(link.sql)?.integer ?? 0) }
    return result
  }

  /// Counts the numbers that new types of attributes cannot hold unchanged.
  /// - Throws: `StoreProblem`.
  func countNumbers(
    in difference: ModelDifference, from old: ModelDocument, to new: ModelDocument, into counts: inout StoreCounts
  ) throws {
    let judge = FindingJudge(old: old, new: new, counts: counts, changes: difference.changes)
    for change in NumberChange.all(in: difference, judge) where counts.fits[change] == nil {
      counts.fits[change] = try fit(of: change)
    }
  }

  /// Nil for an attribute that is not kept in a column of its own.
  private func fit(of change: NumberChange) throws -> NumberFit? {
    guard let entity = entities.first(where: { $0.name == change.origin.entity }),
      let layout = entity.layout, let name = layout.attributes[change.origin.property]?.column
    else { return nil }
    let conversion = NumberConversion(column: SQLName.quoted(name), from: change.from, to: change.to)
    let terms = [conversion.refused, conversion.changed].map { "COUNT(CASE WHEN \($0 ?? "0") THEN 1 END)" }
    let sql =
      "SELECT \(terms.joined(separator: ", ")) FROM \(SQLName.quoted(layout.table)) WHERE \(entity.condition)"
    return try reading {
      guard let row = try connection.rows(sql).first else { return nil }
      return NumberFit(refused: Int(row[0].integer ?? 0), changed: Int(row[1].integer ?? 0))
    }
  }

  /// Transactions and changes of persistent history; nil where the store keeps none.
  /// - Throws: `StoreProblem`.
  package func historyCounts() throws -> (transactions: Int, changes: Int)? {
    guard catalog.table(named: "ATRANSACTION") != nil, catalog.table(named: "ACHANGE") != nil else { return nil }
    return try reading {
      (try connection.rowCount(of: "ATRANSACTION"), try connection.rowCount(of: "ACHANGE"))
    }
  }
}
