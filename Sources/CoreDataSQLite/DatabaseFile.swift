// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import Foundation

/// Reads the bytes of a database file through SQLite's file system layer, without taking locks.
///
/// When a process closes a file descriptor, it loses all its locks on the file, including those of its other
/// connections, whose write-ahead log could then be removed. Therefore never open and close a database by other means.
package struct DatabaseFile {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  /// Returns the path with symbolic links resolved: SQLite keeps its log and journal beside the file, not beside the
  /// link.
  package static func target(of path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  /// Returns the first bytes, or fewer if the file is shorter.
  ///
  /// - Throws: `SQLiteError`.
  package func firstBytes(_ count: Int) throws -> Data {
    try reading { connection, file in try connection.bytes(of: file, at: 0, count: count) }
  }

  /// Copies the bytes into a new file that only its owner can read.
  ///
  /// - Throws: `SQLiteError` if they cannot be read; any error of writing the copy.
  package func copy(to target: String) throws {
    try FileCalls.makePrivateFile(URL(fileURLWithPath: target))
    guard let copy = FileHandle(forWritingAtPath: target) else {
      throw FileFailure(operation: "open", path: target, number: errno)
    }
    do {
      try reading { connection, file in
        var offset = 0
        while true {
          let bytes = try connection.bytes(of: file, at: offset, count: 1 << 20)
          if bytes.isEmpty { break }
          try copy.write(contentsOf: bytes)
          offset += bytes.count
        }
      }
      try copy.close()
    } catch {
      // Report why the copy failed, not that the incomplete copy could not be closed.
      try? copy.close()
      throw error
    }
  }

  private func reading<Result>(
    _ body: (SQLiteConnection, UnsafeMutablePointer<sqlite3_file>) throws -> Result
  ) throws -> Result {
    let connection = try SQLiteConnection(path: path, mode: .readOnly)
    do {
      let result = try body(connection, try connection.file())
      try connection.close()
      return result
    } catch {
      // Report why the file cannot be read. Nothing was written.
      try? connection.close()
      throw error
    }
  }
}

extension SQLiteConnection {
  /// Flushes the last commit to disk, so that files referenced only by the old rows can be removed.
  ///
  /// With a rollback journal, a commit consists of removing the journal, and SQLite does not wait for that to reach the
  /// disk: a power failure can bring back the journal and thus the old rows. The same applies to a write-ahead log if
  /// `synchronous` is less than FULL.
  ///
  /// - Throws: `SQLiteError`; `FileFailure`.
  package func synchronizeCommit() throws {
    let target = URL(fileURLWithPath: DatabaseFile.target(of: path))
    switch try journalMode() {
    case .wal:
      let log = URL(fileURLWithPath: target.path + "-wal")
      if FileCalls.exists(log) { try FileCalls.synchronize(log) }
    case .delete, .truncate, .persist, .memory, .off:
      // Use SQLite's own descriptor: closing another one would drop the locks of this process.
      let file = try file()
      if try (pragma("synchronous")?.integer ?? 0) == 0, let synchronize = file.pointee.pMethods.pointee.xSync {
        try check(synchronize(file, SQLITE_SYNC_NORMAL), "the file cannot be synced")
      }
    }
    try FileCalls.synchronize(target.deletingLastPathComponent())
  }

  fileprivate func file() throws -> UnsafeMutablePointer<sqlite3_file> {
    var file: UnsafeMutablePointer<sqlite3_file>?
    try handle.check(sqlite3_file_control(try handle.opened(), "main", SQLITE_FCNTL_FILE_POINTER, &file))
    guard let file, file.pointee.pMethods != nil else {
      throw SQLiteError(extendedCode: SQLITE_CANTOPEN, message: "the file is not open", sql: nil, path: path)
    }
    return file
  }

  fileprivate func bytes(of file: UnsafeMutablePointer<sqlite3_file>, at offset: Int, count: Int) throws -> Data {
    guard let methods = file.pointee.pMethods, let size = methods.pointee.xFileSize, let read = methods.pointee.xRead
    else {
      throw SQLiteError(extendedCode: SQLITE_CANTOPEN, message: "the file is not open", sql: nil, path: path)
    }
    var length: Int64 = 0
    try check(size(file, &length), "the size of the file cannot be read")
    var bytes = Data(count: max(0, min(count, Int(length) - offset)))
    guard !bytes.isEmpty else { return bytes }
    let result = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, Int32($0.count), Int64(offset)) }
    try check(result, "the file cannot be read")
    return bytes
  }

  private func check(_ result: Int32, _ message: String) throws {
    guard result != SQLITE_OK else { return }
    throw SQLiteError(extendedCode: result, message: message, sql: nil, path: path)
  }
}

/// The header of a database file, read without opening the database.
///
/// See <https://www.sqlite.org/fileformat.html#the_database_header>. A write-ahead log beside the file may hold newer
/// values.
package struct SQLiteFileHeader: Hashable, Sendable {
  /// The bytes that every database begins with.
  package static let signature = Data("SQLite format 3\0".utf8)

  /// The size of a page in bytes: a power of two from 512 to 65536.
  package let pageSize: Int
  /// The number of pages in the file.
  package let pageCount: Int
  /// Whether the file was last used with a write-ahead log.
  package let usesWriteAheadLog: Bool

  /// Reads a header.
  ///
  /// - Parameters:
  ///   - bytes: The start of a file, at least 100 bytes.
  ///   - path: The path to name in an error.
  /// - Throws: `SQLiteError` (`isNotADatabase`).
  package init(bytes: Data, path: String) throws {
    let bytes = [UInt8](bytes.prefix(100))
    guard bytes.count == 100, bytes.starts(with: Self.signature) else {
      throw SQLiteError(
        extendedCode: SQLITE_NOTADB, message: "the file does not begin with the header of a database", sql: nil,
        path: path)
    }
    let rawSize = Int(bytes[16]) << 8 | Int(bytes[17])
    let size = rawSize == 1 ? 65536 : rawSize
    guard (512...65536).contains(size), size & (size - 1) == 0 else {
      throw SQLiteError(
        extendedCode: SQLITE_NOTADB, message: "the header gives an impossible page size of \(size)", sql: nil,
        path: path)
    }
    pageSize = size
    pageCount = bytes[28..<32].reduce(0) { $0 << 8 | Int($1) }
    usesWriteAheadLog = bytes[19] == 2
  }

  /// Reads the header of a file.
  ///
  /// Opens the file through SQLite; see `DatabaseFile` for the reason.
  ///
  /// - Returns: nil for an empty file, which SQLite treats as a new database.
  /// - Throws: `SQLiteError`: `isNotADatabase`, or another if the file cannot be read.
  package static func read(path: String) throws -> SQLiteFileHeader? {
    let bytes = try DatabaseFile(path: path).firstBytes(100)
    return bytes.isEmpty ? nil : try SQLiteFileHeader(bytes: bytes, path: path)
  }
}
