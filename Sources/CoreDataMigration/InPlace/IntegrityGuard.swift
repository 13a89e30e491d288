// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Has SQLite check a store's file within the transaction that changes it, before rows are moved and after.
package final class IntegrityGuard {
  /// When a file is checked.
  package enum Policy {
    /// Where the check is quick compared with the migration.
    case automatic
    case always
    case never
  }

  /// The size up to which a file is always checked, in bytes; the check takes a quarter of a second.
  package static let smallFile: Int64 = 32 << 20
  /// How many contradictions an error lists.
  private static let limit = 3

  private let connection: SQLiteConnection
  private let url: URL
  private let policy: Policy
  package private(set) var hasChecked = false

  package init(_ connection: SQLiteConnection, url: URL, policy: Policy) {
    self.connection = connection
    self.url = url
    self.policy = policy
  }

  /// Checks the file, unless the policy depends on what the migration does.
  ///
  /// - Throws: `StoreFileProblem.contradictory`; `SQLiteError`.
  package func begin() throws {
    switch policy {
    case .never: return
    case .always: try check()
    case .automatic:
      let pages = try connection.pragma("page_count")?.integer ?? 0
      let size = pages.multipliedReportingOverflow(by: try connection.pragma("page_size")?.integer ?? 0)
      let free = try connection.pragma("freelist_count")?.integer ?? 0
      if free != 0 || (!size.overflow && size.partialValue <= Self.smallFile) { try check() }
    }
  }

  /// Checks the file, unless it has been checked.
  ///
  /// - Throws: as `begin()`.
  package func willMoveRows() throws {
    if policy != .never, !hasChecked { try check() }
  }

  /// Checks rebuilt tables before the transaction is committed.
  ///
  /// - Throws: `InPlaceProblem`; `SQLiteError`.
  package func didMake(_ tables: [String]) throws {
    guard policy != .never else { return }
    for table in tables {
      let found = try connection.integrityCheck(quick: true, limit: Self.limit, of: table)
      guard found.isEmpty else {
        throw InPlaceProblem(
          reason:
            "What was written to the table \(table) is not sound. SQLite finds: \(found.joined(separator: "; ")).",
          suggestion: "The store was not changed. Check the disk, and try again with a copy of the store.")
      }
    }
  }

  private func check() throws {
    try Self.check(connection, url: url)
    hasChecked = true
  }

  /// Checks all pages of a file.
  ///
  /// - Throws: as `begin()`.
  package static func check(_ connection: SQLiteConnection, url: URL) throws {
    let found = try connection.integrityCheck(quick: true, limit: limit)
    guard found.isEmpty else { throw StoreFileProblem.contradictory(path: url.path, found: found) }
  }
}
