// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

extension TemporaryDirectory {
  /// Makes a database with `T(id, name)` and as many rows as asked for, and closes it.
  func makeDatabase(_ name: String, rows: Int = 3) throws -> String {
    let connection = try SQLiteConnection(path: path(name), mode: .create)
    try connection.execute("CREATE TABLE T (id INTEGER PRIMARY KEY, name TEXT)")
    try connection.transaction {
      for row in 1...max(1, rows) {
        try connection.run("INSERT INTO T VALUES (?1, ?2)", [.integer(Int64(row)), .text("row \(row)")])
      }
    }
    try connection.close()
    return path(name)
  }
}

/// Whether the rights of files do not bind this process.
let isSuperuser = geteuid() == 0

/// The SQLite error that a body throws; records an issue where it throws none or another.
func sqliteError(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> SQLiteError? {
  #expect(throws: SQLiteError.self, sourceLocation: sourceLocation) { try body() }
}
