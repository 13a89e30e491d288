// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An open directory whose entries are accessed through its file descriptor.
///
/// If the directory is moved, or replaced by a symbolic link, after it was opened, calls still operate on the original
/// directory. No call follows a symbolic link among the entries.
package final class OpenDirectory {
  /// The directory's location when it was opened; used in messages only.
  package let url: URL
  package let descriptor: Int32

  private init(url: URL, descriptor: Int32) {
    self.url = url
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  // MARK: Opening

  /// Opens a directory by its path.
  ///
  /// - Parameter followsLinks: Whether the last component of the path may be a symbolic link.
  /// - Throws: `RegularFile.Problem.notDirectory`; `FileFailure`, also if it does not exist.
  package static func open(_ url: URL, followsLinks: Bool = true) throws -> OpenDirectory {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
    let descriptor = Foundation.open(url.path, flags)
    if descriptor >= 0 { return OpenDirectory(url: url, descriptor: descriptor) }
    let number = errno
    var found = stat()
    if [ENOTDIR, ELOOP].contains(number), lstat(url.path, &found) == 0 { try checkDirectory(found, url) }
    throw FileFailure(operation: "open", path: url.path, number: number)
  }

  /// Locks the directory, waiting if another process holds the lock. The lock ends when the directory is closed.
  ///
  /// Has no effect on a file system that cannot lock directories, such as some network file systems.
  ///
  /// - Throws: `FileFailure`.
  package func lock() throws {
    while flock(descriptor, LOCK_EX) != 0 {
      let number = errno
      if number == EINTR { continue }
      if [EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(number) { return }
      throw FileFailure(operation: "lock", path: url.path, number: number)
    }
  }

  /// Opens a subdirectory.
  ///
  /// - Throws: `RegularFile.Problem.notDirectory`, also for a symbolic link; `FileFailure`, also if it does not exist.
  package func directory(_ name: String) throws -> OpenDirectory {
    let child = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    if child >= 0 { return OpenDirectory(url: path(name), descriptor: child) }
    let number = errno
    if [ENOTDIR, ELOOP].contains(number), let found = status(name) { try Self.checkDirectory(found, path(name)) }
    throw FileFailure(operation: "open", path: path(name).path, number: number)
  }

  /// Opens a subdirectory, or returns nil if it does not exist.
  package func directoryIfPresent(_ name: String) throws -> OpenDirectory? {
    do {
      return try directory(name)
    } catch let failure as FileFailure where failure.number == ENOENT {
      return nil
    }
  }

  /// Opens a subdirectory, creating it if necessary.
  package func makeDirectory(_ name: String, mode: mode_t = 0o777) throws -> OpenDirectory {
    if mkdirat(descriptor, name, mode) != 0, errno != EEXIST { throw failure("make the directory", name) }
    return try directory(name)
  }

  // MARK: Entries

  /// Returns the URL of an entry, for messages and for SQLite, which opens databases by path.
  package func path(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// Returns the status of an entry, or nil if it does not exist. Does not follow a symbolic link.
  package func status(_ name: String) -> stat? {
    var found = stat()
    return fstatat(descriptor, name, &found, AT_SYMLINK_NOFOLLOW) == 0 ? found : nil
  }

  /// Gives this directory the owner, group and permissions of another directory, or permissions that match those of a
  /// file.
  package func copyPermissions(of other: stat) throws {
    var like = other
    if other.st_mode & S_IFMT != S_IFDIR { like.st_mode |= (other.st_mode & 0o044) >> 2 }
    like.st_mode |= 0o700
    try FileCalls.copyPermissions(of: like, for: descriptor, url)
  }

  /// Returns the status of the directory.
  package func status() throws -> stat {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw failure("look at", nil) }
    return found
  }

  package func exists(_ name: String) -> Bool { status(name) != nil }

  /// Returns whether the entry is a regular file. Does not follow a symbolic link.
  package func isRegularFile(_ name: String) -> Bool { status(name).map { $0.st_mode & S_IFMT == S_IFREG } ?? false }

  package func identity(_ name: String) -> FileCalls.Identity? { status(name).map(FileCalls.Identity.init) }

  /// Returns the names of all entries.
  package func names() throws -> [String] { try rawNames().map(Self.text) }

  /// Decodes a file name, which need not be UTF-8, for display.
  private static func text(_ name: [CChar]) -> String {
    String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private func rawNames() throws -> [[CChar]] {
    // The stream moves the file offset of its descriptor and closes it, so give it its own.
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw failure("read", nil) }
    guard let stream = fdopendir(copy) else {
      let number = errno
      close(copy)
      throw FileFailure(operation: "read", path: url.path, number: number)
    }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw failure("read", nil) }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: field.pointee)) {
          Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
        }
      }
      if name != [46, 0], name != [46, 46, 0] { names.append(name) }
    }
  }

  // MARK: Files

  /// Reads a regular file.
  ///
  /// - Throws: The errors of `RegularFile.read(_:limit:followsLinks:)`; symbolic links are not followed.
  package func read(_ name: String, limit: Int) throws -> Data {
    let file = try openRegularFile(name)
    defer { close(file) }
    return try RegularFile.read(file, limit: limit, path(name))
  }

  /// Returns the contents of a regular file that is never modified in place, only replaced or removed. Large files are
  /// mapped rather than read.
  ///
  /// - Throws: The errors of `read(_:limit:)`.
  package func contents(_ name: String, limit: Int) throws -> Data {
    let file = try openRegularFile(name)
    defer { close(file) }
    var found = stat()
    if fstat(file, &found) == 0, found.st_size <= limit, let data = MappedFile.data(file, size: Int(found.st_size)) {
      return data
    }
    return try RegularFile.read(file, limit: limit, path(name))
  }

  /// Opens a regular file for reading. The caller closes the descriptor.
  func openRegularFile(_ name: String) throws -> Int32 {
    // Check before opening, because opening some devices has side effects, and again after, in case the entry has
    // changed.
    guard var found = status(name) else { throw failure("open", name) }
    try RegularFile.check(found, path(name))
    let file = openat(descriptor, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else { throw failure("open", name) }
    do {
      guard fstat(file, &found) == 0 else { throw failure("open", name) }
      try RegularFile.check(found, path(name))
      return file
    } catch {
      close(file)
      throw error
    }
  }

  /// Writes a file atomically: even after a power failure it has either its old contents or the new ones.
  ///
  /// - Parameter keepsPermissions: Whether the file keeps the owner, group and permissions of the file it replaces.
  package func write(_ data: Data, to name: String, mode: mode_t, keepsPermissions: Bool = false) throws {
    let draft = ".\(name).part"
    try removeFile(draft)
    let file = openat(descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
    guard file >= 0 else { throw failure("make", draft) }
    do {
      try FileCalls.write(data, to: file, at: path(draft))
      if keepsPermissions, let old = status(name) { try FileCalls.copyPermissions(of: old, for: file, path(draft)) }
      guard fsync(file) == 0 else { throw failure("sync", draft) }
    } catch {
      close(file)
      // Report the failed write, not that the draft could not be removed.
      try? removeFile(draft)
      throw error
    }
    close(file)
    try rename(draft, to: self, name)
    try synchronize()
  }

  /// Renames an entry, atomically replacing any file at the new name.
  package func rename(_ old: String, to directory: OpenDirectory, _ new: String) throws {
    guard renameat(descriptor, old, directory.descriptor, new) == 0 else { throw failure("rename", old) }
  }

  /// Makes a hard link to a regular file, or a copy where the file system has no hard links.
  ///
  /// - Parameter copyBytes: Copies the contents into a new file. A database in use must be copied through SQLite,
  ///   because closing a file descriptor drops all locks that the process holds on the file.
  /// - Returns: false if the new name is taken.
  /// - Throws: `RegularFile.Problem.notRegular` for anything but a regular file; `FileFailure`.
  package func link(
    _ old: String, to directory: OpenDirectory, _ new: String,
    copyBytes: ((_ old: URL, _ new: URL) throws -> Void)? = nil
  ) throws -> Bool {
    guard let found = status(old) else { throw FileFailure(operation: "link", path: path(old).path, number: ENOENT) }
    try RegularFile.check(found, path(old))
    if linkat(descriptor, old, directory.descriptor, new, 0) == 0 { return true }
    switch errno {
    case EEXIST: return false
    case EPERM, EXDEV, EMLINK, EOPNOTSUPP, ENOTSUP, ENOSYS:
      return try copy(old, found, to: directory, new, copyBytes)
    default: throw failure("link", old)
    }
  }

  /// Copies a regular file with its permissions. The copy gets its name once it is complete and synced.
  ///
  /// - Returns: false if the new name is taken.
  /// - Throws: The errors of `link(_:to:_:copyBytes:)`.
  package func copy(_ old: String, to directory: OpenDirectory, _ new: String) throws -> Bool {
    guard let found = status(old) else { throw FileFailure(operation: "copy", path: path(old).path, number: ENOENT) }
    try RegularFile.check(found, path(old))
    return try copy(old, found, to: directory, new, nil)
  }

  /// Copies a file under a temporary name and renames the copy when it is complete.
  private func copy(
    _ old: String, _ found: stat, to directory: OpenDirectory, _ new: String, _ copyBytes: ((URL, URL) throws -> Void)?
  ) throws -> Bool {
    if directory.exists(new) { return false }
    let draft = ".\(new).part"
    try directory.removeFile(draft)
    do {
      if let copyBytes {
        try copyBytes(path(old), directory.path(draft))
      } else {
        let source = try openRegularFile(old)
        defer { close(source) }
        let target = openat(directory.descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw directory.failure("make", draft) }
        defer { close(target) }
        try FileCalls.copyBytes(source, path(old), to: target, directory.path(draft))
      }
      let target = try directory.openRegularFile(draft)
      defer { close(target) }
      try FileCalls.copyPermissions(of: found, for: target, directory.path(draft))
      guard fsync(target) == 0 else { throw directory.failure("sync", draft) }
      try directory.rename(draft, to: directory, new)
    } catch {
      // Report why the copy failed, not that the draft could not be removed.
      try? directory.removeFile(draft)
      throw error
    }
    return true
  }

  // MARK: Removing

  /// Removes a file or a symbolic link if it exists.
  package func removeFile(_ name: String) throws {
    if unlinkat(descriptor, name, 0) != 0, errno != ENOENT { throw failure("remove", name) }
  }

  /// Removes a subdirectory if it is empty.
  package func removeDirectoryIfEmpty(_ name: String) throws {
    if unlinkat(descriptor, name, AT_REMOVEDIR) != 0, ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) {
      throw failure("remove the directory", name)
    }
  }

  /// Removes a file, or a directory and its contents. Removes symbolic links without following them.
  package func removeTree(_ name: String) throws {
    try removeTree(Array(name.utf8CString), depth: 0)
  }

  /// Removes all entries of this directory, including those whose names are not UTF-8, except the given files.
  package func removeContents(except kept: [String] = []) throws {
    let kept = Set(kept.map { Array($0.utf8CString) })
    for name in try rawNames() where !kept.contains(name) { try removeTree(name, depth: 0) }
  }

  /// The maximum depth of a tree to remove. Each level uses one file descriptor.
  private static let maxDepth = 128

  private func removeTree(_ name: [CChar], depth: Int) throws {
    let text = Self.text(name)
    var found = stat()
    guard fstatat(descriptor, name, &found, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return }
      throw failure("look at", text)
    }
    guard found.st_mode & S_IFMT == S_IFDIR else {
      if unlinkat(descriptor, name, 0) != 0, errno != ENOENT { throw failure("remove", text) }
      return
    }
    guard depth < Self.maxDepth else {
      throw FileFailure(operation: "remove the directory", path: path(text).path, number: ENAMETOOLONG)
    }
    let child = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard child >= 0 else { throw failure("open", text) }
    let directory = OpenDirectory(url: path(text), descriptor: child)
    for entry in try directory.rawNames() { try directory.removeTree(entry, depth: depth + 1) }
    if unlinkat(descriptor, name, AT_REMOVEDIR) != 0, errno != ENOENT { throw failure("remove the directory", text) }
  }

  /// Flushes the directory's entries to disk.
  package func synchronize() throws {
    // Some file systems cannot sync directories and return EINVAL, which leaves nothing else to do.
    if fsync(descriptor) != 0, errno != EINVAL { throw failure("sync", nil) }
  }

  /// Flushes the contents of a regular file to disk.
  package func synchronize(_ name: String) throws {
    let file = try openRegularFile(name)
    defer { close(file) }
    if fsync(file) != 0, errno != EINVAL { throw failure("sync", name) }
  }

  // MARK: Failures

  private static func checkDirectory(_ found: stat, _ url: URL) throws {
    guard found.st_mode & S_IFMT != S_IFDIR else { return }
    throw RegularFile.Problem.notDirectory(path: url.path, kind: RegularFile.kind(of: found) ?? "a file")
  }

  private func failure(_ operation: String, _ name: String?) -> FileFailure {
    let number = errno
    return FileFailure(operation: operation, path: (name.map(path) ?? url).path, number: number)
  }
}
