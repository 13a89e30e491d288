// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A directory accessible only to its owner, for files that must not be seen before they are complete.
///
/// The process holds an operating system lock on a file in the directory. The lock ends with the process, however the
/// process ends, so an unlocked directory is abandoned and any later process may remove it.
package final class PrivateDirectory {
  package let url: URL
  private let descriptor: Int32
  private var isRemoved = false

  private static let lockName = "lock"
  /// The directories that this process has created with `make(prefix:in:)` and not removed yet, and whether the process
  /// is ending and must not create more.
  private static let temporary = Mutex<(directories: Set<URL>, isEnding: Bool)>(([], false))

  private init(url: URL, descriptor: Int32) {
    self.url = url
    self.descriptor = descriptor
  }

  deinit {
    // Unlock explicitly: a child process that was just started may still have the descriptor.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Creates and locks a directory.
  ///
  /// - Returns: nil if the name is taken.
  /// - Throws: `FileFailure`.
  package static func claim(_ url: URL) throws -> PrivateDirectory? {
    guard mkdir(url.path, 0o700) == 0 else {
      if errno == EEXIST { return nil }
      throw FileFailure(operation: "make the directory", path: url.path, number: errno)
    }
    do {
      // Returns nil if another process considered the new directory abandoned and has just locked it.
      return try lock(url)
    } catch {
      // Report why it cannot be locked, not that it could not be removed.
      try? FileCalls.removeTree(url)
      throw error
    }
  }

  /// Creates a uniquely named directory, after removing abandoned directories with the same prefix.
  ///
  /// - Parameters:
  ///   - prefix: The start of the name. Other files in the parent must not use it.
  ///   - parent: Its directory.
  /// - Throws: `FileFailure`.
  package static func make(prefix: String, in parent: URL) throws -> PrivateDirectory {
    removeAbandoned(prefix: prefix, in: parent)
    // Another process that looks for abandoned directories can take a new one before it is locked.
    for _ in 0..<100 {
      let name = prefix + UUID().uuidString
      if let made = try claimTemporary(parent.appendingPathComponent(name, isDirectory: true)) { return made }
    }
    throw FileFailure(operation: "make a directory in", path: parent.path, number: EEXIST)
  }

  /// Creates and locks a directory that `removeTemporary()` removes. Once that has been called, waits for the process
  /// to end instead.
  private static func claimTemporary(_ url: URL) throws -> PrivateDirectory? {
    var made: PrivateDirectory?
    while true {
      let mayMake = try temporary.withLock { state in
        if state.isEnding { return false }
        made = try claim(url)
        if made != nil { state.directories.insert(url) }
        return true
      }
      if mayMake { return made }
      sleep(1)
    }
  }

  /// Locks a directory that another process created with `claim(_:)` and abandoned.
  ///
  /// - Returns: nil if there is no such directory, if its process is still running, or if it is not a private
  ///   directory: a symbolic link, a directory of another user, or one that others can access.
  /// - Throws: `FileFailure`.
  package static func reclaim(_ url: URL) throws -> PrivateDirectory? {
    var found = stat()
    guard lstat(url.path, &found) == 0, found.st_mode & S_IFMT == S_IFDIR, found.st_uid == geteuid(),
      found.st_mode & 0o077 == 0
    else { return nil }
    return try lock(url)
  }

  /// Removes the directory and its contents.
  ///
  /// - Throws: `FileFailure`.
  package func remove() throws {
    guard !isRemoved else { return }
    if FileCalls.exists(url) {
      try OpenDirectory.open(url, followsLinks: false).removeContents(except: [Self.lockName])
    }
    try FileCalls.removeFile(url.appendingPathComponent(Self.lockName))
    // A process looking for abandoned directories may have just created a new lock file. It will then remove the
    // directory.
    try FileCalls.removeDirectoryIfEmpty(url)
    isRemoved = true
    Self.temporary.withLock { _ = $0.directories.remove(url) }
  }

  /// Removes the directories that this process has created with `make(prefix:in:)`.
  ///
  /// Call this just before the process exits. Threads that call `make(prefix:in:)` afterwards wait for the exit.
  package static func removeTemporary() {
    temporary.withLock { $0.isEnding = true }
    // Another thread may still be making files in them.
    for _ in 0..<50 {
      let left = temporary.withLock { $0.directories }.filter { FileCalls.exists($0) }
      guard !left.isEmpty else { return }
      for url in left {
        // A directory that cannot be removed stays private, and the next process that uses the prefix removes it.
        try? FileCalls.removeTree(url)
      }
      usleep(2_000)
    }
  }

  /// Returns the names of the entries, except the lock file.
  package func names() throws -> [String] { try FileCalls.names(in: url).filter { $0 != Self.lockName } }

  /// Removes the directories with a prefix that killed processes have left behind.
  package static func removeAbandoned(prefix: String, in parent: URL) {
    // Cleaning up is optional: what cannot be listed or removed stays private.
    for name in (try? FileCalls.names(in: parent)) ?? [] where name.hasPrefix(prefix) {
      // As above.
      try? reclaim(parent.appendingPathComponent(name, isDirectory: true))?.remove()
    }
  }

  /// Locks a directory. Returns nil if another process has locked or removed it.
  private static func lock(_ url: URL) throws -> PrivateDirectory? {
    let file = url.appendingPathComponent(lockName)
    let descriptor = open(file.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw FileFailure(operation: "open", path: file.path, number: errno) }
    let directory = PrivateDirectory(url: url, descriptor: descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      if errno == EWOULDBLOCK { return nil }
      throw FileFailure(operation: "lock", path: file.path, number: errno)
    }
    var found = stat()
    // If the lock file was removed in the meantime, the lock no longer excludes other processes.
    guard fstat(descriptor, &found) == 0,
      FileCalls.identity(file) == .init(device: UInt64(found.st_dev), number: UInt64(found.st_ino))
    else { return nil }
    return directory
  }
}
