// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore.Opened {
  func noteIdentity() { entities.noteIdentity() }

  func interrupt() { connection.interrupt() }

  func end() {
    // Nothing was written.
    try? file.close()
  }

  func readingNewest<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.readingNewest(checking: { try version?.check() }, body)
  }

  func readingPinned<Result>(url: URL?, _ body: () throws -> Result) throws -> Result {
    try ErrorTranslation.translating(url: url, during: .use, body)
  }

  var keepsState: Bool { connection.keepsRead }

  func endKeptState() { connection.endKeptRead() }
}

extension SQLiteStore {
  /// The pragmas in `NSSQLitePragmasOption` that affect reading.
  private static let readingPragmas: Set<String> = ["cache_size", "case_sensitive_like", "mmap_size", "temp_store"]

  /// Allows reads on connections of their own, if the store has a write-ahead log that several connections can use.
  func openReaders(beside state: Opened, url: URL, _ settings: StoreOptions) throws {
    guard try hasSharedLog(state, url: url, settings) else { return }
    let file = StoreIdentity(of: url)
    connections.begin { [unowned self] in
      guard file.isUnchanged else { return nil }
      let reader = try openReader(beside: state, url: url, timeout: 0)
      for (name, value) in settings.pragmas.sorted(by: { $0.key < $1.key }) where Self.readingPragmas.contains(name) {
        try reader.connection.setPragma(name, to: .text(value))
      }
      guard file.isUnchanged else {
        try reader.file.close()
        return nil
      }
      return reader
    }
  }

  /// Opens a read-only connection.
  ///
  /// - Parameter state: the connection whose knowledge of the store's layout the new one shares.
  func openReader(beside state: Opened, url: URL, timeout: TimeInterval) throws -> Opened {
    let connection = try SQLiteConnection(url: url, mode: .readOnly, busyTimeout: timeout)
    do {
      let file = StoreFile(url: url, connection: connection)
      try Self.register(with: connection)
      let reader = Opened(
        file: file, entities: StoredEntities(sharing: state.entities), external: ExternalData(beside: state.external),
        toleratesUnreadableFiles: state.toleratesUnreadableFiles)
      reader.version = state.version.map { StoreVersionGuard(file, like: $0) }
      return reader
    } catch {
      // The caller needs the error of opening, not that of closing.
      try? connection.close()
      throw error
    }
  }
}
