// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Errors of SQLite stores, translated from those of the layers below.
enum SQLiteStoreErrors {
  /// Runs a closure, and translates the errors it throws to `NSError`. Row conflicts pass through.
  static func translating<Result>(url: URL?, isOpening: Bool, _ body: () throws -> Result) throws -> Result {
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
    } catch let failure as FileFailure {
      throw FileErrors.error(failure, store: url ?? URL(fileURLWithPath: failure.path))
    } catch let problem as RegularFile.Problem {
      throw FileErrors.error(problem, store: url ?? URL(fileURLWithPath: problem.path))
    } catch let file as ExternalData.UnreadableFile {
      throw StoreErrors.operationFailed(url: url, reason: "A value of the store cannot be read: \(file).")
    }
  }

  /// 260 for no file, 259 for one that is not a store.
  static func error(for problem: StoreFileProblem, url: URL?) -> NSError {
    switch problem {
    case .missing(let path): StoreErrors.noSuchFile(url: url ?? URL(fileURLWithPath: path))
    case .busy(let path): StoreErrors.inUse(url: url ?? URL(fileURLWithPath: path), reason: problem.description)
    case .contradictory(let path, _):
      StoreErrors.damaged(
        url: url ?? URL(fileURLWithPath: path), reason: problem.description, underlying: problem)
    case .notRegular(let path, _):
      StoreErrors.cannotOpen(url: url ?? URL(fileURLWithPath: path), reason: problem.description)
    case .notADatabase(let path), .truncated(let path, _, _), .notAStore(let path, _),
      .unreadableMetadata(let path, _), .contradictoryEntities(let path, _), .noModelCache(let path):
      StoreErrors.notAStore(
        url: url ?? URL(fileURLWithPath: path), reason: problem.description, underlying: problem)
    case .unwritableMetadata: unwritableMetadata(problem, url: url)
    case .unkeepableModel(let error):
      ModelErrors.cannotRead(error, "The managed object model cannot be stored.")
    }
  }

  /// 512: the metadata contain a value that a property list cannot contain.
  private static func unwritableMetadata(_ problem: StoreFileProblem, url: URL?) -> NSError {
    .cocoa(
      CocoaError.Code.fileWriteUnknown.rawValue, "The metadata of the persistent store cannot be written.",
      reason: problem.description, suggestion: "Remove the value, or convert it to Data or String.",
      underlying: problem, details(url))
  }

  /// 133021: duplicate values under a uniqueness constraint.
  static func notUnique(_ failure: SQLiteError, url: URL?) -> NSError {
    let columns = failure.violatedColumns.map { "\($0.table).\($0.column)" }.joined(separator: ", ")
    return .cocoa(
      NSManagedObjectConstraintMergeError, "A uniqueness constraint is violated.",
      reason: "Another row has the same \(columns.isEmpty ? "values" : "value in \(columns)"): \(failure.message).",
      suggestion: "Change the values, or delete one of the objects.", underlying: failure, details(url))
  }

  /// 134020: the tables do not match the model.
  static func incompatible(_ problem: SchemaProblem, url: URL?) -> NSError {
    .cocoa(
      NSPersistentStoreIncompatibleSchemaError, "The store's tables do not match the model.",
      reason: problem.description,
      suggestion: "Open the store with the model version that it was written with, or restore it from a backup.",
      underlying: problem, details(url).merging(problem.place) { $1 })
  }

  /// 134070: a row cannot be read or written.
  static func error(for problem: RowProblem, url: URL?) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "A row of the store cannot be read or written.", reason: problem.description,
      suggestion: "Restore a backup (coredata migrate restore STORE BACKUP), or check the store with another tool.",
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
      .columnNotInStore(let entity, let property, _, _), .joinTableNotInStore(let entity, let property, _):
      ErrorDetail.place(entity: entity, property: property)
    }
  }
}

/// Cocoa errors for failures of SQLite.
///
/// Every error has SQLite's code under `NSSQLiteErrorDomain`, and SQLite's message in the reason.
enum SQLiteErrors {
  /// Returns the error for a failure.
  ///
  /// - Parameters:
  ///   - failure: SQLite's error.
  ///   - url: the location of the store.
  ///   - isOpening: whether the store was being opened, so that other failures are 134080.
  static func error(_ failure: SQLiteError, url: URL?, isOpening: Bool = false) -> NSError {
    let path = url?.path ?? failure.path
    var info: [String: Any] = [NSSQLiteErrorDomain: Int(failure.code), NSFilePathErrorKey: path]
    info[ErrorDetail.url] = url
    info["sql"] = failure.sql
    let kind = kind(of: failure, path: path, isOpening: isOpening)
    let statement = failure.sql.map { " The statement was: \($0)" } ?? ""
    return NSError.cocoa(
      kind.code, kind.description,
      reason: "SQLite error \(failure.extendedCode) for '\(path)': \(failure.message).\(statement)",
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
        suggestion: "Free some space on the disk and try again; nothing was changed.")
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

  private static func cannotOpen(path: String) -> Kind {
    let files = FileManager.default
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
