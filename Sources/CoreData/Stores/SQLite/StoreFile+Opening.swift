// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

extension StoreFile {
  /// Opens an existing store.
  ///
  /// A store with a write-ahead log can be read only with files beside it. Where its folder allows none, the store is read
  /// as it lies when its log is empty, else from a copy in the temporary folder; both are read-only.
  ///
  /// - Parameters:
  ///   - url: the file.
  ///   - isReadOnly: whether nothing is to be written.
  ///   - timeout: seconds to wait for the locks of others; nil for the default.
  /// - Throws: `StoreFileProblem` when the file is not a store; `SQLiteError` when SQLite cannot open it.
  package static func open(_ url: URL, isReadOnly: Bool, timeout: TimeInterval? = nil) throws -> StoreFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw StoreFileProblem.missing(path: url.path) }
    try checkKind(of: url)
    try checkHeader(of: url)
    let file = try connect(to: url, isReadOnly: isReadOnly, timeout: timeout)
    do {
      try file.checkTables()
    } catch let error as SQLiteError where error.isNotADatabase {
      throw StoreFileProblem.notADatabase(path: url.path)
    }
    return file
  }

  /// Opens an existing store for a moment, to read what it says of itself.
  ///
  /// A store in WAL mode whose log is empty is nobody else's at this moment: it is read as it lies, so that SQLite leaves no
  /// files beside it.
  ///
  /// - Throws: as `open(_:isReadOnly:timeout:)`.
  package static func peek(_ url: URL) throws -> StoreFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw StoreFileProblem.missing(path: url.path) }
    try checkKind(of: url)
    try checkHeader(of: url)
    guard try SQLiteFileHeader.read(path: url.path)?.usesWriteAheadLog == true, try logSize(of: url) == 0 else {
      return try open(url, isReadOnly: true)
    }
    let file = StoreFile(url: url, connection: try SQLiteConnection(url: url, mode: .immutable))
    try file.checkTables()
    return file
  }

  /// Whether a file is there that holds nothing yet: SQLite takes an empty file for a new database, and so do we.
  package static func isNew(_ url: URL) throws -> Bool {
    let files = FileManager.default
    guard files.fileExists(atPath: url.path) else { return true }
    try checkKind(of: url)
    guard try fileSize(of: url.path) == 0 else { return false }
    // All of a young store can be in its log, which the main file then must not be separated from.
    return try logSize(of: url) == 0
  }

  /// Refuses what opening would block on, and what must not be replaced by a file.
  private static func checkKind(of url: URL) throws {
    do {
      try RegularFile.check(url)
    } catch RegularFile.Problem.notRegular(let path, let kind) {
      throw StoreFileProblem.notRegular(path: path, kind: kind)
    }
  }

  private static func checkHeader(of url: URL) throws {
    let header: SQLiteFileHeader?
    do {
      header = try SQLiteFileHeader.read(path: url.path)
    } catch let error as SQLiteError where error.isNotADatabase {
      throw StoreFileProblem.notADatabase(path: url.path)
    }
    guard let header else { return }
    let expected = header.pageCount * header.pageSize
    let found = try fileSize(of: url.path)
    // The log may hold the pages that the file is short of.
    if found < expected, try logSize(of: url) == 0 {
      throw StoreFileProblem.truncated(path: url.path, expectedBytes: expected, foundBytes: found)
    }
  }

  /// The size of a file; 0 where there is none.
  private static func fileSize(of path: String) throws -> Int {
    // One question: a log may go at any moment, when the last one who uses the store leaves.
    var status = stat()
    if stat(path, &status) == 0 { return Int(status.st_size) }
    guard errno == ENOENT || errno == ENOTDIR else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return 0
  }

  /// The size of a store's log, which is where the store itself is, whatever links lead there.
  private static func logSize(of url: URL) throws -> Int {
    try fileSize(of: DatabaseFile.target(of: url.path) + "-wal")
  }

  private static func connect(to url: URL, isReadOnly: Bool, timeout: TimeInterval?) throws -> StoreFile {
    let connection = try SQLiteConnection(
      url: url, mode: isReadOnly ? .readOnly : .readWrite, busyTimeout: timeout ?? 5)
    do {
      _ = try connection.pragma("schema_version")
      return StoreFile(url: url, connection: connection)
    } catch let error as SQLiteError where error.isCannotOpen || error.isReadOnly {
      try connection.close()
      if try logSize(of: url) == 0 {
        return StoreFile(url: url, connection: try SQLiteConnection(url: url, mode: .immutable))
      }
      let (copy, directory) = try copyWithLog(url)
      return StoreFile(url: url, connection: try SQLiteConnection(url: copy, mode: .readWrite), copy: directory)
    }
  }

  private static func copyWithLog(_ url: URL) throws -> (copy: URL, directory: PrivateDirectory) {
    let directory = try CopyDirectory.make(for: url)
    let copy = directory.url.appendingPathComponent(url.lastPathComponent)
    let source = DatabaseFile.target(of: url.path)
    do {
      try DatabaseFile(path: source).copy(to: copy.path)
      try FileCalls.copyBytes(URL(fileURLWithPath: source + "-wal"), to: URL(fileURLWithPath: copy.path + "-wal"))
    } catch {
      // Why the store cannot be read is what matters.
      try? directory.remove()
      throw error
    }
    return (copy, directory)
  }

  private func checkTables() throws {
    for table in ["Z_METADATA", "Z_PRIMARYKEY"] where try !connection.hasTable(table) {
      throw StoreFileProblem.notAStore(path: url.path, missingTable: table)
    }
  }
}
