// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataSQLite
import Foundation

/// Transactions that hold several writes: all of them are kept together, or none.
extension SQLiteStore {
  /// Has everything that is read come from one state of the store, whoever writes to it meanwhile.
  func beginReading() throws {
    try asking { state in
      try state.connection.begin(.deferred)
      _ = try state.connection.scalar("SELECT COUNT(*) FROM Z_METADATA")
    }
  }

  /// Has SQLite check the pages of the file.
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
