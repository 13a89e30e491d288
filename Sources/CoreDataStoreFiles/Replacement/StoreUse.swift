// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

extension StoreFile {
  /// Returns the program that has a SQLite store open, or writes to it, as the subject of a sentence; nil if there is
  /// none. Writes nothing, except that it checkpoints the log of a store that no program has open.
  ///
  /// SQLite reveals every connection of a store with a write-ahead log. Without one, it reveals only a connection that
  /// reads or writes at the moment.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - timeout: the time to wait for the others, in seconds.
  /// - Throws: the errors of opening the store.
  package static func user(of url: URL, timeout: TimeInterval) throws -> String? {
    let file = StoreLocation(url).file
    if let user = DatabaseUser.other(of: file.path) { return user.text }
    let connection = try SQLiteConnection(url: file, mode: .readWrite, busyTimeout: timeout)
    // Nothing was written through the connection, so nothing can be lost.
    defer { try? connection.close() }
    do {
      // Set before the first access, this mode needs the lock that excludes every connection of a write-ahead log.
      try connection.setPragma("locking_mode", to: "EXCLUSIVE")
      try connection.begin(.exclusive)
      try connection.rollback()
      return nil
    } catch let failure as SQLiteError where failure.isBusy {
      return "Another program"
    }
  }
}
