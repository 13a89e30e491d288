// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Turns SQLite's failures into Cocoa's.
///
/// Every error has SQLite's code under `NSSQLiteErrorDomain`, and SQLite's own words in the reason.
internal enum SQLiteErrors {
  /// The error for a failure.
  ///
  /// - Parameters:
  ///   - isOpening: whether the store was being opened; then a file that cannot be opened is 260, 257 or 134080.
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
        description: "There is no room left for the persistent store.",
        suggestion: "Free some space on the disk and try again; nothing was changed.")
    }
    if failure.isReadOnly {
      return Kind(
        code: CocoaError.Code.fileWriteNoPermission.rawValue, description: "The persistent store cannot be written.",
        suggestion: "Check the permissions of the file and its folder.")
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
      suggestion: "See SQLite's own words in the reason; nothing of the failed statement was kept.")
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
      suggestion: "Check that the folder exists and can be written, and that the path names a file.")
  }
}
