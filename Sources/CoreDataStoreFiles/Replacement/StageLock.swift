// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation
import Synchronization

/// Keeps other processes, and other coordinators of this one, from running the stages of a store at the same time, and
/// from opening it before the code of a stage has ended.
///
/// A file beside the store is locked, and is removed afterwards. The lock ends with the process. Where the store's name is
/// a symbolic link, the file is beside its target, so that those that use another name wait too.
package final class StageLock {
  /// Another process, or another coordinator, has kept the lock for longer than the given seconds.
  package struct Held: Error {
    package let seconds: TimeInterval
  }

  /// The locks of this process. Its own code may open the store that it migrates.
  private static let held = Mutex<[String: Int]>([:])

  private let descriptor: Int32
  private let path: String

  /// Waits for the lock.
  ///
  /// - Parameter timeout: how long to wait, in seconds.
  /// - Throws: `Held`; `FileFailure` if the file cannot be created.
  package init(_ store: URL, timeout: TimeInterval) throws {
    let path = Self.path(store)
    descriptor = try Self.waiting(timeout) {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw FileFailure(operation: "create", path: path, number: errno) }
      // The file may have been removed by the process that had the lock.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isFile(descriptor, at: path) { return descriptor }
      close(descriptor)
      return nil
    }
    self.path = path
    Self.held.withLock { $0[path, default: 0] += 1 }
  }

  /// Waits until no other process runs a stage of a store.
  ///
  /// - Parameter timeout: how long to wait, in seconds.
  /// - Throws: `Held`.
  package static func wait(_ store: URL, timeout: TimeInterval) throws {
    let path = path(store)
    if held.withLock({ $0[path] != nil }) { return }
    try waiting(timeout) {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
      // Without the file, or without permission to read it, no process of this user has the lock.
      guard descriptor >= 0 else { return () }
      defer { close(descriptor) }
      // A shared lock, so that those that wait do not wait for each other.
      return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? () : nil
    }
  }

  /// Whether a process has the lock, or was killed while it had it.
  package static func exists(_ store: URL) -> Bool { FileCalls.exists(URL(fileURLWithPath: path(store))) }

  private static func waiting<Result>(_ timeout: TimeInterval, _ attempt: () throws -> Result?) throws -> Result {
    let end = Date().addingTimeInterval(timeout)
    while true {
      if let result = try attempt() { return result }
      guard Date() < end else { throw Held(seconds: timeout) }
      usleep(20_000)
    }
  }

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
    Self.held.withLock { held in
      held[path, default: 1] -= 1
      if held[path] == 0 { held[path] = nil }
    }
    unlink(path)
    close(descriptor)
  }
}
