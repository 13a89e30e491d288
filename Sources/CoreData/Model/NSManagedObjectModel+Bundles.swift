// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finding models among the resources of bundles.
extension NSManagedObjectModel {
  /// A model of all models in the bundles' resources, each in its current version.
  ///
  /// - Parameter bundles: nil for the main bundle, or, where that holds no model, for the resource bundles beside the
  ///   executable.
  /// - Returns: nil where there are none, or where one of them cannot be read; `load(fromBundles:)` says why. Traps when two
  ///   of them have different entities of the same name.
  public class func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    do {
      return NSManagedObjectModel(byMerging: try currentModels(in: ModelSearch(bundles: bundles)))
    } catch {
      return nil
    }
  }

  /// A model of those versions in the bundles' resources that a store was made with.
  ///
  /// - Parameters:
  ///   - bundles: as in `mergedModel(from:)`.
  ///   - metadata: a store's metadata.
  /// - Returns: nil where not all hashes of the metadata are found; `load(fromBundles:forStoreMetadata:)` says why.
  public class func mergedModel(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) -> NSManagedObjectModel? {
    do {
      return try load(fromBundles: bundles, forStoreMetadata: metadata)
    } catch {
      return nil
    }
  }

  /// The files of all models in the bundles' resources: bundles in the order given, files in the order of their names, the
  /// compiled form before the source of the same name. An addition to Apple's interface.
  ///
  /// - Parameter bundles: as in `mergedModel(from:)`.
  /// - Throws: what `FileManager` throws for a folder that cannot be listed.
  public static func files(inBundles bundles: [Bundle]?) throws -> [URL] {
    try ModelSearch(bundles: bundles).models()
  }

  /// A model of all models in the bundles' resources, or the reason why there can't be one. An addition to Apple's interface.
  ///
  /// - Parameter bundles: as in `mergedModel(from:)`.
  /// - Throws: 260 when there are none; `NSCoreDataError` for two models that contradict each other, as `merging(_:)`; the
  ///   errors of `load(contentsOf:version:)` for a model that cannot be read.
  public static func load(fromBundles bundles: [Bundle]?) throws -> NSManagedObjectModel {
    let search = ModelSearch(bundles: bundles)
    let models = try currentModels(in: search)
    if models.isEmpty { throw ModelErrors.notFound(nil, found: [], folders: search.folders) }
    return try merging(models)
  }

  /// A model of those versions in the bundles' resources that a store was made with, or the reason why there can't be one.
  /// An addition to Apple's interface.
  ///
  /// - Parameters:
  ///   - bundles: as in `mergedModel(from:)`.
  ///   - metadata: a store's metadata.
  /// - Throws: 134130 when not all hashes of the metadata are found, with the entities that are missing, and the files that
  ///   cannot be read.
  public static func load(
    fromBundles bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) throws -> NSManagedObjectModel {
    let found = ModelVersionList(try ModelSearch(bundles: bundles).models())
    return try merging(found.models, forStoreMetadata: metadata, unreadable: found.unreadable)
  }

  /// The first model of a name in the bundles' resources, in its current version. An addition to Apple's interface.
  ///
  /// - Parameters:
  ///   - name: the name of the file without its extension.
  ///   - bundles: nil for the main bundle and the resource bundles beside the executable.
  /// - Throws: 260 when there is none, with the places that were searched; the errors of `load(contentsOf:version:)` when it
  ///   cannot be read.
  public static func load(named name: String, fromBundles bundles: [Bundle]? = nil) throws -> NSManagedObjectModel {
    let search = bundles.map { ModelSearch(bundles: $0) } ?? .program
    return try load(contentsOf: search.model(named: name))
  }

  private static func currentModels(in search: ModelSearch) throws -> [NSManagedObjectModel] {
    try search.models().map { try load(contentsOf: $0) }
  }
}

/// All versions of several model files.
struct ModelVersionList {
  /// A version: its name, that of its file, and what it says.
  struct Version {
    let name: String
    let fileName: String
    let model: NSManagedObjectModel
    /// The names of both, since versions of several files often have the same name.
    var place: String { "\(name) of \(fileName)" }
  }

  private(set) var versions: [Version] = []
  /// The errors of files that hold no model, and of versions that cannot be read. That is no failure of a search: another
  /// file, or another version, may be what is wanted.
  private(set) var unreadable: [any Error] = []

  /// Reads the files.
  init(_ files: [URL]) {
    for url in files {
      do {
        let fileName = url.deletingPathExtension().lastPathComponent
        let found = try NSManagedObjectModel.readableVersions(at: url)
        versions += found.versions.map { Version(name: $0.name, fileName: fileName, model: $0.model) }
        unreadable += found.unreadable.map(\.error)
      } catch {
        unreadable.append(error)
      }
    }
  }

  /// The models of all versions.
  var models: [NSManagedObjectModel] { versions.map(\.model) }
}
