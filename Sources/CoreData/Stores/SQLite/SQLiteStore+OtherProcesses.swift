// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

// Stores that post remote changes detect those of other processes: the system reports writes to the store's files, and
// SQLite then reports whether another connection has committed.

extension SQLiteStore {
  /// Starts watching the files of a store that was opened with
  /// `NSPersistentStoreRemoteChangeNotificationPostOptionKey`.
  ///
  /// If that fails, a message is logged and the store is opened anyway.
  func watchOtherProcesses(_ settings: StoreOptions) {
    guard settings.postsRemoteChanges, let url, !RegularFile.isNullDevice(url) else { return }
    #if os(Linux)
    let file = URL(fileURLWithPath: DatabaseFile.target(of: url.path)).standardizedFileURL
    let name = file.lastPathComponent
    do {
      knownVersion = try opened?.connection.dataVersion()
      watch = try FileWatch(
        directory: file.deletingLastPathComponent(), names: [name, name + "-wal"], queue: RemoteChanges.queue
      ) { [weak self] in
        if let self { RemoteChanges.didWriteFiles(of: self) }
      }
    } catch {
      FileHandle.standardError.write(
        Data("CoreData: Changes by other processes to the store at '\(url.path)' are not noticed: \(error)\n".utf8))
    }
    #endif
  }

  /// Returns whether another connection has committed since the last call. The coordinator's lock must be held.
  ///
  /// - Throws: the errors of SQLite.
  func checkForExternalCommits() throws -> Bool {
    guard let opened else { return false }
    let version = try opened.connection.dataVersion()
    defer { knownVersion = version }
    return version != knownVersion
  }
}

extension SQLiteConnection {
  /// Returns a number that changes after another connection has committed.
  fileprivate func dataVersion() throws -> SQLiteValue? { try scalar("PRAGMA data_version") }
}
