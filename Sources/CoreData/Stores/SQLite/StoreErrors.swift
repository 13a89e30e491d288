// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// Errors of stores as a whole: type, opening, compatibility, operations.
enum StoreErrors {
  /// 134080
  static func cannotOpen(url: URL?, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.", reason: reason,
      suggestion: "Check the location of the store and the options it is opened with.", url, underlying: underlying)
  }

  /// 260
  static func noSuchFile(url: URL) -> NSError {
    error(
      CocoaError.Code.fileReadNoSuchFile.rawValue,
      "The persistent store could not be opened because there is no such file.",
      reason: "There is no file at \(url.path).", suggestion: "Check the path, or create the store first.", url)
  }

  /// 259: the file is not a store.
  static func notAStore(url: URL, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      CocoaError.Code.fileReadCorruptFile.rawValue, "The file is not a persistent store, or it is damaged.",
      reason: reason, suggestion: "Check that this is the right file; if it is, restore it from a backup.", url,
      underlying: underlying)
  }

  /// 134090: another process uses the store.
  static func inUse(url: URL, reason: String) -> NSError {
    error(
      NSPersistentStoreTimeoutError, "The persistent store is in use.", reason: reason,
      suggestion: "Close other programs that use the store, or try again later.", url)
  }

  /// 259: SQLite's integrity check fails.
  static func damaged(url: URL, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      CocoaError.Code.fileReadCorruptFile.rawValue, "The persistent store is damaged, and was not migrated.",
      reason: reason,
      suggestion:
        "The store is unchanged. Restore it from a backup, or recover what can be read from a copy of it with "
        + "SQLite's command: sqlite3 '\(url.lastPathComponent)' .recover | sqlite3 'Recovered.sqlite'.", url,
      underlying: underlying)
  }

  /// 134000
  static func invalidType(_ type: String, known: [String]) -> NSError {
    error(
      NSPersistentStoreInvalidTypeError, "The persistent store type is unknown.",
      reason: "The store type is '\(type)'.", suggestion: "Use \(Self.list(known, word: "or")).", nil)
  }

  /// 134080: an unknown configuration.
  static func unknownConfiguration(_ name: String, known: [String], url: URL?) -> NSError {
    let suggestion =
      known.isEmpty
      ? "The model has no configurations: open the store without one."
      : "Use \(list(known, word: "or")), or none for all entities."
    return error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.",
      reason: "The model has no configuration named '\(name)'.", suggestion: suggestion, url)
  }

  /// 134080: an option with a value of the wrong type.
  static func invalidOption(_ key: String, wanted: String) -> NSError {
    error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.",
      reason: "The value of the option '\(key)' is not of the right type.", suggestion: "Use \(wanted).", nil)
  }

  /// 134070
  static func operationFailed(url: URL?, reason: String, underlying: (any Error)? = nil) -> NSError {
    error(
      NSPersistentStoreOperationError, "The operation on the persistent store failed.", reason: reason,
      suggestion: "The store is unchanged. Remove the cause and try again.", url, underlying: underlying)
  }

  /// 134070: the file of an open store was destroyed or replaced.
  static func disconnected(url: URL?, reason: String) -> NSError {
    error(
      NSPersistentStoreOperationError, "The operation on the persistent store failed.", reason: reason,
      suggestion: "Remove the store from its coordinator, and add it again.", url)
  }

  /// 134030: no primary keys are left.
  static func keysExhausted(url: URL?, entity: String, table: String, last: Int64) -> NSError {
    error(
      NSPersistentStoreSaveError, "The objects could not be saved.",
      reason:
        "No primary keys are left for new objects of '\(entity)': the last key in the store is \(last), and "
        + "\(Int64.max) is the greatest possible.",
      suggestion:
        "Correct Z_MAX in the row of '\(entity)' in Z_PRIMARYKEY, and Z_PK of any row in \(table) with such a key, or "
        + "restore the store from a backup.", url, ErrorDetail.place(entity: entity))
  }

  /// 513: the store was opened read-only, or its file or directory is.
  static func readOnly(url: URL?, byOption: Bool = false) -> NSError {
    error(
      CocoaError.Code.fileWriteNoPermission.rawValue, "The persistent store cannot be written.",
      reason: "The store \(url.map { "at \($0.path) " } ?? "")is read-only.",
      suggestion: byOption
        ? "Open it without NSReadOnlyPersistentStoreOption."
        : "Check the permissions of the file and its directory: SQLite creates files beside the store while writing.",
      url)
  }

  /// 134100: the store was written with another version of the model.
  ///
  /// - Parameters:
  ///   - metadata: the store's metadata.
  ///   - differences: the known differences between the store's model and the given one.
  static func incompatibleVersionHash(
    url: URL?, metadata: [String: Any], differences: [VersionDifference], suggestion: String? = nil
  ) -> NSError {
    let opening = "The model used to open the store is incompatible with the one used to create the store"
    let details = differences.map(\.sentence).joined(separator: " ")
    return error(
      NSPersistentStoreIncompatibleVersionHashError,
      "The managed object model version used to open the persistent store is incompatible with the one that was used "
        + "to create the persistent store.",
      reason: details.isEmpty ? "\(opening)." : "\(opening): \(details)",
      suggestion: suggestion
        ?? "Open the store with the model version it was written with, or migrate it: set "
        + "NSMigratePersistentStoresAutomaticallyOption and NSInferMappingModelAutomaticallyOption.",
      url,
      ErrorDetail.store(metadata: metadata).merging(["differences": differences.map(\.sentence)]) { $1 })
  }

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
