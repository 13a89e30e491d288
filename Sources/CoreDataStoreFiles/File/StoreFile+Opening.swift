// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The ways to open a store, each for one purpose:
///
/// - `open` to work with a store;
/// - `peek` to read its metadata, quickly and without leaving files beside it if possible;
/// - `openToCopy` to copy it, without checkpointing its log or leaving files beside it;
/// - `openUntouched` to inspect it, without changing a byte of it or of the files beside it.
extension StoreFile {
  // MARK: Working with a store

  /// Opens an existing store.
  ///
  /// A hot journal is rolled back first: in the store itself if it can be written, otherwise in a private copy. SQLite
  /// can read a store with a write-ahead log only with files beside it. If the directory is read-only, a store whose
  /// log is empty is read without locks, and any other from a copy; a copy is read-only.
  ///
  /// - Parameters:
  ///   - url: the file.
  ///   - isReadOnly: whether nothing will be written.
  ///   - timeout: how long to wait for the locks of others, in seconds; nil for the default.
  /// - Throws: `StoreFileProblem` if the file is not a store; `SQLiteError` if SQLite cannot open it.
  package static func open(_ url: URL, isReadOnly: Bool, timeout: TimeInterval? = nil) throws -> StoreFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw StoreFileProblem.missing(path: url.path) }
    try checkKind(of: url)
    do {
      // The file is unreliable until its journal has been rolled back.
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

  /// Opens an existing store briefly, to read its metadata.
  ///
  /// A store in WAL mode whose log is empty is read without locks, so that SQLite leaves no files beside it.
  ///
  /// - Throws: the same errors as `open(_:isReadOnly:timeout:)`.
  package static func peek(_ url: URL) throws -> StoreFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw StoreFileProblem.missing(path: url.path) }
    try checkKind(of: url)
    if DatabaseCompanions.hasJournal(url.path) { return try open(url, isReadOnly: true) }
    try checkHeader(of: url)
    guard try wouldUseLog(url), try logSize(of: url) == 0 else { return try open(url, isReadOnly: true) }
    let file = StoreFile(url: url, connection: try SQLiteConnection(url: url, mode: .immutable))
    try file.checkTables()
    return file
  }

  // MARK: Copying

  /// Opens a store to copy it.
  ///
  /// If a reader is the last connection to close a store with a log, SQLite leaves its files beside the store. A writer
  /// removes them, but it also checkpoints the log, which a copy must not do. Either kind rolls back the transaction of
  /// a killed writer.
  package static func openToCopy(_ store: URL) throws -> StoreFile {
    // If a writer was killed, a private copy is used in which SQLite has rolled the journal back.
    if DatabaseCompanions.hasJournal(store.path) { return try open(store, isReadOnly: true) }
    let hasLog = FileCalls.size(URL(fileURLWithPath: DatabaseFile.target(of: store.path) + "-wal")) > 0
    let modes: [SQLiteConnection.Mode] = hasLog ? [.readOnly, .readWrite] : [.readWrite, .readOnly]
    do {
      return try opened(store, modes[0])
    } catch let failure as SQLiteError
      where failure.isCannotOpen || failure.isReadOnly || failure.isIOError
      || failure.isFull
    {
      do {
        return try opened(store, modes[1])
      } catch let error as SQLiteError where error.isCannotOpen || error.isReadOnly || error.isFull {
        // Neither kind can open the store: it has a log and its directory is read-only.
        return try open(store, isReadOnly: true)
      }
    }
  }

  private static func opened(_ store: URL, _ mode: SQLiteConnection.Mode) throws -> StoreFile {
    let connection = try SQLiteConnection(url: store, mode: mode)
    do {
      _ = try connection.pragma("schema_version")
    } catch {
      // The error that is being thrown takes precedence.
      try? connection.close()
      throw error
    }
    return StoreFile(url: store, connection: connection)
  }

  // MARK: Inspecting

  /// Opens a file without changing a byte of it or of the files beside it.
  ///
  /// SQLite writes even when it reads: it creates and removes `-wal` and `-shm` files, and recovers an unfinished
  /// transaction. So a file with a write-ahead log, or with a journal to roll back, is read from a private copy. A file
  /// in WAL mode without a log is opened as immutable, without locks; `checkUnchanged` throws if another program has
  /// written to it meanwhile. Any other file is read in place, under SQLite's locks.
  ///
  /// - Throws: `StoreFileProblem.busy`; `SQLiteError`, `FileFailure`, `RegularFile.Problem`.
  package static func openUntouched(_ url: URL) throws -> StoreFile {
    for _ in 0..<5 {
      let before = stamps(of: url)
      if try DatabaseCompanions.hasJournal(url.path) || logSize(of: url) > 0 {
        guard let copy = try openCopy(of: url, valueLimit: nil) else { continue }
        return copy
      }
      let isLogged = try wouldUseLog(url)
      let connection = try SQLiteConnection(url: url, mode: isLogged ? .immutable : .readOnly)
      _ = try connection.pragma("schema_version")
      connection.limitValues(toFileSize: try size(of: url))
      return StoreFile(url: url, connection: connection, stamps: isLogged ? before : nil)
    }
    throw StoreFileProblem.busy(path: url.path)
  }

  /// Returns file attributes that change with every write to a store's file, its log and its journal.
  package static func stamps(of url: URL) -> [[Int64]?] {
    let path = DatabaseFile.target(of: url.path)
    return ["", "-wal", "-journal"].map { FileCalls.stamp(URL(fileURLWithPath: path + $0)) }
  }

  /// Makes sure that everything read without locks belongs to one state of the store.
  ///
  /// - Throws: `StoreFileProblem.busy` if another program has written to the store since it was opened.
  package func checkUnchanged() throws {
    if let stamps, Self.stamps(of: url) != stamps { throw StoreFileProblem.busy(path: url.path) }
  }

  // MARK: Checks

  /// Whether SQLite would create a `-shm` index beside the store to read it. It does so even in rollback mode if a
  /// `-wal` file exists, whatever its content.
  private static func wouldUseLog(_ url: URL) throws -> Bool {
    if FileCalls.exists(URL(fileURLWithPath: DatabaseFile.target(of: url.path) + "-wal")) { return true }
    return try SQLiteFileHeader.read(path: url.path)?.usesWriteAheadLog == true
  }

  /// Whether a file exists that is still empty: SQLite treats an empty file as a new database, and so does this
  /// framework.
  package static func isNew(_ url: URL) throws -> Bool {
    let files = FileManager.default
    guard files.fileExists(atPath: url.path) else { return true }
    try checkKind(of: url)
    guard try fileSize(of: url.path) == 0 else { return false }
    // All data of a recently created store can be in its log, which must not be separated from the main file.
    return FileCalls.size(URL(fileURLWithPath: DatabaseFile.target(of: url.path) + "-wal")) == 0
  }

  /// Throws for files on which opening would block, and for those that must not be replaced by a file.
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
    // The missing pages may be in the log, or a writer may have begun to commit just now.
    if isOverflowing || found < expected, try logSize(of: url) == 0, !DatabaseCompanions.hasJournal(url.path) {
      throw StoreFileProblem.truncated(path: url.path, expectedBytes: expected, foundBytes: found)
    }
  }

  /// Returns the size of a file in bytes; 0 if there is none.
  private static func fileSize(of path: String) throws -> Int {
    // A single `stat` call: a log can disappear at any moment, when the last connection to the store closes.
    var status = stat()
    if stat(path, &status) == 0 { return Int(status.st_size) }
    let number = errno
    guard number == ENOENT || number == ENOTDIR else {
      throw FileFailure(operation: "look at", path: path, number: number)
    }
    return 0
  }

  private static func logSize(of url: URL) throws -> Int { try DatabaseCompanions.logSize(url.path) }

  /// The least limit for the size of a value, in bytes. Even a query of a small store can read an external data file
  /// through one of this framework's SQL functions.
  private static let leastValueLimit = 256 << 20

  private static func size(of url: URL) throws -> Int {
    try fileSize(of: url.path) + logSize(of: url)
  }

  private static func connect(to url: URL, isReadOnly: Bool, timeout: TimeInterval?) throws -> StoreFile {
    for attempt in 0..<5 {
      let connection = try SQLiteConnection(
        url: url, mode: isReadOnly ? .readOnly : .readWrite, busyTimeout: timeout ?? 5)
      do {
        _ = try connection.pragma("schema_version")
        if isReadOnly { connection.limitValues(toFileSize: try size(of: url), atLeast: Self.leastValueLimit) }
        return StoreFile(url: url, connection: connection)
      } catch let error as SQLiteError where error.isCannotOpen || error.isReadOnly {
        try connection.close()
        // If only resources were lacking, others may be writing to the store, which an immutable connection would not
        // notice.
        if error.isOutOfResources { throw error }
        if try !DatabaseCompanions.hasJournal(url.path) && logSize(of: url) == 0 {
          return StoreFile(url: url, connection: try SQLiteConnection(url: url, mode: .immutable))
        }
        guard let copy = try openCopy(of: url, valueLimit: Self.leastValueLimit) else { continue }
        return copy
      } catch let error as SQLiteError where error.isFull {
        // SQLite needs space beside the store even to read its log.
        try connection.close()
        if isReadOnly {
          guard let copy = try openCopy(of: url, valueLimit: Self.leastValueLimit) else { continue }
          return copy
        }
        guard attempt == 0, checkpointAlone(url) else { throw error }
      }
    }
    throw StoreFileProblem.busy(path: url.path)
  }

  // MARK: Private copies

  package typealias PrivateCopy = (file: URL, directory: PrivateDirectory)

  /// Copies a store with its log and its journal, but not its external data, into a private directory, for a reader that
  /// must leave no trace: SQLite would write beside the store to read it.
  ///
  /// - Returns: nil for a store that SQLite reads without writing.
  /// - Throws: `StoreFileProblem.busy` if other processes keep writing to it; `FileFailure`.
  package static func copyIfReadingWrites(_ url: URL) throws -> PrivateCopy? {
    for _ in 0..<5 {
      guard try DatabaseCompanions.hasJournal(url.path) || wouldUseLog(url) else { return nil }
      if let copy = try privateCopy(of: url, in: CopyDirectory.make(for: url)) { return copy }
    }
    throw StoreFileProblem.busy(path: url.path)
  }

  /// Copies a store with its log and its journal into a private directory, and opens the copy. If the disk is full, the
  /// next candidate directory is tried.
  ///
  /// - Returns: nil if another process wrote to the store while it was copied, so that the copies do not match.
  /// - Throws: `StoreFileProblem.noRoomForCopy`; `SQLiteError`, `FileFailure`, `RegularFile.Problem`.
  private static func openCopy(of url: URL, valueLimit: Int?) throws -> StoreFile? {
    let size = try size(of: url)
    let places = CopyDirectory.places(for: url, bytes: size)
    var failure: (any Error)?
    for place in places {
      do {
        guard let copy = try privateCopy(of: url, in: CopyDirectory.make(for: url, in: place)) else { return nil }
        return try open(copy, of: url, valueLimit: valueLimit)
      } catch  where FullDisk.isCause(of: error) {
        failure = StoreFileProblem.noRoomForCopy(path: url.path, bytes: size, places: places.map(\.path))
      } catch let error as FileFailure where error.isAboutPermissions || [ENOENT, ENAMETOOLONG].contains(error.number) {
        // No directory can be created there. An earlier error about a full disk is more helpful.
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return nil
  }

  /// - Returns: nil if another process wrote to the store meanwhile.
  private static func privateCopy(of url: URL, in directory: PrivateDirectory) throws -> PrivateCopy? {
    let copy = directory.url.appendingPathComponent(url.lastPathComponent)
    let source = DatabaseFile.target(of: url.path)
    do {
      let before = stamps(of: url)
      // Files that SQLite would ignore are left out, since they may have any size.
      let wanted = ["-journal": DatabaseCompanions.hasJournal(url.path), "-wal": try logSize(of: url) > 0]
      // These come first: the database may be half rolled back, and another process can start rolling back at any time.
      for suffix in ["-journal", "-wal"] where wanted[suffix] == true {
        try FileCalls.copyBytes(URL(fileURLWithPath: source + suffix), to: URL(fileURLWithPath: copy.path + suffix))
      }
      try DatabaseFile(path: source).copy(to: copy.path)
      if stamps(of: url) == before { return (copy, directory) }
    } catch let failure as FileFailure where failure.number == ENOENT {
      // Another process has just rolled it back.
    } catch {
      // The error that is being thrown takes precedence.
      try? directory.remove()
      throw error
    }
    try directory.remove()
    return nil
  }

  /// Opens a private copy, which rolls its journal back or reads its log.
  private static func open(_ copy: PrivateCopy, of url: URL, valueLimit: Int?) throws -> StoreFile {
    do {
      let connection = try SQLiteConnection(url: copy.file, mode: .readWrite)
      _ = try connection.pragma("schema_version")
      let size = try size(of: copy.file)
      if let valueLimit {
        connection.limitValues(toFileSize: size, atLeast: valueLimit)
      } else {
        connection.limitValues(toFileSize: size)
      }
      return StoreFile(url: url, connection: connection, copy: copy.directory)
    } catch {
      // The copy is useless; SQLite's error takes precedence.
      try? copy.directory.remove()
      throw error
    }
  }

  /// Checkpoints the log of a store that could not be opened: many programs then move the main file away without its
  /// log.
  ///
  /// Does not wait for locks. A log that belongs to another store stays as it is.
  package static func checkpointRefused(_ url: URL) {
    func identifier(_ mode: SQLiteConnection.Mode) throws -> String? {
      let connection = try SQLiteConnection(url: url, mode: mode, busyTimeout: 0)
      defer {
        // Opened for reading, so that nothing can be lost.
        try? connection.close()
      }
      return try connection.scalar("SELECT Z_UUID FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1")?.text
    }
    // The caller throws the reason the store was refused. A log that cannot be checkpointed stays beside it.
    guard (try? logSize(of: url)) ?? 0 > 0, FileManager.default.isWritableFile(atPath: url.path),
      let seen = try? identifier(.readOnly)
    else { return }
    // As above: without its log, a recently created or half-written main file cannot be read. Otherwise it says which
    // store it is.
    if let own = try? identifier(.immutable), own != seen { return }
    guard let connection = try? SQLiteConnection(url: url, mode: .readWrite, busyTimeout: 0) else { return }
    defer { try? connection.close() }
    guard (try? connection.journalMode()) == .wal else { return }
    _ = try? connection.checkpoint(.truncate, waiting: 0)
  }

  /// Checkpoints a log whose `-shm` index does not fit on the disk. A connection with exclusive access keeps the index
  /// in memory.
  ///
  /// - Returns: whether the log is empty now.
  private static func checkpointAlone(_ url: URL) -> Bool {
    // If this fails, the caller throws its own error: another process uses the store, or the pages in the log need
    // space too.
    guard let connection = try? SQLiteConnection(url: url, mode: .readWrite, busyTimeout: 0) else { return false }
    defer {
      // Whatever was not checkpointed stays in the log.
      try? connection.close()
    }
    guard (try? connection.setPragma("locking_mode", to: "EXCLUSIVE")) != nil,
      (try? connection.pragma("schema_version")) != nil
    else { return false }
    return (try? connection.checkpoint(.truncate))?.isComplete == true
  }

  /// - Throws: `StoreFileProblem.notAStore` if Core Data's tables are missing.
  package func checkTables() throws {
    for table in ["Z_METADATA", "Z_PRIMARYKEY"] where try !connection.hasTable(table) {
      throw StoreFileProblem.notAStore(path: url.path, missingTable: table)
    }
  }

  // MARK: Rollback journals

  /// Whether a hot rollback journal, left by a killed writer, is beside a store.
  ///
  /// Nothing is changed. The journal of a running writer is not hot.
  ///
  /// - Throws: `SQLiteError` if the store cannot be opened.
  package static func hasHotJournal(_ url: URL) throws -> Bool {
    // SQLite removes a journal without a database when a database is created there.
    guard FileManager.default.fileExists(atPath: url.path), DatabaseCompanions.hasJournal(url.path) else {
      return false
    }
    let connection = try SQLiteConnection(url: url, mode: .readOnly, busyTimeout: 0)
    defer {
      // Opened for reading, so that nothing can be lost.
      try? connection.close()
    }
    do {
      _ = try connection.pragma("schema_version")
      return false
    } catch let error as SQLiteError {
      // Opening the store reports any other error.
      return error.isHotJournal
    }
  }

  /// Rolls back a hot journal, if there is one.
  ///
  /// Opening the store for writing does the same. It must happen before any decision that depends on the file's
  /// content.
  ///
  /// - Parameter timeout: how long to wait for the locks of others, in seconds.
  /// - Returns: whether there was one. Also false if the store cannot be written: it is then read from a copy.
  /// - Throws: `SQLiteError` if SQLite cannot roll back.
  @discardableResult
  package static func rollBackHotJournal(_ url: URL, timeout: TimeInterval = 5) throws -> Bool {
    guard try hasHotJournal(url), FileManager.default.isWritableFile(atPath: url.path) else { return false }
    let connection = try SQLiteConnection(url: url, mode: .readWrite, busyTimeout: timeout)
    do {
      _ = try connection.pragma("schema_version")
    } catch let error as SQLiteError where error.isReadOnly || error.isCannotOpen {
      // The directory is read-only.
      try connection.close()
      return false
    } catch let error as SQLiteError where error.isNotADatabase || error.isCorrupt {
      // The journal has been rolled back, but the file is damaged, which opening it reports.
    }
    try connection.close()
    return true
  }
}
