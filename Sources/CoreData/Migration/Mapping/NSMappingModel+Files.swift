// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSMappingModel {
  /// Reads a mapping model: a `.cdm`, or an `.xcmappingmodel`. Nil on any failure; `load(contentsOf:)` says why.
  public convenience init?(contentsOf url: URL?) {
    guard let url else { return nil }
    do {
      let document = try Self.document(at: url)
      try Self.requireModels(document, url)
      self.init(document: document)
    } catch {
      return nil
    }
  }

  /// Reads a mapping model, or throws the reason for a failure. An addition to Apple's interface.
  ///
  /// An `.xcmappingmodel` is compiled: properties without an expression get the one that Xcode's compiler would write.
  ///
  /// - Parameters:
  ///   - url: a `.cdm`, an `.xcmappingmodel`, or a text (`.mapping`), which needs both models.
  ///   - sourceModel: the source version. If given, entity mappings get the hashes of its entities, and default expressions
  ///     follow its properties; the file's own copy of that version may be stale.
  ///   - destinationModel: the destination version, likewise.
  /// - Throws: 260 for a missing file, 259 for one that holds no mapping model, `NSCoreDataError` for one with an expression
  ///   that cannot be read.
  public static func load(
    contentsOf url: URL, forSourceModel sourceModel: NSManagedObjectModel? = nil,
    destinationModel: NSManagedObjectModel? = nil
  ) throws -> NSMappingModel {
    let document = try document(at: url, source: sourceModel?.document, destination: destinationModel?.document)
    try requireModels(document, url)
    return NSMappingModel(document: document)
  }

  /// Throws for a mapping model that contains no copies of its versions, so that properties and hashes are unknown.
  private static func requireModels(_ document: MappingDocument, _ url: URL) throws {
    guard document.lacksModels else { return }
    throw MigrationErrors.cannotReadMapping(
      ModelFileError(
        .missingContents, found: "The mapping model holds no copies of its versions.",
        advice: "Give the source and the destination model.", file: url))
  }

  /// Writes the mapping model atomically: compiled (`.cdm`), as a source for Xcode (`.xcmappingmodel`), or as a text that people
  /// can review and merge (`.mapping`), by the file's extension. An addition to Apple's interface.
  ///
  /// - Parameters:
  ///   - url: the file; one that is there is replaced.
  ///   - sourceModel: the source version, which an `.xcmappingmodel` holds a copy of.
  ///   - destinationModel: the destination version, likewise.
  /// - Throws: `NSCoreDataError` for content that the format cannot express; 259 for an `.xcmappingmodel` without models, and
  ///   for another extension; errors of the file system.
  public func write(
    to url: URL, sourceModel: NSManagedObjectModel? = nil, destinationModel: NSManagedObjectModel? = nil
  ) throws {
    let versions = [sourceModel, destinationModel].map { model in
      model.map { (name: ModelVersions.name(of: $0), document: $0.document) }
    }
    do {
      try document.write(to: url, source: versions[0], destination: versions[1])
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error, "The mapping model could not be written.")
    }
  }

  /// Finds the mapping model between two versions in the bundles' resources.
  ///
  /// A mapping model fits when the hashes of all its entity mappings are those of the models. An `.xcmappingmodel` also fits
  /// when it names versions, found beside it, that have the hashes of the models: its own copies become stale whenever a
  /// version is edited. Of several the one with the most entity mappings is used. Nil where none fits.
  ///
  /// - Parameters:
  ///   - bundles: nil for the main bundle, or the resource bundles beside the executable where it has no model.
  ///   - sourceModel: the source version.
  ///   - destinationModel: the destination version.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?,
    destinationModel: NSManagedObjectModel?
  ) {
    guard let sourceModel, let destinationModel,
      let found = MappingSearch(source: sourceModel, destination: destinationModel).mapping(
        in: ModelSearch(bundles: bundles))
    else { return nil }
    self.init(document: found)
  }

  internal static func document(
    at url: URL, source: ModelDocument? = nil, destination: ModelDocument? = nil
  ) throws -> MappingDocument {
    do {
      return try MappingDocument(contentsOf: url, source: source, destination: destination)
    } catch let error as ModelFileError {
      throw MigrationErrors.cannotReadMapping(error.inFile(url))
    }
  }
}
