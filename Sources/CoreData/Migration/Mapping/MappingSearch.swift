// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The places where a migration searches for mapping models.
struct MappingPlaces {
  /// Files and directories of mapping models.
  var urls: [URL] = []
  /// Mapping models made in code.
  var models: [NSMappingModel] = []

  /// Nowhere.
  static var none: MappingPlaces { MappingPlaces() }

  /// The resources of the program.
  ///
  /// - Throws: the error of `FileManager` for a directory that exists and cannot be listed.
  static func program() throws -> MappingPlaces { MappingPlaces(urls: try ModelSearch.program.mappingModels()) }

  /// Reads the mapping models.
  ///
  /// - Throws: 260 for a missing file, 259 for one without a mapping model. An unreadable mapping model may be the one that
  ///   is needed, so it is never skipped silently.
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

extension MappingFile {
  /// Reads a file.
  ///
  /// - Throws: as `NSMappingModel.load(contentsOf:forSourceModel:destinationModel:)`.
  init(contentsOf url: URL) throws {
    self.init(url: url, document: try NSMappingModel.document(at: url))
  }

  /// Wraps a mapping model that was made in code.
  init(_ model: NSMappingModel) {
    self.init(url: nil, document: model.document, object: model)
  }

  /// Returns the mapping model for two versions. A source that names them is compiled with their hashes and properties.
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

/// Finds the mapping model between two versions among the resources of a program.
internal struct MappingSearch {
  private let source: NSManagedObjectModel
  private let destination: NSManagedObjectModel
  private let sourceHashes: [String: Data]
  private let destinationHashes: [String: Data]

  internal init(source: NSManagedObjectModel, destination: NSManagedObjectModel) {
    self.source = source
    self.destination = destination
    sourceHashes = source.entityVersionHashesByName
    destinationHashes = destination.entityVersionHashesByName
  }

  /// Returns the fitting mapping model with the most entity mappings; among equals, the first one found.
  internal func mapping(in search: ModelSearch) -> MappingDocument? {
    // A directory that cannot be listed contributes nothing.
    let files = (try? search.mappingModels()) ?? []
    var best: MappingDocument?
    for file in files {
      guard let found = mapping(at: file, in: search),
        found.entityMappings.count > best?.entityMappings.count ?? 0
      else { continue }
      best = found
    }
    return best
  }

  private func mapping(at file: URL, in search: ModelSearch) -> MappingDocument? {
    // An unreadable mapping model is not the requested one.
    guard let document = try? MappingDocument(contentsOf: file) else { return nil }
    if fits(document) { return document }
    guard let sourceName = document.sourceVersionName, let destinationName = document.destinationVersionName,
      hasVersion(sourceName, sourceHashes, in: search), hasVersion(destinationName, destinationHashes, in: search),
      // As above.
      let fresh = try? MappingDocument(
        contentsOf: file, source: source.document, destination: destination.document),
      fits(fresh)
    else { return nil }
    return fresh
  }

  private func fits(_ document: MappingDocument) -> Bool {
    MappingFile.mismatches(of: document, source: sourceHashes, destination: destinationHashes).isEmpty
  }

  private func hasVersion(_ name: String, _ hashes: [String: Data], in search: ModelSearch) -> Bool {
    // As above; and models that cannot be read have no version of that name.
    ((try? search.models()) ?? []).contains { url in
      ((try? ModelBundle(contentsOf: url))?.versions ?? []).contains {
        $0.name == name && VersionHashes($0.document).entities == hashes
      }
    }
  }
}
