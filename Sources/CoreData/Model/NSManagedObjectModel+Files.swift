// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// Reads a model: the current version of an `.xcdatamodeld` or `.momd`, a single `.xcdatamodel` or `.mom`, or the
  /// model cached in a SQLite store.
  ///
  /// Returns nil on any failure; `load(contentsOf:version:)` throws the reason.
  public convenience init?(contentsOf url: URL) {
    do {
      try self.init(document: Self.document(at: url, version: nil))
      wasRead(from: url)
    } catch {
      return nil
    }
  }

  /// Reads a version of a model, or throws. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.xcdatamodel`, `.momd` or `.mom`, or a SQLite store that contains its model.
  ///   - version: the name of a version; nil for the current one.
  /// - Throws: 260 for a missing file, 259 for one that is not a model, `NSCoreDataError` for an inconsistent model or
  ///   an unknown version; with file, entity and property as far as known.
  public static func load(contentsOf url: URL, version: String? = nil) throws -> NSManagedObjectModel {
    let model = try NSManagedObjectModel(document: document(at: url, version: version))
    model.wasRead(from: url)
    return model
  }

  /// Reads all versions of a model, in order. An addition to Apple's API.
  ///
  /// Numbers in the names give the order: `Model`, `Model 2`, `Model 10`. Otherwise version hashes and changes show the
  /// order in which the model evolved, and the current version is the last.
  ///
  /// A version that cannot be read is left out; `warnings(contentsOf:)` gives the reason.
  ///
  /// - Throws: the errors of `load(contentsOf:version:)` if no version can be read.
  public static func versions(contentsOf url: URL) throws -> [(name: String, model: NSManagedObjectModel)] {
    let found = try readableVersions(of: bundle(at: url))
    if found.versions.isEmpty, let first = found.unreadable.first { throw first.error }
    return found.versions
  }

  /// Returns a sentence for everything that reading a model leaves out or corrects: versions that cannot be read, and
  /// values that are not of their attribute's type. An addition to Apple's API.
  ///
  /// - Throws: the errors of `load(contentsOf:version:)` if the file is not a model.
  public static func warnings(contentsOf url: URL) throws -> [String] {
    let bundle = try bundle(at: url)
    return try readableVersions(of: bundle).unreadable.map { version in
      let reason = version.error.localizedFailureReason ?? version.error.localizedDescription
      return "The version '\(version.name)' cannot be read and is left out. \(reason)"
    } + bundle.warnings.map(\.description)
  }

  /// Returns the readable versions of a model, and the errors of the others.
  static func readableVersions(
    at url: URL
  ) throws -> (versions: [(name: String, model: NSManagedObjectModel)], unreadable: [(name: String, error: NSError)]) {
    try readableVersions(of: bundle(at: url))
  }

  private static func readableVersions(
    of bundle: ModelBundle
  ) throws -> (versions: [(name: String, model: NSManagedObjectModel)], unreadable: [(name: String, error: NSError)]) {
    var versions: [(name: String, model: NSManagedObjectModel)] = []
    var unreadable = bundle.unreadable.map { (name: $0.name, error: ModelErrors.cannotRead($0.error)) }
    for version in bundle.versions {
      do {
        let model = try NSManagedObjectModel(document: version.document)
        model.wasRead(from: bundle.url)
        versions.append((version.name, model))
      } catch let error as NSError {
        unreadable.append((version.name, error))
      }
    }
    return (versions, unreadable)
  }

  /// Returns the name of the current version of a model; nil if the file does not name one. An addition to Apple's API.
  ///
  /// - Throws: the errors of `load(contentsOf:version:)`.
  public static func currentVersionName(contentsOf url: URL) throws -> String? {
    try bundle(at: url).currentVersionName
  }

  /// Returns the checksums of all versions of a model, by the version's name.
  ///
  /// - Throws: the errors of `load(contentsOf:version:)`.
  public class func __checksumsForVersionedModel(at url: URL) throws -> [String: String] {
    let versions = try bundle(at: url).versions
    return Dictionary(versions.map { ($0.name, VersionHashes($0.document).checksum) }) { first, _ in first }
  }

  func wasRead(from url: URL) {
    origins = [url]
    // A model can be used without its localized names.
    localizationDictionary = (try? Self.localizationDictionary(forModelAt: url)) ?? nil
  }

  private static func document(at url: URL, version: String?) throws -> ModelDocument {
    let bundle = try bundle(at: url)
    do {
      return try version.map(bundle.document(named:)) ?? bundle.currentDocument()
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error.inFile(url))
    }
  }

  /// Merges all models in the resources of bundles, each in its current version.
  ///
  /// Traps if two models have different entities of the same name.
  ///
  /// - Parameter bundles: nil for the main bundle, or, if that has no model, for the resource bundles beside the
  ///   executable.
  /// - Returns: nil if there are no models or one cannot be read; `load(fromBundles:)` throws the reason.
  public class func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    do {
      return NSManagedObjectModel(byMerging: try currentModels(in: ModelSearch(bundles: bundles)))
    } catch {
      return nil
    }
  }

  /// Merges the model versions in the resources of bundles that a store was written with.
  ///
  /// - Parameters:
  ///   - bundles: as in `mergedModel(from:)`.
  ///   - metadata: a store's metadata.
  /// - Returns: nil if not all entities are found in the store's version; `load(fromBundles:forStoreMetadata:)` throws
  ///   the reason.
  public class func mergedModel(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) -> NSManagedObjectModel? {
    do {
      return try load(fromBundles: bundles, forStoreMetadata: metadata)
    } catch {
      return nil
    }
  }

  /// Returns the files of all models in the resources of bundles, in the order of the bundles and then of the names. A
  /// source is left out if its compiled form is there. An addition to Apple's API.
  ///
  /// - Parameter bundles: as in `mergedModel(from:)`.
  /// - Throws: what `FileManager` throws for a directory that cannot be listed.
  public static func files(inBundles bundles: [Bundle]?) throws -> [URL] {
    try ModelSearch(bundles: bundles).models()
  }

  /// Merges all models in the resources of bundles, or throws. An addition to Apple's API.
  ///
  /// - Parameter bundles: as in `mergedModel(from:)`.
  /// - Throws: 260 if there are none; the errors of `merging(_:)` for conflicting models; the errors of
  ///   `load(contentsOf:version:)` for a model that cannot be read.
  public static func load(fromBundles bundles: [Bundle]?) throws -> NSManagedObjectModel {
    let search = ModelSearch(bundles: bundles)
    let models = try currentModels(in: search)
    if models.isEmpty { throw ModelErrors.notFound(nil, found: [], folders: search.folders) }
    return try merging(models)
  }

  /// Merges the model versions in the resources of bundles that a store was written with, or throws. An addition to
  /// Apple's API.
  ///
  /// - Parameters:
  ///   - bundles: as in `mergedModel(from:)`.
  ///   - metadata: a store's metadata.
  /// - Throws: 134130 if not all entities are found in the store's version, with the missing entities and the files
  ///   that cannot be read.
  public static func load(
    fromBundles bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) throws -> NSManagedObjectModel {
    let found = ModelVersionList(try ModelSearch(bundles: bundles).models())
    return try merging(found.models, forStoreMetadata: metadata, unreadable: found.unreadable)
  }

  /// Loads the first model of a name in the resources of bundles, in its current version. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - name: the name of the file without its extension.
  ///   - bundles: nil for the main bundle and the resource bundles beside the executable.
  /// - Throws: 260 if there is none, with the directories searched; the errors of `load(contentsOf:version:)` if it
  ///   cannot be read.
  public static func load(named name: String, fromBundles bundles: [Bundle]? = nil) throws -> NSManagedObjectModel {
    let search = bundles.map { ModelSearch(bundles: $0) } ?? .program
    return try load(contentsOf: search.model(named: name))
  }

  private static func currentModels(in search: ModelSearch) throws -> [NSManagedObjectModel] {
    try search.models().map { try load(contentsOf: $0) }
  }

  /// Reads the localized names of a model from `<Model>Model.strings` or `<Model>.strings`, in the directory of the
  /// user's language or else in the model's own. An addition to Apple's API.
  ///
  /// A model that is read has them as its `localizationDictionary`, or has none if this throws.
  ///
  /// - Parameter url: the location of the model.
  /// - Returns: nil if there is no such file.
  /// - Throws: 259 for a file that is neither a property list nor lines of `"key" = "value";`, or has values other than
  ///   strings.
  public static func localizationDictionary(forModelAt url: URL) throws -> [String: String]? {
    let folder = url.deletingLastPathComponent()
    let name = url.deletingPathExtension().lastPathComponent
    for place in localizedFolders(in: folder) {
      for file in ["\(name)Model.strings", "\(name).strings"].map(place.appendingPathComponent)
      where FileManager.default.fileExists(atPath: file.path) {
        return try strings(at: file)
      }
    }
    return nil
  }

  /// Returns the directories of the user's preferred languages and of the base language, and the directory itself.
  private static func localizedFolders(in folder: URL) -> [URL] {
    // A directory that cannot be listed offers no languages.
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let languages = files.filter { $0.hasSuffix(".lproj") }.map { String($0.dropLast(6)) }.sorted()
    let real = languages.filter { $0 != "Base" }
    let preferred = Bundle.preferredLocalizations(from: real, forPreferences: Locale.preferredLanguages)
    let list = (preferred + ["Base"]).filter(languages.contains)
    return list.map { folder.appendingPathComponent("\($0).lproj", isDirectory: true) } + [folder]
  }

  private static func strings(at url: URL) throws -> [String: String] {
    do {
      return try StringsFile.words(in: ModelFile.read(url))
    } catch let error as PropertyLists.Unreadable {
      throw ModelErrors.unreadableStrings(url, reason: error.description, underlying: error)
    } catch let error as ModelFileError {
      throw ModelErrors.unreadableStrings(url, reason: error.found, underlying: error)
    }
  }
}
