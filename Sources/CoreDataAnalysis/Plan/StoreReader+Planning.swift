// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreReader {
  /// Plans the migration of this store without opening the store's own file.
  ///
  /// A plan needs the store's metadata and its model, but no rows. Both are put into a temporary database, so that no `-wal`
  /// or `-shm` file appears beside a store that is only inspected.
  ///
  /// - Throws: as `StoreMigration.init(storeAt:modelsAt:version:mappings:isProgressive:allowsLoss:)`.
  package func planningMigration(
    known: ModelVersions, version: String?, mappings: [URL] = [], allowsLoss: AllowedLosses = .none
  ) throws -> StoreMigration {
    try withPrivateDirectory(holdsRows: false) { folder in
      let standIn = folder.appendingPathComponent(url.lastPathComponent)
      try reading {
        let target = try SQLiteConnection(url: standIn, mode: .create)
        // The database is temporary and need not be synced.
        try target.execute("PRAGMA synchronous = OFF")
        for name in ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"] {
          guard let table = catalog.table(named: name) else { continue }
          try target.execute(table.sql)
          let places = table.columns.map { _ in "?" }.joined(separator: ", ")
          for row in try connection.rows("SELECT * FROM \(SQLName.quoted(name))") {
            try target.run("INSERT INTO \(SQLName.quoted(name)) VALUES (\(places))", row.values)
          }
        }
        try target.close()
      }
      return try StoreMigration(
        storeAt: standIn, known: known, version: version, mappings: mappings, allowsLoss: allowsLoss
      ) { items in
        // If the tables do not fit the model that the store carries, its content is unknown.
        guard let schema = self.schema else { return items }
        return try self.reading { try StoreContents(self.connection, schema: schema).counted(items) }
      }
    }
  }

  /// The SQL of a migration, recorded while a copy is migrated.
  ///
  /// - Throws: as `StoreMigration.run(progress:)`.
  package func migrationStatements(
    known: ModelVersions, version: String?, mappings: [URL] = [], allowsLoss: AllowedLosses = .none
  ) throws -> [String] {
    try withPrivateDirectory(holdsRows: true) { folder in
      let copy = folder.appendingPathComponent(url.lastPathComponent)
      try FileCalls.makePrivateFile(copy)
      try reading { try connection.backup(toPath: copy.path) }
      try StoreFiles.linkValues(of: url, to: copy)
      return try StoreMigration(
        storeAt: copy, known: known, version: version, mappings: mappings, allowsLoss: allowsLoss
      ).statements()
    }
  }

  private func withPrivateDirectory<Result>(holdsRows: Bool, _ body: (URL) throws -> Result) throws -> Result {
    let directory = try CopyDirectory.make(for: url, holdsRows: holdsRows)
    defer {
      // A leftover is private, and the next copy of the store removes it.
      try? directory.remove()
    }
    return try body(directory.url)
  }
}
