// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Errors of stores as a whole.
package enum StoreErrors {
  /// 134080
  package static func cannotOpen(url: URL?, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.", reason: reason,
      suggestion: "Check the location of the store and the options it is opened with.", url, underlying: underlying)
  }

  /// 260
  package static func noSuchFile(url: URL) -> NSError {
    error(
      CocoaError.Code.fileReadNoSuchFile.rawValue,
      "The persistent store could not be opened because there is no such file.",
      reason: "There is no file at \(url.path).", suggestion: "Check the path, or create the store first.", url)
  }

  /// 259: the file is not a store.
  package static func notAStore(
    url: URL, reason: String, suggestion: String? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    error(
      CocoaError.Code.fileReadCorruptFile.rawValue, "The file is not a persistent store, or it is damaged.",
      reason: reason,
      suggestion: suggestion ?? "Check that this is the right file; if it is, restore it from a backup.", url,
      underlying: underlying)
  }

  /// 134090: another process uses the store.
  package static func inUse(url: URL, reason: String) -> NSError {
    error(
      NSPersistentStoreTimeoutError, "The persistent store is in use.", reason: reason,
      suggestion: "Close other programs that use the store, or try again later.", url)
  }

  /// 259: SQLite's integrity check fails.
  package static func damaged(url: URL, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      CocoaError.Code.fileReadCorruptFile.rawValue, "The persistent store is damaged, and was not migrated.",
      reason: reason,
      suggestion:
        "The store is unchanged. Restore it from a backup, or recover what can be read from a copy of it with "
        + "SQLite's command: sqlite3 '\(url.lastPathComponent)' .recover | sqlite3 'Recovered.sqlite'.", url,
      underlying: underlying)
  }

  /// 3072: the reads of an asynchronous fetch have been interrupted.
  static func fetchCancelled() -> NSError {
    .cocoa(
      CocoaError.Code.userCancelled.rawValue, "The fetch was cancelled.",
      reason: "Its progress or its result was cancelled.", suggestion: "Execute the request again.")
  }

  /// 134000
  package static func invalidType(_ type: String, known: [String]) -> NSError {
    error(
      NSPersistentStoreInvalidTypeError, "The persistent store type is unknown.",
      reason: "The store type is '\(type)'.", suggestion: "Use \(Self.list(known, word: "or")).", nil)
  }

  /// 134080: the URL of a server whose scheme no linked target supports.
  package static func unknownServer(url: URL, scheme: String) -> NSError {
    let isPostgreSQL = scheme.lowercased().hasPrefix("postgres")
    return error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.",
      reason:
        "The location '\(url.locationText)' names no file, and no class of stores is registered for '\(scheme):'.",
      suggestion: isPostgreSQL
        ? "Add the product CoreDataPostgreSQL to the target, and call PostgreSQLStores.register() where it is not found "
          + "by itself." : "Give the path of a file.", url)
  }

  /// 134010: the store is of another type.
  package static func typeMismatch(url: URL, reason: String) -> NSError {
    error(
      NSPersistentStoreTypeMismatchError, "The persistent store is of another type.", reason: reason,
      suggestion: "Name the type that the store has.", url)
  }

  /// 134080: an unknown configuration.
  package static func unknownConfiguration(_ name: String, known: [String], url: URL?) -> NSError {
    let suggestion =
      known.isEmpty
      ? "The model has no configurations: open the store without one."
      : "Use \(list(known, word: "or")), or none for all entities."
    return error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.",
      reason: "The model has no configuration named '\(name)'.", suggestion: suggestion, url)
  }

  /// 134080: an option with a value of the wrong type.
  package static func invalidOption(_ key: String, _ value: Any, wanted: String) -> NSError {
    error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.",
      reason:
        "The option '\(key)' has the value \(String(describing: value).prefix(100)), which is not of the right type.",
      suggestion: "Use \(wanted).", nil)
  }

  /// A store's directory cannot be created. The code is Foundation's.
  static func cannotCreateDirectory(of url: URL, _ failure: NSError) -> NSError {
    let directory = url.deletingLastPathComponent()
    let causes = sequence(first: failure) { $0.userInfo[NSUnderlyingErrorKey] as? NSError }
    let system = causes.first { $0.domain == NSPOSIXErrorDomain }.map { String(cString: strerror(Int32($0.code))) }
    return error(
      failure.isCocoa ? failure.code : CocoaError.Code.fileWriteUnknown.rawValue,
      "The directory of the store could not be created.",
      reason: "The directory '\(directory.path)' for the store '\(url.lastPathComponent)' could not be created: "
        + "\((system ?? failure.localizedDescription).trimmingCharacters(in: CharacterSet(charactersIn: "."))).",
      suggestion: "Check the path of the store and the permissions of the directories above it.", url,
      underlying: failure)
  }

  /// 134070
  package static func operationFailed(url: URL?, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      NSPersistentStoreOperationError, "The operation on the persistent store failed.", reason: reason,
      suggestion: "The store is unchanged. Remove the cause and try again.", url, underlying: underlying)
  }

  /// 134070: the file of an open store was destroyed or replaced.
  package static func disconnected(url: URL?, reason: String) -> NSError {
    error(
      NSPersistentStoreOperationError, "The operation on the persistent store failed.", reason: reason,
      suggestion: "Remove the store from its coordinator, and add it again.", url)
  }

  /// 134100 if another connection has migrated an open store, or replaced it with one of another version; 134070 if the
  /// version is the same, but the tables have changed.
  ///
  /// - Parameters:
  ///   - wasReplaced: whether the store's file was replaced.
  ///   - name: returns the name of a version that is among those of the program.
  package static func changedVersion(
    url: URL?, _ problem: StoreVersionProblem, wasReplaced: Bool = false,
    name: (StoreVersion) -> String? = { _ in nil }
  ) -> NSError {
    guard case .migrated(let old, let new) = problem else {
      return disconnected(
        url: url,
        reason:
          "While it was open, the tables of the store were changed by another process, or by another coordinator of "
          + "this one: entities have other numbers, or tables and columns other names. Nothing was read or saved.")
    }
    let words = StoreVersion.text(old, new, name: name)
    let place = url.map { " at \($0.locationText)" } ?? ""
    let change =
      wasReplaced
      ? "the store\(place) was replaced: it was of \(words.first), and the new one is of \(words.second)."
      : "the store\(place) was migrated from \(words.first) to \(words.second), by another process or by another "
        + "coordinator of this one."
    let differences = VersionDifference.between(store: new.hashes, model: old.hashes)
    return error(
      NSPersistentStoreIncompatibleVersionHashError,
      "The persistent store has been migrated to another version of its model since it was opened.",
      reason: "While it was open, \(change) Nothing was read or saved.",
      suggestion: "Close the store and open it again with the model of its new version: end this program and start the "
        + "one with that version, or remove the store from its coordinator and add it again. Changes that are not saved "
        + "are still in their contexts.",
      url, [ErrorDetail.storeHashes: new.hashes, "differences": differences.map(\.sentence)])
  }

  /// 134091: a store that cannot pin query generations.
  package static func noGenerations(of store: NSPersistentStore, reason: String) -> NSError {
    error(
      NSPersistentStoreUnsupportedRequestTypeError, "The store does not support query generations.", reason: reason,
      suggestion: "Use a SQLite store with the journal mode WAL, or set no query generation.", store.url)
  }

  /// 134091: a query generation of another coordinator.
  package static func otherGeneration() -> NSError {
    error(
      NSPersistentStoreUnsupportedRequestTypeError, "The query generation cannot be used.",
      reason: "The token comes from a context of another coordinator.",
      suggestion: "Use the token of a context with the same coordinator.", nil)
  }

  /// 134030: no primary keys are left.
  package static func keysExhausted(url: URL?, entity: String, table: String, last: Int64) -> NSError {
    error(
      NSPersistentStoreSaveError, "The objects could not be saved.",
      reason:
        "No primary keys are left for new objects of '\(entity)': the last key in the store is \(last), and "
        + "\(Int64.max) is the greatest possible.",
      suggestion:
        "Correct Z_MAX in the row of '\(entity)' in Z_PRIMARYKEY, and Z_PK of any row in \(table) with such a key, or "
        + "restore the store from a backup.", url, ErrorDetail.userInfo(entity: entity))
  }

  /// 513: the store was opened read-only, or its file or directory is.
  package static func readOnly(url: URL?, byOption: Bool = false) -> NSError {
    error(
      CocoaError.Code.fileWriteNoPermission.rawValue, "The persistent store cannot be written.",
      reason: "The store \(url.map { "at \($0.locationText) " } ?? "")is read-only.",
      suggestion: byOption
        ? "Open it without NSReadOnlyPersistentStoreOption."
        : "Check the permissions of the file and its directory: SQLite creates files beside the store while writing.",
      url)
  }

  /// 513: an open store is read-only.
  package static func readOnly(_ store: NSPersistentStore) -> NSError {
    guard store.isForcedReadOnly else {
      return readOnly(url: store.url, byOption: StoreOptions(store.options).isReadOnly)
    }
    return error(
      CocoaError.Code.fileWriteNoPermission.rawValue, "The persistent store cannot be written.",
      reason: "The store \(store.url.map { "at \($0.path) " } ?? "")has persistent history, and was opened without "
        + "recording it.",
      suggestion: "Open it with NSPersistentHistoryTrackingKey.", store.url)
  }

  /// 134100: the store was written with another version of the model.
  ///
  /// - Parameters:
  ///   - metadata: the store's metadata.
  ///   - differences: the known differences between the store's model and the given one.
  package static func incompatibleVersionHash(
    url: URL?, metadata: [String: Any], differences: [VersionDifference]
  ) -> NSError {
    let opening = "The model used to open the store is incompatible with the one used to create the store"
    let details = VersionDifference.text(differences, limit: listedDifferences)
    return error(
      NSPersistentStoreIncompatibleVersionHashError,
      "The managed object model version used to open the persistent store is incompatible with the one that was used "
        + "to create the persistent store.",
      reason: details.isEmpty ? "\(opening)." : "\(opening): \(details)",
      suggestion: "Open the store with the model version it was written with, or migrate it: set "
        + "NSMigratePersistentStoresAutomaticallyOption and NSInferMappingModelAutomaticallyOption.",
      url,
      ErrorDetail.store(metadata: metadata).merging(["differences": differences.map(\.sentence)]) { $1 })
  }

  /// The maximum number of differences in an error's reason. The user info has all of them.
  private static let listedDifferences = 12

  private static func list(_ names: [String], word: String) -> String {
    let quoted = names.map { "'\($0)'" }
    guard let last = quoted.last, quoted.count > 1 else { return quoted.first ?? "another" }
    return "\(quoted.dropLast().joined(separator: ", ")) \(word) \(last)"
  }

  private static func error(
    _ code: Int, _ description: String, reason: String, suggestion: String, _ url: URL?,
    underlying: (any Error)? = nil, _ details: [String: Any] = [:]
  ) -> NSError {
    var info = details
    info[ErrorDetail.url] = url
    info[NSFilePathErrorKey] = url?.path
    return NSError.cocoa(
      code, description, reason: reason, suggestion: suggestion, underlying: underlying, info)
  }
}
