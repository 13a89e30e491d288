// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A state of a SQLite store: a read transaction of a connection of its own, which the write-ahead log makes independent
/// of later writes. Until it ends, the log cannot be reset and keeps growing.
final class SQLiteGeneration: StoreGeneration {
  private unowned let store: SQLiteStore
  private var opened: SQLiteStore.Opened?

  fileprivate init(_ store: SQLiteStore, _ opened: SQLiteStore.Opened) {
    (self.store, self.opened) = (store, opened)
  }

  deinit { close() }

  /// Ends the transaction.
  func close() {
    // Nothing was written.
    try? opened?.file.close()
    opened = nil
  }

  func reading<Result>(_ body: () throws -> Result) throws -> Result {
    guard let opened else {
      throw StoreErrors.disconnected(
        url: nil, reason: "The query generation ended when its store was closed, destroyed or replaced.")
    }
    let current = store.opened
    store.opened = opened
    defer { store.opened = current }
    return try body()
  }
}

extension SQLiteStore: GenerationalStore {
  func openGeneration() throws -> any StoreGeneration {
    try asking { state in
      guard let url, !RegularFile.isNullDevice(url), try state.connection.journalMode() == .wal else {
        throw StoreErrors.noGenerations(
          of: self, reason: "Only a SQLite file with a write-ahead log keeps earlier states for its readers.")
      }
      let settings = StoreOptions(options)
      let file = try StoreFile.open(url, isReadOnly: true, timeout: settings.timeout)
      do {
        try Self.prepare(file, settings)
        try file.connection.begin(.deferred)
        // The transaction begins with the first read.
        _ = try file.connection.scalar("SELECT COUNT(*) FROM Z_METADATA")
      } catch {
        // The caller needs the error of reading, not one of closing.
        try? file.close()
        throw error
      }
      let opened = Opened(file: file, entities: state.entities, external: ExternalData(store: url))
      let generation = SQLiteGeneration(self, opened)
      generations.append(WeakGeneration(value: generation))
      return generation
    }
  }

  /// Ends all generations of the file that is being closed.
  func closeGenerations() {
    for generation in generations { generation.value?.close() }
    generations = []
  }
}

/// A generation that contexts or tokens may have released.
struct WeakGeneration {
  weak var value: SQLiteGeneration?
}
