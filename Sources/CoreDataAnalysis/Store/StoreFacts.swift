// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// What a store says about itself, apart from its rows.
package struct StoreFacts {
  package let uuid: String
  /// The whole dictionary of `Z_METADATA`, application keys included.
  package let dictionary: [String: Any]
  /// The hashes of the entities that the store was written with.
  package let hashes: [String: Data]
  package let primaryKeys: [PrimaryKeyRow]
  /// The model that the store carries; nil where it carries none.
  package let model: ModelDocument?
  /// Why the model that the store carries cannot be used; nil where it can, or where there is none.
  package let modelProblem: String?
  /// Whether the store's own metadata are empty, and the model that it carries stands in for them.
  package let isDerived: Bool

  /// `SQLite`, as the store itself has it.
  package var type: String { dictionary["NSStoreType"] as? String ?? "SQLite" }

  /// One text for all hashes; computed where the store is too old to hold it.
  package var checksum: String {
    dictionary["NSStoreModelVersionChecksumKey"] as? String ?? VersionHashes.checksum(of: hashes)
  }

  package var digest: String {
    dictionary["NSStoreModelVersionHashesDigest"] as? String ?? VersionHashes.digest(of: hashes)
  }

  package var versionIdentifiers: [String] {
    (dictionary["NSStoreModelVersionIdentifiers"] as? [Any])?.map { String(describing: $0) } ?? []
  }

  package var frameworkVersion: Int? { dictionary["NSPersistenceFrameworkVersion"] as? Int }

  /// The keys that an application has put there, sorted.
  package var applicationKeys: [String] {
    dictionary.keys.filter { !$0.hasPrefix("NS") && !$0.hasPrefix("_NS") }.sorted()
  }

  /// Reads the housekeeping tables.
  /// - Throws: `StoreProblem` where the file is a database, but no store, or is damaged.
  init(_ connection: SQLiteConnection, catalog: DatabaseCatalog, path: String) throws {
    let name = (path as NSString).lastPathComponent
    guard catalog.table(named: "Z_METADATA") != nil, catalog.table(named: "Z_PRIMARYKEY") != nil else {
      throw StoreProblem(
        .notAStore,
        "\(name) is a SQLite database, but not a Core Data store: it has no table Z_METADATA or Z_PRIMARYKEY.")
    }
    guard let row = try connection.rows("SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1").first
    else {
      throw StoreProblem(.damaged, "\(name) holds no metadata: its table Z_METADATA is empty.")
    }
    uuid = row[0].text ?? ""
    do {
      primaryKeys = try PrimaryKeyRow.read(connection)
    } catch let problem as PrimaryKeyProblem {
      throw StoreProblem(.damaged, "\(name) contradicts itself. \(problem) Restore it from a backup.")
    }
    (model, modelProblem) = try Self.model(connection, catalog)
    let list = row[1].blob ?? row[1].text.map { Data($0.utf8) } ?? Data()
    isDerived = list.isEmpty
    if list.isEmpty {
      guard let model else {
        throw StoreProblem(
          .damaged,
          "\(name) holds no metadata: Z_METADATA.Z_PLIST is empty, and "
            + (modelProblem.map { "the model that the store carries cannot be read: \($0)" }
              ?? "the store carries no model that could stand in. Restore it from a backup."))
      }
      let entities = primaryKeys.filter { $0.number <= PrimaryKeyRow.greatestNumber }.map(\.name)
      dictionary = try StoreMetadata.derived(from: model, entities: entities)
    } else {
      do {
        dictionary = try StoreMetadata.decode(list)
      } catch let problem as PropertyLists.Unreadable {
        throw StoreProblem(.damaged, "The metadata of \(name) cannot be read. \(problem.description)")
      }
    }
    hashes = dictionary["NSStoreModelVersionHashes"] as? [String: Data] ?? [:]
  }

  /// The model that the store carries, or why it cannot be used.
  private static func model(
    _ connection: SQLiteConnection, _ catalog: DatabaseCatalog
  ) throws -> (ModelDocument?, String?) {
    guard catalog.table(named: "Z_MODELCACHE") != nil,
      let content = try connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE")?.blob, !content.isEmpty
    else { return (nil, nil) }
    do {
      return (try ModelCache.decode(content), nil)
    } catch let error as ModelFileError {
      return (nil, error.description)
    }
  }
}
