// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Synchronization

/// A read transaction that stays open for the reads that follow, and what the write-ahead log's index was like before it.
struct KeptRead {
  /// The header of the index, in memory that all connections of all processes share; nil until the connection has read.
  var header: UnsafeRawPointer?
  /// The header's bytes before the open transaction began; nil while none is kept.
  var mark: WALIndexHeader?
}

/// The first copy of the header of a write-ahead log's index, which every commit changes, and how much of the log has been
/// copied into the database, which every checkpoint changes.
///
/// SQLite documents both at <https://www.sqlite.org/walformat.html>: 48 bytes with a counter of transactions, the number of
/// frames, and checksums; and at byte 96 the number of frames that have been copied.
struct WALIndexHeader: Equatable, BitwiseCopyable {
  private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  private let copied: UInt32

  init(at place: UnsafeRawPointer) {
    atomicMemoryFence(ordering: .acquiring)
    words = place.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64).self)
    copied = place.loadUnaligned(fromByteOffset: 96, as: UInt32.self)
  }

  /// The number of frames up to the last commit.
  var frames: Int { Int(UInt32(truncatingIfNeeded: words.2)) }

  /// The number of frames that have been copied into the database since the log was begun.
  var copiedFrames: Int { Int(copied) }

  static func == (left: Self, right: Self) -> Bool { left.words == right.words && left.copied == right.copied }
}

extension SQLiteConnection {
  /// Runs a body that only reads the newest state of the database, by a connection in WAL mode that never writes.
  ///
  /// Beginning and ending a transaction takes as long as reading a row, so its transaction is kept for the next body, until
  /// a connection of any process commits, or copies the log into the database: a transaction that begins after everything
  /// has been copied does not use the log, which can then begin anew. `endKeptRead()` ends it.
  ///
  /// - Parameters:
  ///   - check: reads in each new transaction, before the body, whether its state is the one that the body expects.
  ///   - body: reads.
  package func readingNewest<Result>(checking check: () throws -> Void, _ body: () throws -> Result) throws -> Result {
    guard let header = keptRead.header else {
      return try transaction(.deferred) {
        try check()
        let result = try body()
        // Reading has opened the index.
        keptRead.header = walIndex
        return result
      }
    }
    let now = WALIndexHeader(at: header)
    let isNew = keptRead.mark != now
    if isNew {
      endKeptRead()
      // The transaction begins with the first read. What is committed meanwhile makes the next body begin another.
      try begin(.deferred)
      keptRead.mark = now
    }
    do {
      if isNew { try check() }
      return try body()
    } catch {
      endKeptRead()
      throw error
    }
  }

  /// Whether a transaction is kept, which prevents that the write-ahead log is reset.
  package var keepsRead: Bool { keptRead.mark != nil }

  /// Ends the transaction that `readingNewest(_:)` has kept.
  package func endKeptRead() {
    if keptRead.mark == nil { return }
    keptRead.mark = nil
    // A transaction that has only read can always be ended.
    try? rollback()
  }

  /// The index of the write-ahead log, which stays where it is until the connection is closed; nil without a log.
  var walIndex: UnsafeRawPointer? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var start: UnsafeMutableRawPointer?
    // Without an answer, as without a log, each read has a transaction of its own.
    guard (try? journalMode()) == .wal,
      sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap,
      withUnsafeMutablePointer(
        to: &start,
        { place in
          place.withMemoryRebound(to: UnsafeMutableRawPointer?.self, capacity: 1) {
            map(file, 0, Self.walIndexRegionSize, 0, $0)
          }
        }) == SQLITE_OK
    else { return nil }
    return UnsafeRawPointer(start)
  }

  /// The size of the parts that the index is mapped in, as in SQLite.
  private static let walIndexRegionSize: Int32 = 32 * 1024
}
