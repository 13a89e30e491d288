// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataSQLite
import Foundation

/// Transactions around several reads or writes.
extension SQLiteStore {
  /// Begins a read transaction, so that all reads see the same state of the store.
  func beginReading() throws {
    try asking { state in
      try state.connection.begin(.deferred)
      _ = try state.connection.scalar("SELECT COUNT(*) FROM Z_METADATA")
    }
  }

  /// Ends what `beginReading()` began.
  func endReading() throws {
    try asking { try $0.connection.rollback() }
  }

  /// Runs SQLite's integrity check.
  func checkIntegrity() throws {
    try asking { state in try IntegrityGuard.check(state.connection, url: state.file.url) }
  }

  func beginWriting() throws {
    try beginWriting { try $0.begin(.immediate) }
  }

  /// As `beginWriting()`, with other databases attached that are only read: an immediate transaction would lock them too.
  func beginWritingBesideAttached() throws {
    try beginWriting { connection in
      try connection.begin(.deferred)
      try connection.run("UPDATE main.Z_METADATA SET Z_VERSION = Z_VERSION WHERE 0")
    }
  }

  private func beginWriting(_ begin: (SQLiteConnection) throws -> Void) throws {
    try asking { state in
      if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
      do {
        try begin(state.connection)
      } catch {
        // The failure to take the lock is the error to report.
        try? state.connection.rollback()
        throw error
      }
      hadUnsavedMetadata = hasUnsavedMetadata
      state.external.isHoldingBack = true
    }
  }

  func commitWriting() throws {
    try asking { state in
      try state.connection.commit()
      state.external.isHoldingBack = false
      state.external.didCommit { try state.connection.synchronizeCommit() }
    }
  }

  func rollBackWriting() throws {
    try asking { state in
      defer {
        state.external.isHoldingBack = false
        state.external.didRollBack()
        hasUnsavedMetadata = hasUnsavedMetadata || hadUnsavedMetadata
      }
      try state.connection.rollback()
    }
  }
}
