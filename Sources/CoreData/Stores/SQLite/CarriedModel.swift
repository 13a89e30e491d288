// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// The model cached in a store, as a version of a model file.
struct CarriedModel {
  /// The version identifier in the store's metadata, or else the name of the file.
  let name: String
  let document: ModelDocument

  /// Reads the model of a store; nil for a file that is not a SQLite database.
  ///
  /// - Throws: the errors of reading the store; 259 if it contains no model, or one that cannot be read.
  init?(storeAt url: URL) throws {
    // If the file cannot be read, reading it as a model throws the reason.
    guard (try? RegularFile.firstBytes(15, of: url)) == Data("SQLite format 3".utf8) else { return nil }
    let (metadata, found) = try SQLiteStore.carried(at: url)
    guard let found else {
      throw ModelErrors.cannotRead(
        ModelFileError(
          .missingContents, found: "The store contains no model.", advice: "Name the model that it was written with.",
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
  /// Returns the versions in a model file, or the one in a store that contains its model.
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
