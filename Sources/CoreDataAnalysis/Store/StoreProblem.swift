// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Why a store cannot be read: what was found, and what to do about it.
package struct StoreProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of trouble, for callers that tell them apart.
  package enum Kind: Hashable, Sendable {
    case missing
    case notAStore
    case damaged
    case locked
    case noAccess
    case unknownVersion
    case unknownEntity
    case exists
    case interrupted
  }

  package let kind: Kind
  /// One or two sentences.
  package let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// What an error of SQLite means for the store at a path.
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
    if error.isCorrupt || error.isIOError {
      return StoreProblem(
        .damaged,
        "\(name) is damaged: \(error.message).\(sizeRemark(path)) Restore it from a backup, with its -wal file if it "
          + "had one.")
    }
    if error.isCannotOpen || error.isReadOnly {
      return StoreProblem(
        .noAccess, "\(name) cannot be opened: \(error.message). Check the rights of the file and its folder.")
    }
    return StoreProblem(.damaged, "\(name) cannot be read: \(error.message).")
  }

  /// Says where a file is shorter than its own header promises.
  private static func sizeRemark(_ path: String) -> String {
    // Only to explain another error; where the file cannot be read at all, there is nothing to add.
    guard let header = try? SQLiteFileHeader.read(path: path),
      let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    else { return "" }
    let promised = header.pageCount * header.pageSize
    guard promised > size else { return "" }
    return " The file ends after \(size) of \(promised) bytes."
  }
}
