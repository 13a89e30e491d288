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

  /// Runs SQLite's integrity check.
  func checkIntegrity() throws {
    try asking { state in try IntegrityGuard.check(state.connection, url: state.file.url) }
  }

  func beginWriting() throws {
    try asking { state in
      if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
      try state.connection.begin(.immediate)
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
