// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Sets a store aside and replaces it by a new one, atomically.
struct SettingAside {
  let url: URL
  let model: NSManagedObjectModel
  var configuration: String?
  var pragmas: [String: String] = [:]
  var timeout = StoreMigration.defaultBusyTimeout

  /// Opens a store. If that fails because the store is damaged or does not fit the model, and the options allow it, sets the
  /// store aside and opens a new one.
  static func open(
    _ url: URL, model: NSManagedObjectModel, _ configuration: String?, _ options: StoreOptions,
    _ body: () throws -> NSPersistentStore
  ) throws -> NSPersistentStore {
    do {
      return try body()
    } catch let error as NSError where options.setsAside && !options.isReadOnly && isOfStore(error) {
      let aside = try SettingAside(
        url: url, model: model, configuration: configuration, pragmas: options.pragmas,
        timeout: options.timeout ?? StoreMigration.defaultBusyTimeout
      ).run(because: error)
      let store = try body()
      store.storeSetAside = aside
      return store
    }
  }

  /// Whether an error means that the store does not fit the model or is damaged, so that trying again will not help.
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
      try RecoveryErrors.translating(url: url) {
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

/// A store that was set aside because it was damaged or did not fit the model, and that a new one has replaced. An addition
/// to Apple's interface.
///
/// It is kept under its old name, with its external data, in a directory named after the date within the directory
/// `Incompatible` beside the store. Any tool can open it there. It is never removed automatically.
public struct SetAsideStore: Hashable, Sendable {
  /// Where the store is now.
  public let url: URL
  /// When it was set aside.
  public let date: Date
  /// The code of the error that was the reason; 0 where there was none.
  public let code: Int
  /// Why it was set aside, in the words of that error.
  public let reason: String

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
