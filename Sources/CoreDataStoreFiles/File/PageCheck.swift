// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// SQLite's check of all pages of a store (`PRAGMA quick_check`).
package enum PageCheck {
  /// The size, in bytes, from which a file is checked concurrently with other work. Below it, starting a thread takes
  /// longer than the check.
  package static let largeFile = 4 << 20
  /// How many contradictions an error lists.
  private static let limit = 3

  /// The error for a store that the check finds damaged, or that cannot be checked.
  package struct Failure: Error {
    /// A `StoreFileProblem.contradictory`, or a `SQLiteError`.
    package let cause: any Error
  }

  /// Checks a store over an open connection.
  ///
  /// - Parameter url: the store, for errors.
  /// - Throws: `StoreFileProblem.contradictory`; `SQLiteError`.
  package static func run(_ connection: SQLiteConnection, url: URL) throws {
    let found = try connection.integrityCheck(quick: true, limit: limit)
    guard found.isEmpty else { throw StoreFileProblem.contradictory(path: url.path, found: found) }
  }

  /// Checks a store that no other process writes to before a body reads it. A large store is checked concurrently with
  /// the body, over its own connection and thread; if the check finds damaged pages, that error is thrown whatever the
  /// body has thrown.
  ///
  /// - Parameters:
  ///   - connection: an open connection to the store. It checks the store after the body if a second connection cannot.
  ///   - url: the store, for errors.
  ///   - largeFile: the size from which a file is large, in bytes.
  ///   - isCancelled: whether an error of the body is a cancellation, which ends the check too.
  /// - Throws: `Failure`; the errors of the body.
  package static func during<Result>(
    _ connection: SQLiteConnection, url: URL, largeFile: Int = PageCheck.largeFile,
    isCancelled: () -> Bool, _ body: () throws -> Result
  ) throws -> Result {
    guard let check = Concurrent(connection, url: url, largeFile: largeFile) else {
      try runAlone(connection, url: url)
      return try body()
    }
    let result: Result
    do {
      result = try body()
    } catch {
      if let damage = check.damage(isCancelled: isCancelled()) { throw Failure(cause: damage) }
      throw error
    }
    do {
      try check.wait()
    } catch let failure as SQLiteError where !failure.isCorrupt && !failure.isNotADatabase {
      try runAlone(connection, url: url)
    } catch {
      throw Failure(cause: error)
    }
    return result
  }

  /// The check of a large store concurrent with other work, over its own connection and thread. It reads the store as
  /// it is when the check begins, or, if another connection has an open transaction then, as it was before that
  /// transaction.
  package final class Concurrent {
    private let second: SQLiteConnection
    private let check: ParallelWork<Void>

    /// - Parameters:
    ///   - connection: an open connection to the store.
    ///   - url: the store, for errors.
    ///   - largeFile: the size from which a file is large, in bytes.
    /// - Returns: nil for a small store, and if no second connection can be opened.
    package init?(_ connection: SQLiteConnection, url: URL, largeFile: Int = PageCheck.largeFile) {
      guard let second = secondConnection(connection, largeFile: largeFile) else { return nil }
      self.second = second
      check = ParallelWork {
        // The connection only reads.
        defer { try? second.close() }
        try run(second, url: url)
      }
    }

    /// Waits for the end of the check.
    ///
    /// - Throws: `StoreFileProblem.contradictory`; `SQLiteError`.
    package func wait() throws { try check.wait() }

    /// Waits for the end of the check after the other work has failed, and returns the damage found, which is then the
    /// cause.
    ///
    /// - Parameter isCancelled: whether to end the check too.
    package func damage(isCancelled: Bool) -> (any Error)? {
      if isCancelled { second.interrupt() }
      do {
        try check.wait()
        return nil
      } catch let failure as SQLiteError where !failure.isCorrupt && !failure.isNotADatabase {
        // The check found no damage.
        return nil
      } catch {
        return error
      }
    }
  }

  private static func runAlone(_ connection: SQLiteConnection, url: URL) throws {
    do {
      try run(connection, url: url)
    } catch {
      throw Failure(cause: error)
    }
  }

  /// Returns a second connection to a large store; nil if it cannot be opened, or would have to wait.
  private static func secondConnection(_ connection: SQLiteConnection, largeFile: Int) -> SQLiteConnection? {
    guard Optimization.backgroundChecks.isOn,
      FileCalls.size(URL(fileURLWithPath: DatabaseFile.target(of: connection.path))) >= largeFile
    else {
      return nil
    }
    do {
      let second = try SQLiteConnection(
        path: connection.path, mode: connection.mode == .immutable ? .immutable : .readOnly, busyTimeout: 0)
      do {
        // The first read pins the current state of the store, and opens the files that the connection needs.
        try second.begin(.deferred)
        _ = try second.pragma("schema_version")
        return second
      } catch {
        try second.close()
        throw error
      }
    } catch {
      // The connection that is already open checks the store instead.
      return nil
    }
  }
}
