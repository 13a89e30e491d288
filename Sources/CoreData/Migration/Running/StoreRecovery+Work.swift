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
  /// - Parameter url: where the store is.
  /// - Returns: nil where there is none.
  /// - Throws: 134070 for a journal that cannot be read, that a later version of the framework has written, or that names
  ///   files as none of its versions does, and for a work directory that is a link or belongs to somebody else; 513 where
  ///   the work directory may not be read.
  public static func inspect(storeAt url: URL) throws -> UnfinishedWork? {
    try translating(url: url) {
      let place = StoreLocation(url)
      guard FileCalls.exists(place.workFolder),
        let work = try WorkDirectory.open(place, in: OpenDirectory.open(place.folder)),
        try work.names().contains(where: StoreLocation.isOwn)
      else {
        guard try StoreFile.hasHotJournal(place.file) else { return nil }
        return UnfinishedWork(
          purpose: .transaction, started: nil, process: nil, source: nil, destination: nil, isRunning: false,
          isCommitted: false)
      }
      let isRunning = try MigrationLock.isHeld(work, place)
      guard let journal = try WorkJournal.read(work, place) else {
        return UnfinishedWork(
          purpose: nil, started: nil, process: nil, source: nil, destination: nil, isRunning: isRunning,
          isCommitted: false)
      }
      return UnfinishedWork(
        purpose: UnfinishedWork.Purpose(rawValue: journal.purpose.rawValue), started: journal.started,
        process: Int(journal.process), source: journal.source, destination: journal.destination, isRunning: isRunning,
        isCommitted: try journal.isCommitted(work)
          && (journal.isInPlace != true || InterruptedWork.namesNothing(of: journal, place)))
    }
  }

  /// Finishes or undoes unfinished work, as opening the store does. The journal of a killed writer of rows is rolled back.
  ///
  /// - Parameter url: where the store is.
  /// - Returns: what was done; nil where there was nothing to do.
  /// - Throws: 134110 when another process is at work; 134070 as `inspect(storeAt:)`; 512, 513, 640 and 642 when the file
  ///   system fails.
  @discardableResult
  public static func recover(storeAt url: URL) throws -> Outcome? {
    try translating(url: url) {
      let place = StoreLocation(url)
      let isRolledBack = try StoreFile.rollBackHotJournal(place.file)
      let found =
        FileCalls.exists(place.workFolder)
        ? try InterruptedWork.settle(MigrationLock.take(place)).map(Outcome.init) : nil
      return found ?? (isRolledBack ? .rolledBack : nil)
    }
  }

  /// Finishes or undoes interrupted work, and ignores work of a running process.
  ///
  /// - Throws: as `recover(storeAt:)`, but for 134110.
  package static func recover(interruptedAt url: URL) throws -> Outcome? {
    try translating(url: url) {
      try SQLiteStoreErrors.translating(url: url, isOpening: true) {
        try InterruptedWork.settle(beforeOpening: url).map(Outcome.init)
      }
    }
  }

  private static func translating<Result>(url: URL, _ body: () throws -> Result) throws -> Result {
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      try RecoveryErrors.translating(url: url, body)
    }
  }

  // MARK: Setting aside

  /// Sets a store aside, and puts a new, empty one in its place, in one moment.
  ///
  /// `Data.sqlite` goes to `Incompatible/2026-11-21 214503/Data.sqlite`, with what its log holds and its external data.
  ///
  /// - Parameters:
  ///   - url: where the store is. It may be damaged.
  ///   - model: the model of the new store.
  ///   - configuration: the configuration of the new store; nil for all entities.
  ///   - error: why; told by `storesSetAside(from:)` later.
  /// - Returns: where the old store lies.
  /// - Throws: 260 when there is no store; 134110 when another process is at work, 134080 and its family when somebody has the
  ///   store open; 512, 513, 640 and 642 when the file system fails. The store is where it was then.
  @discardableResult
  public static func setAside(
    storeAt url: URL, model: NSManagedObjectModel, configuration: String? = nil, because error: (any Error)? = nil
  ) throws -> SetAsideStore {
    try SettingAside(url: url, model: model, configuration: configuration).run(because: error.map { $0 as NSError })
  }

  /// The stores that were set aside from a place, the oldest first.
  ///
  /// - Parameter url: where the store of now is.
  /// - Throws: errors of reading the folder `Incompatible`, or of a note in it.
  public static func storesSetAside(from url: URL) throws -> [SetAsideStore] {
    try translating(url: url) {
      let place = StoreLocation(url)
      guard FileCalls.exists(place.folder) else { return [] }
      return try OpenDirectory.open(place.folder).directoryIfPresent(SetAsideNote.folderName)
        .map { try stores(in: $0, of: place) } ?? []
    }
  }

  private static func stores(in folder: OpenDirectory, of place: StoreLocation) throws -> [SetAsideStore] {
    let name = place.file.lastPathComponent
    return try folder.names().compactMap { stamp -> SetAsideStore? in
      guard let kind = folder.status(stamp), kind.st_mode & S_IFMT == S_IFDIR else { return nil }
      let directory = try folder.directory(stamp)
      guard directory.exists(name), directory.exists(SetAsideNote.name(besideStore: name)) else { return nil }
      let note = try SetAsideNote.read(in: directory, besideStore: name)
      return SetAsideStore(url: directory.path(name), date: note.date, code: note.code, reason: note.reason)
    }.sorted { ($0.date, $0.url.path) < ($1.date, $1.url.path) }
  }

  /// Brings back a store that was set aside, when its model is known again: migrates it into its old place.
  ///
  /// The store that is there now is set aside in turn. The one that is brought back also stays where it lies, as a backup,
  /// until `SetAsideStore.remove()`.
  ///
  /// - Parameters:
  ///   - store: what `storesSetAside(from:)` has listed.
  ///   - url: where the store is to be.
  ///   - modelURL: an `.xcdatamodeld` or `.momd` with the versions, or a single model.
  ///   - version: the name of the version that the store is to have; nil for the current one.
  ///   - progress: told how far the migration is; whatever it throws cancels it.
  /// - Returns: what was done; `replacedStore` is where the store that was there lies now.
  /// - Throws: the errors of planning and running a `StoreMigration`. All stores are where they were then.
  @discardableResult
  public static func restore(
    _ store: SetAsideStore, to url: URL, modelsAt modelURL: URL, version: String? = nil,
    progress: (MigrationProgress) throws -> Void = { _ in }
  ) throws -> MigrationReport {
    try restore(StoreMigration(storeAt: store.url, modelsAt: modelURL, version: version), to: url, progress)
  }

  /// Takes the store of a migration, migrated, to another place.
  static func restore(
    _ migration: StoreMigration, to url: URL, _ progress: (MigrationProgress) throws -> Void = { _ in }
  ) throws -> MigrationReport {
    try migration.translating {
      var work = MigrationByCopy(migration)
      work.place = StoreLocation(url)
      work.journal = WorkJournal(
        purpose: .restoring, source: migration.source, destination: migration.destination)
      let note = SetAsideNote(MigrationErrors.replaced(by: migration.storeURL, url: url))
      work.journal.setAside = note
      let keptAt =
        FileCalls.exists(work.place.file) ? try SettingAside.freePlace(for: work.place, date: note.date) : nil
      return try work.run(keptAt: keptAt, progress: progress)
    }
  }
}

/// Backups of stores, made before something is done to them. An addition to Apple's interface.
///
/// A backup is a store of its own: a database, `Data~.sqlite` for `Data.sqlite`, which holds what the store's log held,
/// and the files of large values, in `.Data~_SUPPORT`. It is made in a private directory, `.Data~-backup`, and gets its
/// name when it is complete and on the disk. So a backup that has its name is whole, also where the process was killed or
/// the power failed while it was made; the next one clears up what such a process has left.
public enum StoreBackup {
  /// Backs a store up beside itself, or in another directory.
  ///
  /// `Data.sqlite` becomes `Data~.sqlite`, as Core Data names the store that a migration has replaced; `Data~2.sqlite` and
  /// so on where something has that name, which stays as it is. Only those who may read the store may read the backup.
  ///
  /// - Parameters:
  ///   - url: where the store is. Others may use it meanwhile.
  ///   - folder: the directory for the backup, made where there is none; nil for that of the store.
  /// - Returns: where the backup is.
  /// - Throws: 260 where there is no store; 640 when the disk is full; the errors of reading the store and writing the
  ///   backup. No backup is left then.
  public static func make(of url: URL, in folder: URL? = nil) throws -> URL {
    try translating(url) { try BackupDirectory.makeBackup(of: url, in: folder ?? url.deletingLastPathComponent()) }
  }

  /// What processes have left that were killed while they made backups.
  public struct Leftovers: Hashable, Sendable {
    /// Backups that were complete, and have their names now.
    public var completed: [URL] = []
    /// How many were not complete, and have been removed.
    public var removedCount = 0
  }

  /// Clears up what processes have left that were killed while they made backups of a store, as the next backup does.
  ///
  /// - Parameters:
  ///   - url: where the store is.
  ///   - folder: the directory of the backups; nil for that of the store.
  /// - Returns: what was found.
  /// - Throws: 512, 513 and their kin when the file system fails.
  @discardableResult
  public static func clearLeftovers(of url: URL, in folder: URL? = nil) throws -> Leftovers {
    try translating(url) {
      let found = try BackupDirectory.settleAll(of: url, in: folder ?? url.deletingLastPathComponent())
      return Leftovers(completed: found.completed, removedCount: found.removedCount)
    }
  }

  /// Removes a backup, with its files of values.
  ///
  /// - Parameter backup: what `make(of:in:)` has returned.
  /// - Throws: 512, 513 and their kin when the file system fails.
  public static func remove(_ backup: URL) throws {
    try translating(backup) { try BackupDirectory.removeBackup(backup) }
  }

  /// Puts a backup in the place of its store, atomically; the backup stays.
  ///
  /// The store that is there is backed up in turn, under the next free name. Close it first: remove it from coordinators.
  ///
  /// - Parameters:
  ///   - backup: the backup, or any other store.
  ///   - url: where the store is, or was.
  /// - Returns: where the store is kept that was there; nil where there was none.
  /// - Throws: 260 where there is no backup; 259 where it is no store; 134160 where it is damaged; 134080 and its family
  ///   when somebody has the store open; 134110 when it is being migrated; 512, 513, 640 and 642 when the file system fails.
  ///   The store is as it was then.
  @discardableResult
  public static func restore(_ backup: URL, to url: URL) throws -> URL? {
    let usesLog = try translating(backup) {
      try StoreFile.peek(backup).close()
      return try SQLiteFileHeader.read(path: backup.path)?.usesWriteAheadLog ?? true
    }
    return try translating(url) {
      try StoreReplacement.restore(backup, to: url, usesLog: usesLog, timeout: StoreOptions.defaultTimeout)
    }
  }

  private static func translating<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      try RecoveryErrors.translatingReplacement(of: url, body)
    }
  }
}

/// Sets a store aside and replaces it by a new one, atomically.
struct SettingAside {
  let url: URL
  let model: NSManagedObjectModel
  var configuration: String?
  var pragmas: [String: String] = [:]
  var timeout = StoreOptions.defaultTimeout
  /// The file that does not fit; nil for whatever is there.
  var found: FileCalls.Identity?

  /// Another store is in the place of the one that does not fit: another process has migrated it or set it aside, or opening
  /// it has finished a stage of a migration, or a replacement that was interrupted.
  private struct ReplacedMeanwhile: Error {}

  /// Opens a store. If that fails because the store is damaged or does not fit the model, and the options allow it, sets the
  /// store aside and opens a new one.
  ///
  /// - Parameter attempts: how often a store is looked at again that was replaced while it was opened.
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

  /// Whether an error can mean that the store does not fit the model or is damaged, so that trying again will not help.
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
  /// - Throws: errors of the public interface. The store is then where it was.
  func run(because error: NSError?) throws -> SetAsideStore {
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      try RecoveryErrors.translatingReplacement(of: url) {
        let place = StoreLocation(url)
        guard FileCalls.exists(place.file) else { throw StoreFileProblem.missing(path: url.path) }
        // Otherwise the store would be set aside in the middle of a transaction.
        try StoreFile.rollBackHotJournal(place.file, timeout: timeout)
        var journal = WorkJournal(purpose: .settingAside)
        let note = SetAsideNote(error)
        journal.setAside = note
        try place.checkFile()
        let keptAt = try Self.freePlace(for: place, date: note.date)
        let outcome = try StoreReplacement(
          place: place, journal: journal, timeout: timeout, replacesDamaged: true
        ).run(keptAt: keptAt) { _ in
          if let found, FileCalls.identity(place.file) != found { throw ReplacedMeanwhile() }
          try StoreFile.create(
            at: place.newStore, document: model.document, configuration: configuration, pragmas: pragmas)
          let mode = pragmas["journal_mode"].flatMap { SQLiteJournalMode(rawValue: $0.lowercased()) } ?? .wal
          let verification = StoreVerification(
            url: place.newStore, model: .init(model, configuration: configuration))
          return .init(external: try verification.carryOut(leaving: mode).external)
        }
        return SetAsideStore(url: outcome.kept ?? keptAt, date: note.date, code: note.code, reason: note.reason)
      }
    }
  }

  /// A new directory named after the date: an existing one may hold the log of another store.
  ///
  /// - Throws: `RegularFile.Problem.notDirectory` where the directory of such stores is a link, or something else.
  static func freePlace(for place: StoreLocation, date: Date) throws -> URL {
    let stamp = dateName(date)
    let folder = place.folder.appendingPathComponent(SetAsideNote.folderName, isDirectory: true)
    let directory = try OpenDirectory.open(place.folder).directoryIfPresent(SetAsideNote.folderName)
    var number = 1
    while true {
      let name = number == 1 ? stamp : "\(stamp) \(number)"
      // A name that is taken, by a link for example, is skipped.
      if directory?.exists(name) != true {
        return folder.appendingPathComponent(name, isDirectory: true).appendingPathComponent(
          place.file.lastPathComponent)
      }
      number += 1
    }
  }

  /// `2026-11-21 214503`, in universal time; colons are not allowed in names everywhere.
  private static func dateName(_ date: Date) -> String {
    date.formatted(
      .iso8601.year().month().day().dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        .timeSeparator(.omitted))
  }
}

extension SetAsideStore {
  /// Removes the store, its external data, and its directory if nothing else is in it.
  ///
  /// - Throws: 134070 where a link stands in the way; 512, 513 and their kin when the file system fails.
  public func remove() throws {
    try RecoveryErrors.translating(url: url) {
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
  /// The note of an error because of which a store is set aside.
  init(_ error: NSError?) {
    self.init(
      code: error?.code ?? 0,
      reason: [error?.localizedDescription, error?.localizedFailureReason].compactMap { $0 }.joined(separator: " "))
  }
}

extension NSPersistentStore {
  /// The outcome of interrupted work on the store that opening it has recovered from; nil for none. An addition to
  /// Apple's API.
  public var recoveryOutcome: StoreRecovery.Outcome? { settledWork.map(StoreRecovery.Outcome.init) }
}
