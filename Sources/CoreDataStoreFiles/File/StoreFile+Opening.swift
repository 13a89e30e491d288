// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

extension StoreFile {
  /// Opens an existing store.
  ///
  /// A transaction that a writer was killed in is rolled back first: in the store itself where it can be written, else in a
  /// private copy. A store with a write-ahead log can be read only with files beside it. Where its directory allows none,
  /// the store is read as it lies when its log is empty, else from a copy, too; a copy is read-only.
  ///
  /// - Parameters:
  ///   - url: the file.
  ///   - isReadOnly: whether nothing is to be written.
  ///   - timeout: seconds to wait for the locks of others; nil for the default.
  /// - Throws: `StoreFileProblem` when the file is not a store; `SQLiteError` when SQLite cannot open it.
  package static func open(_ url: URL, isReadOnly: Bool, timeout: TimeInterval? = nil) throws -> StoreFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw StoreFileProblem.missing(path: url.path) }
    try checkKind(of: url)
    do {
      // What the file itself says is worth nothing before its journal has been rolled back.
      let hadJournal = DatabaseCompanions.hasJournal(url.path)
      if !hadJournal { try checkHeader(of: url) }
      let file = try connect(to: url, isReadOnly: isReadOnly, timeout: timeout)
      if hadJournal { try checkHeader(of: URL(fileURLWithPath: file.connection.path)) }
      try file.checkTables()
      return file
    } catch let error as SQLiteError where error.isNotADatabase {
      throw StoreFileProblem.notADatabase(path: url.path)
    }
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
    if DatabaseCompanions.hasJournal(url.path) { return try open(url, isReadOnly: true) }
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
    return FileCalls.size(URL(fileURLWithPath: DatabaseFile.target(of: url.path) + "-wal")) == 0
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
    let (expected, isOverflowing) = header.pageCount.multipliedReportingOverflow(by: header.pageSize)
    let found = try fileSize(of: url.path)
    // The log may hold the pages that the file is short of; so may a writer that has begun to commit in this moment.
    if isOverflowing || found < expected, try logSize(of: url) == 0, !DatabaseCompanions.hasJournal(url.path) {
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

  private static func logSize(of url: URL) throws -> Int { try DatabaseCompanions.logSize(url.path) }

  /// A value that is kept in a file of its own can be read by a function of ours into a query of a small store.
  private static let leastValueLimit = 256 << 20

  private static func size(of url: URL) throws -> Int {
    try fileSize(of: url.path) + logSize(of: url)
  }

  private static func connect(to url: URL, isReadOnly: Bool, timeout: TimeInterval?) throws -> StoreFile {
    for _ in 0..<5 {
      let connection = try SQLiteConnection(
        url: url, mode: isReadOnly ? .readOnly : .readWrite, busyTimeout: timeout ?? 5)
      do {
        _ = try connection.pragma("schema_version")
        if isReadOnly { connection.limitValues(toFileSize: try size(of: url), atLeast: Self.leastValueLimit) }
        return StoreFile(url: url, connection: connection)
      } catch let error as SQLiteError where error.isCannotOpen || error.isReadOnly {
        try connection.close()
        if try !DatabaseCompanions.hasJournal(url.path) && logSize(of: url) == 0 {
          return StoreFile(url: url, connection: try SQLiteConnection(url: url, mode: .immutable))
        }
        guard let (copy, directory) = try privateCopy(of: url) else { continue }
        let copied = try SQLiteConnection(url: copy, mode: .readWrite)
        let file = StoreFile(url: url, connection: copied, copy: directory)
        // Rolls the copied journal back, or reads the copied log.
        _ = try copied.pragma("schema_version")
        copied.limitValues(toFileSize: try size(of: copy), atLeast: Self.leastValueLimit)
        return file
      }
    }
    throw StoreFileProblem.busy(path: url.path)
  }

  /// Copies a store with its log and its journal into a private directory.
  ///
  /// - Returns: nil where another process has changed the log or journal meanwhile: the copies do not belong together then.
  private static func privateCopy(of url: URL) throws -> (copy: URL, directory: PrivateDirectory)? {
    let directory = try CopyDirectory.make(for: url)
    let copy = directory.url.appendingPathComponent(url.lastPathComponent)
    let source = DatabaseFile.target(of: url.path)
    // What SQLite would pass over may have any size, and is left out.
    let wanted = ["-journal": DatabaseCompanions.hasJournal(url.path), "-wal": try logSize(of: url) > 0]
    let companions = ["-journal", "-wal"].filter { wanted[$0] == true }
      .map { (suffix: $0, file: URL(fileURLWithPath: source + $0)) }
    do {
      let before = companions.map { FileCalls.stamp($0.file) }
      // These first: the database may be half rolled back, since rolling back can begin anew at any time.
      for (suffix, file) in companions where FileCalls.exists(file) {
        try FileCalls.copyBytes(file, to: URL(fileURLWithPath: copy.path + suffix))
      }
      try DatabaseFile(path: source).copy(to: copy.path)
      if companions.map({ FileCalls.stamp($0.file) }) == before { return (copy, directory) }
    } catch let failure as FileFailure where failure.number == ENOENT {
      // Rolled back by another process in this moment.
    } catch {
      // Why the store cannot be read is what matters.
      try? directory.remove()
      throw error
    }
    try directory.remove()
    return nil
  }

  private func checkTables() throws {
    for table in ["Z_METADATA", "Z_PRIMARYKEY"] where try !connection.hasTable(table) {
      throw StoreFileProblem.notAStore(path: url.path, missingTable: table)
    }
  }
}
