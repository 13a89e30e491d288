// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds models and mapping models among the resources of a program.
///
/// Searches only the top level of each directory, like `Bundle`. The results are in the order of the directories, then
/// of the names. Of files with the same name and several extensions in a directory, such as a source and its compiled
/// form, only that of the first kind is found.
struct ModelSearch {
  /// The extensions of models, compiled forms first.
  static let modelKinds = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
  /// The extensions of mapping models, the compiled form first.
  static let mappingModelKinds = ["cdm", "xcmappingmodel"]

  /// The directories to search, in order and without duplicates.
  let folders: [URL]

  init(folders: [URL]) {
    var seen: Set<String> = []
    self.folders = folders.filter { seen.insert($0.resolvingSymlinksInPath().path).inserted }
  }

  /// Makes a search of the resources of bundles.
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
  /// - Throws: what `FileManager` throws for an existing directory that cannot be listed.
  func models() throws -> [URL] { try files(of: Self.modelKinds) }

  /// Returns the mapping models.
  ///
  /// - Throws: as `models()`.
  func mappingModels() throws -> [URL] { try files(of: Self.mappingModelKinds) }

  /// Returns the first model whose file has a name, without its extension.
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

  private static func resources(of bundle: Bundle) -> URL {
    bundle.resourceURL ?? bundle.bundleURL
  }

  /// Returns the resource bundles in a directory in the order of their names, but first those named after the
  /// executable, as `Package_executable`, since others may belong to libraries or other programs.
  private static func resourceBundles(in folder: URL) -> [URL] {
    // A directory that cannot be listed has no bundles; the main bundle is searched separately.
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
    /// Both names, since versions of different files often have the same name.
    var place: String { "\(name) of \(fileName)" }
  }

  private(set) var versions: [Version] = []
  /// The errors of files that are not models, and of versions that cannot be read. They do not fail a search, since
  /// another file or version may be the one wanted.
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
