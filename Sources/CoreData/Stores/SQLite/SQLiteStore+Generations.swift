// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A state of a SQLite store: a read transaction on a connection of its own, which the write-ahead log isolates from
/// later writes. Until it ends, the log cannot be reset and keeps growing.
final class SQLiteGeneration: StoreGeneration {
  private let url: URL
  // Contexts on several threads may be pinned to the same state.
  private let lock = NSLock()
  private var opened: SQLiteStore.Opened?

  fileprivate init(_ opened: SQLiteStore.Opened, url: URL) { (self.opened, self.url) = (opened, url) }

  deinit { close() }

  /// Ends the transaction.
  func close() {
    lock.withLock {
      // Nothing was written.
      try? opened?.file.close()
      opened = nil
    }
  }

  func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result {
    try lock.withLock {
      guard let opened else {
        throw StoreErrors.disconnected(
          url: nil, reason: "The query generation ended when its store was closed, destroyed or replaced.")
      }
      opened.entities.noteIdentity()
      return try SQLiteStoreErrors.translating(url: url, isOpening: false) { try body(opened) }
    }
  }
}

extension SQLiteStore: GenerationalStore {
  func openGeneration() throws -> any StoreGeneration {
    try asking { state in
      guard let url, !RegularFile.isNullDevice(url), try state.connection.journalMode() == .wal else {
        throw StoreErrors.noGenerations(
          of: self, reason: "Only a SQLite file with a write-ahead log keeps earlier states for its readers.")
      }
      return try openGeneration(beside: state, url: url)
    }
  }

  /// Pins the store's current state on a connection of its own. Without a write-ahead log, nothing can write to the
  /// store until that is closed.
  func openGeneration(beside state: Opened, url: URL) throws -> SQLiteGeneration {
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
    let generation = SQLiteGeneration(opened, url: url)
    generations.append(WeakGeneration(value: generation))
    return generation
  }

  /// Ends all generations of the file that is being closed.
  func closeGenerations() {
    for generation in generations { generation.value?.close() }
    generations = []
  }
}

/// A reference to a generation that contexts or tokens may have released.
struct WeakGeneration {
  weak var value: SQLiteGeneration?
}
