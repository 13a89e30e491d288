// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The calls of the file system that take part in putting one store in the place of another.
///
/// Foundation's functions do too much in one: here every call counts, and the failure of every call is told.
/// A database that is in use is never opened here, since closing a file takes away the locks that this process has on it.
package enum FileCalls {
  /// A file's identity: other names of the same file have the same.
  package struct Identity: Hashable {
    package let device: UInt64
    package let number: UInt64

    package init(device: UInt64, number: UInt64) {
      self.device = device
      self.number = number
    }

    package init(_ found: stat) { self.init(device: UInt64(found.st_dev), number: UInt64(found.st_ino)) }
  }

  /// Whether anything has that name.
  package static func exists(_ url: URL) -> Bool { status(url) != nil }

  /// A file's identity; nil where there is none.
  package static func identity(_ url: URL) -> Identity? {
    status(url).map(Identity.init)
  }

  /// What changes with every write to a file: its identity, size and time; nil where there is none.
  package static func stamp(_ url: URL) -> [Int64]? {
    status(url).map {
      [
        Int64(truncatingIfNeeded: $0.st_dev), Int64(truncatingIfNeeded: $0.st_ino), Int64($0.st_size),
        Int64($0.modification.tv_sec), Int64($0.modification.tv_nsec),
      ]
    }
  }

  /// Whether a name leads to another one.
  package static func isSymbolicLink(_ url: URL) -> Bool { status(url).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false }

  /// Gives a new file the permissions, and as far as that is allowed the owner, of another: never more than that one has.
  package static func takePermissions(of old: URL, for new: URL) throws {
    guard let found = status(old) else { return }
    let descriptor = try RegularFile.open(new, followsLinks: false)
    defer { close(descriptor) }
    try takePermissions(of: found, for: descriptor, new)
  }

  static func takePermissions(of found: stat, for descriptor: Int32, _ url: URL) throws {
    var (own, mode) = (stat(), found.st_mode & 0o777)
    guard fstat(descriptor, &own) == 0 else { throw failure("look at", url) }
    // Only root may give files away. Whoever may write the directory may make the file, so its permissions suffice.
    if own.st_uid != found.st_uid { _ = fchown(descriptor, found.st_uid, own.st_gid) }
    // A group that cannot be given must not be another one's gain: its members have what everybody has.
    if own.st_gid != found.st_gid, fchown(descriptor, uid_t.max, found.st_gid) != 0 {
      mode = mode & ~0o070 | (mode & 0o007) << 3 & mode
    }
    try check(fchmod(descriptor, mode), "change the permissions of", url)
  }

  /// Makes a folder; one that is there already will do.
  package static func makeFolder(_ url: URL) throws {
    if mkdir(url.path, 0o777) != 0, errno != EEXIST { throw failure("make the folder", url) }
  }

  /// Makes a folder that must not be there yet.
  ///
  /// - Returns: whether it was made; false where something has that name already.
  package static func makeNewFolder(_ url: URL) throws -> Bool {
    if mkdir(url.path, 0o777) == 0 { return true }
    if errno == EEXIST { return false }
    throw failure("make the folder", url)
  }

  /// Removes a file; one that is not there will do.
  package static func removeFile(_ url: URL) throws {
    if unlink(url.path) != 0, errno != ENOENT { throw failure("remove", url) }
  }

  /// Removes an empty folder; one that is not there will do.
  package static func removeFolder(_ url: URL) throws {
    if rmdir(url.path) != 0, errno != ENOENT { throw failure("remove the folder", url) }
  }

  /// Removes a folder where it is empty, and leaves it where it is not.
  package static func removeFolderIfEmpty(_ url: URL) throws {
    if rmdir(url.path) != 0, ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) { throw failure("remove the folder", url) }
  }

  /// Removes a file, or a directory with everything below it. Symbolic links are removed and never followed.
  package static func removeTree(_ url: URL) throws {
    guard exists(url) else { return }
    try OpenDirectory.open(url.deletingLastPathComponent()).removeTree(url.lastPathComponent)
  }

  /// What is in a folder; nothing where there is none.
  package static func names(in folder: URL) throws -> [String] {
    guard exists(folder) else { return [] }
    return try OpenDirectory.open(folder).names()
  }

  /// Gives a file another name; a file that has that name is replaced in the same moment.
  package static func rename(_ old: URL, to new: URL) throws {
    try check(Foundation.rename(old.path, new.path), "rename", old)
  }

  /// Makes a hard link, or a copy where the file system has no hard links.
  ///
  /// - Parameter copyBytes: as that of `OpenDirectory.link(_:to:_:copyBytes:)`.
  /// - Returns: false where something has that name already.
  /// - Throws: `RegularFile.Problem.notRegular` for anything but a regular file; `FileFailure`.
  package static func link(
    _ old: URL, to new: URL, copyBytes: ((_ old: URL, _ new: URL) throws -> Void)? = nil
  ) throws -> Bool {
    try OpenDirectory.open(old.deletingLastPathComponent()).link(
      old.lastPathComponent, to: OpenDirectory.open(new.deletingLastPathComponent()), new.lastPathComponent,
      copyBytes: copyBytes)
  }

  /// Copies the content of a regular file into a new file that only its owner can read.
  ///
  /// - Throws: `FileFailure`, also where `new` exists; `RegularFile.Problem`. No copy is left then.
  package static func copyBytes(_ old: URL, to new: URL) throws {
    let source = try RegularFile.open(old, followsLinks: false)
    defer { close(source) }
    let target = open(new.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw failure("make", new) }
    do {
      try copyBytes(source, old, to: target, new)
    } catch {
      close(target)
      // Why the copy is incomplete is what matters.
      try? removeFile(new)
      throw error
    }
    guard close(target) == 0 else { throw failure("write", new) }
  }

  static func copyBytes(_ source: Int32, _ old: URL, to target: Int32, _ new: URL) throws {
    var chunk = Data(count: 1 << 20)
    while true {
      let count = chunk.withUnsafeMutableBytes { read(source, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", old) }
      if count == 0 { return }
      try write(chunk.prefix(count), to: target, at: new)
    }
  }

  static func write(_ data: Data, to descriptor: Int32, at url: URL) throws {
    var rest = data
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure("write", url) }
      rest = rest.dropFirst(count)
    }
  }

  /// Sees to it that a file's content, or a folder's names, are on the disk.
  package static func synchronize(_ url: URL) throws {
    let descriptor = open(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", url) }
    let result = fsync(descriptor)
    let number = errno
    close(descriptor)
    // Some file systems cannot sync folders, and say so; there is nothing to be done about them.
    if result != 0, number != EINVAL { throw FileFailure(operation: "sync", path: url.path, number: number) }
  }

  /// Writes a file which has either its old content or the new one, also after a power failure.
  package static func write(_ data: Data, to url: URL, mode: mode_t = 0o600) throws {
    try OpenDirectory.open(url.deletingLastPathComponent()).write(data, to: url.lastPathComponent, mode: mode)
  }

  private static func status(_ url: URL) -> stat? {
    var found = stat()
    return lstat(url.path, &found) == 0 ? found : nil
  }

  private static func check(_ result: Int32, _ operation: String, _ url: URL) throws {
    if result != 0 { throw failure(operation, url) }
  }

  private static func failure(_ operation: String, _ url: URL) -> FileFailure {
    FileFailure(operation: operation, path: url.path, number: errno)
  }
}

extension stat {
  fileprivate var modification: timespec {
    #if canImport(Darwin)
    st_mtimespec
    #else
    st_mtim
    #endif
  }
}
