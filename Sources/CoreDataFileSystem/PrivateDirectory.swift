// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A directory that only its owner can enter, in which a process makes files that nobody may see half done.
///
/// The process holds a lock of the operating system on a file in it. The lock ends with the process, however that ends,
/// so that a directory without a lock has been abandoned, and the next process may clear it away.
package final class PrivateDirectory {
  package let url: URL
  private let descriptor: Int32
  private var isRemoved = false

  private static let lockName = "lock"

  private init(url: URL, descriptor: Int32) {
    self.url = url
    self.descriptor = descriptor
  }

  deinit {
    // Unlocked by name as well: a process that was just started may still have the descriptor.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Makes a directory that must not be there yet.
  ///
  /// - Returns: nil where something has that name already.
  /// - Throws: `FileFailure`.
  package static func claim(_ url: URL) throws -> PrivateDirectory? {
    guard mkdir(url.path, 0o700) == 0 else {
      if errno == EEXIST { return nil }
      throw FileFailure(operation: "make the directory", path: url.path, number: errno)
    }
    do {
      // Nil where another process took it for an abandoned one at this moment.
      return try lock(url)
    } catch {
      // Why it cannot be locked is what matters.
      try? FileCalls.removeTree(url)
      throw error
    }
  }

  /// Makes a directory with a new name in the first of some directories that allows it.
  ///
  /// What processes that were killed have left there under such names is removed first.
  ///
  /// - Parameters:
  ///   - prefix: what the name begins with; it should be used for nothing else.
  ///   - parents: where to try, in order.
  /// - Throws: the `FileFailure` of the last of them.
  package static func make(prefix: String, in parents: [URL]) throws -> PrivateDirectory {
    var failure = FileFailure(operation: "make a directory in", path: "", number: ENOENT)
    for parent in parents {
      removeAbandoned(prefix: prefix, in: parent)
      do {
        for _ in 0..<100 {
          let name = prefix + UUID().uuidString
          if let made = try claim(parent.appendingPathComponent(name, isDirectory: true)) { return made }
        }
      } catch let error as FileFailure {
        failure = error
      }
    }
    throw failure
  }

  /// Takes over a directory that a process made with `claim(_:)` and has abandoned.
  ///
  /// - Returns: nil where there is none, where its process still runs, and where it is not such a directory: a symbolic
  ///   link, somebody else's, or one that others may enter.
  /// - Throws: `FileFailure`.
  package static func reclaim(_ url: URL) throws -> PrivateDirectory? {
    var found = stat()
    guard lstat(url.path, &found) == 0, found.st_mode & S_IFMT == S_IFDIR, found.st_uid == geteuid(),
      found.st_mode & 0o077 == 0
    else { return nil }
    return try lock(url)
  }

  /// Removes the directory with everything in it.
  ///
  /// - Throws: `FileFailure`.
  package func remove() throws {
    guard !isRemoved else { return }
    if FileCalls.exists(url) {
      try OpenDirectory.open(url, followsLinks: false).removeContents(except: [Self.lockName])
    }
    try FileCalls.removeFile(url.appendingPathComponent(Self.lockName))
    // Somebody who looks for abandoned ones may have made a lock file at this moment, and removes the directory then.
    try FileCalls.removeFolderIfEmpty(url)
    isRemoved = true
  }

  /// What is in it, the lock aside.
  package func names() throws -> [String] { try FileCalls.names(in: url).filter { $0 != Self.lockName } }

  private static func removeAbandoned(prefix: String, in parent: URL) {
    // Where the directory cannot be listed, nothing of ours can be found in it; what cannot be removed stays private.
    for name in (try? FileCalls.names(in: parent)) ?? [] where name.hasPrefix(prefix) {
      // As above.
      try? reclaim(parent.appendingPathComponent(name, isDirectory: true))?.remove()
    }
  }

  /// Locks a directory; nil where another process has it, or has removed it.
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
    // The lock of a file that has been removed meanwhile keeps nobody away.
    guard fstat(descriptor, &found) == 0,
      FileCalls.identity(file) == .init(device: UInt64(found.st_dev), number: UInt64(found.st_ino))
    else { return nil }
    return directory
  }
}
