// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreRecovery {
  /// Looks for unfinished work, without changing anything.
  ///
  /// - Parameter url: the location of the store.
  /// - Returns: the unfinished work; nil if there is none.
  /// - Throws: 134070 for a journal that cannot be read, that a later version of the framework has written, or that
  ///   contains unexpected file names, and for a work directory that is a symbolic link or belongs to another user; 513
  ///   if the work directory cannot be read for lack of permission.
  public static func inspect(storeAt url: URL) throws -> UnfinishedWork? {
    try ErrorTranslation.translating(url: url, during: .use) {
      let location = StoreLocation(url)
      guard FileCalls.exists(location.workFolder),
        let work = try WorkDirectory.open(location, in: OpenDirectory.open(location.folder)),
        try work.names().contains(where: StoreLocation.isOwn)
      else {
        guard try StoreFile.hasHotJournal(location.file) else { return nil }
        return UnfinishedWork(
          purpose: .transaction, started: nil, process: nil, source: nil, destination: nil, isRunning: false,
          isCommitted: false)
      }
      let isRunning = try MigrationLock.isHeld(work, location)
      guard let journal = try WorkJournal.read(work, location) else {
        return UnfinishedWork(
          purpose: nil, started: nil, process: nil, source: nil, destination: nil, isRunning: isRunning,
          isCommitted: false)
      }
      return UnfinishedWork(
        purpose: UnfinishedWork.Purpose(rawValue: journal.purpose.rawValue), started: journal.started,
        process: Int(journal.process), source: journal.source, destination: journal.destination, isRunning: isRunning,
        isCommitted: try journal.isCommitted(work)
          && (journal.isInPlace != true || InterruptedWork.referencesNone(of: journal, location)))
    }
  }

  /// Finishes or undoes unfinished work, as opening the store does. Rolls back the journal of a writer that was killed.
  ///
  /// - Parameter url: the location of the store.
  /// - Returns: the outcome; nil if there was nothing to do.
  /// - Throws: 134110 if another process is at work; 134070 as for `inspect(storeAt:)`; 512, 513, 640 and 642 if the
  ///   file system fails.
  @discardableResult
  public static func recover(storeAt url: URL) throws -> Outcome? {
    try ErrorTranslation.translating(url: url, during: .use) {
      let location = StoreLocation(url)
      let isRolledBack = try StoreFile.rollBackHotJournal(location.file)
      let found =
        FileCalls.exists(location.workFolder)
        ? try InterruptedWork.settle(MigrationLock.acquire(location)).map(Outcome.init) : nil
      return found ?? (isRolledBack ? .rolledBack : nil)
    }
  }

  /// Finishes or undoes interrupted work. Ignores the work of a running process.
  ///
  /// - Throws: as `recover(storeAt:)`, except for 134110.
  package static func recover(interruptedAt url: URL) throws -> Outcome? {
    try settle(beforeOpening: url).map(Outcome.init)
  }

  /// Finishes or undoes interrupted work before a store is opened or changed in place, as `recover(interruptedAt:)`.
  static func settle(beforeOpening url: URL) throws -> InterruptedWork.Outcome? {
    try ErrorTranslation.translating(url: url, during: .opening) { try InterruptedWork.settle(beforeOpening: url) }
  }

  // MARK: Setting aside

  /// Sets a store aside, and atomically puts a new, empty one in its place.
  ///
  /// `Data.sqlite` is moved to `Incompatible/2026-11-21 214503/Data.sqlite`, with the content of its write-ahead log
  /// and its external data.
  ///
  /// - Parameters:
  ///   - url: the location of the store, which may be damaged.
  ///   - model: the model of the new store.
  ///   - configuration: the configuration of the new store; nil for all entities.
  ///   - error: the reason, which `storesSetAside(from:)` reports later.
  /// - Returns: the location of the old store.
  /// - Throws: 260 if there is no store; 134110 if another process is at work; 134090 if the store is open elsewhere;
  ///   512, 513, 640 and 642 if the file system fails. On an error, the store stays in its place.
  @discardableResult
  public static func setAside(
    storeAt url: URL, model: NSManagedObjectModel, configuration: String? = nil, because error: (any Error)? = nil
  ) throws -> SetAsideStore {
    try SettingAside(url: url, model: model, configuration: configuration).run(because: error.map { $0 as NSError })
  }

  /// Returns the stores that were set aside from a location, oldest first.
  ///
  /// - Parameter url: the location of the current store.
  /// - Throws: errors of reading the directory `Incompatible`, or of a note in it.
  public static func storesSetAside(from url: URL) throws -> [SetAsideStore] {
    try ErrorTranslation.translating(url: url, during: .use) {
      let location = StoreLocation(url)
      guard FileCalls.exists(location.folder) else { return [] }
      return try OpenDirectory.open(location.folder).directoryIfPresent(SetAsideNote.folderName)
        .map { try stores(in: $0, of: location) } ?? []
    }
  }

  private static func stores(in folder: OpenDirectory, of location: StoreLocation) throws -> [SetAsideStore] {
    let name = location.file.lastPathComponent
    return try folder.names().compactMap { stamp -> SetAsideStore? in
      guard let kind = folder.status(stamp), kind.st_mode & S_IFMT == S_IFDIR else { return nil }
      let directory = try folder.directory(stamp)
      guard directory.exists(name), directory.exists(SetAsideNote.name(besideStore: name)) else { return nil }
      let note = try SetAsideNote.read(in: directory, besideStore: name)
      return SetAsideStore(url: directory.path(name), date: note.date, code: note.code, reason: note.reason)
    }.sorted { ($0.date, $0.url.path) < ($1.date, $1.url.path) }
  }

  /// Restores a store that was set aside, once its model is known again, by migrating it to its old location.
  ///
  /// The store that is there now is set aside in turn. The restored store also remains in its directory, as a backup,
  /// until `SetAsideStore.remove()`.
  ///
  /// - Parameters:
  ///   - store: a store returned by `storesSetAside(from:)`.
  ///   - url: the location for the restored store.
  ///   - modelURL: an `.xcdatamodeld` or `.momd` with the versions, or a single model.
  ///   - version: the name of the version that the store should have; nil for the current one.
  ///   - progress: called with the progress of the migration. An error cancels it.
  /// - Returns: the report; `replacedStore` is the location of the store that was replaced.
  /// - Throws: the errors of planning and running a `StoreMigration`. On an error, all stores stay in their places.
  @discardableResult
  public static func restore(
    _ store: SetAsideStore, to url: URL, modelsAt modelURL: URL, version: String? = nil,
    progress: (MigrationProgress) throws -> Void = { _ in }
  ) throws -> MigrationReport {
    try restore(StoreMigration(storeAt: store.url, modelsAt: modelURL, version: version), to: url, progress)
  }

  /// Moves the migrated store of a migration to another location.
  static func restore(
    _ migration: StoreMigration, to url: URL, _ progress: (MigrationProgress) throws -> Void = { _ in }
  ) throws -> MigrationReport {
    try ErrorTranslation.translating(url: migration.storeURL, during: .use) {
      var work = MigrationByCopy(migration)
      work.location = StoreLocation(url)
      work.journal = WorkJournal(
        purpose: .restoring, source: migration.source, destination: migration.destination)
      let note = SetAsideNote(MigrationErrors.replaced(by: migration.storeURL, url: url))
      work.journal.setAside = note
      let keptAt =
        FileCalls.exists(work.location.file) ? try SettingAside.unusedURL(for: work.location, date: note.date) : nil
      return try work.run(keptAt: keptAt, progress: progress)
    }
  }
}

/// Backups of stores, made before an operation on them. An addition to Apple's API.
///
/// A backup is a store of its own: a database, `Data~.sqlite` for `Data.sqlite`, which includes the content of the
/// store's write-ahead log, and the files of large values, in `.Data~_SUPPORT`. It is made in a private directory,
/// `.Data~-backup`, and is renamed to its final name only when it is complete and synced to disk. So a backup with its
/// final name is complete, even if the process was killed or the power failed while it was made. The next backup
/// removes what such a process has left.
///
/// The backup of an XML or binary store is a copy of its file.
public enum StoreBackup {
  /// Backs up a store beside itself, or to another directory.
  ///
  /// `Data.sqlite` becomes `Data~.sqlite`, as Core Data names a store that a migration has replaced, or `Data~2.sqlite`
  /// and so on if the name is taken. Existing files are not changed. Only users who can read the store can read the
  /// backup.
  ///
  /// - Parameters:
  ///   - url: the location of the store, which may be in use.
  ///   - folder: the directory for the backup, which is created if necessary; nil for the store's directory.
  /// - Returns: the location of the backup.
  /// - Throws: 260 if there is no store; 640 if the disk is full; the errors of reading the store and writing the
  ///   backup. On an error, no backup is left.
  public static func make(of url: URL, in folder: URL? = nil) throws -> URL {
    if try FileStoreSummary.kind(of: url) != nil { return try FileStore.backUp(url, in: folder) }
    return try ErrorTranslation.translating(url: url, during: .replacement) {
      try BackupDirectory.makeBackup(of: url, in: folder ?? url.deletingLastPathComponent())
    }
  }

  /// The remains of backups whose processes were killed.
  public struct Leftovers: Hashable, Sendable {
    /// Complete backups, which now have their final names.
    public var completed: [URL] = []
    /// The number of incomplete backups, which have been removed.
    public var removedCount = 0
  }

  /// Completes or removes the remains of backups of a store whose processes were killed, as the next backup does.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - folder: the directory of the backups; nil for the store's directory.
  /// - Returns: what was found.
  /// - Throws: 512, 513 and related codes if the file system fails.
  @discardableResult
  public static func clearLeftovers(of url: URL, in folder: URL? = nil) throws -> Leftovers {
    try ErrorTranslation.translating(url: url, during: .replacement) {
      let found = try BackupDirectory.settleAll(of: url, in: folder ?? url.deletingLastPathComponent())
      return Leftovers(completed: found.completed, removedCount: found.removedCount)
    }
  }

  /// Removes a backup, with its files of large values.
  ///
  /// - Parameter backup: a location returned by `make(of:in:)`.
  /// - Throws: 512, 513 and related codes if the file system fails.
  public static func remove(_ backup: URL) throws {
    try ErrorTranslation.translating(url: backup, during: .replacement) { try BackupDirectory.removeBackup(backup) }
  }

  /// Atomically replaces a store with a backup. The backup is kept.
  ///
  /// The replaced store is backed up in turn, under the next free name. Close it first: remove it from its
  /// coordinators.
  ///
  /// - Parameters:
  ///   - backup: the location of the backup, or of any other store.
  ///   - url: the location of the store to replace, which need not exist.
  /// - Returns: the location of the replaced store's backup; nil if there was no store.
  /// - Throws: 260 if there is no backup; 259 if it is not a store; 134160 if it is damaged; 134090 if the store is
  ///   open elsewhere; 134110 if it is being migrated; 512, 513, 640 and 642 if the file system fails. On an error, the
  ///   store is unchanged.
  @discardableResult
  public static func restore(_ backup: URL, to url: URL) throws -> URL? {
    let usesLog = try ErrorTranslation.translating(url: backup, during: .replacement) {
      try StoreFile.peek(backup).close()
      return try SQLiteFileHeader.read(path: backup.path)?.usesWriteAheadLog ?? true
    }
    return try ErrorTranslation.translating(url: url, during: .replacement) {
      try StoreReplacement.restore(backup, to: url, usesLog: usesLog, timeout: StoreOptions.defaultTimeout)
    }
  }
}

/// Sets a store aside and replaces it with a new one, atomically.
struct SettingAside {
  let url: URL
  let model: NSManagedObjectModel
  var configuration: String?
  var pragmas: [String: String] = [:]
  var timeout = StoreOptions.defaultTimeout
  /// The file that does not match the model; nil for any file at the location.
  var found: FileCalls.Identity?

  /// Another store has replaced the one that does not match: another process has migrated it or set it aside, or
  /// opening it has finished a migration stage or an interrupted replacement.
  private struct ReplacedMeanwhile: Error {}

  /// Opens a store. If that fails because the store is damaged or does not match the model, and the options allow it,
  /// sets the store aside and opens a new one.
  ///
  /// - Parameter attempts: the number of times to retry if the store is replaced while it is being opened.
  static func open(
    _ url: URL, model: NSManagedObjectModel, _ configuration: String?, _ options: StoreOptions, attempts: Int = 3,
    _ body: () throws -> NSPersistentStore
  ) throws -> NSPersistentStore {
    let found = FileCalls.identity(StoreLocation(url).file)
    do {
      return try body()
    } catch let error as NSError
      where options.setsAside && !options.isReadOnly && isOfStore(error) && !error.isOutside(store: url)
    {
      let aside: SetAsideStore
      do {
        aside = try SettingAside(
          url: url, model: model, configuration: configuration, pragmas: options.pragmas,
          timeout: options.timeout ?? StoreOptions.defaultTimeout, found: found
        ).run(because: error)
      } catch is ReplacedMeanwhile {
        guard attempts > 0 else { return try body() }
        return try open(url, model: model, configuration, options, attempts: attempts - 1, body)
      }
      let store = try body()
      store.storeSetAside = aside
      return store
    }
  }

  /// Returns whether an error can mean that the store does not match the model or is damaged, so that retrying does not
  /// help.
  private static func isOfStore(_ error: NSError) -> Bool {
    let codes = [
      NSPersistentStoreIncompatibleVersionHashError, NSPersistentStoreIncompatibleSchemaError, NSMigrationError,
      NSMigrationConstraintViolationError, NSMigrationMissingSourceModelError, NSMigrationMissingMappingModelError,
      NSInferredMappingModelError, CocoaError.Code.fileReadCorruptFile.rawValue,
    ]
    return error.domain == NSCocoaErrorDomain && codes.contains(error.code)
  }

  /// Sets the store aside.
  ///
  /// - Throws: errors of the public API. On an error, the store stays in its place.
  func run(because error: NSError?) throws -> SetAsideStore {
    try ErrorTranslation.translating(url: url, during: .replacement) {
      let location = StoreLocation(url)
      guard FileCalls.exists(location.file) else { throw StoreFileProblem.missing(path: url.path) }
      // Otherwise the store would be set aside in the middle of a transaction.
      try StoreFile.rollBackHotJournal(location.file, timeout: timeout)
      var journal = WorkJournal(purpose: .settingAside)
      let note = SetAsideNote(error)
      journal.setAside = note
      try location.checkFile()
      let keptAt = try Self.unusedURL(for: location, date: note.date)
      let outcome = try StoreReplacement(
        location: location, journal: journal, timeout: timeout, replacesDamaged: true
      ).run(keptAt: keptAt) { _ in
        if let found, FileCalls.identity(location.file) != found { throw ReplacedMeanwhile() }
        try StoreFile.create(
          at: location.newStore, document: model.document, configuration: configuration, pragmas: pragmas)
        let mode = pragmas["journal_mode"].flatMap { SQLiteJournalMode(rawValue: $0.lowercased()) } ?? .wal
        let verification = StoreVerification(
          url: location.newStore, model: .init(model, configuration: configuration))
        return .init(external: try verification.carryOut(leaving: mode).external)
      }
      return SetAsideStore(url: outcome.kept ?? keptAt, date: note.date, code: note.code, reason: note.reason)
    }
  }

  /// Returns a new directory named after the date. An existing one may contain the log of another store.
  ///
  /// - Throws: `RegularFile.Problem.notDirectory` if the directory of such stores is a symbolic link, or not a
  ///   directory.
  static func unusedURL(for location: StoreLocation, date: Date) throws -> URL {
    let stamp = dateName(date)
    let folder = location.folder.appendingPathComponent(SetAsideNote.folderName, isDirectory: true)
    let directory = try OpenDirectory.open(location.folder).directoryIfPresent(SetAsideNote.folderName)
    var number = 1
    while true {
      let name = number == 1 ? stamp : "\(stamp) \(number)"
      // Skips a name that is taken, for example by a symbolic link.
      if directory?.exists(name) != true {
        return folder.appendingPathComponent(name, isDirectory: true).appendingPathComponent(
          location.file.lastPathComponent)
      }
      number += 1
    }
  }

  /// Returns a name such as `2026-11-21 214503`, in UTC. Some file systems do not allow colons in names.
  private static func dateName(_ date: Date) -> String {
    date.formatted(
      .iso8601.year().month().day().dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        .timeSeparator(.omitted))
  }
}

extension SetAsideStore {
  /// Removes the store, its external data, and its directory if nothing else is in it.
  ///
  /// - Throws: 134070 if a symbolic link is in the way; 512, 513 and related codes if the file system fails.
  public func remove() throws {
    try ErrorTranslation.translating(url: url, during: .use) {
      let (name, stamp) = (url.lastPathComponent, url.deletingLastPathComponent())
      let outer = try OpenDirectory.open(stamp.deletingLastPathComponent(), followsLinks: false)
      guard let directory = try outer.directoryIfPresent(stamp.lastPathComponent) else { return }
      for file in [name] + StoreLocation.companionSuffixes.map({ name + $0 }) { try directory.removeFile(file) }
      try directory.removeTree(SupportDirectory(store: url).url.lastPathComponent)
      try directory.removeFile(SetAsideNote.name(besideStore: name))
      try outer.removeDirectoryIfEmpty(stamp.lastPathComponent)
      try OpenDirectory.open(outer.url.deletingLastPathComponent()).removeDirectoryIfEmpty(outer.url.lastPathComponent)
    }
  }
}

extension SetAsideNote {
  /// Creates the note of the error because of which a store is set aside.
  init(_ error: NSError?) {
    self.init(
      code: error?.code ?? 0,
      reason: [error?.localizedDescription, error?.localizedFailureReason].compactMap { $0 }.joined(separator: " "))
  }
}

extension NSPersistentStore {
  /// The outcome of the interrupted work that opening the store has recovered from; nil if there was none. An addition
  /// to Apple's API.
  public var recoveryOutcome: StoreRecovery.Outcome? { settledWork.map(StoreRecovery.Outcome.init) }
}
