// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// Reads a model: the current version of an `.xcdatamodeld` or `.momd`, or a single `.xcdatamodel` or `.mom`.
  ///
  /// Nil on any failure; `load(contentsOf:version:)` says why.
  public convenience init?(contentsOf url: URL) {
    do {
      try self.init(document: Self.document(at: url, version: nil))
      origin = url
    } catch {
      return nil
    }
  }

  /// Reads a version of a model, or says why that cannot be done. An addition to Apple's interface.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.xcdatamodel`, `.momd` or `.mom`.
  ///   - version: the name of a version; nil for the current one.
  /// - Throws: 260 for a missing file, 259 for one that holds no model, `NSCoreDataError` for a model that contradicts
  ///   itself, or for a version that is not there; with file, entity and property as far as known.
  public static func load(contentsOf url: URL, version: String? = nil) throws -> NSManagedObjectModel {
    let model = try NSManagedObjectModel(document: document(at: url, version: version))
    model.origin = url
    return model
  }

  /// Reads all versions of a model, in the order of their names. An addition to Apple's interface.
  ///
  /// - Throws: as `load(contentsOf:version:)`, when any version cannot be read.
  public static func versions(contentsOf url: URL) throws -> [(name: String, model: NSManagedObjectModel)] {
    try bundle(at: url).versions.map { version in
      let model = try NSManagedObjectModel(document: version.document)
      model.origin = url
      return (version.name, model)
    }
  }

  /// The name of the current version of a model; nil where the file does not say. An addition to Apple's interface.
  ///
  /// - Throws: as `load(contentsOf:version:)`.
  public static func currentVersionName(contentsOf url: URL) throws -> String? {
    try bundle(at: url).currentVersionName
  }

  /// The version checksum of every version of a model, by the version's name.
  ///
  /// - Throws: as `load(contentsOf:version:)`.
  public class func __checksumsForVersionedModel(at url: URL) throws -> [String: String] {
    let versions = try bundle(at: url).versions
    return Dictionary(versions.map { ($0.name, VersionHashes($0.document).checksum) }) { first, _ in first }
  }

  /// A model of all models in the bundles' resources; of the main bundle's for nil. Nil where there are none.
  ///
  /// Traps when two of them have different entities of the same name.
  public class func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    NSManagedObjectModel(byMerging: resources(of: bundles).compactMap { NSManagedObjectModel(contentsOf: $0) })
  }

  /// A model of those versions in the bundles' resources that a store was made with; of the main bundle's for nil.
  ///
  /// Nil where not all hashes of the metadata are found.
  public class func mergedModel(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) -> NSManagedObjectModel? {
    let models = resources(of: bundles).flatMap { url in
      // A model that cannot be read is not the one the store was made with.
      ((try? versions(contentsOf: url)) ?? []).map(\.model)
    }
    return NSManagedObjectModel(byMerging: models, forStoreMetadata: metadata)
  }

  private static func resources(of bundles: [Bundle]?) -> [URL] {
    (bundles ?? [.main]).flatMap { bundle -> [URL] in
      guard let folder = bundle.resourceURL else { return [] }
      // A bundle whose folder cannot be listed has no models to offer.
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      let kinds: Set = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
      return names.sorted().map(folder.appendingPathComponent).filter { kinds.contains($0.pathExtension) }
    }
  }

  private static func document(at url: URL, version: String?) throws -> ModelDocument {
    let bundle = try bundle(at: url)
    do {
      return try version.map(bundle.document(named:)) ?? bundle.currentDocument()
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error.inFile(url))
    }
  }

  private static func bundle(at url: URL) throws -> ModelBundle {
    do {
      return try ModelBundle(contentsOf: url)
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error.inFile(url))
    }
  }
}
