// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Another process that has a database open.
package struct DatabaseUser: Hashable, Sendable {
  /// The process ID; nil for a process that is not visible, for example one in another container.
  package let process: Int32?
  /// The name of its program; nil if unknown.
  package let program: String?

  /// The subject of a sentence, such as `The process 4711 (worker)`.
  package var text: String {
    guard let process else { return "Another process" }
    return "The process \(process)" + (program.map { " (\($0))" } ?? "")
  }
}

extension DatabaseUser {
  /// The offset in the `-shm` file of the lock that every open connection to a database in WAL mode holds.
  private static let lockOffset: off_t = 128

  /// The open descriptors of `-shm` files. Closing one would drop all locks that this process holds on the file,
  /// including those of SQLite's connections, so descriptors are kept until the process ends.
  private static let descriptors = Mutex<[Index: Int32]>([:])

  private struct Index: Hashable {
    let device: UInt64
    let number: UInt64
  }

  /// Returns another process that has a database open, or nil if there is none. If there are several, returns one of
  /// them.
  ///
  /// Without a write-ahead log, the process is not found.
  package static func other(of path: String) -> DatabaseUser? {
    let index = DatabaseFile.target(of: path) + "-shm"
    var status = stat()
    guard lstat(index, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let key = Index(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    let descriptor = descriptors.withLock { known in
      if let found = known[key] { return found }
      let opened = open(index, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      if opened >= 0 { known[key] = opened }
      return opened
    }
    guard descriptor >= 0 else { return nil }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = lockOffset
    lock.l_len = 1
    guard fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
    guard lock.l_pid > 0 else { return DatabaseUser(process: nil, program: nil) }
    // The name is optional.
    let name = try? String(contentsOfFile: "/proc/\(lock.l_pid)/comm", encoding: .utf8)
    return DatabaseUser(
      process: lock.l_pid, program: name?.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
