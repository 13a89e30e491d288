// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation
import Testing

/// What must be true of every store that has been written or migrated.
public enum StoreChecks {
  /// Checks a store's file against the model that it is said to have.
  public static func check(
    _ url: URL, _ model: NSManagedObjectModel, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    defer { try? connection.close() }  // A check that has failed is reported by what it has thrown.
    #expect(try connection.integrityCheck() == [], sourceLocation: sourceLocation)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    #expect(
      model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata), sourceLocation: sourceLocation)
    #expect(
      metadata[NSPersistentStoreModelVersionChecksumKey] as? String == model.versionChecksum,
      sourceLocation: sourceLocation)
    let names = try connection.catalog().tables.map(\.name)
    #expect(names.filter { $0.hasPrefix("Z_MIGRATION_") } == [], sourceLocation: sourceLocation)
    try checkHousekeeping(url, model, sourceLocation)
    let (fresh, found) = (Layout(try freshCatalog(model)), Layout(try connection.catalog()))
    for (table, columns) in fresh.tables {
      #expect(found.tables[table] == columns, "columns of \(table)", sourceLocation: sourceLocation)
    }
    #expect(Set(found.tables.keys) == Set(fresh.tables.keys), sourceLocation: sourceLocation)
    #expect(found.indexes == fresh.indexes, sourceLocation: sourceLocation)
  }

  /// The tables and indexes of a catalog, without what a store keeps from the version before a migration: the numbers by which
  /// columns of several join tables are told apart, and which of two relationships within one entity names their join table.
  private struct Layout {
    /// The columns with their types, by table.
    var tables: [String: Set<String>] = [:]
    var indexes: Set<String> = []

    init(_ catalog: DatabaseCatalog) {
      var joins: [String: String] = [:]
      for table in catalog.tables {
        let columns = Set(table.columns.map { Self.unnumbered($0.name) })
        // Only within one entity is a join table named like one of its columns: `Z_1ZONE (Z_1LINKS, Z_1ZONE)`.
        if columns.contains(table.name) { joins[table.name] = columns.sorted().joined(separator: "/") }
        tables[joins[table.name] ?? table.name] = Set(
          table.columns.map { "\(Self.unnumbered($0.name)) \($0.declaredType)" })
      }
      for index in catalog.indexes {
        guard let sql = index.sql else { continue }
        let columns = index.columns.compactMap { $0.name.map(Self.unnumbered) }.sorted()
        indexes.insert(joins[index.table].map { "\($0): \(columns)" } ?? Self.unnumbered(sql))
      }
    }

    private static func unnumbered(_ text: String) -> String {
      text.replacing(/(Z_[0-9]+[A-Z]+)[0-9]+/) { $0.1 }
    }
  }

  /// Checks entity numbers, greatest keys and the model that the store carries; that joins lead to rows, too.
  private static func checkHousekeeping(
    _ url: URL, _ model: NSManagedObjectModel, _ sourceLocation: SourceLocation
  ) throws {
    let file = try StoreFile.open(url, isReadOnly: true)
    defer { try? file.close() }  // As above.
    let schema = try StoreSchema(document: model.document)
    let rows = try file.primaryKeys()
    #expect(
      rows.map { [$0.number, $0.parentNumber] } == schema.entities.map { [$0.number, $0.parentNumber] },
      sourceLocation: sourceLocation)
    #expect(rows.map(\.name) == schema.entities.map(\.name), sourceLocation: sourceLocation)
    #expect(try file.cachedModel().map { VersionHashes($0).entities } == model.entityVersionHashesByName)
    for table in schema.tables {
      let greatest = try file.connection.scalar("SELECT IFNULL(MAX(Z_PK), 0) FROM \(table.name)")?.integer ?? 0
      let root = schema[table.rootEntity]?.number
      let recorded = rows.first { $0.number == root }?.maximum ?? -1
      #expect(recorded >= greatest, "Z_MAX of \(table.name)", sourceLocation: sourceLocation)
    }
  }

  /// Checks that rows of join tables lead to objects; stores made by others may have had stray ones before.
  public static func checkJoins(
    _ url: URL, _ model: NSManagedObjectModel, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let file = try StoreFile.open(url, isReadOnly: true)
    defer { try? file.close() }  // As above.
    let schema = try file.schema(for: model.document)
    for entity in schema.entities {
      for case .joinTable(let end) in entity.relationships.values.map(\.storage) {
        let stray = try file.connection.scalar(
          "SELECT COUNT(*) FROM \(end.table) WHERE \(end.sourceColumn) NOT IN (SELECT Z_PK FROM \(entity.table))")
        #expect(stray?.integer == 0, "rows of \(end.table) lead nowhere", sourceLocation: sourceLocation)
      }
    }
  }

  /// Checks that a store says of itself what a new one of the model says, word for word: metadata and model cache.
  public static func checkLikeNew(
    _ url: URL, _ model: NSManagedObjectModel, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let store = try TemporaryStore("Fresh.sqlite")
    _ = try store.context(model)
    try store.close()
    func facts(_ url: URL) throws -> (metadata: NSDictionary, cache: [SQLiteValue], triggers: [String]) {
      var metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
      metadata[NSStoreUUIDKey] = nil
      let connection = try SQLiteConnection(url: url, mode: .readOnly)
      let cache = try connection.rows("SELECT Z_CONTENT FROM Z_MODELCACHE").map { $0[0] }
      let triggers = try connection.catalog().triggers.compactMap(\.sql).sorted()
      try connection.close()
      return (metadata as NSDictionary, cache, triggers)
    }
    let (found, fresh) = (try facts(url), try facts(store.url))
    #expect(found.metadata == fresh.metadata, sourceLocation: sourceLocation)
    #expect(found.cache == fresh.cache, "the model cache", sourceLocation: sourceLocation)
    #expect(found.triggers == fresh.triggers, sourceLocation: sourceLocation)
    try checkDefinitions(url, store.url, sourceLocation)
  }

  /// Checks that tables whose columns are in the order of a new store are defined as there, quotation marks apart.
  private static func checkDefinitions(_ url: URL, _ fresh: URL, _ sourceLocation: SourceLocation) throws {
    func tables(_ url: URL) throws -> [DatabaseCatalog.Table] {
      let connection = try SQLiteConnection(url: url, mode: .readOnly)
      defer { try? connection.close() }  // As above.
      return try connection.catalog().tables
    }
    func plain(_ sql: String?) -> String { (sql ?? "").filter { !$0.isWhitespace && $0 != "\"" } }
    let found = try tables(url)
    for table in try tables(fresh) {
      guard let twin = found.first(where: { $0.name == table.name }),
        twin.columns.map(\.name) == table.columns.map(\.name)
      else { continue }
      #expect(plain(twin.sql) == plain(table.sql), sourceLocation: sourceLocation)
    }
  }

  /// Checks that the files beside a store are those that its rows name, each and no other.
  public static func checkFiles(
    _ url: URL, _ model: NSManagedObjectModel, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let file = try StoreFile.open(url, isReadOnly: true)
    defer { try? file.close() }  // As above.
    var named: [String] = []
    for entity in try StoreSchema(document: model.document).entities {
      for column in entity.attributes.values.filter(\.allowsExternalStorage).compactMap(\.column) {
        let rows = try file.connection.rows(
          "SELECT \(column) FROM \(entity.table) WHERE Z_ENT = \(entity.number) AND LENGTH(\(column)) = 38")
        named += rows.compactMap(\.[0].blob).filter { $0.first == 2 }
          .map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
      }
    }
    let folder = StoreFiles.externalData(of: url).appendingPathComponent("_EXTERNAL_DATA")
    let isThere = FileManager.default.fileExists(atPath: folder.path)
    let found = isThere ? try FileManager.default.contentsOfDirectory(atPath: folder.path) : []
    #expect(Set(found) == Set(named), "files of external data", sourceLocation: sourceLocation)
    #expect(found.count == named.count, "two rows share a file", sourceLocation: sourceLocation)
  }

  /// What a new store of the model holds.
  private static func freshCatalog(_ model: NSManagedObjectModel) throws -> DatabaseCatalog {
    let store = try TemporaryStore("Fresh.sqlite")
    _ = try store.context(model)
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let catalog = try connection.catalog()
    try connection.close()
    return catalog
  }
}
