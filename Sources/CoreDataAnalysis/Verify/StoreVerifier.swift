// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Verifies a store against all rules of Core Data and of its model. Nothing is written. One pass over a table checks
/// the rules of all its columns; rows are listed only if it finds any.
package struct StoreVerifier {
  let reader: StoreReader
  /// The maximum number of rows listed for each defect.
  let limit: Int
  var connection: SQLiteConnection { reader.connection }
  var catalog: DatabaseCatalog { reader.catalog }
  var complete: StoreSchema? { reader.completeSchema }
  var name: String { reader.url.lastPathComponent }
  /// Whether to examine the log beside the store; false for a private copy of a store on a server, which has none.
  private let looksForLog: Bool

  package init(_ reader: StoreReader, limit: Int = 100, looksForLog: Bool = true) {
    self.reader = reader
    self.looksForLog = looksForLog
    self.limit = limit
  }

  /// Runs all checks.
  ///
  /// - Parameter willCheck: called with the name of each entity before its rows are checked.
  /// - Throws: `StoreProblem` if the file cannot be read, or is written meanwhile; the errors of `willCheck`.
  package func run(willCheck: (String) throws -> Void = { _ in }) throws -> StoreVerdict {
    var defects: [StoreDefect] = []
    var gaps: [String] = []
    defects += try reader.explaining {
      try registerFunctions()
      return try pageDefects()
    }
    defects += try reader.explaining { try metadataDefects() }
    if defects.contains(where: { $0.kind == .pages }) {
      gaps.append("Its pages are damaged, so the rows of \(name) were not checked.")
      defects += try logDefects(isDamaged: true)
      return StoreVerdict(defects: Self.sorted(defects), rows: [:], fileCount: 0, gaps: gaps)
    }
    if defects.contains(where: { $0.kind == .index }) {
      gaps.append(
        "Queries that use a stale index miss rows, so the results for rows are only certain after its "
          + "repair.")
    }
    if reader.schema == nil {
      gaps.append("Without a model, values and relationships were not checked.")
    }
    var rows: [String: Int] = [:]
    defects += try reader.explaining { try layoutDefects() + housekeepingDefects() }
    for entity in reader.entities where entity.table.flatMap({ catalog.table(named: $0) }) != nil {
      try willCheck(entity.name)
      try reader.explaining {
        rows[entity.name] = try count(of: entity)
        guard let layout = entity.layout, rows[entity.name] != 0 else { return }
        defects += try valueDefects(of: entity, layout)
        defects += try ruleDefects(of: entity, layout, gaps: &gaps)
        defects += try relationshipDefects(of: entity, layout)
      }
    }
    let usesIndexes = !defects.contains { $0.kind == .index }
    defects += try reader.explaining {
      try uniquenessDefects(usesIndexes: usesIndexes) + joinDefects() + historyDefects()
    }
    let isWhole = !defects.contains { $0.kind == .layout }
    let (files, fileCount) = try reader.explaining { try fileDefects(isWhole: isWhole) }
    let logs = try logDefects(isDamaged: false)
    defects += logs
    // The files may be all that is left of the rows in the log.
    defects += files.map { logs.isEmpty || $0.kind != .orphanedFile ? $0 : $0.with(cure: Self.keepsFiles) }
    try StoreProblem.translating(reader.url, reader.file.checkUnchanged)
    return StoreVerdict(defects: Self.sorted(defects), rows: rows, fileCount: fileCount, gaps: gaps)
  }

  static func sorted(_ defects: [StoreDefect]) -> [StoreDefect] {
    let order = Dictionary(uniqueKeysWithValues: StoreDefect.Kind.allCases.enumerated().map { ($1, $0) })
    return defects.sorted { left, right in
      let (first, second) = (order[left.kind] ?? 0, order[right.kind] ?? 0)
      return first == second ? left.place < right.place : first < second
    }
  }

  private func count(of entity: ReadableEntity) throws -> Int {
    guard let table = entity.table else { return 0 }
    let sql = "SELECT COUNT(*) FROM \(SQLName.quoted(table)) WHERE \(entity.condition)"
    return Int(try connection.scalar(sql)?.integer ?? 0)
  }

  /// Returns the rows of a query as a defect; nil if there are none.
  ///
  /// - Parameters:
  ///   - count: a query for the number of rows; nil if the caller knows it.
  ///   - rows: a query for the primary key and further columns, without its order and limit.
  ///   - sentence: describes a row.
  func defect(
    _ kind: StoreDefect.Kind, entity: String?, property: String?, count known: Int? = nil, rows sql: String,
    repair: [String] = [], cure: String, sentence: (SQLiteRow) -> String
  ) throws -> StoreDefect? {
    let count = try known ?? Int(connection.scalar("SELECT COUNT(*) FROM (\(sql))")?.integer ?? 0)
    guard count > 0 else { return nil }
    let found = try connection.rows("\(sql) ORDER BY 1 LIMIT \(limit)")
    return StoreDefect(
      kind, entity: entity, property: property, count: count,
      examples: found.map { .init(key: $0[0].integer, text: sentence($0)) }, repair: repair, cure: cure)
  }

  // MARK: The file

  private static let keepsFiles =
    "Keep the files: they may belong to rows in the log that is missing. Look for the log first."

  /// Returns defects for a log that is missing, or that belongs to another store.
  private func logDefects(isDamaged: Bool) throws -> [StoreDefect] {
    guard looksForLog else { return [] }
    return try LogProblem.all(reader, isDamaged: isDamaged).map { StoreDefect($0) }
  }

  /// Returns the name of the index if SQLite's message says that an index lacks a row or has one too many.
  private static func staleIndex(_ line: String) -> String? {
    for mark in ["missing from index ", "wrong # of entries in index "] {
      if let range = line.range(of: mark) { return String(line[range.upperBound...]) }
    }
    return nil
  }

  /// The number of problems of pages and indexes after which SQLite stops.
  private static let maxPageProblemCount = 100_000

  private func pageDefects() throws -> [StoreDefect] {
    let lines: [String]
    do {
      // SQLite does not search beyond the last problem, so it is asked for more problems than are listed.
      lines = try connection.integrityCheck(limit: Self.maxPageProblemCount)
    } catch let error as SQLiteError where error.isCorrupt {
      lines = [error.message]
    }
    let indexes = Dictionary(grouping: lines.filter { Self.staleIndex($0) != nil }) { Self.staleIndex($0) ?? "" }
    let others = lines.filter { line in
      // A duplicate value under a unique index is reported as a violated constraint.
      Self.staleIndex(line) == nil && !line.hasPrefix("non-unique entry in index ")
    }
    var defects = try indexes.sorted { $0.key < $1.key }.map { name, lines in
      let index = catalog.index(named: name)
      let isHindered = try index.map { try $0.isUnique && hasDuplicates(under: $0) } ?? false
      return StoreDefect(
        .index, count: lines.count, examples: lines.prefix(limit).map { .init(key: nil, text: $0 + ".") },
        repair: index == nil || isHindered ? [] : ["REINDEX \(SQLName.quoted(name))"],
        cure: isHindered
          ? "The index \(name) can be rebuilt when the duplicate values are gone."
          : "The index \(name) is rebuilt from its table.")
    }
    if !others.isEmpty {
      defects.append(
        StoreDefect(
          .pages, count: others.count, examples: others.prefix(limit).map { .init(key: nil, text: $0 + ".") },
          cure: "Restore the store from a backup, or save what can be read with SQLite's `.recover`."))
    }
    return defects
  }

  /// Whether rows have duplicate values in the columns of a unique index, determined without the index.
  private func hasDuplicates(under index: DatabaseCatalog.Index) throws -> Bool {
    let columns = index.columns.compactMap { $0.name.map(SQLName.quoted) }
    // Core Data makes no indexes of expressions, and rebuilding one may fail.
    guard columns.count == index.columns.count, !columns.isEmpty else { return true }
    let list = columns.joined(separator: ", ")
    let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let sql =
      "SELECT 1 FROM \(SQLName.quoted(index.table)) NOT INDEXED WHERE \(present) GROUP BY \(list) "
      + "HAVING COUNT(*) > 1 LIMIT 1"
    return try connection.scalar(sql) != nil
  }

  private func metadataDefects() throws -> [StoreDefect] {
    let facts = reader.metadata
    var defects: [StoreDefect] = []
    if facts.isDerived {
      let list = try StoreMetadata.encode(facts.dictionary)
      defects.append(
        StoreDefect(
          .metadata, "Z_METADATA.Z_PLIST is empty: the store has no hashes of its own.",
          // Only a model that matches the tables can have written the store.
          repair: reader.schema == nil ? [] : ["UPDATE Z_METADATA SET Z_PLIST = \(SQLiteValue.blob(list).literal)"],
          cure: "The hashes of the model that the store carries are written; what the app had put there is lost."))
    }
    if facts.isMissing {
      defects.append(
        StoreDefect(
          .metadata, "Z_METADATA.Z_PLIST is empty, and the store carries no model: its version is not known.",
          cure: "Restore a backup. store export reads the rows, with the model that wrote the store also their "
            + "relationships."))
    }
    if let problem = facts.modelProblem {
      let isGiven = reader.origin == .given
      let content = try reader.model.map { SQLiteValue.blob(try StoreFile.modelCache(of: $0)).literal }
      defects.append(
        StoreDefect(
          .metadata, "The model that the store carries cannot be read: \(problem)",
          repair: (isGiven ? content : nil).map {
            ["DELETE FROM Z_MODELCACHE", "INSERT INTO Z_MODELCACHE (Z_CONTENT) VALUES (\($0))"]
          } ?? [],
          cure: isGiven
            ? "The named model takes its place, which has the version hashes of the store."
            : "Name the model that wrote the store, and it can take its place."))
    }
    let uuids = try connection.rows("SELECT Z_UUID FROM Z_METADATA").map { $0[0].text ?? "" }
    if uuids.count > 1 {
      defects.append(
        StoreDefect(
          .metadata, "Z_METADATA has \(uuids.count) rows instead of one; the one with the greatest Z_VERSION is used.",
          cure: "Find out which program has written them, and delete those that are not wanted."))
    } else if let uuid = uuids.first, UUID(uuidString: uuid) == nil {
      defects.append(
        StoreDefect(
          .metadata, "Z_METADATA.Z_UUID is “\(uuid)”, which is not a UUID: object identifiers cannot be made from it.",
          cure: "Write the identifier of a backup there, or a new UUID."))
    }
    if reader.origin == .cache, let carried = facts.model {
      let hashes = VersionHashes(carried).entities
      for (entity, hash) in facts.hashes.sorted(by: { $0.key < $1.key }) where hashes[entity] != hash {
        defects.append(
          StoreDefect(
            .metadata, entity: entity,
            hashes[entity] == nil
              ? "The metadata have a version hash of \(entity), which the carried model does not have."
              : "The version hash of \(entity) in the metadata is not that of the carried model.",
            cure: "Name the model that wrote the store, so that it is verified by that one."))
      }
    }
    return defects
  }

  // MARK: Layout

  private func layoutDefects() throws -> [StoreDefect] {
    guard let schema = reader.schema else {
      let hashes = reader.metadata.model.map { VersionHashes($0).entities } ?? [:]
      // A given model has the hashes of the store.
      let isRight = reader.metadata.model == nil || reader.metadata.hashes.allSatisfy { hashes[$0.key] == $0.value }
      return reader.remarks.filter { $0.contains(StoreReader.unfit) }.map {
        StoreDefect(
          .layout, $0,
          cure: isRight
            ? "The model is the one that wrote the store. Another program has changed its tables, or they are laid out in a "
              + "way that this version does not know. The rows may be complete: keep the store as it is, and read them "
              + "with coredata store export, which names values by their columns."
            : "Name the model that wrote the store.")
      }
    }
    var defects: [StoreDefect] = []
    let known = Set((schema.tables.map(\.name) + schema.joinTables.map(\.name)).map { $0.uppercased() })
    let virtual = catalog.tables.filter(\.isVirtual).map { $0.name.uppercased() }
    for table in catalog.tables
    where !table.isVirtual && table.name.uppercased().hasPrefix("Z") && !known.contains(table.name.uppercased()) {
      guard !Self.isHousekeeping(table.name, virtual: virtual) else { continue }
      let count = try connection.rowCount(of: table.name)
      defects.append(
        StoreDefect(
          .unknownContent, "The table \(table.name) with \(count) rows belongs to no entity of the model.",
          cure: "A migration in place does not carry it over."))
    }
    for layout in schema.tables {
      guard let table = catalog.table(named: layout.name) else { continue }
      defects += columnDefects(of: layout, in: table)
    }
    let names = Set(schema.entities.map(\.name))
    for row in reader.metadata.primaryKeys
    where row.number <= PrimaryKeyRow.maxEntityNumber && schema.entity(number: row.number) == nil
      && !names.contains(row.name)
    {
      defects.append(
        StoreDefect(
          .unknownContent, "Z_PRIMARYKEY lists the entity \(row.name), which the model does not have.",
          cure: "Nothing needs to be done."))
    }
    return try defects + indexDefects()
  }

  private static func isHousekeeping(_ table: String, virtual: [String]) -> Bool {
    let name = table.uppercased()
    if StoreSchema.housekeepingStatements.contains(where: { $0.name == name }) { return true }
    // The tables of an R-tree index are named after it.
    return virtual.contains { name.hasPrefix($0 + "_") }
  }

  private func columnDefects(of layout: TableLayout, in table: DatabaseCatalog.Table) -> [StoreDefect] {
    var defects: [StoreDefect] = []
    let wanted = Dictionary(layout.columns.map { ($0.name.uppercased(), $0) }) { first, _ in first }
    for column in table.columns {
      guard let expected = wanted[column.name.uppercased()] else {
        defects.append(
          StoreDefect(
            .unknownContent, entity: layout.rootEntity,
            "The column \(column.name) of \(table.name) belongs to no property of the model.",
            cure: "A migration in place does not carry it over."))
        continue
      }
      guard Affinity(column.declaredType) != Affinity(expected.type.rawValue) else { continue }
      defects.append(
        StoreDefect(
          .layout, entity: layout.rootEntity,
          "The column \(column.name) of \(table.name) is declared as \(column.declaredType), not as "
            + "\(expected.type.rawValue): SQLite keeps its values as another type.",
          cure: "Another program has made or changed the table. The values may be right: check them before you change "
            + "or replace the store."))
    }
    return defects
  }

  /// Returns the indexes that Core Data would make for the model and that are missing, unless others have the same
  /// columns.
  private func indexDefects() throws -> [StoreDefect] {
    try (complete?.indexes ?? []).compactMap { index in
      guard let table = catalog.table(named: index.table) else { return nil }
      let columns = index.elements.map { $0.column.uppercased() }
      let present = catalog.indexes(of: table.name).contains { found in
        found.columns.map { $0.name?.uppercased() ?? "" }.starts(with: columns) && (found.isUnique || !index.isUnique)
      }
      let isKnown = columns.allSatisfy { table.column(named: $0) != nil }
      guard !present, isKnown, catalog.index(named: index.name) == nil else { return nil }
      let isHindered =
        try reader.schema.map {
          try DuplicateValues(violating: index, of: $0, on: connection) != nil
        } ?? false
      return StoreDefect(
        .missingIndex, entity: index.constrainedEntity,
        "\(index.isUnique ? "The unique index" : "The index") \(index.name) on \(table.name) "
          + "(\(index.elements.map(\.column).joined(separator: ", "))) is missing.",
        repair: isHindered ? [] : [index.statement.sql],
        cure: isHindered ? "It can be created when the duplicate values are gone." : "The index is created.")
    }
  }

  private func uniquenessDefects(usesIndexes: Bool) throws -> [StoreDefect] {
    guard let schema = reader.schema else { return [] }
    let named = Set(schema.indexes.map(\.name))
    let indexes = schema.indexes + (complete?.indexes ?? []).filter { !named.contains($0.name) }
    return try indexes.compactMap { index in
      guard let table = catalog.table(named: index.table),
        index.elements.allSatisfy({ table.column(named: $0.column) != nil }),
        let found = try DuplicateValues(violating: index, of: schema, on: connection, usesIndexes: usesIndexes)
      else { return nil }
      return StoreDefect(
        .uniqueness, entity: found.entity, property: found.properties.joined(separator: ", "), count: found.rowCount,
        examples: [.init(key: nil, text: "Several rows have the same values: \(found.summary).")],
        cure: "Decide which of the objects stays, and delete or change the others.")
    }
  }

  // MARK: Housekeeping tables

  private func housekeepingDefects() throws -> [StoreDefect] {
    var defects: [StoreDefect] = []
    let groups = Dictionary(grouping: reader.entities, by: \.wantedTable)
    for (tableName, entities) in groups.sorted(by: { $0.key < $1.key }) {
      guard let table = catalog.table(named: tableName) else {
        defects.append(
          StoreDefect(
            .layout, entity: entities[0].name, "The table \(tableName) is missing.",
            cure: "Look for the rows in tables of other names before you replace the store by a backup."))
        continue
      }
      defects += try entityNumberDefects(in: table, of: entities)
      if let defect = try greatestKeyDefect(of: table, entities) { defects.append(defect) }
    }
    return defects
  }

  private func entityNumberDefects(in table: DatabaseCatalog.Table, of entities: [ReadableEntity]) throws
    -> [StoreDefect]
  {
    guard table.column(named: "Z_ENT") != nil else { return [] }
    let concrete = entities.filter { !$0.isAbstract }
    let numbers = concrete.map { String($0.number) }.joined(separator: ", ")
    let quoted = SQLName.quoted(table.name)
    let isOdd = "IFNULL(Z_ENT NOT IN (\(numbers)), 1)"
    let known = concrete.map { "\($0.number) (\($0.name))" }.joined(separator: ", ")
    // Only the model determines which entities share a table. A number of another entity may be right, and the table
    // wrong.
    let isListed = "Z_ENT IN (SELECT Z_ENT FROM Z_PRIMARYKEY)"
    let isUnknown = try connection.scalar("SELECT 1 FROM \(quoted) WHERE \(isOdd) AND \(isListed) LIMIT 1") == nil
    let single = entities.count == 1 ? concrete.first : nil
    let only = reader.schema != nil && isUnknown ? single : nil
    let found = try defect(
      .entityNumber, entity: single?.name ?? entities.first { $0.layout?.isRoot ?? false }?.name, property: nil,
      rows: "SELECT Z_PK, Z_ENT FROM \(quoted) WHERE \(isOdd)",
      repair: only.map { ["UPDATE \(quoted) SET Z_ENT = \($0.number) WHERE \(isOdd)"] } ?? [],
      cure: only.map { "The rows get the number of \($0.name), the only entity of the table." }
        ?? "Correct Z_ENT in these rows, or restore the store from a backup."
    ) {
      "The row \($0[0].shortLiteral) of \(table.name) has the entity number \($0[1].shortLiteral), which is not \(known)."
    }
    return found.map { [$0] } ?? []
  }

  private func greatestKeyDefect(of table: DatabaseCatalog.Table, _ entities: [ReadableEntity]) throws -> StoreDefect? {
    let root = entities.first { $0.layout?.isRoot ?? false } ?? entities.min { $0.number < $1.number }
    guard let root, let kept = try connection.rows("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(root.number)").first,
      let greatest = try connection.scalar("SELECT MAX(Z_PK) FROM \(SQLName.quoted(table.name))")?.integer,
      kept[0].integer ?? 0 < greatest
    else { return nil }
    return StoreDefect(
      .greatestKey, entity: root.name,
      "Z_MAX of \(root.name) in Z_PRIMARYKEY is \(kept[0].shortLiteral), but the greatest key in \(table.name) is "
        + "\(greatest): the next object would get a key that is taken.",
      repair: ["UPDATE Z_PRIMARYKEY SET Z_MAX = \(greatest) WHERE Z_ENT = \(root.number)"],
      cure: "Z_MAX is set to \(greatest).")
  }

  private func historyDefects() throws -> [StoreDefect] {
    guard let changes = catalog.table(named: "ACHANGE"), changes.column(named: "ZTRANSACTIONID") != nil,
      catalog.table(named: "ATRANSACTION") != nil
    else { return [] }
    let found = try defect(
      .history, entity: nil, property: nil,
      rows: "SELECT Z_PK, ZTRANSACTIONID FROM ACHANGE WHERE ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION) "
        + "OR ZTRANSACTIONID IS NULL",
      cure: "Delete the history of the store. Programs that read it must then read the whole store again."
    ) {
      "The change \($0[0].shortLiteral) of persistent history belongs to the transaction \($0[1].shortLiteral), which does not exist."
    }
    return found.map { [$0] } ?? []
  }
}

/// The affinity of a column: the type in which SQLite prefers to store its values, according to its documentation.
private enum Affinity {
  case integer, text, blob, real, numeric

  init(_ declaredType: String) {
    let type = declaredType.uppercased()
    if type.contains("INT") {
      self = .integer
    } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
      self = .text
    } else if type.isEmpty || type.contains("BLOB") {
      self = .blob
    } else if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) {
      self = .real
    } else {
      self = .numeric
    }
  }
}

extension IndexLayout {
  /// The entity whose uniqueness constraint the index enforces.
  fileprivate var constrainedEntity: String? {
    if case .uniqueness(let entity) = purpose { return entity }
    return nil
  }
}
