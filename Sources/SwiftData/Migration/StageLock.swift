// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// Keeps other processes, and other containers of this one, from running the stages of a store at the same time.
///
/// A file beside the store is locked, and is removed afterwards. The lock ends with the process. Where the store's name is a
/// symbolic link, the file is beside its target, so that those that use another name wait too.
final class StageLock {
  private let descriptor: Int32
  private let path: String

  /// Waits for the lock.
  ///
  /// - Throws: `SwiftDataError.loadIssueModelContainer` if another process keeps it for longer than the timeout, or if
  ///   the file cannot be created.
  init(_ store: URL, timeout: TimeInterval) throws {
    let path = Self.path(store)
    let end = Date().addingTimeInterval(timeout)
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else {
        throw SwiftDataError(
          .loadIssueModelContainer,
          "The store \(store.path) has to be migrated, but the lock file \(path) cannot be created: "
            + "\(String(cString: strerror(errno))). Make the directory writable.")
      }
      // The file may have been removed by the process that had the lock.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isFile(descriptor, at: path) {
        (self.descriptor, self.path) = (descriptor, path)
        return
      }
      close(descriptor)
      guard Date() < end else {
        throw SwiftDataError(
          .loadIssueModelContainer,
          "Another process has been migrating the store \(store.path) for \(Int(timeout)) seconds. Open it again "
            + "later, or set a longer MigrationOptions.timeout.")
      }
      usleep(20_000)
    }
  }

  /// Whether a process has the lock, or was killed while it had it.
  static func exists(_ store: URL) -> Bool { FileManager.default.fileExists(atPath: path(store)) }

  private static func path(_ store: URL) -> String {
    let file = StoreLocation(store).file
    return file.deletingLastPathComponent().appendingPathComponent(".\(file.lastPathComponent)-stages").path
  }

  private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
    var open = stat()
    var named = stat()
    return fstat(descriptor, &open) == 0 && stat(path, &named) == 0 && open.st_ino == named.st_ino
      && open.st_dev == named.st_dev
  }

  deinit {
    unlink(path)
    close(descriptor)
  }
}
