// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreReader {
  /// Makes an empty store and opens it for reading.
  ///
  /// - Throws: `SchemaProblem` for a model that cannot be stored, `StoreProblem` where the file cannot be made.
  package static func create(at url: URL, model: ModelDocument) throws -> StoreReader {
    do {
      try StoreFile.create(at: url, document: model)
    } catch let error as SQLiteError {
      throw StoreProblem.from(error, path: url.path)
    }
    return try StoreReader(url: url)
  }
}
