// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteError: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    guard isUniqueConstraint else {
      return SQLiteErrors.error(self, url: context.url, isOpening: context.work == .opening)
    }
    // 133021: duplicate values under a uniqueness constraint.
    let columns = violatedColumns.map { "\($0.table).\($0.column)" }.joined(separator: ", ")
    return NSError.cocoa(
      NSManagedObjectConstraintMergeError, "A uniqueness constraint is violated.",
      reason: "Another row has the same \(columns.isEmpty ? "values" : "value in \(columns)"): \(message).",
      suggestion: "Change the values, or delete one of the objects.", underlying: self, context.details)
  }
}

extension SQLiteRollbackFailure: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    StoreErrors.operationFailed(url: context.url, reason: description, underlying: cause)
  }
}

extension StoreVersionProblem: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error { StoreErrors.changedVersion(url: context.url, self) }
}

extension UnfinishedStage: TranslatableError {
  /// 134100.
  package func translated(in context: ErrorContext) -> any Error {
    NSError.cocoa(
      NSPersistentStoreIncompatibleVersionHashError,
      "The persistent store is being migrated to another version of its model.",
      reason: "While it was open, another process, or another coordinator of this one, began the stage '\(name)' of a "
        + "migration of the store\(context.url.map { " at \($0.locationText)" } ?? ""). Nothing was read or saved.",
      suggestion: "End this program and start the one with the new version. If the migration has failed, open the "
        + "store again. Changes that are not saved are still in their contexts.", context.details)
  }
}

extension HistoryProblem: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    StoreErrors.operationFailed(url: context.url, reason: description, underlying: self)
  }
}

extension ExternalData.UnreadableFile: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    StoreErrors.operationFailed(url: context.url, reason: "A value of the store cannot be read: \(self).")
  }
}

extension StoreFileProblem: TranslatableError {
  /// 260 for a missing file, 259 for a file that is not a store, 640 for a store that can be read only from a copy, 512
  /// for metadata with a value that a property list cannot contain.
  package func translated(in context: ErrorContext) -> any Error {
    switch self {
    case .missing(let path): StoreErrors.noSuchFile(url: context.url(orPath: path))
    case .busy(let path): StoreErrors.inUse(url: context.url(orPath: path), reason: description)
    case .noRoomForCopy(let path, _, _):
      NSError.cocoa(
        CocoaError.Code.fileWriteOutOfSpace.rawValue, "There is no space left to read the persistent store.",
        reason: description, suggestion: "Free some space on a disk and try again; nothing was changed.",
        underlying: self, ErrorContext(url: URL(fileURLWithPath: path), work: context.work).details)
    case .contradictory(let path, _):
      StoreErrors.damaged(url: context.url(orPath: path), reason: description, underlying: self)
    case .notRegular(let path, _): StoreErrors.cannotOpen(url: context.url(orPath: path), reason: description)
    case .notADatabase(let path): notADatabase(context.url(orPath: path))
    case .truncated(let path, _, _), .notAStore(let path, _),
      .unreadableMetadata(let path, _), .contradictoryEntities(let path, _), .noModelCache(let path):
      StoreErrors.notAStore(url: context.url(orPath: path), reason: description, underlying: self)
    case .unwritableMetadata:
      NSError.cocoa(
        CocoaError.Code.fileWriteUnknown.rawValue, "The metadata of the persistent store cannot be written.",
        reason: description, suggestion: "Remove the value, or convert it to Data or String.", underlying: self,
        context.details)
    case .unkeepableModel(let error):
      ModelErrors.cannotRead(error, "The managed object model cannot be stored.")
    }
  }

  /// 259: the file is not a database. The reason names a store of another type as such.
  private func notADatabase(_ url: URL) -> NSError {
    // If the file cannot be read, the problem says so.
    let start = (try? DatabaseFile(path: url.path).firstBytes(8)) ?? Data()
    let other: (words: String, type: String)? =
      start.starts(with: Data("<?xml".utf8))
      ? ("an XML store", "NSXMLStoreType")
      : start.starts(with: Data("bplist".utf8)) ? ("a binary store", "NSBinaryStoreType") : nil
    return StoreErrors.notAStore(
      url: url, reason: description + (other.map { " It begins like \($0.words)." } ?? ""),
      suggestion: other.map { "Open it as a store of the type \($0.type), if it is one." }, underlying: self)
  }
}

extension RowProblem: TranslatableError {
  /// 134070: a row cannot be read or written.
  package func translated(in context: ErrorContext) -> any Error {
    SQLiteStoreErrors.error(for: self, url: context.url)
  }
}

/// Errors of the rows of stores.
package enum SQLiteStoreErrors {
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
      suggestion: suggestion, underlying: problem,
      ErrorContext(url: url, work: .use).details.merging([ErrorDetail.property: problem.property]) { $1 })
  }
}

extension SchemaProblem: TranslatableError {
  /// 134020: the tables do not match the model.
  package func translated(in context: ErrorContext) -> any Error {
    let suggestion =
      isOfModel
      ? "Correct the model. Nothing was written."
      : isMissing
        ? "Open the store with the model version that it was written with. If this is that version, another program has "
          + "changed the tables, or they are laid out in a way that this framework does not know: keep the store as it is, "
          + "and read its rows with coredata store export."
        : "Open the store with the model version that it was written with, or restore it from a backup."
    return NSError.cocoa(
      NSPersistentStoreIncompatibleSchemaError,
      isOfModel ? "The model cannot be stored in tables." : "The store's tables do not match the model.",
      reason: description, suggestion: suggestion, underlying: self, context.details.merging(locationDetails) { $1 })
  }

  /// The entity and property of the problem.
  private var locationDetails: [String: Any] {
    switch self {
    case .unknownConfiguration, .foreignTable: [:]
    case .unknownEntity(let entity, _), .missingParent(let entity, _), .inheritanceCycle(let entity),
      .entityNotInStore(let entity), .unusableNumber(let entity, _), .tableNotInStore(let entity, _),
      .keyNotPrimary(let entity, _):
      ErrorDetail.userInfo(entity: entity)
    case .missingDestination(let entity, let property, _), .unstorableAttribute(let entity, let property, _),
      .inverseOfAnother(let entity, let property, _),
      .columnNotInStore(let entity, let property, _, _), .joinTableNotInStore(let entity, let property, _),
      .columnOfOtherType(let entity, let property, _, _, _):
      ErrorDetail.userInfo(entity: entity, property: property)
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
  ///   - isOpening: whether the store was being opened. Failures without a code of their own are then 134080.
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

  /// Returns a sentence about a long log; otherwise an empty string.
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
