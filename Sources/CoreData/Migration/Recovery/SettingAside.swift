// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Puts a store aside, and a new one in its place: one exchange, so that there is a store at every moment.
struct SettingAside {
  let url: URL
  let model: NSManagedObjectModel
  var configuration: String?
  var pragmas: [String: String] = [:]
  var timeout = StoreMigration.defaultBusyTimeout

  /// Opens a store, and where that fails because of what the store is, and the options say so, sets it aside and opens a new
  /// one.
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

  /// Whether an error tells that the store does not fit the model, or is damaged; the same will be told the next time.
  private static func isOfStore(_ error: NSError) -> Bool {
    let codes = [
      NSPersistentStoreIncompatibleVersionHashError, NSPersistentStoreIncompatibleSchemaError, NSMigrationError,
      NSMigrationConstraintViolationError, NSMigrationMissingSourceModelError, NSMigrationMissingMappingModelError,
      NSInferredMappingModelError, CocoaError.Code.fileReadCorruptFile.rawValue,
    ]
    return error.domain == NSCocoaErrorDomain && codes.contains(error.code)
  }

  /// Does it.
  ///
  /// - Throws: errors of the public interface; the store is where it was then.
  func run(because error: NSError?) throws -> SetAsideStore {
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      try RecoveryErrors.translating(url: url) {
        let place = StoreLocation(url)
        guard FileCalls.exists(place.file) else { throw StoreFileProblem.missing(path: url.path) }
        // The store is set aside as SQLite would have it, and not with half a transaction.
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

  /// A directory that bears the date, and that is not there yet: what lies in one may be the log of another store.
  ///
  /// - Throws: `RegularFile.Problem.notDirectory` where the directory of such stores is a link, or something else.
  static func freePlace(for place: StoreLocation, date: Date) throws -> URL {
    let stamp = dateName(date)
    let folder = place.folder.appendingPathComponent(SetAsideNote.folderName, isDirectory: true)
    let directory = try OpenDirectory.open(place.folder).directoryIfPresent(SetAsideNote.folderName)
    var number = 1
    while true {
      let name = number == 1 ? stamp : "\(stamp) \(number)"
      // A name that something else has, such as a link, is passed by.
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
