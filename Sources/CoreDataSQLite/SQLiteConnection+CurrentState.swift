// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Synchronization

/// A read transaction that stays open for subsequent reads, with the header of the write-ahead log's index from before
/// it began.
struct KeptRead {
  /// The header of the index, in memory shared by all connections of all processes; nil until the connection has read.
  var header: UnsafeRawPointer?
  /// A copy of the header from before the open transaction began; nil if no transaction is kept.
  var mark: WALIndexHeader?
}

/// The part of a write-ahead log's index that every commit and every checkpoint changes.
///
/// It consists of the first copy of the index header, which every commit changes (48 bytes with a transaction counter,
/// the number of frames and checksums), and the number of checkpointed frames at offset 96. See
/// <https://www.sqlite.org/walformat.html>.
struct WALIndexHeader: Equatable, BitwiseCopyable {
  private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  private let copied: UInt32

  init(at address: UnsafeRawPointer) {
    atomicMemoryFence(ordering: .acquiring)
    words = address.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64).self)
    copied = address.loadUnaligned(fromByteOffset: 96, as: UInt32.self)
  }

  /// The number of frames up to the last commit.
  var frames: Int { Int(UInt32(truncatingIfNeeded: words.2)) }

  /// The number of frames that have been copied into the database since the log was last reset.
  var copiedFrames: Int { Int(copied) }

  static func == (left: Self, right: Self) -> Bool { left.words == right.words && left.copied == right.copied }
}

extension SQLiteConnection {
  /// Runs a body that reads the newest state of the database. The connection must be in WAL mode and never write.
  ///
  /// Beginning and ending a transaction takes as long as reading a row. Therefore the transaction is kept for the next
  /// body until a connection of any process commits or checkpoints. Replacing it after a checkpoint lets the log be
  /// reset: a transaction that begins when everything has been checkpointed does not use the log. `endKeptRead()` ends
  /// the transaction.
  ///
  /// - Parameters:
  ///   - check: Called at the start of each new transaction. Throws an error if its state is not the one the body
  ///     expects.
  ///   - body: Reads from the connection.
  package func readingNewest<Result>(checking check: () throws -> Void, _ body: () throws -> Result) throws -> Result {
    guard let header = keptRead.header else {
      return try transaction(.deferred) {
        try check()
        let result = try body()
        // The index is open now that the connection has read.
        keptRead.header = walIndex
        return result
      }
    }
    let now = WALIndexHeader(at: header)
    let isNew = keptRead.mark != now
    if isNew {
      endKeptRead()
      // The transaction takes effect at the first read. A commit in between makes the next body begin another one.
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

  /// Whether a transaction is kept, which prevents the write-ahead log from being reset.
  package var keepsRead: Bool { keptRead.mark != nil }

  /// Ends the transaction that `readingNewest(checking:_:)` has kept.
  package func endKeptRead() {
    if keptRead.mark == nil { return }
    keptRead.mark = nil
    // Rolling back a transaction that has only read cannot fail.
    try? rollback()
  }

  /// The mapped index of the write-ahead log, valid until the connection is closed; nil without a log.
  var walIndex: UnsafeRawPointer? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var start: UnsafeMutableRawPointer?
    // If the mode cannot be read, behave as without a log: each read uses its own transaction.
    guard (try? journalMode()) == .wal,
      sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap,
      withUnsafeMutablePointer(
        to: &start,
        { address in
          address.withMemoryRebound(to: UnsafeMutableRawPointer?.self, capacity: 1) {
            map(file, 0, Self.walIndexRegionSize, 0, $0)
          }
        }) == SQLITE_OK
    else { return nil }
    return UnsafeRawPointer(start)
  }

  /// The size in bytes of the regions in which SQLite maps the index.
  private static let walIndexRegionSize: Int32 = 32 * 1024
}
