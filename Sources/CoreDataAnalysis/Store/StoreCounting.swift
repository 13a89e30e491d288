// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Counts rows and values of a store for findings, with SQL that both engines share.
package protocol StoreCounting {
  var database: any SQLDatabase { get }
  /// The entities, except those of persistent history, sorted by name.
  var entities: [ReadableEntity] { get }
  /// The layout; nil if no model is known.
  var schema: StoreSchema? { get }
  /// The store's name in errors.
  var name: String { get }

  /// Runs a body in a snapshot of the store, and translates errors.
  func reading<Result>(_ body: () throws -> Result) throws -> Result

  /// Throws if an entity has no table, which counting no rows would hide.
  ///
  /// - Throws: `StoreProblem`.
  func checkTables(of entities: [ReadableEntity]) throws
}

/// SQL terms for columns that together contain one value.
private enum SQLValue {
  /// Returns a term that is NULL if a value is missing.
  static func present(_ columns: [String]) -> String {
    // The columns may have different types.
    columns.count == 1
      ? columns[0] : "CASE WHEN \(columns.map { "\($0) IS NOT NULL" }.joined(separator: " OR ")) THEN 1 END"
  }
}

extension StoreCounting {
  /// Returns the number of rows of exactly each entity, including zeros.
  /// - Throws: `StoreProblem`.
  package func rowCounts() throws -> [String: Int] {
    try checkTables(of: entities)
    var counts = Dictionary(entities.map { ($0.name, 0) }) { first, _ in first }
    try reading {
      for entity in entities where entity.isAlone {
        guard let table = entity.table else { continue }
        counts[entity.name] = Int(
          try database.scalar("SELECT COUNT(*) FROM \(SQLName.quoted(table))")?.integer ?? 0)
      }
      for (table, own) in entitiesSharingTables {
        let sql = "SELECT Z_ENT, COUNT(*) FROM \(SQLName.quoted(table)) GROUP BY Z_ENT"
        let names = Dictionary(own.map { ($0.number, $0.name) }) { first, _ in first }
        for row in try database.rows(sql) {
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

  private var entitiesByName: [String: ReadableEntity] {
    Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The entities of each table shared by several entities, by the names of the tables.
  var entitiesSharingTables: [(table: String, entities: [ReadableEntity])] {
    Dictionary(grouping: entities.filter { !$0.isAlone && $0.table != nil }) { $0.table ?? "" }
      .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Returns the problem of rows whose entity number does not belong to their table.
  func strayRows(in table: String, number: SQLiteValue, count: Int64) -> StoreProblem {
    let known = entities.filter { $0.table == table }.sorted { $0.number < $1.number }
      .map { "\($0.number) (\($0.name))" }.joined(separator: ", ")
    return StoreProblem(
      .damaged,
      "\(name) has \(count) \(count == 1 ? "row" : "rows") in the table \(table) with the entity number "
        + "\(number.shortLiteral), which is not one of \(known). Restore it from a backup, or correct Z_ENT in these rows."
    )
  }

  /// Counts rows and values for findings. Without a model, only rows are counted.
  /// - Throws: `StoreProblem`.
  package func counts() throws -> StoreCounts {
    var counts = StoreCounts(rows: try rowCounts())
    try reading {
      for entity in entities {
        guard let layout = entity.layout, counts.rows[entity.name] ?? 0 > 0 else { continue }
        counts.values[entity.name] = try values(of: layout, where: entity.condition(in: database.dialect, of: "o"))
        for property in Array(layout.attributes.keys) + layout.relationships.keys {
          counts.origins[entity.name, default: [:]][property] = AttributeOrigin(
            entity: entity.name, property: property)
        }
      }
    }
    return counts
  }

  private func values(of layout: EntityLayout, where isOwner: String) throws -> [String: Int] {
    var names: [String] = []
    var terms: [String] = []
    for (name, attribute) in layout.attributes.sorted(by: { $0.key < $1.key }) {
      let columns = attribute.columns.map { "o.\(SQLName.quoted($0))" }
      if columns.isEmpty { continue }
      names.append(name)
      terms.append("COUNT(\(SQLValue.present(columns)))")
    }
    var links: [(name: String, sql: String)] = []
    let table = SQLName.quoted(layout.table)
    for (name, relationship) in layout.relationships.sorted(by: { $0.key < $1.key }) {
      if case .foreignKey(let key) = relationship.storage {
        names.append(name)
        terms.append("COUNT(o.\(SQLName.quoted(key.column)))")
      } else if let schema {
        let pairs = RelationshipPairs(of: relationship, in: schema)
        links.append((name, "\(pairs.count(ofOwnersIn: layout.table)) WHERE \(isOwner)"))
      }
    }
    var result: [String: Int] = [:]
    // The number of result columns is limited; entities with more properties than this are rare.
    for start in stride(from: 0, to: terms.count, by: 500) {
      let part = start..<min(start + 500, terms.count)
      let sql = "SELECT \(terms[part].joined(separator: ", ")) FROM \(table) o WHERE \(isOwner)"
      guard let row = try database.rows(sql).first else { continue }
      for (name, value) in zip(names[part], row.values) { result[name] = Int(value.integer ?? 0) }
    }
    for link in links { result[link.name] = Int(try database.scalar(link.sql)?.integer ?? 0) }
    return result
  }

  /// Counts what the findings of a step depend on: numbers that new attribute types cannot represent, rows that would
  /// violate new uniqueness constraints, values that break stricter validation rules, and objects with fewer members than
  /// raised minimum counts.
  ///
  /// - Throws: `StoreProblem`.
  func count(
    for difference: ModelDifference, from old: ModelDocument, to new: ModelDocument, into counts: inout StoreCounts
  ) throws {
    let judge = FindingJudge(old: old, new: new, counts: counts, changes: difference.changes)
    let entities = entitiesByName
    for change in NumberChange.all(in: difference, judge) where counts.fits[change] == nil {
      counts.fits[change] = try fit(of: change, entities)
    }
    for constraint in AddedConstraint.all(in: difference, judge) where counts.duplicates[constraint] == nil {
      counts.duplicates[constraint] = try duplicates(under: constraint, entities)
    }
    for rules in TightenedRules.all(in: difference, judge) where counts.breaks[rules] == nil {
      counts.breaks[rules] = try breaks(of: rules, entities)
    }
    for minimum in RaisedMinimum.all(in: difference, judge) where counts.lacking[minimum] == nil {
      counts.lacking[minimum] = try lacking(minimum, entities)
    }
  }

  /// Returns nil for an attribute without a column of its own.
  private func fit(of change: NumberChange, _ entities: [String: ReadableEntity]) throws -> NumberFit? {
    guard let entity = entities[change.origin.entity],
      let layout = entity.layout, let name = layout.attributes[change.origin.property]?.column
    else { return nil }
    let dialect = database.dialect
    let conversion = NumberConversion(
      column: SQLName.quoted(name), from: change.from, to: change.to, dialect: dialect)
    let terms = [conversion.refused, conversion.changed].map {
      "COUNT(CASE WHEN \($0 ?? dialect.truth(false).sql) THEN 1 END)"
    }
    let sql =
      "SELECT \(terms.joined(separator: ", ")) FROM \(SQLName.quoted(layout.table)) "
      + "WHERE \(entity.condition(in: dialect))"
    return try reading {
      guard let row = try database.rows(sql).first else { return nil }
      return NumberFit(refused: Int(row[0].integer ?? 0), changed: Int(row[1].integer ?? 0))
    }
  }

  /// Returns nil if the values have no column of their own, one has another type, or a rule cannot be evaluated.
  private func breaks(of tightened: TightenedRules, _ entities: [String: ReadableEntity]) throws -> RuleBreaks? {
    guard ![.transformable, .binaryData].contains(tightened.kind), let entity = entities[tightened.origin.entity],
      let layout = entity.layout, let attribute = layout.attributes[tightened.origin.property],
      attribute.column != nil
    else { return nil }
    let columns = attribute.columns.map { SQLName.quoted($0) }
    let sql =
      "SELECT \(columns.joined(separator: ", ")) FROM \(SQLName.quoted(layout.table)) "
      + "WHERE \(entity.condition(in: database.dialect)) AND \(SQLValue.present(columns)) IS NOT NULL"
    var (breaks, isEvaluable) = (RuleBreaks(), true)
    try reading {
      try database.forEachRow(sql, []) { row in
        guard isEvaluable else { return }
        let stored = columns.indices.map { row.value(at: $0) }
        guard let value = StoredValue.object(Self.single(stored, tightened.kind), as: attribute) else {
          isEvaluable = false
          return
        }
        do {
          let isKept = try tightened.rules.allSatisfy { try $0.isKept(by: value) }
          if !isKept { breaks.add(Self.text(stored, tightened.kind)) }
        } catch {
          // The finding then says that values are not checked.
          isEvaluable = false
        }
      }
    }
    return isEvaluable ? breaks : nil
  }

  private func lacking(_ minimum: RaisedMinimum, _ entities: [String: ReadableEntity]) throws -> Int? {
    guard let entity = entities[minimum.origin.entity], let layout = entity.layout,
      let schema, let relationship = layout.relationships[minimum.origin.property], relationship.isToMany
    else { return nil }
    let pairs = RelationshipPairs(of: relationship, in: schema).queries(fromOwner: true)
    let condition = minimum.allowsNone ? "c.N < \(minimum.minimum)" : "COALESCE(c.N, 0) < \(minimum.minimum)"
    let sql =
      "SELECT COUNT(*) FROM \(SQLName.quoted(layout.table)) o LEFT JOIN (SELECT p.OWNER AS OWNER, "
      + "COUNT(DISTINCT p.MEMBER) AS N FROM (\(pairs.joined(separator: " UNION ALL "))) p GROUP BY p.OWNER) c "
      + "ON c.OWNER = o.Z_PK WHERE \(entity.condition(in: database.dialect, of: "o")) AND \(condition)"
    return try reading { Int(try database.scalar(sql)?.integer ?? 0) }
  }

  /// Returns nil if the values are not in columns of one table.
  private func duplicates(
    under constraint: AddedConstraint, _ entities: [String: ReadableEntity]
  ) throws -> DuplicateCount? {
    guard !constraint.attributes.isEmpty else { return DuplicateCount(rows: 0, example: nil) }
    var tables: Set<String> = []
    var columns: Set<[[String]]> = []
    var kinds: [AttributeKind] = []
    var conditions: [String] = []
    for origins in constraint.attributes {
      guard let name = origins.first?.entity, let entity = entities[name],
        let layout = entity.layout
      else { return nil }
      let found = origins.compactMap { layout.attributes[$0.property] }.filter { $0.column != nil }
      guard found.count == origins.count, origins.allSatisfy({ $0.entity == name }) else { return nil }
      tables.insert(layout.table)
      kinds = found.map(\.kind)
      // A date of PostgreSQL has two columns.
      columns.insert(found.map { $0.columns.map { SQLName.quoted($0) } })
      conditions.append(entity.condition(in: database.dialect))
    }
    guard tables.count == 1, let table = tables.first, columns.count == 1, let columns = columns.first else {
      return nil
    }
    let list = columns.joined().joined(separator: ", ")
    // NULL is never a duplicate.
    let present = columns.map { "\(SQLValue.present($0)) IS NOT NULL" }.joined(separator: " AND ")
    let groups =
      "SELECT \(list), COUNT(*) AS N FROM \(SQLName.quoted(table)) WHERE \(present) "
      + "AND (\(conditions.joined(separator: " OR "))) GROUP BY \(list) HAVING COUNT(*) > 1"
    return try reading {
      let rows = Int(try database.scalar("SELECT SUM(N) FROM (\(groups)) d")?.integer ?? 0)
      guard rows > 0,
        let most = try database.rows("\(groups) ORDER BY COUNT(*) DESC, \(list) LIMIT 1").first?.values
      else { return DuplicateCount(rows: 0, example: nil) }
      var (values, texts) = (most.dropLast(), [String]())
      for (kind, columns) in zip(kinds, columns) {
        texts.append(Self.text(Array(values.prefix(columns.count)), kind))
        values = values.dropFirst(columns.count)
      }
      let count = CountText.counted(Int(most.last?.integer ?? 0), "row")
      return DuplicateCount(rows: rows, example: "\(texts.joined(separator: ", ")) (\(count))")
    }
  }

  /// Returns the value of one or more columns as SQLite stores it in one. A server stores what a timestamp cannot hold of
  /// a date in a second column.
  private static func single(_ values: [SQLiteValue], _ kind: AttributeKind) -> SQLiteValue {
    guard kind == .date, values.count == 2, case .real(let seconds) = values[0], let remainder = values[1].real else {
      return values[0]
    }
    return .real(seconds.isFinite ? seconds + remainder : remainder)
  }

  /// Returns a value for display, from its columns.
  private static func text(_ values: [SQLiteValue], _ kind: AttributeKind) -> String {
    let value = single(values, kind)
    switch (kind, value) {
    case (.date, .real(let seconds)): return DateText.text(seconds)
    case (.date, .integer(let seconds)): return DateText.text(Double(seconds))
    case (.uuid, .blob(let bytes)) where bytes.count == 16:
      return NSUUID(uuidBytes: Array(bytes)).uuidString
    // Engines differ in how they store decimals.
    case (.decimal, _):
      guard case .decimal(let text) = StoredValue.exported(value, as: kind) else { return value.shortLiteral }
      return text
    default: return value.shortLiteral
    }
  }
}
