// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

extension StoreFile {
  /// Whether a rollback journal beside a store waits to be rolled back, because its writer was killed.
  ///
  /// Nothing is changed. The journal of a writer that is at work does not wait.
  ///
  /// - Throws: `SQLiteError` where the store cannot be opened.
  package static func hasHotJournal(_ url: URL) throws -> Bool {
    // A journal beside no file at all belongs to nobody; SQLite removes it when a file comes there.
    guard FileManager.default.fileExists(atPath: url.path), DatabaseCompanions.hasJournal(url.path) else {
      return false
    }
    let connection = try SQLiteConnection(url: url, mode: .readOnly, busyTimeout: 0)
    defer {
      // Opened for reading, so that nothing can be lost.
      try? connection.close()
    }
    do {
      _ = try connection.pragma("schema_version")
      return false
    } catch let error as SQLiteError {
      // Whatever else is wrong is told by the one who opens the store.
      return error.isHotJournal
    }
  }

  /// Rolls back the transaction in which a store's writer was killed, where there is one.
  ///
  /// Opening the store for writing does the same. It has to be done before a decision is taken by what the file says.
  ///
  /// - Parameter timeout: seconds to wait for the locks of others.
  /// - Returns: whether there was one. False as well where the store cannot be written: then a copy is read.
  /// - Throws: `SQLiteError` where SQLite cannot roll back.
  @discardableResult
  package static func rollBackHotJournal(_ url: URL, timeout: TimeInterval = 5) throws -> Bool {
    guard try hasHotJournal(url), FileManager.default.isWritableFile(atPath: url.path) else { return false }
    let connection = try SQLiteConnection(url: url, mode: .readWrite, busyTimeout: timeout)
    do {
      _ = try connection.pragma("schema_version")
    } catch let error as SQLiteError where error.isReadOnly || error.isCannotOpen {
      // The directory allows no change of the journal.
      try connection.close()
      return false
    } catch let error as SQLiteError where error.isNotADatabase || error.isCorrupt {
      // The journal has been rolled back, and the file is damaged all the same: who opens it is told.
    }
    try connection.close()
    return true
  }
}
