// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads untrusted files: never blocks on a FIFO or a device, and reads no more than the given limit.
package enum RegularFile {
  /// A file that cannot be read safely.
  package enum Problem: Error, Hashable {
    /// The path names a directory, a FIFO, a socket or a device, or a symbolic link that is not followed.
    case notRegular(path: String, kind: String)
    /// The path names something other than a directory, such as a symbolic link to one.
    case notDirectory(path: String, kind: String)
    /// The file is larger than the limit.
    case tooLarge(path: String, bytes: Int, limit: Int)
  }

  /// Reads a whole file.
  ///
  /// - Parameters:
  ///   - limit: The largest acceptable size, in bytes.
  ///   - followsLinks: Whether the last component of the path may be a symbolic link.
  /// - Throws: `Problem`; `FileFailure` if the file is missing or cannot be read.
  package static func read(_ url: URL, limit: Int, followsLinks: Bool = true) throws -> Data {
    let descriptor = try open(url, followsLinks: followsLinks)
    defer { close(descriptor) }
    return try read(descriptor, limit: limit, url)
  }

  /// Reads the rest of an open file.
  static func read(_ descriptor: Int32, limit: Int, _ url: URL) throws -> Data {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw failure("read the size of", url) }
    let size = Int(found.st_size)
    guard size <= limit else { throw Problem.tooLarge(path: url.path, bytes: size, limit: limit) }
    // Allocate once, because external values are large. If the file grows meanwhile, the loop below reads the rest.
    var data = Data(count: size)
    var filled = 0
    while filled < size {
      let count = data.withUnsafeMutableBytes { bytes in
        Foundation.read(descriptor, bytes.baseAddress.map { $0 + filled }, size - filled)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", url) }
      if count == 0 { return data.prefix(filled) }
      filled += count
    }
    // Also refuse a file that grows past the limit while being read: ask for one byte more than allowed.
    while data.count <= limit {
      var chunk = Data(count: min(limit + 1 - data.count, 4096))
      let count = chunk.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", url) }
      if count == 0 { return data }
      data.append(chunk.prefix(count))
    }
    throw Problem.tooLarge(path: url.path, bytes: data.count, limit: limit)
  }

  /// Reads the first bytes of a file, or fewer if the file is shorter.
  ///
  /// - Throws: The errors of `read(_:limit:followsLinks:)`.
  package static func firstBytes(_ count: Int, of url: URL) throws -> Data {
    let descriptor = try open(url, followsLinks: true)
    defer { close(descriptor) }
    var data = Data(count: count)
    while true {
      let found = data.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
      if found < 0, errno == EINTR { continue }
      guard found >= 0 else { throw failure("read", url) }
      return data.prefix(found)
    }
  }

  /// Reads a file record by record.
  ///
  /// Reads in chunks, between which another process may change the file. The file is not mapped, so truncating it only
  /// ends the reading earlier.
  ///
  /// - Parameters:
  ///   - start: The offset of the first record in bytes.
  ///   - size: The size of a record in bytes. An incomplete record at the end is skipped.
  ///   - body: Returns false to stop reading.
  /// - Throws: The errors of `read(_:limit:followsLinks:)`, where symbolic links are not followed; the errors of
  ///   `body`.
  package static func forEachRecord(
    of url: URL, from start: Int, size: Int, _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    let descriptor = try open(url, followsLinks: false)
    defer { close(descriptor) }
    let capacity = max(1, (1 << 20) / size) * size
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    defer { buffer.deallocate() }
    var offset = start
    while true {
      var filled = 0
      while filled < capacity {
        let found = pread(
          descriptor, buffer.baseAddress?.advanced(by: filled), capacity - filled, off_t(offset + filled))
        if found < 0, errno == EINTR { continue }
        guard found >= 0 else { throw failure("read", url) }
        if found == 0 { break }
        filled += found
      }
      for position in stride(from: 0, through: filled - size, by: size) {
        guard try body(UnsafeRawBufferPointer(rebasing: buffer[position..<position + size])) else { return }
      }
      if filled < capacity { return }
      offset += filled
    }
  }

  /// Reads the last bytes of a file, or fewer if the file is shorter.
  ///
  /// - Throws: The errors of `read(_:limit:followsLinks:)`; symbolic links are not followed.
  package static func lastBytes(_ count: Int, of url: URL) throws -> Data {
    let descriptor = try open(url, followsLinks: false)
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw failure("read the size of", url) }
    let start = max(0, Int(found.st_size) - count)
    var data = Data(count: min(count, Int(found.st_size)))
    while true {
      let read = data.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(start)) }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw failure("read", url) }
      return data.prefix(read)
    }
  }

  /// Throws an error if a path exists and is not a regular file. A missing file passes.
  ///
  /// - Parameter followsLinks: Whether the last component of the path may be a symbolic link.
  /// - Throws: `Problem.notRegular`.
  package static func check(_ url: URL, followsLinks: Bool = true) throws {
    var found = stat()
    guard (followsLinks ? stat(url.path, &found) : lstat(url.path, &found)) == 0 else { return }
    try check(found, url)
  }

  /// Returns whether a path refers to the null device, or begins with `/dev/null/`, as in `/dev/null/Name.sqlite`. Core
  /// Data uses both for stores in memory.
  package static func isNullDevice(_ url: URL) -> Bool {
    if url.path.hasPrefix("/dev/null/") { return true }
    var (found, null) = (stat(), stat())
    guard stat(url.path, &found) == 0, found.st_mode & S_IFMT == S_IFCHR, stat("/dev/null", &null) == 0 else {
      return false
    }
    return null.st_mode & S_IFMT == S_IFCHR && found.st_rdev == null.st_rdev
  }

  /// Opens a regular file for reading. The caller closes the descriptor.
  static func open(_ url: URL, followsLinks: Bool) throws -> Int32 {
    // Check before opening, because opening some devices has side effects, and again after, in case the file has
    // changed.
    var found = stat()
    guard (followsLinks ? stat(url.path, &found) : lstat(url.path, &found)) == 0 else { throw failure("open", url) }
    try check(found, url)
    let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (followsLinks ? 0 : O_NOFOLLOW)
    let descriptor = Foundation.open(url.path, flags)
    guard descriptor >= 0 else { throw failure("open", url) }
    do {
      guard fstat(descriptor, &found) == 0 else { throw failure("open", url) }
      try check(found, url)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Throws an error if the status is not that of a regular file.
  package static func check(_ found: stat, _ url: URL) throws {
    if let kind = kind(of: found) { throw Problem.notRegular(path: url.path, kind: kind) }
  }

  /// Returns the kind of a file that is not regular, or nil for a regular file.
  package static func kind(of found: stat) -> String? {
    switch found.st_mode & S_IFMT {
    case S_IFREG: nil
    case S_IFDIR: "a directory"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    case S_IFLNK: "a symbolic link"
    default: "a device"
    }
  }

  private static func failure(_ operation: String, _ url: URL) -> FileFailure {
    FileFailure(operation: operation, path: url.path, number: errno)
  }
}

extension RegularFile.Problem: CustomStringConvertible {
  /// The path of the file.
  package var path: String {
    switch self {
    case .notRegular(let path, _), .notDirectory(let path, _), .tooLarge(let path, _, _): path
    }
  }

  package var description: String {
    switch self {
    case .notRegular(let path, let kind): "'\(path)' is \(kind), not a regular file."
    case .notDirectory(let path, let kind): "'\(path)' is \(kind), not a directory."
    case .tooLarge(let path, let bytes, let limit): "'\(path)' has \(bytes) bytes; at most \(limit) are read."
    }
  }
}
