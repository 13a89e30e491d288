// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import Foundation

extension StoreReader {
  /// The migration of this store, worked out without opening the store's own file for it.
  ///
  /// A plan needs the store's metadata and its model, no rows. Both are put into a database of their own in the temporary
  /// folder, so that no `-wal` or `-shm` file appears beside a store that is only looked at.
  ///
  /// - Throws: as `StoreMigration.init(storeAt:modelsAt:version:mappings:isProgressive:)`.
  package func planningMigration(modelsAt modelURL: URL, version: String?, mappings: [URL] = []) throws
    -> StoreMigration
  {
    try withTemporaryFolder { folder in
      let standIn = folder.appendingPathComponent(url.lastPathComponent)
      try reading {
        let target = try SQLiteConnection(url: standIn, mode: .create)
        for name in ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"] {
          guard let table = catalog.table(named: name) else { continue }
          try target.execute(table.sql)
          let places = table.columns.map { _ in "?" }.joined(separator: ", ")
          for row in try connection.rows("SELECT * FROM \(SQLiteIdentifier.quoted(name))") {
            try target.run("INSERT INTO \(SQLiteIdentifier.quoted(name)) VALUES (\(places))", row.values)
          }
        }
        try target.close()
      }
      return try StoreMigration(storeAt: standIn, modelsAt: modelURL, version: version, mappings: mappings)
    }
  }

  /// The SQL of a migration, found out by making it on a copy.
  ///
  /// - Throws: as `StoreMigration.run(progress:)`.
  package func migrationStatements(modelsAt modelURL: URL, version: String?, mappings: [URL] = []) throws -> [String] {
    try withTemporaryFolder { folder in
      let copy = folder.appendingPathComponent(url.lastPathComponent)
      try reading { try connection.backup(toPath: copy.path) }
      return try StoreMigration(storeAt: copy, modelsAt: modelURL, version: version, mappings: mappings).statements()
    }
  }

  private func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coredata-plan-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer {
      // What cannot be removed from the temporary folder does no harm there.
      try? FileManager.default.removeItem(at: folder)
    }
    return try body(folder)
  }
}
