// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The transactions in a write-ahead log, read from the bytes of the file.
///
/// SQLite accepts any log with the right name as that of the database, and does not report a log that it ignores.
///
/// Format: <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
package struct WriteAheadLog: Sendable {
  /// The size of a page in bytes.
  package let pageSize: Int
  /// The number of frames up to the end of the last complete transaction; 0 if SQLite ignores the log.
  package private(set) var frameCount = 0
  /// The change count of the database (`changeCount(of:)`) after the last transaction; nil if no transaction has
  /// written the first page.
  package private(set) var changeCount: UInt32?

  private static let headerSize = 32
  private static let frameHeaderSize = 24

  /// Reads the log beside a database.
  ///
  /// - Returns: nil if there is no log, or the file does not begin with the header of a log.
  /// - Throws: `FileFailure`, `RegularFile.Problem`.
  package init?(beside path: String) throws {
    let url = URL(fileURLWithPath: DatabaseFile.target(of: path) + "-wal")
    guard FileCalls.exists(url) else { return nil }
    let header = [UInt8](try RegularFile.firstBytes(Self.headerSize, of: url))
    guard header.count == Self.headerSize, header[0...2] == [0x37, 0x7f, 0x06], [0x82, 0x83].contains(header[3]) else {
      return nil
    }
    let isBigEndian = header[3] == 0x83
    pageSize = header.withUnsafeBytes { Int(Self.word($0, 8)) }
    guard (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { return nil }
    var sum = Checksum(isBigEndian: isBigEndian)
    header.withUnsafeBytes { sum.add($0[..<24]) }
    guard header.withUnsafeBytes({ sum.isEqual(to: $0, at: 24) }) else { return }
    let salts = Array(header[16..<24])
    var count = 0
    var latest: UInt32?
    try RegularFile.forEachRecord(of: url, from: Self.headerSize, size: Self.frameHeaderSize + pageSize) { frame in
      // Frames from before the log was last reset have different salts.
      guard frame[8..<16].elementsEqual(salts) else { return false }
      sum.add(frame[..<8])
      sum.add(frame[Self.frameHeaderSize...])
      guard sum.isEqual(to: frame, at: 16) else { return false }
      count += 1
      if Self.word(frame, 0) == 1 { latest = Self.word(frame, Self.frameHeaderSize + 24) }
      // The last frame of a transaction contains the size of the database in pages; other frames contain 0.
      if Self.word(frame, 4) != 0 { (frameCount, changeCount) = (count, latest) }
      return true
    }
  }

  /// Returns the file change counter from the header of a database; nil if the bytes are too short for a header.
  ///
  /// SQLite counts the changes that write the first page, so the counter of a later state is never smaller.
  package static func changeCount(of bytes: Data) -> UInt32? {
    bytes.count < 28 ? nil : bytes.withUnsafeBytes { word($0, 24) }
  }

  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
    UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  /// The checksum of a log, computed over words in the byte order given in its header.
  private struct Checksum {
    let isBigEndian: Bool
    private var (first, second) = (UInt32(0), UInt32(0))

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func add(_ bytes: Slice<UnsafeRawBufferPointer>) {
      let words = UnsafeRawBufferPointer(rebasing: bytes)
      var (one, other) = (first, second)
      for offset in stride(from: 0, to: words.count, by: 8) {
        let left = words.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        let right = words.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        one &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ other
        other &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ one
      }
      (first, second) = (one, other)
    }

    func isEqual(to bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
      (first, second) == (WriteAheadLog.word(bytes, offset), WriteAheadLog.word(bytes, offset + 4))
    }
  }
}
