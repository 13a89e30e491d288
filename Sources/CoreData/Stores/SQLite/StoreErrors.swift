// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Errors of stores as a whole: type, opening, compatibility, operations.
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

  /// 134000
  package static func invalidType(_ type: String, known: [String]) -> NSError {
    error(
      NSPersistentStoreInvalidTypeError, "The persistent store type is unknown.",
      reason: "The store type is '\(type)'.", suggestion: "Use \(Self.list(known, word: "or")).", nil)
  }

  /// 134080: a URL of a server, and no target that has stores there.
  package static func unknownServer(url: URL, scheme: String) -> NSError {
    let isPostgreSQL = scheme.lowercased().hasPrefix("postgres")
    return error(
      NSPersistentStoreOpenError, "The persistent store could not be opened.",
      reason: "The location '\(url.place)' names no file, and no class of stores is registered for '\(scheme):'.",
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

  /// The directory of a new store cannot be created; Foundation's code.
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

  /// 134100: another connection has migrated an open store, or has put one of another version in its place; 134070: the
  /// store is of the same version, and its tables have changed.
  ///
  /// - Parameters:
  ///   - wasReplaced: whether the store is in another file than before.
  ///   - name: names a version that is among those of the program.
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
    let words = StoreVersion.words(old, new, name: name)
    let place = url.map { " at \($0.place)" } ?? ""
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

  /// 134091: a store that keeps no earlier states.
  package static func noGenerations(of store: NSPersistentStore, reason: String) -> NSError {
    error(
      NSPersistentStoreUnsupportedRequestTypeError, "The store does not support query generations.", reason: reason,
      suggestion: "Use a SQLite store with the journal mode WAL, or set no query generation.", store.url)
  }

  /// 134091: a query generation of another coordinator.
  package static func otherGeneration() -> NSError {
    error(
      NSPersistentStoreUnsupportedRequestTypeError, "The query generation cannot be used.",
      reason: "The token is of a context with another coordinator.",
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
        + "restore the store from a backup.", url, ErrorDetail.place(entity: entity))
  }

  /// 513: the store was opened read-only, or its file or directory is.
  package static func readOnly(url: URL?, byOption: Bool = false) -> NSError {
    error(
      CocoaError.Code.fileWriteNoPermission.rawValue, "The persistent store cannot be written.",
      reason: "The store \(url.map { "at \($0.place) " } ?? "")is read-only.",
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
    url: URL?, metadata: [String: Any], differences: [VersionDifference], suggestion: String? = nil
  ) -> NSError {
    let opening = "The model used to open the store is incompatible with the one used to create the store"
    let details = VersionDifference.words(differences, limit: listedDifferences)
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

  /// How many differences an error lists in its reason; all of them are in its user info.
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

/// Errors of SQLite stores, translated from those of the layers below.
package enum SQLiteStoreErrors {
  /// Runs a closure, and translates the errors it throws to `NSError`. Row conflicts pass through.
  package static func translating<Result>(url: URL?, isOpening: Bool, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let conflicts as RowConflicts {
      throw conflicts
    } catch let failure as SQLiteError {
      throw failure.isUniqueConstraint
        ? notUnique(failure, url: url)
        : SQLiteErrors.error(failure, url: url, isOpening: isOpening)
    } catch let failure as SQLiteRollbackFailure {
      throw StoreErrors.operationFailed(url: url, reason: failure.description, underlying: failure.cause)
    } catch let problem as StoreFileProblem {
      throw error(for: problem, url: url)
    } catch let problem as SchemaProblem {
      throw incompatible(problem, url: url)
    } catch let problem as RowProblem {
      throw error(for: problem, url: url)
    } catch let problem as StoreVersionProblem {
      throw StoreErrors.changedVersion(url: url, problem)
    } catch let problem as HistoryProblem {
      throw StoreErrors.operationFailed(url: url, reason: problem.description, underlying: problem)
    } catch let failure as FileFailure {
      throw FileErrors.error(failure, store: url ?? URL(fileURLWithPath: failure.path))
    } catch let problem as RegularFile.Problem {
      throw FileErrors.error(problem, store: url ?? URL(fileURLWithPath: problem.path))
    } catch let file as ExternalData.UnreadableFile {
      throw StoreErrors.operationFailed(url: url, reason: "A value of the store cannot be read: \(file).")
    } catch let error as NSError where error.isFoundationFileError && error.hasFileCode {
      let path = error.userInfo[NSFilePathErrorKey] as? String
      throw FileErrors.error(error, store: url ?? URL(fileURLWithPath: path ?? "/"))
    }
  }

  /// An error as `translating(url:isOpening:_:)` throws it.
  package static func translated(_ error: any Error, url: URL?) -> any Error {
    do {
      return try translating(url: url, isOpening: false) { throw error }
    } catch {
      return error
    }
  }

  /// 260 for no file, 259 for one that is not a store.
  package static func error(for problem: StoreFileProblem, url: URL?) -> NSError {
    switch problem {
    case .missing(let path): StoreErrors.noSuchFile(url: url ?? URL(fileURLWithPath: path))
    case .busy(let path): StoreErrors.inUse(url: url ?? URL(fileURLWithPath: path), reason: problem.description)
    case .noRoomForCopy(let path, _, _): noRoomForCopy(problem, URL(fileURLWithPath: path))
    case .contradictory(let path, _):
      StoreErrors.damaged(
        url: url ?? URL(fileURLWithPath: path), reason: problem.description, underlying: problem)
    case .notRegular(let path, _):
      StoreErrors.cannotOpen(url: url ?? URL(fileURLWithPath: path), reason: problem.description)
    case .notADatabase(let path): notADatabase(problem, url ?? URL(fileURLWithPath: path))
    case .truncated(let path, _, _), .notAStore(let path, _),
      .unreadableMetadata(let path, _), .contradictoryEntities(let path, _), .noModelCache(let path):
      StoreErrors.notAStore(
        url: url ?? URL(fileURLWithPath: path), reason: problem.description, underlying: problem)
    case .unwritableMetadata: unwritableMetadata(problem, url: url)
    case .unkeepableModel(let error):
      ModelErrors.cannotRead(error, "The managed object model cannot be stored.")
    }
  }

  /// 640: a store that can be read only from a copy.
  private static func noRoomForCopy(_ problem: StoreFileProblem, _ url: URL) -> NSError {
    .cocoa(
      CocoaError.Code.fileWriteOutOfSpace.rawValue, "There is no space left to read the persistent store.",
      reason: problem.description, suggestion: "Free some space on a disk and try again; nothing was changed.",
      underlying: problem, details(url))
  }

  /// 259: no database. A file that begins like a store of another type is told as one.
  private static func notADatabase(_ problem: StoreFileProblem, _ url: URL) -> NSError {
    // What cannot be read is told by the problem.
    let start = (try? DatabaseFile(path: url.path).firstBytes(8)) ?? Data()
    let other: (words: String, type: String)? =
      start.starts(with: Data("<?xml".utf8))
      ? ("an XML store", "NSXMLStoreType")
      : start.starts(with: Data("bplist".utf8)) ? ("a binary store", "NSBinaryStoreType") : nil
    return StoreErrors.notAStore(
      url: url, reason: problem.description + (other.map { " It begins like \($0.words)." } ?? ""),
      suggestion: other.map { "Open it as a store of the type \($0.type), if it is one." }, underlying: problem)
  }

  /// 512: the metadata contain a value that a property list cannot contain.
  private static func unwritableMetadata(_ problem: StoreFileProblem, url: URL?) -> NSError {
    .cocoa(
      CocoaError.Code.fileWriteUnknown.rawValue, "The metadata of the persistent store cannot be written.",
      reason: problem.description, suggestion: "Remove the value, or convert it to Data or String.",
      underlying: problem, details(url))
  }

  /// 133021: duplicate values under a uniqueness constraint.
  package static func notUnique(_ failure: SQLiteError, url: URL?) -> NSError {
    let columns = failure.violatedColumns.map { "\($0.table).\($0.column)" }.joined(separator: ", ")
    return .cocoa(
      NSManagedObjectConstraintMergeError, "A uniqueness constraint is violated.",
      reason: "Another row has the same \(columns.isEmpty ? "values" : "value in \(columns)"): \(failure.message).",
      suggestion: "Change the values, or delete one of the objects.", underlying: failure, details(url))
  }

  /// 134020: the tables do not match the model.
  package static func incompatible(_ problem: SchemaProblem, url: URL?) -> NSError {
    let suggestion =
      problem.isOfModel
      ? "Correct the model. Nothing was written."
      : problem.isMissing
        ? "Open the store with the model version that it was written with. If this is that version, another program has "
          + "changed the tables, or they are laid out in a way that this framework does not know: keep the store as it is, "
          + "and read its rows with coredata store export."
        : "Open the store with the model version that it was written with, or restore it from a backup."
    return .cocoa(
      NSPersistentStoreIncompatibleSchemaError,
      problem.isOfModel ? "The model cannot be stored in tables." : "The store's tables do not match the model.",
      reason: problem.description, suggestion: suggestion,
      underlying: problem, details(url).merging(problem.place) { $1 })
  }

  /// 134070: a row cannot be read or written.
  package static func error(for problem: RowProblem, url: URL?) -> NSError {
    let suggestion =
      if case .unwritableValue = problem.kind {
        "Change the value, and save again. Nothing was saved."
      } else {
        "Restore a backup (coredata migrate restore STORE BACKUP), or check the store with another tool."
      }
    return .cocoa(
      NSPersistentStoreOperationError, "A row of the store cannot be read or written.", reason: problem.description,
      suggestion: suggestion,
      underlying: problem,
      details(url).merging([ErrorDetail.property: problem.property]) { $1 })
  }

  private static func details(_ url: URL?) -> [String: Any] {
    var details: [String: Any] = [:]
    details[ErrorDetail.url] = url
    details[NSFilePathErrorKey] = url?.path
    return details
  }
}

extension SchemaProblem {
  /// The entity and property of the problem.
  fileprivate var place: [String: Any] {
    switch self {
    case .unknownConfiguration, .foreignTable: [:]
    case .unknownEntity(let entity, _), .missingParent(let entity, _), .inheritanceCycle(let entity),
      .entityNotInStore(let entity), .unusableNumber(let entity, _), .tableNotInStore(let entity, _),
      .keyNotPrimary(let entity, _):
      ErrorDetail.place(entity: entity)
    case .missingDestination(let entity, let property, _), .unstorableAttribute(let entity, let property, _),
      .inverseOfAnother(let entity, let property, _),
      .columnNotInStore(let entity, let property, _, _), .joinTableNotInStore(let entity, let property, _),
      .columnOfOtherType(let entity, let property, _, _, _):
      ErrorDetail.place(entity: entity, property: property)
    }
  }
}

/// Cocoa errors for failures of SQLite.
///
/// Every error has SQLite's code under `NSSQLiteErrorDomain`, and SQLite's message in the reason.
package enum SQLiteErrors {
  /// Returns the error for a failure.
  ///
  /// - Parameters:
  ///   - failure: SQLite's error.
  ///   - url: the location of the store.
  ///   - isOpening: whether the store was being opened, so that other failures are 134080.
  package static func error(_ failure: SQLiteError, url: URL?, isOpening: Bool = false) -> NSError {
    let path = url?.path ?? failure.path
    var info: [String: Any] = [NSSQLiteErrorDomain: Int(failure.code), NSFilePathErrorKey: path]
    info[ErrorDetail.url] = url
    info["sql"] = failure.sql
    let kind = kind(of: failure, path: path, isOpening: isOpening)
    let statement = failure.sql.map { " The statement was: \($0)." } ?? ""
    let system = failure.isOutOfResources ? failure.systemError.map { " (\(String(cString: strerror($0))))" } ?? "" : ""
    return NSError.cocoa(
      kind.code, kind.description,
      reason: "SQLite error \(failure.extendedCode) for '\(path)': \(failure.message)\(system).\(statement)",
      suggestion: kind.suggestion, underlying: failure, info)
  }

  private struct Kind {
    var code: Int
    var description: String
    var suggestion: String
  }

  private static func kind(of failure: SQLiteError, path: String, isOpening: Bool) -> Kind {
    if failure.isNotADatabase || failure.isCorrupt {
      return Kind(
        code: CocoaError.Code.fileReadCorruptFile.rawValue,
        description: "The file is not a persistent store, or it is damaged.",
        suggestion: "Check that this is the right file; if it is, restore it from a backup.")
    }
    if failure.isFull {
      return Kind(
        code: CocoaError.Code.fileWriteOutOfSpace.rawValue,
        description: "There is no space left for the persistent store.",
        suggestion: "Free some space on the disk and try again; nothing was changed.\(logRemark(path))")
    }
    if failure.isReadOnly {
      return Kind(
        code: CocoaError.Code.fileWriteNoPermission.rawValue, description: "The persistent store cannot be written.",
        suggestion: "Check the permissions of the file and its directory.")
    }
    if failure.isBusy {
      return Kind(
        code: NSPersistentStoreTimeoutError, description: "The persistent store is in use.",
        suggestion: "Close other programs that use the store, or try again later.")
    }
    if failure.isOutOfResources {
      return Kind(
        code: NSPersistentStoreOpenError, description: "The persistent store could not be opened.",
        suggestion:
          "Close files that the process does not need, or raise its limit (ulimit -n), and try again; nothing was changed."
      )
    }
    if failure.isCannotOpen { return cannotOpen(path: path) }
    if isOpening {
      return Kind(
        code: NSPersistentStoreOpenError, description: "The persistent store could not be opened.",
        suggestion: "Check the location of the store and the options it is opened with.")
    }
    return Kind(
      code: NSSQLiteError, description: "The persistent store failed.",
      suggestion: "See SQLite's message in the reason. The failed statement has changed nothing.")
  }

  /// A sentence about a long log; otherwise empty.
  private static func logRemark(_ path: String) -> String {
    let size = DatabaseCompanions.logFileSize(path) >> 20
    guard size > 0 else { return "" }
    return
      " The store's write-ahead log has \(size) MB. It becomes shorter when no context or process reads an earlier "
      + "state of the store any more, and when the disk has room for the pages in it."
  }

  private static func cannotOpen(path: String) -> Kind {
    let files = FileManager.default
    if !TemporaryName.leavesRoom(URL(fileURLWithPath: path)) {
      return Kind(
        code: CocoaError.Code.fileReadInvalidFileName.rawValue,
        description: "The persistent store could not be opened because its path is too long.",
        suggestion: "Use a path of at most 503 bytes, with a file name of at most 247.")
    }
    if !files.fileExists(atPath: path), files.isWritableFile(atPath: (path as NSString).deletingLastPathComponent) {
      return Kind(
        code: CocoaError.Code.fileReadNoSuchFile.rawValue,
        description: "The persistent store could not be opened because there is no such file.",
        suggestion: "Check the path, or create the store first.")
    }
    if files.fileExists(atPath: path), !files.isReadableFile(atPath: path) {
      return Kind(
        code: CocoaError.Code.fileReadNoPermission.rawValue,
        description: "The persistent store could not be opened because its file may not be read.",
        suggestion: "Check the permissions of the file.")
    }
    return Kind(
      code: NSPersistentStoreOpenError, description: "The persistent store could not be opened.",
      suggestion: "Check that the directory exists and is writable, and that the path names a file.")
  }
}
