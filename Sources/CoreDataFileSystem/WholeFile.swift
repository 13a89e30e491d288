// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file that is read and replaced as a whole, and that other processes may replace meanwhile.
///
/// A replacement is atomic: even after a power failure the file has either its old contents or the new ones. It is
/// refused if the file has changed since it was read, because it would overwrite the changes of another process.
package final class WholeFile {
  /// The reason why a file is not replaced.
  package enum Problem: Error, Hashable, CustomStringConvertible {
    case changed(path: String)
    case gone(path: String)

    package var description: String {
      switch self {
      case .changed(let path): "Another program has changed '\(path)' since it was read. It was not overwritten."
      case .gone(let path): "'\(path)' has been removed since it was read."
      }
    }
  }

  /// The file itself: the target if the caller's URL is a symbolic link.
  package let url: URL
  /// The `FileCalls.stamp(_:)` of the file when it was last read or written; nil before.
  private var stamp: [Int64]?
  /// Whether the first write may replace a file that was not read.
  private let replacesUnread: Bool

  /// Creates an accessor to a file, which need not exist.
  ///
  /// - Parameters:
  ///   - url: The location of the file.
  ///   - replacesUnread: Whether the first write may replace a file that was not read.
  package init(_ url: URL, replacesUnread: Bool = false) {
    self.url = FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url
    self.replacesUnread = replacesUnread
  }

  /// Reads the file; nil if it is missing or empty.
  ///
  /// - Throws: `RegularFile.Problem`; `FileFailure`.
  package func read(limit: Int) throws -> Data? {
    guard FileCalls.exists(url) else { return nil }
    while true {
      let before = FileCalls.stamp(url)
      let data = try RegularFile.read(url, limit: limit, followsLinks: false)
      // A writer may replace the file between the two calls.
      guard before == FileCalls.stamp(url) else { continue }
      stamp = before
      return data.isEmpty ? nil : data
    }
  }

  /// Whether the file has been removed or emptied.
  package var isGone: Bool { FileCalls.size(url) == 0 }

  /// Replaces or creates the file.
  ///
  /// - Throws: `Problem`; `RegularFile.Problem`; `FileFailure`. After an error the file is unchanged.
  package func write(_ data: Data) throws {
    let folder = try OpenDirectory.open(url.deletingLastPathComponent())
    let name = url.lastPathComponent
    let descriptor = try lock(folder, name)
    defer { close(descriptor) }
    if let stamp {
      guard stamp == FileCalls.stamp(url) else { throw Problem.changed(path: url.path) }
    } else if !replacesUnread, !isGone {
      throw Problem.changed(path: url.path)
    }
    try folder.write(data, to: name, mode: 0o644, keepsPermissions: true)
    stamp = FileCalls.stamp(url)
  }

  /// Locks the file against other writers, creating it if necessary. Closing the returned descriptor unlocks it.
  private func lock(_ folder: OpenDirectory, _ name: String) throws -> Int32 {
    while true {
      if let found = folder.status(name) {
        try RegularFile.check(found, url)
      } else if stamp != nil {
        throw Problem.gone(path: url.path)
      }
      let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      let descriptor = openat(folder.descriptor, name, flags, 0o644)
      guard descriptor >= 0 else { throw FileFailure(operation: "open", path: url.path, number: errno) }
      var result = flock(descriptor, LOCK_EX)
      while result != 0, errno == EINTR { result = flock(descriptor, LOCK_EX) }
      var found = stat()
      guard result == 0, fstat(descriptor, &found) == 0 else {
        let number = errno
        close(descriptor)
        throw FileFailure(operation: "lock", path: url.path, number: number)
      }
      // If the file was replaced while waiting for the lock, lock the new one.
      if folder.identity(name) == .init(found) { return descriptor }
      close(descriptor)
    }
  }

  /// Removes the file if it exists.
  ///
  /// - Throws: `RegularFile.Problem` for anything but a regular file; `FileFailure`.
  package func remove() throws {
    let folder = try OpenDirectory.open(url.deletingLastPathComponent())
    guard let found = folder.status(url.lastPathComponent) else { return }
    try RegularFile.check(found, url)
    try folder.removeFile(url.lastPathComponent)
    try folder.synchronize()
  }
}
