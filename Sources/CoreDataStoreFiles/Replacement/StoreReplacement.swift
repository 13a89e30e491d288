// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// Makes a new store beside another, and atomically replaces the old store with it. Every change of a whole store is
/// made this way.
package struct StoreReplacement {
  /// The reason a store is not replaced. Nothing was changed.
  package enum Refusal: Error {
    /// The path is a symbolic link to a file that is not a database, and may be any file of the user.
    case linkToOtherFile
    case readOnly
    /// The other path is in the work directory, or among the external data files.
    case ownDirectory(path: String)
    /// The backup to restore is the store itself.
    case sameStore(backup: String)
  }

  /// The paths of the store that is replaced.
  package let location: StoreLocation
  package let journal: WorkJournal
  /// How long to wait for other users of the store, in seconds.
  package let timeout: TimeInterval
  /// Whether a file that SQLite cannot open may be replaced.
  package var replacesDamaged: Bool
  /// Whether a file that another process has open may be replaced.
  package var ignoresLocks: Bool

  /// The new store, complete and closed, at `StoreLocation.newStore`.
  package struct Draft {
    /// The external data files that its rows reference.
    package var external: Set<String>

    package init(external: Set<String> = []) { self.external = external }
  }

  package init(
    location: StoreLocation, journal: WorkJournal, timeout: TimeInterval, replacesDamaged: Bool = false,
    ignoresLocks: Bool = false
  ) {
    self.location = location
    self.journal = journal
    self.timeout = timeout
    self.replacesDamaged = replacesDamaged
    self.ignoresLocks = ignoresLocks
  }

  /// Makes the new store and exchanges it for the old one.
  ///
  /// - Parameters:
  ///   - keptAt: the location at which to keep the replaced store; nil to remove it.
  ///   - make: makes the new store. Its parameter is the present store, which other processes cannot write meanwhile;
  ///     nil if there is none.
  /// - Throws: the errors of `make`; `Refusal`, `RegularFile.Problem`, `MigrationLock.Held`, `WorkDirectory.Refusal`,
  ///   `StoreWriteLock.Intrusion`, `FileFailure`, `SQLiteError`, `WorkJournal.Unreadable`. The store is unchanged then,
  ///   and nothing is left beside it.
  package func run(keptAt: URL?, make: (StoreWriteLock?) throws -> Draft) throws -> StoreExchange.Outcome {
    try location.checkFile()
    try checkLink()
    let lock = try InterruptedWork.acquireSettled(location, timeout: timeout)
    var hold: StoreWriteLock?
    let draft: Draft
    do {
      try journal.write(lock.work)
      hold = try makeHold()
      draft = try make(hold)
    } catch {
      hold?.release()
      // Anything that cannot be removed now is removed by the next process to open the store. The error that is being
      // thrown takes precedence.
      try? InterruptedWork(lock: lock, journal: journal).undo()
      throw error
    }
    return try StoreExchange(lock: lock, hold: hold, journal: journal)
      .carryOut(external: draft.external, keptAt: keptAt)
  }

  /// Throws if the path is a symbolic link to a file that is not a database, which may be any file of the user.
  private func checkLink() throws {
    guard FileCalls.isSymbolicLink(location.url), FileCalls.exists(location.file), try isNoDatabase() else { return }
    throw Refusal.linkToOtherFile
  }

  private func makeHold() throws -> StoreWriteLock? {
    guard !ignoresLocks, FileCalls.exists(location.file) else { return nil }
    // An empty file without a log holds no rows.
    if FileCalls.size(location.file) == 0, !location.companions.contains(where: FileCalls.exists) { return nil }
    guard FileManager.default.isWritableFile(atPath: location.file.path) else {
      throw Refusal.readOnly
    }
    if replacesDamaged, !DatabaseCompanions.hasJournal(location.file.path), try isNoDatabase() { return nil }
    let connection = try SQLiteConnection(url: location.file, mode: .readWrite, busyTimeout: timeout)
    do {
      if connection.isReadOnly { throw Refusal.readOnly }
      return try StoreWriteLock(connection, url: location.file, timeout: timeout)
    } catch {
      // The error that is being thrown takes precedence.
      try? connection.close()
      if replacesDamaged, let failure = error as? SQLiteError, failure.isNotADatabase || failure.isCorrupt {
        return nil
      }
      throw error
    }
  }

  /// Whether the file does not begin like a database. SQLite would remove the log beside such a file.
  private func isNoDatabase() throws -> Bool {
    do {
      _ = try SQLiteFileHeader.read(path: location.file.path)
      return false
    } catch let failure as SQLiteError where failure.isNotADatabase {
      return true
    }
  }

  /// Makes the new store as a copy of another, its log included, with hard links to its external data files.
  package static func copy(_ source: URL, to destination: URL) throws {
    // A separate connection is needed: SQLite cannot back up from a connection with an open write transaction.
    try StoreFiles.copy(from: source, to: destination, values: .linked)
  }

  // MARK: Destroying

  /// The files that Core Data leaves empty beside a destroyed store: programs remove them by name, and fail if one is
  /// missing.
  ///
  /// SQLite treats them like missing files: it ignores an empty log, and rebuilds the index.
  fileprivate static let emptySuffixes = ["-wal", "-shm"]

  /// Makes an empty file in place of the new store, with an empty log and an empty index.
  package static func makeEmpty(_ location: StoreLocation) throws -> Draft {
    // They get SQLite's permissions for new files, which are then replaced by those of the present store.
    for suffix in [""] + emptySuffixes {
      try FileCalls.write(Data(), to: StoreLocation.url(location.newStore, suffix), mode: 0o644)
    }
    return Draft()
  }

  /// Whether a store has been destroyed, and no other has been created in its place since.
  package static func isDestroyed(_ location: StoreLocation) throws -> Bool {
    guard FileCalls.exists(location.file), try StoreFile.isNew(location.file) else { return false }
    return emptySuffixes.allSatisfy { FileCalls.exists(StoreLocation.url(location.file, $0)) }
  }

  // MARK: Restoring

  /// Replaces a store with a copy of a backup. The replaced store is backed up in turn.
  ///
  /// - Parameters:
  ///   - backup: the backup, or any other store.
  ///   - url: the location of the store, which need not exist.
  ///   - usesLog: whether the new store gets a write-ahead log.
  /// - Returns: the location where the replaced store is kept; nil if there was none.
  /// - Throws: the same errors as `run(keptAt:make:)`; `StoreVerification.Problem`.
  package static func restore(_ backup: URL, to url: URL, usesLog: Bool, timeout: TimeInterval) throws -> URL? {
    let location = StoreLocation(url)
    if location.holds(backup) { throw Refusal.ownDirectory(path: backup.path) }
    if FileCalls.exists(location.file),
      FileCalls.identity(location.file) == FileCalls.identity(StoreLocation(backup).file)
    {
      throw Refusal.sameStore(backup: backup.lastPathComponent)
    }
    let keptAt =
      FileCalls.exists(location.file) && FileCalls.size(location.file) > 0
      ? BackupName.free(for: location.file, in: location.folder) : nil
    return try StoreReplacement(
      location: location, journal: WorkJournal(purpose: .restoring), timeout: timeout, replacesDamaged: true
    ).run(keptAt: keptAt) { _ in
      try copy(backup, to: location.newStore)
      var verification = StoreVerification(url: location.newStore)
      // A file missing from the backup was missing from the store already, or has been lost since. Its rows are still
      // worth restoring.
      verification.requiresExternalData = false
      let found = try verification.carryOut(leaving: usesLog ? .wal : .delete)
      let present = try [location.newStore, location.file].flatMap {
        try FileCalls.names(in: StoreLocation.externalData(of: $0))
      }
      return .init(external: found.external.intersection(present))
    }.kept
  }
}

/// Atomically exchanges the complete store in the work directory for another store.
///
/// A store consists of its database and external data files. Those files never change, and their names are unique. So
/// the new ones are put beside the old ones first; then the new database is renamed to the store's name, which is
/// atomic; then the files that only the old store needed are removed. Any program that opens the store sees either the
/// old or the new one.
package struct StoreExchange {
  package let lock: MigrationLock
  /// The lock on the present store; nil if there is no store, or one that SQLite cannot open.
  package let hold: StoreWriteLock?
  package var journal: WorkJournal

  private var location: StoreLocation { lock.location }

  /// The result of an exchange.
  package struct Outcome {
    /// The location where the old store is kept; nil if it is not kept.
    package var kept: URL?
    /// The error of cleaning up the work directory; the next process to open the store cleans it up.
    package var leftover: (any Error)?
    /// The outcome of interrupted work found before the exchange.
    package var recovered: InterruptedWork.Outcome?
  }

  /// Exchanges the stores. The new store must be complete and closed.
  ///
  /// - Parameters:
  ///   - external: the external data files that the new store's rows reference.
  ///   - keptAt: the location at which to keep the old store; nil to remove it.
  /// - Throws: `FileFailure`, `SQLiteError`, `StoreWriteLock.Intrusion`. The old store is unchanged then, and nothing
  ///   is left.
  package func carryOut(external: Set<String>, keptAt: URL?) throws -> Outcome {
    var exchange = self
    do {
      try exchange.prepare(external: external, keptAt: keptAt)
      try exchange.commit()
    } catch {
      hold?.release()
      // Anything that cannot be undone now is undone by the next process to open the store. The error that is being
      // thrown takes precedence.
      try? InterruptedWork(lock: lock, journal: exchange.journal).undo()
      throw error
    }
    // Even without these files, the store is destroyed.
    if journal.purpose == .destruction { try? addEmptyFiles() }
    hold?.close()
    do {
      return Outcome(kept: try InterruptedWork(lock: lock, journal: exchange.journal).finish(), recovered: lock.settled)
    } catch {
      // The new store is in place; only the cleanup has failed.
      return Outcome(kept: keptAt, leftover: error, recovered: lock.settled)
    }
  }

  /// Puts an empty log and an empty index beside an empty file, unless another process has already created them.
  ///
  /// While another process writes to a database with content, no log may appear beside it. So the file is locked, and
  /// its size is checked under the lock: another process may have created a store in it.
  private func addEmptyFiles() throws {
    let connection = try SQLiteConnection(url: location.file, mode: .readWrite, busyTimeout: 0)
    defer {
      // The connection has written nothing.
      try? connection.close()
    }
    try connection.setJournalMode(.memory)
    try connection.begin(.immediate)
    if FileCalls.size(location.file) == 0 {
      for suffix in StoreReplacement.emptySuffixes where lock.work.exists(StoreLocation.newName + suffix) {
        _ = try lock.work.link(
          StoreLocation.newName + suffix, to: lock.folder, location.file.lastPathComponent + suffix)
      }
    }
    try connection.rollback()
  }

  /// Writes the journal, and links the new store's external data files beside the old ones.
  private mutating func prepare(external: Set<String>, keptAt: URL?) throws {
    let work = lock.work
    let present = try location.support.names()
    let old = try hold.map { try ExternalReferences.presentNames(in: $0.connection, among: present) }
    journal.added = external.subtracting(present).sorted()
    journal.obsolete = (old ?? []).subtracting(external).sorted()
    if let keptAt {
      // It is unknown which files an unreadable store needs.
      journal.kept = (old ?? present.filter(ExternalData.isFileName)).sorted()
      journal.keptAt = try relativePath(of: keptAt)
    }
    journal.phase = .exchanging
    try FileCalls.copyPermissions(of: location.file, for: location.newStore)
    for suffix in StoreReplacement.emptySuffixes where work.exists(StoreLocation.newName + suffix) {
      try FileCalls.copyPermissions(of: location.file, for: StoreLocation.url(location.newStore, suffix))
    }
    try work.synchronize(StoreLocation.newName)
    let values = try work.directoryIfPresent(SupportDirectory(store: location.newStore).url.lastPathComponent)?
      .directoryIfPresent(SupportDirectory.valuesName)
    for name in journal.added { try values?.synchronize(name) }
    try journal.write(work)
    guard !journal.added.isEmpty, let values else { return }
    let target = try location.support.make()
    for name in journal.added { _ = try values.link(name, to: target, name) }
    try location.support.synchronize()
  }

  private func commit() throws {
    let (folder, work, name) = (lock.folder, lock.work, location.file.lastPathComponent)
    if let hold {
      try hold.upgradeToExclusive()
    } else if !FileCalls.exists(location.file) {
      try StoreFiles.setOrphanedLogsAside(of: location.file)
    } else {
      // SQLite must not apply the companion files of an unreadable file to the new one.
      for suffix in StoreLocation.companionSuffixes where folder.exists(name + suffix) {
        try folder.rename(name + suffix, to: work, StoreLocation.oldName + suffix)
      }
    }
    if let found = folder.status(name) {
      try RegularFile.check(found, location.file)
      if journal.keptAt != nil {
        _ = try folder.link(name, to: work, StoreLocation.oldName) { try DatabaseFile(path: $0.path).copy(to: $1.path) }
      }
    }
    try work.synchronize()
    try folder.synchronize()
    try work.rename(StoreLocation.newName, to: folder, name)
  }

  /// Returns a path relative to the store's directory, as used in the journal, since that directory may be moved as a
  /// whole.
  private func relativePath(of url: URL) throws -> String {
    let base = location.folder.standardizedFileURL.path + "/"
    let path = url.standardizedFileURL.path
    guard path.hasPrefix(base) else {
      throw FileFailure(operation: "keep a store outside of the folder of the one it was", path: path, number: EXDEV)
    }
    return String(path.dropFirst(base.count))
  }
}

/// Verifies a new store before it replaces another.
package struct StoreVerification {
  package let url: URL
  /// The model that the store must fit; nil to check only the file.
  package var model: Model?
  /// Whether the files referenced by rows must exist.
  package var requiresExternalData = true

  /// A model that a store must fit.
  package struct Model {
    package let document: ModelDocument
    package let configuration: String?
    /// Whether a store with the given metadata fits.
    package let fits: ([String: Any]) -> Bool

    package init(document: ModelDocument, configuration: String?, fits: @escaping ([String: Any]) -> Bool) {
      self.document = document
      self.configuration = configuration
      self.fits = fits
    }
  }

  package init(url: URL, model: Model? = nil) {
    self.url = url
    self.model = model
  }

  /// The content of a verified store.
  package struct Result {
    /// The external data files referenced by rows.
    package let external: Set<String>
    /// The number of rows by entity, without those of sub-entities.
    package let rows: [String: Int]
  }

  /// Checks pages, metadata, tables and external data files, and leaves the store without a log.
  ///
  /// - Parameter journalMode: the journal mode of the store.
  /// - Throws: `Problem`; `SchemaProblem`, `StoreFileProblem`, `SQLiteError`.
  package func carryOut(leaving journalMode: SQLiteJournalMode) throws -> Result {
    // Pages are checked in memory while the file is synced to disk. Closing a file gives up SQLite's locks on it, which
    // are not needed for a store that is not in place yet.
    let isLarge = FileCalls.size(url) >= PageCheck.largeFile && Optimization.backgroundChecks.isOn
    let synchronization = isLarge ? ParallelWork { [url] in try FileCalls.synchronize(url) } : nil
    // On success the code below waits for it; after a failure its result does not matter.
    defer { try? synchronization?.wait() }
    let file = try StoreFile.open(url, isReadOnly: false)
    do {
      let result = try check(file)
      try synchronization?.wait()
      try file.connection.setJournalMode(.delete)
      if journalMode == .wal { try file.connection.setJournalMode(.wal) }
      try file.close()
      if let log = StoreLocation(url).companions.first(where: FileCalls.exists) {
        throw Problem(reason: "'\(log.lastPathComponent)' is left beside it.")
      }
      return result
    } catch {
      // The error that is being thrown takes precedence.
      try? file.close()
      throw error
    }
  }

  /// The reason a new store cannot be used.
  package struct Problem: Error {
    package let reason: String

    package init(reason: String) {
      self.reason = reason
    }
  }

  private func check(_ file: StoreFile) throws -> Result {
    let damage = try file.connection.integrityCheck(quick: true, limit: 3)
    guard damage.isEmpty else { throw Problem(reason: "SQLite finds: \(damage.joined(separator: "; ")).") }
    let external = try ExternalReferences.names(in: file.connection)
    let folder = StoreLocation.externalData(of: url)
    let missing = external.sorted().first { !FileCalls.exists(folder.appendingPathComponent($0)) }
    if requiresExternalData, let missing {
      throw Problem(reason: "The file \(missing) of one of its values is missing.")
    }
    return Result(external: external, rows: try model.map { try rows(file, $0) } ?? [:])
  }

  private func rows(_ file: StoreFile, _ model: Model) throws -> [String: Int] {
    guard try model.fits(file.metadata()) else {
      throw Problem(reason: "Its version hashes are not those of the model.")
    }
    return try Self.rows(
      file, file.schema(for: model.document, configuration: model.document.configuration(model.configuration)))
  }

  /// Returns the number of rows by entity. Indexes are not used, since an index that does not match its table would
  /// hide rows.
  package static func rows(_ file: StoreFile, _ schema: StoreSchema) throws -> [String: Int] {
    var counts = Dictionary(schema.entities.map { ($0.name, 0) }) { $1 }
    for table in schema.tables {
      let name = SQLName.quoted(table.name)
      let hierarchy = schema.entities(inTable: table.name)
      if hierarchy.count == 1, let only = hierarchy.first {
        // Manually inserted rows may have any entity number. Besides, this needs no sorting.
        counts[only.name] = Int(try file.connection.scalar("SELECT COUNT(*) FROM \(name) NOT INDEXED")?.integer ?? 0)
        continue
      }
      for row in try file.connection.rows("SELECT Z_ENT, COUNT(*) FROM \(name) NOT INDEXED GROUP BY Z_ENT") {
        let entity = hierarchy.first { Int64($0.number) == row[0].integer }
        if let entity { counts[entity.name, default: 0] += Int(row[1].integer ?? 0) }
      }
    }
    return counts
  }
}
