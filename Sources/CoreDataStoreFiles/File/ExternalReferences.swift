// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Which files of values the rows of a store name. No model is needed: such a column says itself what it holds.
package enum ExternalReferences {
  /// The names of all files, those that are missing included.
  ///
  /// Several stores may share a folder of files, so that only what a store's own rows name is its own.
  package static func names(in connection: SQLiteConnection) throws -> Set<String> {
    var names: Set<String> = []
    for table in try connection.catalog().tables where table.name.hasPrefix("Z") {
      for column in table.columns where column.declaredType.uppercased() == "BLOB" {
        let name = SQLName.quoted(column.name)
        let rows = try connection.rows(
          "SELECT \(name) FROM \(SQLName.quoted(table.name)) WHERE typeof(\(name)) = 'blob' AND length(\(name)) = 38 "
            + "AND substr(\(name), 1, 1) = x'02'")
        for row in rows {
          if let bytes = row[0].blob, let file = ExternalData.fileName(in: bytes) { names.insert(file) }
        }
      }
    }
    return names
  }

  /// The names of the files of a store that are there.
  package static func presentNames(in connection: SQLiteConnection, folder: URL) throws -> Set<String> {
    try presentNames(in: connection, among: Set(FileCalls.names(in: folder)))
  }

  /// The names of the files of a store that are among some.
  package static func presentNames(in connection: SQLiteConnection, among present: Set<String>) throws -> Set<String> {
    present.isEmpty ? [] : try names(in: connection).intersection(present)
  }
}
