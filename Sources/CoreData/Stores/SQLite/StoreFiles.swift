// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// The files that make up a SQLite store: the database, its write-ahead log and shared memory, and external data.
package enum StoreFiles {
  /// The database and what SQLite keeps beside it.
  static func databaseFiles(of store: URL) -> [URL] {
    [store, sibling(of: store, "-wal"), sibling(of: store, "-shm")]
  }

  /// The folder in which values too large for the database are kept: `.Name_SUPPORT` beside `Name.sqlite`.
  package static func externalData(of store: URL) -> URL {
    let name = store.deletingPathExtension().lastPathComponent
    return store.deletingLastPathComponent().appendingPathComponent(".\(name)_SUPPORT", isDirectory: true)
  }

  /// Copies a store as it is at one moment, whoever else uses it: the log's content is part of the copy's database.
  ///
  /// Nothing is left at the new place when the copy fails.
  package static func copy(from source: URL, to destination: URL, progress: (Double) throws -> Void = { _ in }) throws {
    do {
      // Where a writer was killed, what is copied is the store as SQLite rolls it back.
      let file = try StoreFile.open(source, isReadOnly: true)
      try file.connection.backup(toPath: destination.path) { event in
        if event.pageCount > 0 { try progress(Double(event.copiedPages) / Double(event.pageCount)) }
      }
      try file.close()
      let external = externalData(of: source)
      if FileManager.default.fileExists(atPath: external.path) {
        try FileManager.default.copyItem(at: external, to: externalData(of: destination))
      }
    } catch {
      removeIfPresent(at: destination)
      throw error
    }
  }

  /// Removes a store; what is not there, or cannot be removed, stays.
  package static func removeIfPresent(at store: URL) {
    for file in databaseFiles(of: store) + [externalData(of: store)] {
      // Cleaning up after something that has failed or is done: there is nobody to tell, and nothing else to do.
      try? FileManager.default.removeItem(at: file)
    }
  }

  private static func sibling(of store: URL, _ suffix: String) -> URL {
    store.deletingLastPathComponent().appendingPathComponent(store.lastPathComponent + suffix)
  }
}
