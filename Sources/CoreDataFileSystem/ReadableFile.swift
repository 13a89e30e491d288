// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An open regular file that is read in parts. The file is not mapped, so truncating it only ends the reading earlier.
package final class ReadableFile {
  /// The size in bytes when the file was opened.
  package let size: Int
  private let descriptor: Int32
  private let url: URL

  fileprivate init(descriptor: Int32, size: Int, url: URL) {
    (self.descriptor, self.size, self.url) = (descriptor, size, url)
  }

  deinit { close(descriptor) }

  /// Fills a buffer with the bytes from an offset.
  ///
  /// - Returns: The number of bytes read, less than the size of the buffer only at the end of the file.
  /// - Throws: `FileFailure`.
  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var filled = 0
    while filled < buffer.count {
      let found = pread(
        descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled, off_t(offset + filled))
      if found < 0, errno == EINTR { continue }
      guard found >= 0 else { throw FileFailure(operation: "read", path: url.path, number: errno) }
      if found == 0 { break }
      filled += found
    }
    return filled
  }
}

extension OpenDirectory {
  /// Opens a regular file for reading in parts.
  ///
  /// - Throws: The errors of `read(_:limit:)`.
  package func file(_ name: String, limit: Int) throws -> ReadableFile {
    let file = try openRegularFile(name)
    var found = stat()
    guard fstat(file, &found) == 0 else {
      let number = errno
      close(file)
      throw FileFailure(operation: "read the size of", path: path(name).path, number: number)
    }
    guard found.st_size <= limit else {
      close(file)
      throw RegularFile.Problem.tooLarge(path: path(name).path, bytes: Int(found.st_size), limit: limit)
    }
    return ReadableFile(descriptor: file, size: Int(found.st_size), url: path(name))
  }
}
