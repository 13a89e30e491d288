// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// The model that a store carries, as a version of a model file.
struct CarriedModel {
  /// The version identifier that the store notes; the name of the file where it notes none.
  let name: String
  let document: ModelDocument

  /// - Returns: nil for a file that is no SQLite database.
  /// - Throws: what reading the store throws; 259 where it carries no model, or one that cannot be read.
  init?(storeAt url: URL) throws {
    // What cannot be read here is told by the reader of models.
    guard (try? RegularFile.firstBytes(15, of: url)) == Data("SQLite format 3".utf8) else { return nil }
    let (metadata, found) = try SQLiteStore.carried(at: url)
    guard let found else {
      throw ModelErrors.cannotRead(
        ModelFileError(
          .missingContents, found: "The store carries no model.", advice: "Name the model that it was made with.",
          file: url))
    }
    let identifiers = metadata[NSStoreModelVersionIdentifiersKey] as? [Any] ?? []
    name =
      identifiers.lazy.compactMap { $0 as? String }.first { !$0.isEmpty }
      ?? url.deletingPathExtension().lastPathComponent
    document = found
  }
}

extension NSManagedObjectModel {
  /// The versions in a model file; a store that carries its model has one.
  static func bundle(at url: URL) throws -> ModelBundle {
    if let carried = try CarriedModel(storeAt: url) {
      return ModelBundle(url: url, name: carried.name, document: carried.document)
    }
    do {
      return try ModelBundle(contentsOf: url)
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error.inFile(url))
    }
  }
}
