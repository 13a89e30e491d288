// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// Where a migration looks for mapping models.
struct MappingPlaces {
  /// Files and folders of mapping models.
  var urls: [URL] = []
  /// Mapping models made in code.
  var models: [NSMappingModel] = []

  /// Nowhere.
  static var none: MappingPlaces { MappingPlaces() }

  /// The resources of the program.
  ///
  /// - Throws: what `FileManager` throws for a folder that is there and cannot be listed.
  static func program() throws -> MappingPlaces { MappingPlaces(urls: try ModelSearch.program.mappingModels()) }

  /// The mapping models.
  ///
  /// - Throws: 260 for a file that is not there, 259 for one that holds no mapping model; a mapping model that cannot be read
  ///   may be the one that is needed, and is not left out in silence.
  func mappings() throws -> [MappingFile] {
    let files = try urls.flatMap { url -> [URL] in
      var isFolder: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
      let isMapping = ModelSearch.mappingModelKinds.contains(url.pathExtension)
      return exists && isFolder.boolValue && !isMapping ? try ModelSearch(folders: [url]).mappingModels() : [url]
    }
    return models.map(MappingFile.init) + (try files.map(MappingFile.init(contentsOf:)))
  }
}
