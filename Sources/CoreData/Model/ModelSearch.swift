// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds models and mapping models among the resources of a program.
///
/// Only the top level of each folder is looked at, as `Bundle` does it. The order is that of the folders, then of the
/// names. Of files with one name and several extensions in one folder, such as a source and what was compiled from it,
/// only the first kind counts.
struct ModelSearch {
  /// What models come as, compiled forms first.
  static let modelKinds = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
  /// What mapping models come as, the compiled form first.
  static let mappingModelKinds = ["cdm", "xcmappingmodel"]

  /// The folders that are looked at, in order, each once.
  let folders: [URL]

  /// Makes a search of folders.
  init(folders: [URL]) {
    var seen: Set<String> = []
    self.folders = folders.filter { seen.insert($0.resolvingSymlinksInPath().path).inserted }
  }

  /// Makes a search of the resources of bundles.
  ///
  /// - Parameter bundles: nil for the main bundle, or, where that has no model, for the resource bundles beside it, since
  ///   that is where the package manager puts the resources of a program.
  init(bundles: [Bundle]?) {
    if let bundles {
      self.init(folders: bundles.map(Self.resources))
      return
    }
    let main = ModelSearch(folders: [Self.resources(of: .main)])
    // A folder that cannot be listed is not empty: it is kept, so that whoever asks for its models learns why.
    let isEmpty = (try? main.models().isEmpty) ?? false
    self = isEmpty ? .program : main
  }

  /// A search of the main bundle and of all resource bundles beside the executable, that of its own target first.
  static var program: ModelSearch {
    let main = Bundle.main
    let executable = main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
    let places = [main.resourceURL, main.bundleURL, executable].compactMap { $0 }
    return ModelSearch(folders: [resources(of: main)] + ModelSearch(folders: places).folders.flatMap(resourceBundles))
  }

  /// The models.
  ///
  /// - Throws: what `FileManager` throws for a folder that is there and cannot be listed.
  func models() throws -> [URL] { try files(of: Self.modelKinds) }

  /// The mapping models.
  ///
  /// - Throws: as `models()`.
  func mappingModels() throws -> [URL] { try files(of: Self.mappingModelKinds) }

  /// The first model whose file has the given name, without its extension.
  ///
  /// - Throws: 260 when there is none, with the places that were searched; else as `models()`.
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

  /// The folders of resources that lie in a folder, in the order of their names; but first those named like the executable,
  /// as `Package_executable`, since others may be those of libraries or of other programs.
  private static func resourceBundles(in folder: URL) -> [URL] {
    // The folder of an executable that may not be listed has nothing to offer; the main bundle is searched on its own.
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
