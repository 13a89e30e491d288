// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

extension MappingFile {
  /// Reads a file.
  ///
  /// - Throws: as `NSMappingModel.load(contentsOf:forSourceModel:destinationModel:)`.
  init(contentsOf url: URL) throws {
    self.init(url: url, document: try NSMappingModel.document(at: url))
  }

  /// Takes a mapping model that was made in code.
  init(_ model: NSMappingModel) {
    self.init(url: nil, document: model.document, object: model)
  }

  /// The mapping model for two versions, with their hashes and properties where the file is a source that names them.
  ///
  /// - Throws: as `init(contentsOf:)`.
  func mappingModel(source: NSManagedObjectModel, destination: NSManagedObjectModel) throws -> NSMappingModel {
    if let made = object as? NSMappingModel { return made }
    let fits = Self.mismatches(
      of: document, source: source.entityVersionHashesByName, destination: destination.entityVersionHashesByName
    ).isEmpty
    guard let url, !fits else { return NSMappingModel(document: document) }
    return try NSMappingModel.load(contentsOf: url, forSourceModel: source, destinationModel: destination)
  }
}
