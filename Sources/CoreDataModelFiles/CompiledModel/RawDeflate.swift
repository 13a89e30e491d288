// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CZlib
import Foundation

/// DEFLATE without any header, as model caches are packed.
package enum RawDeflate {
  /// The windowBits of zlib that mean "no header".
  private static let windowBits: Int32 = -15
  private static let chunkSize = 1 << 16

  /// Unpacks data.
  /// - Parameter limit: the greatest size that the result may have.
  /// - Throws: `ModelFileError` where the data is damaged, truncated, or larger than the limit.
  package static func decompress(_ data: Data, limit: Int = 1 << 26) throws -> Data {
    var stream = z_stream()
    let version = ZLIB_VERSION
    guard inflateInit2_(&stream, windowBits, version, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw ArchiveFailure.broken("zlib could not be started.").error(file: nil)
    }
    defer { inflateEnd(&stream) }
    var result = Data()
    try run(&stream, over: data) { stream, chunk in
      let status = inflate(&stream, Z_NO_FLUSH)
      let produced = chunkSize - Int(stream.avail_out)
      result.append(chunk.baseAddress!, count: produced)
      guard result.count <= limit else {
        throw ArchiveFailure.broken("The compressed data is larger than \(limit) bytes.").error(file: nil)
      }
      guard status == Z_OK || status == Z_STREAM_END, status == Z_STREAM_END || produced > 0 || stream.avail_in > 0
      else { throw ArchiveFailure.broken("The compressed data is damaged or truncated.").error(file: nil) }
      return status == Z_STREAM_END
    }
    return result
  }

  /// Packs data.
  /// - Throws: `ModelFileError` where zlib has no memory.
  package static func compress(_ data: Data) throws -> Data {
    var stream = z_stream()
    let version = ZLIB_VERSION
    let status = deflateInit2_(
      &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, version,
      Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw ArchiveFailure.broken("zlib could not be started.").error(file: nil) }
    defer { deflateEnd(&stream) }
    var result = Data()
    try run(&stream, over: data) { stream, chunk in
      let status = deflate(&stream, Z_FINISH)
      result.append(chunk.baseAddress!, count: chunkSize - Int(stream.avail_out))
      guard status == Z_OK || status == Z_STREAM_END else {
        throw ArchiveFailure.broken("The data could not be compressed.").error(file: nil)
      }
      return status == Z_STREAM_END
    }
    return result
  }

  /// Feeds a stream with data and gives it room again and again, until a step says that it is done.
  private static func run(
    _ stream: inout z_stream, over data: Data,
    _ step: (inout z_stream, UnsafeMutableBufferPointer<UInt8>) throws -> Bool
  ) throws {
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: chunkSize)
    defer { room.deallocate() }
    guard data.count <= Int(UInt32.max) else {
      throw ArchiveFailure.broken("The data is larger than 4 GB.").error(file: nil)
    }
    var input = [UInt8](data)
    try input.withUnsafeMutableBufferPointer { buffer in
      stream.next_in = buffer.baseAddress
      stream.avail_in = UInt32(buffer.count)
      var isDone = false
      while !isDone {
        stream.next_out = room.baseAddress
        stream.avail_out = UInt32(chunkSize)
        isDone = try step(&stream, room)
      }
    }
  }
}
