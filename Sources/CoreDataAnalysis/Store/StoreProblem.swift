// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The reason a store cannot be read: what was found, and what to do about it.
package struct StoreProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of problem, for callers that distinguish them.
  package enum Kind: Hashable, Sendable {
    case missing
    case notAStore
    case damaged
    case locked
    case noAccess
    case noSpace
    case unknownVersion
    case unknownEntity
    case exists
    case interrupted
    /// The log belongs to another store, or is missing.
    case log
  }

  package let kind: Kind
  /// One or two sentences.
  package let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// Runs a body, and translates errors of SQLite and of the store's file.
  static func translating<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      try translate(error, url)
    }
  }

  /// - Throws: the error itself if it is not about the store's file.
  private static func translate(_ error: any Error, _ url: URL) throws -> Never {
    // Exports call this for every object. Resolving links takes system calls, so it is done only for an error.
    let path = DatabaseFile.target(of: url.path)
    let name = (path as NSString).lastPathComponent
    switch error {
    case let error as SQLiteError:
      throw from(error, path: path)
    case let problem as StoreFileProblem:
      switch problem {
      case .busy: throw StoreProblem(.locked, "\(name) is being written by another program. Close it and try again.")
      case .notAStore(_, let table):
        throw StoreProblem(
          .notAStore, "\(name) is a SQLite database, but not a Core Data store: it has no table \(table).")
      case .noRoomForCopy: throw StoreProblem(.noSpace, problem.description)
      case .missing, .notRegular, .notADatabase: throw StoreProblem(.notAStore, problem.description)
      default: throw StoreProblem(.damaged, "\(problem) Restore the store from a backup.")
      }
    case let failure as FileFailure:
      throw uncopied(
        name, "to \(failure.operation) '\(failure.path)' failed: \(String(cString: strerror(failure.number))).")
    case let problem as RegularFile.Problem:
      throw uncopied(name, problem.description)
    default:
      throw error
    }
  }

  private static func uncopied(_ name: String, _ reason: String) -> StoreProblem {
    StoreProblem(.noAccess, "\(name) has a write-ahead log, and could not be copied to be read safely: \(reason)")
  }

  /// Translates an error of SQLite.
  static func from(_ error: SQLiteError, path: String) -> StoreProblem {
    let name = (path as NSString).lastPathComponent
    if error.isBusy {
      return StoreProblem(
        .locked, "\(name) is locked by another program. Close it, or wait until it is done, and try again.")
    }
    if error.isNotADatabase {
      return StoreProblem(
        .notAStore, "\(name) is not a SQLite store, or it is encrypted. Check that this is the right file.")
    }
    if error.isFull {
      return StoreProblem(
        .noSpace, "There is no space left on the disk of \(name), which is as it was. Free some space and try again.")
    }
    if error.isIOError, !error.isReadError {
      return StoreProblem(
        .noAccess,
        "The files of \(name) cannot be used: \(error.message)\(error.systemError.map { ", " + String(cString: strerror($0)) } ?? ""). "
          + "Check the disk, and try again with a copy of the store on another.")
    }
    if error.isCorrupt || error.isIOError {
      return StoreProblem(
        .damaged,
        "\(name) is damaged: \(error.message).\(sizeRemark(path)) Restore it from a backup, with its -wal file if it "
          + "had one.")
    }
    if error.isCannotOpen || error.isReadOnly {
      return StoreProblem(
        .noAccess, "\(name) cannot be opened: \(error.message). Check the permissions of the file and its directory.")
    }
    return StoreProblem(.damaged, "\(name) cannot be read: \(error.message).")
  }

  /// Returns a sentence for a file that is shorter than its header says; otherwise empty.
  private static func sizeRemark(_ path: String) -> String {
    // This only adds detail to another error.
    guard let header = try? SQLiteFileHeader.read(path: path),
      let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    else { return "" }
    let promised = header.pageCount * header.pageSize
    guard promised > size else { return "" }
    return " The file ends after \(size) of \(promised) bytes."
  }
}
