// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation

@testable import CoreData
@testable import CoreDataStoreFiles

/// A store that Apple's tools wrote, opened from a copy.
final class FixtureStore {
  let name: String
  let connection: SQLiteConnection
  /// Names and statements in the order of `sqlite_master`, without what SQLite and persistent history add.
  let statements: [SchemaStatement]
  let catalog: DatabaseCatalog
  let primaryKeys: [PrimaryKeyRow]
  let hashes: [String: Data]
  let frameworkVersion: Int
  private let copy: TemporaryStore

  init(_ url: URL) throws {
    name = Fixtures.name(of: url)
    copy = try Fixtures.copy(ofStore: url)
    connection = try SQLiteConnection(url: copy.url, mode: .readWrite)
    catalog = try connection.catalog()
    let history = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]
    statements = try connection.rows(
      "SELECT name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
    )
    .filter { !history.contains($0[1].text ?? "") && !($0[0].text ?? "").hasPrefix("sqlite_") }
    .map { SchemaStatement(name: $0[0].text ?? "", sql: $0[2].text ?? "") }
    primaryKeys = try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY").map { row in
      PrimaryKeyRow(
        number: Int(row[0].integer ?? 0), name: row[1].text ?? "", parentNumber: Int(row[2].integer ?? 0),
        maximum: row[3].integer ?? 0)
    }
    let list = try connection.scalar("SELECT Z_PLIST FROM Z_METADATA")?.blob ?? Data()
    let metadata = try PropertyListSerialization.propertyList(from: list, format: nil) as? [String: Any] ?? [:]
    hashes = metadata["NSStoreModelVersionHashes"] as? [String: Data] ?? [:]
    frameworkVersion = metadata["NSPersistenceFrameworkVersion"] as? Int ?? 0
  }

  deinit {
    // A connection that cannot be closed is to a copy, which goes with this object.
    try? connection.close()
  }

  /// Every store among the fixtures, files of other extensions excepted.
  static func all() throws -> [FixtureStore] {
    try Fixtures.stores.map(FixtureStore.init)
  }

  /// Every model source, with its hashes.
  static let sources: [(name: String, document: ModelDocument, hashes: [String: Data])] = Fixtures.modelSources
    .flatMap { url -> [(name: String, document: ModelDocument, hashes: [String: Data])] in
      // A source that cannot be read is the subject of other tests.
      guard let bundle = try? ModelBundle(contentsOf: url) else { return [] }
      return bundle.versions.map { (Fixtures.name(of: url), $0.document, VersionHashes($0.document).entities) }
    }

  /// The model that the store carries, and the sources whose entities have the hashes that its metadata name.
  func models() throws -> [(name: String, document: ModelDocument)] {
    var models = Self.sources.filter { $0.hashes == hashes }.map { ($0.name, $0.document) }
    if try connection.hasTable("Z_MODELCACHE"),
      let content = try connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE")?.blob
    {
      models.append(("model cache", try ModelCache.decode(content)))
    }
    return models
  }

  /// Whether the file shows traces of a migration in place, after which no rule gives its layout.
  var wasMigratedInPlace: Bool {
    let tables = catalog.tables.map(\.name)
    let housekeeping = tables.firstIndex(of: "Z_METADATA") ?? 0
    let entities = tables.firstIndex { $0.hasPrefix("Z") && !$0.hasPrefix("Z_") } ?? 0
    return housekeeping < entities || catalog.tables.contains { $0.sql.contains("\"Z") || $0.sql.contains(" , Z") }
  }
}
