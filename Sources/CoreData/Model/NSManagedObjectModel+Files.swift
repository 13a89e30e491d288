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

  /// Reads a version of a model, and throws the reason for a failure. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.xcdatamodel`, `.momd` or `.mom`, or a SQLite store that contains its model.
  ///   - version: the name of a version; nil for the current one.
  /// - Throws: 260 for a missing file, 259 for a file that is not a model, `NSCoreDataError` for an inconsistent model
  ///   or an unknown version; with file, entity and property if known.
  public static func load(contentsOf url: URL, version: String? = nil) throws -> NSManagedObjectModel {
    let model = try NSManagedObjectModel(document: document(at: url, version: version))
    model.wasRead(from: url)
    return model
  }

  /// Reads all versions of a model, in order. An addition to Apple's API.
  ///
  /// Numbers in the names determine the order: `Model`, `Model 2`, `Model 10`. Otherwise version hashes and changes
  /// show the order in which the model evolved, and the current version is the last.
  ///
  /// An unreadable version is left out; `warnings(contentsOf:)` gives the reason.
  ///
  /// - Throws: the errors of `load(contentsOf:version:)` if no version can be read.
  public static func versions(contentsOf url: URL) throws -> [(name: String, model: NSManagedObjectModel)] {
    let found = try readableVersions(of: bundle(at: url))
    if found.versions.isEmpty, let first = found.unreadable.first { throw first.error }
    return found.versions
  }

  /// Returns a sentence about everything that reading a model leaves out or corrects: unreadable versions, and values
  /// that do not have their attribute's type. An addition to Apple's API.
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
  /// - Throws: the error of `FileManager` for a directory that cannot be listed.
  public static func files(inBundles bundles: [Bundle]?) throws -> [URL] {
    try ModelSearch(bundles: bundles).models()
  }

  /// Merges all models in the resources of bundles, and throws the reason for a failure. An addition to Apple's API.
  ///
  /// - Parameter bundles: as in `mergedModel(from:)`.
  /// - Throws: 260 if there are none; the errors of `merging(_:)` for conflicting models; the errors of
  ///   `load(contentsOf:version:)` for an unreadable model.
  public static func load(fromBundles bundles: [Bundle]?) throws -> NSManagedObjectModel {
    let search = ModelSearch(bundles: bundles)
    let models = try currentModels(in: search)
    if models.isEmpty { throw ModelErrors.notFound(nil, found: [], folders: search.folders) }
    return try merging(models)
  }

  /// Merges the model versions in the resources of bundles that a store was written with, and throws the reason for a
  /// failure. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - bundles: as in `mergedModel(from:)`.
  ///   - metadata: a store's metadata.
  /// - Throws: 134130 if not all entities are found in the store's version, with the missing entities and the
  ///   unreadable files.
  public static func load(
    fromBundles bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) throws -> NSManagedObjectModel {
    let found = ModelVersionList(try ModelSearch(bundles: bundles).models())
    return try merging(found.models, forStoreMetadata: metadata, unreadable: found.unreadable)
  }

  /// Loads the first model with a name in the resources of bundles, in its current version. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - name: the name of the file without its extension.
  ///   - bundles: nil for the main bundle and the resource bundles beside the executable.
  /// - Throws: 260 if there is none, with the directories searched; the errors of `load(contentsOf:version:)` if it is
  ///   unreadable.
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
  /// A model that is read has them as its `localizationDictionary`, or nil if this throws.
  ///
  /// - Parameter url: the location of the model.
  /// - Returns: nil if there is no such file.
  /// - Throws: 259 for a file that is neither a property list nor lines of `"key" = "value";`, or that contains values
  ///   other than strings.
  public static func localizationDictionary(forModelAt url: URL) throws -> [String: String]? {
    let folder = url.deletingLastPathComponent()
    let name = url.deletingPathExtension().lastPathComponent
    for location in localizedFolders(in: folder) {
      for file in ["\(name)Model.strings", "\(name).strings"].map(location.appendingPathComponent)
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
      return try StringsFile.strings(in: ModelFile.read(url))
    } catch let error as PropertyLists.Unreadable {
      throw ModelErrors.unreadableStrings(url, reason: error.description, underlying: error)
    } catch let error as ModelFileError {
      throw ModelErrors.unreadableStrings(url, reason: error.found, underlying: error)
    }
  }
}

/// Finds models and mapping models among the resources of a program.
///
/// Searches only the top level of each directory, like `Bundle`. The results are in the order of the directories, then
/// of the names. If files in a directory have the same name and several extensions, such as a source and its compiled
/// form, only the first kind is found.
struct ModelSearch {
  /// The extensions of models, compiled forms first.
  static let modelKinds = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
  /// The extensions of mapping models, the compiled form first.
  static let mappingModelKinds = ["cdm", "xcmappingmodel", "mapping"]

  /// The directories to search, in order and without duplicates.
  let folders: [URL]

  init(folders: [URL]) {
    var seen: Set<String> = []
    self.folders = folders.filter { seen.insert($0.resolvingSymlinksInPath().path).inserted }
  }

  /// Creates a search of the resources of bundles.
  ///
  /// - Parameter bundles: nil for the main bundle, or, if that has no model, for the resource bundles beside it, where
  ///   the package manager puts the resources of a program.
  init(bundles: [Bundle]?) {
    if let bundles {
      self.init(folders: bundles.map(Self.resources))
      return
    }
    let main = ModelSearch(folders: [Self.resources(of: .main)])
    // A directory that cannot be listed does not count as empty, so that the search reports the error.
    let isEmpty = (try? main.models().isEmpty) ?? false
    self = isEmpty ? .program : main
  }

  /// A search of the main bundle and of all resource bundles beside the executable, its own target's first.
  static var program: ModelSearch {
    let main = Bundle.main
    let executable = main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
    let places = [main.resourceURL, main.bundleURL, executable].compactMap { $0 }
    return ModelSearch(folders: [resources(of: main)] + ModelSearch(folders: places).folders.flatMap(resourceBundles))
  }

  /// Returns the models.
  ///
  /// - Throws: the error of `FileManager` for an existing directory that cannot be listed.
  func models() throws -> [URL] { try files(of: Self.modelKinds) }

  /// Returns the mapping models.
  ///
  /// - Throws: as `models()`.
  func mappingModels() throws -> [URL] {
    // Other files may have the extension of text mapping models.
    try files(of: Self.mappingModelKinds).filter { $0.pathExtension != "mapping" || MappingDocument.isText(at: $0) }
  }

  /// Returns the mapping models in a directory and in all directories below it.
  ///
  /// - Throws: the error of `FileManager` for a directory that cannot be listed.
  static func mappingModels(below folder: URL) throws -> [URL] {
    try ModelSearch(folders: folders(below: folder)).mappingModels()
  }

  /// Returns a directory and its subdirectories, except hidden ones and packages.
  private static func folders(below folder: URL) throws -> [URL] {
    var (found, seen): ([URL], Set<String>) = ([], [])
    var open = [folder]
    while let next = open.popLast() {
      // A symbolic link may lead back.
      guard seen.insert(next.resolvingSymlinksInPath().path).inserted else { continue }
      found.append(next)
      let names = try FileManager.default.contentsOfDirectory(atPath: next.path).sorted(by: >)
      for name in names where !name.hasPrefix(".") {
        let url = next.appendingPathComponent(name)
        var isFolder: ObjCBool = false
        guard !(modelKinds + mappingModelKinds).contains(url.pathExtension),
          FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue
        else { continue }
        open.append(url)
      }
    }
    return found
  }

  /// Returns the first model file with a name, disregarding the extension.
  ///
  /// - Throws: 260 if there is none, with the directories searched; the errors of `models()`.
  func model(named name: String) throws -> URL {
    let found = try models()
    if let url = found.first(where: { $0.deletingPathExtension().lastPathComponent == name }) { return url }
    throw ModelErrors.notFound(name, found: found, folders: folders)
  }

  private func files(of kinds: [String]) throws -> [URL] {
    try folders.flatMap { folder -> [URL] in
      guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
      let candidates = try FileManager.default.contentsOfDirectory(atPath: folder.path).compactMap { file in
        kinds.firstIndex(of: (file as NSString).pathExtension).map { Candidate(file: file, rank: $0) }
      }
      return Dictionary(grouping: candidates, by: \.name).values.compactMap { $0.min { $0.rank < $1.rank } }
        .sorted { $0.name < $1.name }.map { folder.appendingPathComponent($0.file) }
    }
  }

  private struct Candidate {
    let file: String
    let rank: Int
    var name: String { (file as NSString).deletingPathExtension }
  }

  private static func resources(of bundle: Bundle) -> URL { bundle.resourceURL ?? bundle.bundleURL }

  /// Returns the resource bundles in a directory in the order of their names, but first those named after the
  /// executable, such as `Package_executable`, because others may belong to libraries or other programs.
  private static func resourceBundles(in folder: URL) -> [URL] {
    // A directory that cannot be listed has no bundles. The main bundle is searched separately.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let all = names.filter { ["resources", "bundle"].contains(($0 as NSString).pathExtension) }.sorted()
    let program = Bundle.main.executableURL?.deletingPathExtension().lastPathComponent ?? ""
    let own = all.filter { ($0 as NSString).deletingPathExtension.hasSuffix("_\(program)") }
    return (own + all.filter { !own.contains($0) }).map { name in
      let url = folder.appendingPathComponent(name, isDirectory: true)
      return Bundle(url: url).map(resources) ?? url
    }
  }
}

/// All versions of several model files.
struct ModelVersionList {
  /// A version of a model.
  struct Version {
    let name: String
    let fileName: String
    let model: NSManagedObjectModel
    /// Both names, because versions of different files often have the same name.
    var location: String { "\(name) of \(fileName)" }
  }

  private(set) var versions: [Version] = []
  /// The errors for files that are not models, and for unreadable versions. They do not fail a search, because another
  /// file or version may be the wanted one.
  private(set) var unreadable: [any Error] = []

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

  var models: [NSManagedObjectModel] { versions.map(\.model) }
}
