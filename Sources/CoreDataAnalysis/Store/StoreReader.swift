// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Reads a SQLite store for reports, exports and plans, without a model or a stack, and without changing its files.
package final class StoreReader: StoreCounting {
  /// The source of entity names and types.
  package enum ModelOrigin: String, Hashable, Sendable {
    /// The model cached in the store.
    case cache
    /// A model given by the caller.
    case given
    /// No model: entity names are from `Z_PRIMARYKEY`, column names and types from the tables.
    case tables
  }

  package let url: URL
  package let file: StoreFile
  package let catalog: DatabaseCatalog
  package let metadata: StoreFacts
  package let origin: ModelOrigin
  /// The model used to read rows; nil if only the tables are used.
  package let model: ModelDocument?
  let modelIndex: EntityIndex?
  /// The entities, except those of persistent history, sorted by name.
  package let entities: [ReadableEntity]
  package let schema: StoreSchema?
  /// The layout including indexes that the store lacks; nil without a model.
  let completeSchema: StoreSchema?
  /// Remarks for the user as sentences, such as why the cached model was not used.
  package let remarks: [String]

  var connection: SQLiteConnection { file.connection }
  package var database: any SQLDatabase { file.connection }
  package var name: String { url.lastPathComponent }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - given: a model whose entities have the store's hashes; nil for the model cached in the store.
  ///   - allowsMissingMetadata: whether to read a store without metadata and without a cached model to derive them
  ///     from.
  /// - Throws: `StoreProblem`.
  package convenience init(
    url: URL, model given: ModelDocument? = nil, allowsMissingMetadata: Bool = false
  ) throws {
    try Self.checkKind(of: url)
    do {
      try self.init(
        StoreProblem.translating(url) { try StoreFile.openUntouched(url) }, url: url, model: given,
        allowsMissingMetadata: allowsMissingMetadata)
    } catch let problem as StoreProblem where problem.kind == .damaged || problem.kind == .notAStore {
      // If the log cannot be examined either, the first problem is the one to report.
      if let log = try? LogProblem.foreign(at: url, uuid: nil, isDamaged: true) {
        throw StoreProblem(problem.kind, "\(log.finding) \(log.cure)")
      }
      guard problem.kind == .notAStore, LogProblem.lacksLog(url) else { throw problem }
      throw StoreProblem(problem.kind, "\(problem) \(LogProblem.adviceForEmptyFile(url))")
    }
  }

  /// Reads an open store.
  ///
  /// - Parameters: see `init(url:model:allowsMissingMetadata:)`.
  /// - Throws: `StoreProblem`.
  convenience init(_ file: StoreFile, url: URL, model given: ModelDocument?, allowsMissingMetadata: Bool = false) throws
  {
    let (catalog, metadata) = try Self.reading(file) {
      (try file.connection.catalog(), try StoreFacts(file, allowsMissing: allowsMissingMetadata))
    }
    try self.init(file, url: url, catalog, metadata, model: given)
  }

  /// Reads the store opened by another reader, with a given model.
  ///
  /// - Parameter given: a model whose entities have the store's hashes.
  /// - Throws: `StoreProblem`.
  package convenience init(_ other: StoreReader, model given: ModelDocument) throws {
    try self.init(other.file, url: other.url, other.catalog, other.metadata, model: given)
  }

  private init(
    _ file: StoreFile, url: URL, _ catalog: DatabaseCatalog, _ metadata: StoreFacts, model given: ModelDocument?
  ) throws {
    self.url = url
    self.file = file
    (self.catalog, self.metadata) = (catalog, metadata)
    let name = url.lastPathComponent
    var remarks: [String] = []
    if metadata.isMissing {
      remarks.append("\(name) holds no metadata: Z_METADATA.Z_PLIST is empty. The version that wrote it is not known.")
    }
    if metadata.isDerived {
      remarks.append(
        "\(name) holds no metadata: Z_METADATA.Z_PLIST is empty. Hashes and version are those of the model that it "
          + "carries; what the app had put there is lost.")
    }
    if let problem = metadata.modelProblem, given == nil {
      remarks.append("The model that \(name) carries cannot be read: \(problem)")
    }
    var found: (complete: StoreSchema, model: ModelDocument)?
    let layout = StoreCatalog(catalog)
    if let document = given ?? metadata.model {
      do {
        found = (
          try StoreSchema(
            document: document, configuration: StoreMatch.configuration(of: document, matching: metadata.hashes),
            catalog: layout, primaryKeys: metadata.primaryKeys, keepsMissingIndexes: true), document
        )
      } catch let problem as SchemaProblem {
        let model = given == nil ? "that \(name) carries" : "of \(name)"
        remarks.append("The model \(model) \(Self.unfit): \(problem)")
      }
    } else if metadata.modelProblem == nil {
      remarks.append("\(name) carries no model.")
    }
    if let (complete, document) = found {
      let schema = complete.withoutIndexes(missingIn: layout)
      (self.schema, completeSchema) = (schema, complete)
      model = document
      modelIndex = EntityIndex(document)
      origin = given == nil ? .cache : .given
      entities = ReadableEntity.prepared(schema.entities.map { ReadableEntity(layout: $0) })
    } else {
      remarks.append(
        "Rows are read by the tables alone: values are named by their columns, and relationships are plain numbers. "
          + "Name the model with --model for more.")
      (schema, completeSchema) = (nil, nil)
      model = nil
      modelIndex = nil
      origin = .tables
      entities = ReadableEntity.prepared(ReadableEntity.declared(metadata.primaryKeys, catalog: catalog))
    }
    self.remarks = remarks + Self.remarks(onTriggersOf: catalog, store: name)
  }

  /// The end of a remark about a model that has the store's hashes but does not match its tables.
  static let unfit = "does not fit its tables"

  /// The names of all entities, sorted.
  package var entityNames: [String] { entities.map(\.name) }

  package func checkTables(of entities: [ReadableEntity]) throws {
    for entity in entities {
      let wanted = entity.wantedTable
      if let table = entity.table, catalog.table(named: table) != nil { continue }
      let isView = catalog.views.contains { SQLName.areEqual($0.name, wanted) }
      throw StoreProblem(
        .damaged,
        "\(url.lastPathComponent) is damaged: the rows of \(entity.name) should be in the table \(wanted), "
          + (isView ? "which is a view." : "which is missing.") + " Restore it from a backup.")
    }
  }

  /// Runs a body in a snapshot of the store, and translates errors.
  package func reading<Result>(_ body: () throws -> Result) throws -> Result { try Self.reading(file, body) }

  private static func reading<Result>(_ file: StoreFile, _ body: () throws -> Result) throws -> Result {
    let result = try explaining(file, body)
    try StoreProblem.translating(file.url, file.checkUnchanged)
    return result
  }

  /// Runs a part of a longer read, and translates errors.
  func explaining<Result>(_ body: () throws -> Result) throws -> Result { try Self.explaining(file, body) }

  private static func explaining<Result>(_ file: StoreFile, _ body: () throws -> Result) throws -> Result {
    try StoreProblem.translating(file.url) {
      do {
        return try body()
      } catch let error where error is SQLiteError || error is StoreFileProblem {
        // If another program has written meanwhile, the pages belong to two states, which is not damage.
        try file.checkUnchanged()
        throw error
      }
    }
  }

  // MARK: Opening

  /// Throws an error that says what a file is if it cannot be a store.
  private static func checkKind(of url: URL) throws {
    let path = DatabaseFile.target(of: url.path)
    let name = (path as NSString).lastPathComponent
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw StoreProblem(.missing, "There is no file \(path). Check the path of the store.")
    }
    guard !isFolder.boolValue else {
      throw StoreProblem(.notAStore, "\(path) is a folder, not a store. Name the store's file, often *.sqlite.")
    }
    do {
      try RegularFile.check(URL(fileURLWithPath: path))
    } catch RegularFile.Problem.notRegular(_, let kind) {
      throw StoreProblem(.notAStore, "\(path) is \(kind), not a store. Name the store's file, often *.sqlite.")
    }
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw StoreProblem(.noAccess, "\(path) cannot be read. Check its permissions.")
    }
    let bytes: Data
    do {
      bytes = try DatabaseFile(path: path).firstBytes(100)
    } catch let error as SQLiteError {
      throw StoreProblem(.noAccess, "\(path) cannot be read: \(error.message)")
    }
    guard !bytes.isEmpty else {
      throw StoreProblem(
        .notAStore,
        "\(name) is empty: it holds no store. \(LogProblem.adviceForEmptyFile(url))")
    }
    do {
      _ = try SQLiteFileHeader(bytes: bytes, path: path)
    } catch {
      throw StoreProblem(
        .notAStore, "\(name) is not a SQLite store: \(kind(of: bytes)). Check that this is the right file.")
    }
  }

  private static func kind(of bytes: Data) -> String {
    if bytes.starts(with: SQLiteFileHeader.signature) { return "its header is cut off or damaged" }
    if bytes.starts(with: Data("bplist".utf8)) { return "it is a binary property list or a binary store" }
    if bytes.starts(with: Data("<?xml".utf8)) { return "it is an XML file" }
    return "it does not begin like one"
  }
}

/// The metadata of a store, with its entities and its model.
package struct StoreFacts {
  package let uuid: String
  /// The whole dictionary in `Z_METADATA`, including the app's keys.
  package let dictionary: [String: Any]
  /// The hashes of the entities that the store was written with.
  package let hashes: [String: Data]
  package let primaryKeys: [PrimaryKeyRow]
  /// The model cached in the store; nil if there is none.
  package let model: ModelDocument?
  /// The reason the cached model cannot be used; nil if it can be, or if there is none.
  package let modelProblem: String?
  /// Whether the store's own metadata is empty, and was derived from its cached model.
  package let isDerived: Bool

  /// Whether the store has no metadata, and no cached model to derive it from.
  package let isMissing: Bool

  /// The store type in the metadata, `SQLite`.
  package var type: String { dictionary[StoreMetadata.Key.type] as? String ?? StoreMetadata.sqliteType }

  /// The checksum of all hashes; computed if the store is too old to contain it.
  package var checksum: String {
    dictionary[StoreMetadata.Key.checksum] as? String ?? VersionHashes.checksum(of: hashes)
  }

  package var versionIdentifiers: [String] {
    (dictionary[StoreMetadata.Key.identifiers] as? [Any])?.map { String(describing: $0) } ?? []
  }

  package var frameworkVersion: Int? { dictionary[StoreMetadata.Key.frameworkVersion] as? Int }

  /// A custom stage of a staged migration whose code has begun and is not finished; nil if there is none.
  package var unfinishedStage: BegunStage? { StoreMetadata.begunStage(dictionary).map(BegunStage.init) }

  /// The keys of the app, sorted.
  package var applicationKeys: [String] { StoreMetadata.applicationKeys(dictionary) }

  /// Reads the housekeeping tables.
  fileprivate init(_ file: StoreFile, allowsMissing: Bool) throws {
    try file.checkTables()
    primaryKeys = try file.primaryKeys()
    var carried: ModelDocument?
    var problem: String?
    do {
      carried = try file.cachedModel()
    } catch let error as ModelFileError {
      problem = error.description
    }
    do {
      (dictionary, isDerived) = try file.readMetadata()
      isMissing = false
    } catch let problem as StoreFileProblem {
      guard case .unreadableMetadata = problem, try allowsMissing && file.lacksMetadata() else { throw problem }
      let identifier = try file.connection.scalar("SELECT Z_UUID FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1")?.text
      (dictionary, isDerived, isMissing) = (identifier.map { [StoreMetadata.Key.uuid: $0] } ?? [:], false, true)
    }
    uuid = dictionary[StoreMetadata.Key.uuid] as? String ?? ""
    hashes = dictionary[StoreMetadata.Key.hashes] as? [String: Data] ?? [:]
    if let document = carried {
      let lacking = Self.entities(of: primaryKeys, hashes, unknownTo: document)
      if !lacking.isEmpty {
        (carried, problem) = (nil, "it lacks \(StoreReader.shortened(lacking)), which the store has")
      }
    }
    (model, modelProblem) = (carried, problem)
  }

  /// Returns the entities of a store that a model lacks, and whose rows would not be seen with it. `Z_PRIMARYKEY` may have
  /// those of earlier versions, too, and only the hashes tell which.
  private static func entities(
    of primaryKeys: [PrimaryKeyRow], _ hashes: [String: Data], unknownTo model: ModelDocument
  ) -> [String] {
    let known = Set(model.entities.map(\.name))
    return primaryKeys.filter { row in
      row.number <= PrimaryKeyRow.maxEntityNumber && hashes[row.name] != nil && !known.contains(row.name)
    }.map(\.name).sorted()
  }
}

/// A custom stage of a staged migration whose code has begun and is not finished.
package struct BegunStage {
  package let name: String

  package var text: String { "The code of the stage '\(name)' of a staged migration has begun, and is not finished." }

  package let cure =
    "Open the store with the app that has the stage, which finishes it. Another migration would leave it out."
}

/// An entity of the store, with its table if that is known.
package struct ReadableEntity {
  let name: String
  let number: Int
  /// The table; nil if the store has none for the entity.
  let table: String?
  /// The name of the table that the entity should have.
  let wantedTable: String
  let isAbstract: Bool
  /// The layout; nil if no model is known.
  let layout: EntityLayout?
  /// Whether the table contains rows of no other entity. Core Data then ignores `Z_ENT`, which is wrong in some stores.
  var isAlone = false

  /// The condition that selects rows of exactly this entity.
  var condition: String { condition(in: .sqlite) }

  /// - Parameter alias: the alias of the row; nil for the table's name.
  func condition(in dialect: SQLDialect, of alias: String? = nil) -> String {
    isAlone ? dialect.truth(true).sql : "\(alias.map { "\($0)." } ?? "")Z_ENT = \(number)"
  }

  init(layout: EntityLayout) {
    name = layout.name
    number = layout.number
    table = layout.table
    wantedTable = layout.table
    isAbstract = layout.isAbstract
    self.layout = layout
  }

  private init(name: String, number: Int, table: String?, wantedTable: String) {
    self.name = name
    self.number = number
    self.table = table
    self.wantedTable = wantedTable
    isAbstract = false
    layout = nil
  }

  /// Sorts entities by name, and records which of them share a table.
  static func prepared(_ entities: [ReadableEntity]) -> [ReadableEntity] {
    let shares = Dictionary(grouping: entities) { $0.table }
    return entities.sorted { $0.name < $1.name }.map { entity in
      var entity = entity
      entity.isAlone = shares[entity.table]?.count == 1
      return entity
    }
  }

  static func declared(_ rows: [PrimaryKeyRow], catalog: DatabaseCatalog) -> [ReadableEntity] {
    let own = rows.filter { $0.number <= PrimaryKeyRow.maxEntityNumber }
    let byNumber = Dictionary(own.map { ($0.number, $0) }) { first, _ in first }
    return own.map { row in
      var root = row
      var seen: Set<Int> = [row.number]
      while let parent = byNumber[root.parentNumber], seen.insert(parent.number).inserted { root = parent }
      let wanted = "Z" + root.name.uppercased()
      return ReadableEntity(
        name: row.name, number: row.number, table: catalog.table(named: wanted)?.name, wantedTable: wanted)
    }
  }
}

extension StoreReader {
  /// Creates an empty store and opens it for reading.
  ///
  /// - Throws: `SchemaProblem` for a model that cannot be stored, `StoreProblem` if the file cannot be created.
  package static func create(at url: URL, model: ModelDocument) throws -> StoreReader {
    do {
      try StoreFile.create(at: url, document: model)
    } catch let error as SQLiteError {
      throw StoreProblem.from(error, path: url.path)
    }
    return try StoreReader(url: url)
  }

  /// Lists the first of a number of texts, and says how many follow.
  fileprivate static func shortened(_ list: [String]) -> String {
    list.prefix(3).joined(separator: ", ") + (list.count > 3 ? " and \(list.count - 3) more" : "")
  }

  /// Returns remarks about triggers not created by Core Data: they do not run here, but in other programs that write.
  static func remarks(onTriggersOf catalog: DatabaseCatalog, store name: String) -> [String] {
    let foreign = catalog.triggers.filter { trigger in
      // The triggers of derived attributes call a function of Apple's framework.
      !(trigger.name.hasPrefix("Z_DA_") && trigger.sql.contains("NSCoreDataDATrigger"))
    }
    guard !foreign.isEmpty else { return [] }
    let list = shortened(foreign.map { "'\($0.name)' on \($0.table)" })
    return [
      "\(name) has triggers that Core Data does not create: \(list). They do not run here, nor in a migration; "
        + "other programs that write to the store run them."
    ]
  }

  /// Throws if rows would be omitted because their entity is unknown.
  func checkEntityNumbers() throws {
    try reading {
      for (table, entities) in entitiesSharingTables {
        let numbers = entities.map { String($0.number) }.joined(separator: ", ")
        let sql =
          "SELECT Z_ENT, COUNT(*) FROM \(SQLName.quoted(table)) WHERE IFNULL(Z_ENT NOT IN (\(numbers)), 1) "
          + "GROUP BY Z_ENT LIMIT 1"
        guard let row = try connection.rows(sql).first else { continue }
        throw strayRows(in: table, number: row[0], count: row[1].integer ?? 0)
      }
      if schema == nil { try checkUnownedTables() }
    }
  }

  /// Throws, without a model, if a table that looks like an entity's has rows, but belongs to no entity in
  /// `Z_PRIMARYKEY`.
  private func checkUnownedTables() throws {
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

  /// Returns the number of transactions and changes in persistent history; nil if the store records none.
  /// - Throws: `StoreProblem`.
  package func historyCounts() throws -> (transactions: Int, changes: Int)? {
    guard catalog.table(named: "ATRANSACTION") != nil, catalog.table(named: "ACHANGE") != nil else { return nil }
    return try reading {
      (try connection.rowCount(of: "ATRANSACTION"), try connection.rowCount(of: "ACHANGE"))
    }
  }
}
