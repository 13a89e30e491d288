// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore {
  func openGeneration() throws -> any StoreGeneration {
    try withState { state in
      guard let url, !RegularFile.isNullDevice(url), try state.connection.journalMode() == .wal else {
        throw StoreErrors.noGenerations(
          of: self, reason: "Only a SQLite file with a write-ahead log keeps earlier states for its readers.")
      }
      return try openGeneration(beside: state, url: url)
    }
  }

  /// Pins the store's current state in a read transaction on a connection of its own, which the write-ahead log isolates
  /// from later writes. Until it ends, the log cannot be reset and keeps growing. Without a log, nothing can write to
  /// the store.
  func openGeneration(beside state: Opened, url: URL) throws -> PinnedGeneration {
    let opened = try openReader(beside: state, url: url, timeout: StoreOptions(options).timeout ?? 5)
    do {
      try opened.connection.begin(.deferred)
      // The transaction begins with the first read.
      _ = try opened.connection.scalar("SELECT COUNT(*) FROM Z_METADATA")
      try opened.version?.check()
    } catch {
      // The caller needs the error of reading, not that of closing.
      try? opened.file.close()
      throw error
    }
    return generations.add(opened, url: url)
  }
}
