// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Why a file cannot be used as a store.
package enum StoreFileProblem: Error, Hashable, Sendable {
  /// There is no file, and none is to be made.
  case missing(path: String)
  /// A directory, a FIFO, a socket or a device, which is neither opened nor replaced.
  case notRegular(path: String, kind: String)
  /// Bytes that SQLite does not know: another format, a damaged or an encrypted file.
  case notADatabase(path: String)
  /// The file ends before the pages that its header counts.
  case truncated(path: String, expectedBytes: Int, foundBytes: Int)
  /// A database without Core Data's tables.
  case notAStore(path: String, missingTable: String)
  /// The metadata cannot be read.
  case unreadableMetadata(path: String, found: String)
  /// Other processes write to the store again and again while it is being opened.
  case busy(path: String)
  /// SQLite's check of the file finds pages that contradict each other.
  case contradictory(path: String, found: [String])
  /// The table of entities contradicts itself.
  case contradictoryEntities(path: String, PrimaryKeyProblem)
  /// The metadata hold a value that cannot be stored.
  case unwritableMetadata(reason: String)
  /// The store carries no model: it is older than model caches, or the cache is empty.
  case noModelCache(path: String)
  /// The model holds a value that cannot be archived.
  case unkeepableModel(ModelFileError)
}

extension StoreFileProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missing(let path): "There is no file at \(path)."
    case .notRegular(let path, let kind): "A store is a regular file, and '\(path)' is \(kind). Nothing was changed."
    case .notADatabase(let path):
      "The file at \(path) is not a SQLite database, or it is encrypted or damaged."
    case .truncated(let path, let expected, let found):
      "The file at \(path) has been cut off: it has \(found) bytes of \(expected)."
    case .notAStore(let path, let table):
      "The file at \(path) is a SQLite database but not a Core Data store: it has no table \(table)."
    case .unreadableMetadata(let path, let found):
      "The metadata of the store at \(path) cannot be read: \(found)\(found.hasSuffix(".") ? "" : ".")"
    case .busy(let path):
      "Other processes write to the file at \(path) again and again, so that it could not be read."
    case .contradictory(let path, let found):
      "SQLite finds that the pages of the file at \(path) contradict each other: \(found.joined(separator: "; "))."
    case .contradictoryEntities(let path, let problem):
      "The store at \(path) contradicts itself. \(problem)"
    case .unwritableMetadata(let reason): reason
    case .unkeepableModel(let error): "The model cannot be kept in the store: \(error)"
    case .noModelCache(let path):
      "The store at \(path) carries no model; name the model that it was made with."
    }
  }
}
