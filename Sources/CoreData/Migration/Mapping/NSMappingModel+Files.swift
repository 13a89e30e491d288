// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSMappingModel {
  /// Reads a mapping model: a `.cdm`, or an `.xcmappingmodel`. Nil on any failure; `load(contentsOf:)` says why.
  public convenience init?(contentsOf url: URL?) {
    guard let url else { return nil }
    do {
      try self.init(document: Self.document(at: url))
    } catch {
      return nil
    }
  }

  /// Reads a mapping model, or says why that cannot be done. An addition to Apple's interface.
  ///
  /// An `.xcmappingmodel` is compiled on the way: properties without an expression get the one that Xcode's compiler
  /// would write.
  ///
  /// - Parameters:
  ///   - url: a `.cdm`, or an `.xcmappingmodel`.
  ///   - sourceModel: the source version. Where it is given, entity mappings take the hashes of its entities, and default
  ///     expressions go by its properties; what the file says about that version may be stale.
  ///   - destinationModel: the destination version, likewise.
  /// - Throws: 260 for a missing file, 259 for one that holds no mapping model, `NSCoreDataError` for one with an expression
  ///   that cannot be read.
  public static func load(
    contentsOf url: URL, forSourceModel sourceModel: NSManagedObjectModel? = nil,
    destinationModel: NSManagedObjectModel? = nil
  ) throws -> NSMappingModel {
    try NSMappingModel(
      document: document(at: url, source: sourceModel?.document, destination: destinationModel?.document))
  }

  /// Finds the mapping model between two versions in the bundles' resources; in the main bundle's for nil.
  ///
  /// A mapping model fits when the hashes of all its entity mappings are those of the models. An `.xcmappingmodel` fits
  /// too when it names versions, found beside it, that have the hashes of the models: what it holds itself is stale as
  /// soon as a version is edited. Of several the one with the most entity mappings is taken. Nil where none fits.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?,
    destinationModel: NSManagedObjectModel?
  ) {
    guard let sourceModel, let destinationModel,
      let found = MappingSearch(source: sourceModel, destination: destinationModel).mapping(
        in: (bundles ?? [.main]).compactMap(\.resourceURL))
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
