// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import Foundation

/// A database file as bytes, read by SQLite's own means and without any lock.
///
/// A process that closes a file loses all of its locks on it, those of its other connections too; whoever opens and closes
/// a database by other means than SQLite's has them lose the certainty that nobody removes their write-ahead log.
package struct DatabaseFile {
  /// Where the file is.
  package let path: String

  /// Names a file.
  package init(path: String) {
    self.path = path
  }

  /// Where a name leads to, over symbolic links: SQLite keeps its log and journal beside the file and not beside the link.
  package static func target(of path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  /// The first bytes; fewer where the file is shorter.
  ///
  /// - Throws: `SQLiteError`.
  package func firstBytes(_ count: Int) throws -> Data {
    try reading { connection, file in try connection.bytes(of: file, at: 0, count: count) }
  }

  /// Copies the bytes into a new file, which only its owner can read.
  ///
  /// - Throws: `SQLiteError` when they cannot be read; what writing the copy throws.
  package func copy(to target: String) throws {
    guard
      FileManager.default.createFile(atPath: target, contents: nil, attributes: [.posixPermissions: 0o600]),
      let copy = FileHandle(forWritingAtPath: target)
    else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: target]) }
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
      // The copy is worth nothing; why there is none is what matters.
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
      // Nothing was written, and why the file cannot be read is what matters.
      try? connection.close()
      throw error
    }
  }
}

extension SQLiteConnection {
  /// Waits until what was committed is on the disk, so that what only the old rows needed may be removed.
  ///
  /// With a rollback journal a commit is the removal of the journal, and SQLite does not wait for that: after a power
  /// failure the journal can be there again, and the old rows with it. With a write-ahead log the same holds for a commit
  /// where `synchronous` is less than FULL.
  ///
  /// - Throws: `SQLiteError`; `FileFailure`.
  package func synchronizeCommit() throws {
    let target = URL(fileURLWithPath: DatabaseFile.target(of: path))
    switch try journalMode() {
    case .wal:
      let log = URL(fileURLWithPath: target.path + "-wal")
      if FileCalls.exists(log) { try FileCalls.synchronize(log) }
    case .delete, .truncate, .persist, .memory, .off:
      // By SQLite's own descriptor: closing another one would drop the locks of this process.
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
    try check(size(file, &length), "the size of the file cannot be had")
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
