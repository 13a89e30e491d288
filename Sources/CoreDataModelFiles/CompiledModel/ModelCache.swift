// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CZlib
import Foundation

/// The model stored in `Z_MODELCACHE.Z_CONTENT`: a keyed archive compressed with DEFLATE.
package enum ModelCache {
  /// The maximum compression ratio of an archive; that of models is less than 30.
  private static let maxRatio = 300

  /// Reads a model cache.
  /// - Throws: `ModelFileError` if the content is damaged or contains an unknown class.
  package static func decode(_ content: Data) throws -> ModelDocument {
    let limit = min(PropertyListLimits.archive.bytes, (1 << 20) + maxRatio * content.count)
    return try unarchive(RawDeflate.decompress(content, limit: limit))
  }

  /// Writes a model cache.
  /// - Throws: `ModelFileError` if the model contains a value that cannot be archived.
  package static func encode(_ document: ModelDocument) throws -> Data {
    try RawDeflate.compress(archive(document))
  }

  /// Reads the archive inside a model cache.
  /// - Throws: `ModelFileError`.
  package static func unarchive(_ archive: Data) throws -> ModelDocument {
    try CompiledModelReader.document(of: archive)
  }

  /// Writes the archive inside a model cache.
  /// - Throws: `ModelFileError`.
  package static func archive(_ document: ModelDocument) throws -> Data {
    try CompiledModelWriter.archive(of: document, form: .cache)
  }
}

/// DEFLATE without a header, as used by model caches.
package enum RawDeflate {
  /// The zlib `windowBits` value for data without a header.
  private static let windowBits: Int32 = -15
  private static let chunkSize = 1 << 16

  /// Decompresses data.
  /// - Parameter limit: The maximum size of the result in bytes.
  /// - Throws: `ModelFileError` if the data is damaged or truncated, or the result is larger than the limit.
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

  /// Compresses data.
  /// - Throws: `ModelFileError` if zlib cannot allocate memory.
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

  /// Runs a stream over data, providing new output space until a step returns true.
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
