// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Errors of SQLite stores: those of the layers below, in Core Data's own words.
internal enum SQLiteStoreErrors {
  /// Runs a body, and makes an `NSError` of what it throws; conflicts between rows pass through.
  static func translating<Result>(url: URL?, isOpening: Bool, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let conflicts as RowConflicts {
      throw conflicts
    } catch let failure as SQLiteError {
      throw failure.isUniqueConstraint
        ? notUnique(failure, url: url)
        : SQLiteErrors.error(
          failure, url: url, isOpening: isOpening)
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
      ModelErrors.cannotRead(error, "The managed object model cannot be kept in the store.")
    }
  }

  /// 512: the metadata hold a value that no property list can hold.
  private static func unwritableMetadata(_ problem: StoreFileProblem, url: URL?) -> NSError {
    .cocoa(
      CocoaError.Code.fileWriteUnknown.rawValue, "The metadata of the persistent store cannot be written.",
      reason: problem.description, suggestion: "Remove the value, or put its Data or String there.",
      underlying: problem, details(url))
  }

  /// 133021: values that must be unique are not.
  static func notUnique(_ failure: SQLiteError, url: URL?) -> NSError {
    let columns = failure.violatedColumns.map { "\($0.table).\($0.column)" }.joined(separator: ", ")
    return .cocoa(
      NSManagedObjectConstraintMergeError, "Values that must be unique are not.",
      reason: "Another row has the same \(columns.isEmpty ? "values" : "value in \(columns)"): \(failure.message).",
      suggestion: "Change the values, or delete one of the objects.", underlying: failure, details(url))
  }

  /// 134020: the file lacks what the model needs.
  static func incompatible(_ problem: SchemaProblem, url: URL?) -> NSError {
    .cocoa(
      NSPersistentStoreIncompatibleSchemaError, "The store's tables do not fit the model.",
      reason: problem.description,
      suggestion: "Open the store with the model version that it was made with, or restore it from a backup.",
      underlying: problem, details(url).merging(problem.place) { $1 })
  }

  /// 134070: a row cannot be read or written.
  static func error(for problem: RowProblem, url: URL?) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "A row of the store cannot be read or written.", reason: problem.description,
      suggestion: "Go back to a backup (coredata migrate restore STORE BACKUP), or check the store with another tool.",
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
  /// The entity and property that the problem is about.
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
