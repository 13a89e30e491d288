// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// File system calls, each with its own error.
///
/// Foundation's functions combine several calls. Replacing one store with another needs control over every call, and a
/// report of every failure. Never open a database that is in use through this type: closing a file descriptor drops all
/// locks that the process holds on the file.
package enum FileCalls {
  /// Identifies a file by device and inode, so that hard links to a file compare equal.
  package struct Identity: Hashable {
    package let device: UInt64
    package let number: UInt64

    package init(device: UInt64, number: UInt64) {
      self.device = device
      self.number = number
    }

    package init(_ found: stat) { self.init(device: UInt64(found.st_dev), number: UInt64(found.st_ino)) }
  }

  /// Returns whether a directory entry exists at the URL. Does not follow a symbolic link.
  package static func exists(_ url: URL) -> Bool { status(url) != nil }

  /// Returns the identity of a file, or nil if it does not exist.
  package static func identity(_ url: URL) -> Identity? {
    status(url).map(Identity.init)
  }

  /// Returns the identity, size and modification time of a file, which together change with every write. Returns nil if
  /// the file does not exist.
  package static func stamp(_ url: URL) -> [Int64]? {
    status(url).map {
      [
        Int64(truncatingIfNeeded: $0.st_dev), Int64(truncatingIfNeeded: $0.st_ino), Int64($0.st_size),
        Int64($0.modification.tv_sec), Int64($0.modification.tv_nsec),
      ]
    }
  }

  /// Returns whether the URL names a symbolic link.
  package static func isSymbolicLink(_ url: URL) -> Bool { status(url).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false }

  /// Gives a new file the permissions of another and, where allowed, its owner. The new file is never more accessible
  /// than the old one.
  package static func copyPermissions(of old: URL, for new: URL) throws {
    guard let found = status(old) else { return }
    let descriptor = try RegularFile.open(new, followsLinks: false)
    defer { close(descriptor) }
    try copyPermissions(of: found, for: descriptor, new)
  }

  static func copyPermissions(of found: stat, for descriptor: Int32, _ url: URL) throws {
    var (own, mode) = (stat(), found.st_mode & 0o777)
    guard fstat(descriptor, &own) == 0 else { throw failure("look at", url) }
    // Only root may change the owner. Ignoring the failure is safe: a user who can write to the directory could create
    // the file anyway.
    if own.st_uid != found.st_uid { _ = fchown(descriptor, found.st_uid, own.st_gid) }
    // If the group cannot be set, the file's own group gets no more permissions than other users have.
    if own.st_gid != found.st_gid, fchown(descriptor, uid_t.max, found.st_gid) != 0 {
      mode = mode & ~0o070 | (mode & 0o007) << 3 & mode
    }
    try check(fchmod(descriptor, mode), "change the permissions of", url)
  }

  /// Creates a directory and its missing parents.
  package static func makeDirectories(_ url: URL) throws {
    guard mkdir(url.path, 0o777) != 0 else { return }
    if errno == ENOENT, url.path != "/" {
      try makeDirectories(url.deletingLastPathComponent())
      if mkdir(url.path, 0o777) == 0 { return }
    }
    let number = errno
    // If a file has that name, using it as a directory reports the error.
    if number != EEXIST { throw FileFailure(operation: "make the directory", path: url.path, number: number) }
  }

  /// Removes a file if it exists.
  package static func removeFile(_ url: URL) throws {
    if unlink(url.path) != 0, errno != ENOENT { throw failure("remove", url) }
  }

  /// Removes a directory if it is empty.
  package static func removeDirectoryIfEmpty(_ url: URL) throws {
    if rmdir(url.path) != 0, ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) {
      throw failure("remove the directory", url)
    }
  }

  /// Removes a file, or a directory and its contents. Removes symbolic links without following them.
  package static func removeTree(_ url: URL) throws {
    guard exists(url) else { return }
    try OpenDirectory.open(url.deletingLastPathComponent()).removeTree(url.lastPathComponent)
  }

  /// Returns the names of the entries in a directory, or no names if it does not exist.
  package static func names(in directory: URL) throws -> [String] {
    guard exists(directory) else { return [] }
    return try OpenDirectory.open(directory).names()
  }

  /// Renames a file, atomically replacing any file at the new name.
  package static func rename(_ old: URL, to new: URL) throws {
    try check(Foundation.rename(old.path, new.path), "rename", old)
  }

  /// Copies the contents of a regular file into a new file that only its owner can read.
  ///
  /// - Throws: `FileFailure`, also if `new` exists; `RegularFile.Problem`. Leaves no partial copy behind.
  package static func copyBytes(_ old: URL, to new: URL) throws {
    let source = try RegularFile.open(old, followsLinks: false)
    defer { close(source) }
    let target = open(new.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw failure("make", new) }
    do {
      try copyBytes(source, old, to: target, new)
    } catch {
      close(target)
      // Report why the copy failed, not that the partial copy could not be removed.
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

  /// Flushes the contents of a file, or the entries of a directory, to disk.
  package static func synchronize(_ url: URL) throws {
    let descriptor = open(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", url) }
    let result = fsync(descriptor)
    let number = errno
    close(descriptor)
    // Some file systems cannot sync directories and return EINVAL, which leaves nothing else to do.
    if result != 0, number != EINVAL { throw FileFailure(operation: "sync", path: url.path, number: number) }
  }

  /// Writes a file atomically: even after a power failure it has either its old contents or the new ones.
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

extension FileCalls {
  /// Renames a file without ever replacing an existing one.
  ///
  /// - Returns: false if the new name is taken.
  /// - Throws: `FileFailure`.
  package static func renameToNew(_ old: URL, to new: URL) throws -> Bool {
    if Foundation.link(old.path, new.path) == 0 {
      try removeFile(old)
      return true
    }
    switch errno {
    case EEXIST: return false
    case EPERM, EMLINK, EOPNOTSUPP, ENOTSUP, ENOSYS:
      // The file system has no hard links.
      if exists(new) { return false }
      try rename(old, to: new)
      return true
    default: throw FileFailure(operation: "name '\(new.lastPathComponent)'", path: old.path, number: errno)
    }
  }

  /// Creates an empty file that only its owner can read.
  ///
  /// - Throws: `FileFailure`, also if the name is taken, even by a dangling symbolic link.
  package static func makePrivateFile(_ url: URL) throws {
    let descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFailure(operation: "make", path: url.path, number: errno) }
    close(descriptor)
  }

  /// Returns the number of bytes that this process can still write to the file system of a file, or `Int.max` if it is
  /// not known.
  package static func freeSpace(beside url: URL) -> Int {
    var found = statvfs()
    guard statvfs(url.path, &found) == 0 else { return .max }
    let (bytes, isOverflowing) = Int(clamping: found.f_bavail).multipliedReportingOverflow(by: Int(found.f_frsize))
    return isOverflowing ? .max : bytes
  }

  /// Returns whether the URL names a regular file. Does not follow a symbolic link.
  package static func isRegular(_ url: URL) -> Bool {
    var found = stat()
    return lstat(url.path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
  }

  /// Returns whether the URL names a directory. Does not follow a symbolic link.
  package static func isDirectory(_ url: URL) -> Bool {
    var found = stat()
    return lstat(url.path, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
  }

  /// Returns the number of hard links to a file, or 0 if it does not exist. Follows a symbolic link.
  package static func linkCount(_ url: URL) -> Int {
    var found = stat()
    return stat(url.path, &found) == 0 ? Int(found.st_nlink) : 0
  }

  /// Returns the size of a file in bytes, or 0 if it does not exist.
  package static func size(_ url: URL) -> Int {
    var found = stat()
    return lstat(url.path, &found) == 0 ? Int(found.st_size) : 0
  }
}
