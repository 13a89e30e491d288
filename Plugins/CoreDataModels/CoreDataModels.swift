// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackagePlugin

/// Compiles the models and mapping models of a target into its resources, generates the classes that the models ask for, and
/// translates the sources that the target excludes because they were written for Apple's systems.
@main
struct CoreDataModels: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "CoreDataModelsTool").url
    let work = context.pluginWorkDirectoryURL
    let finder: any DirectoryFinding = DirectoryFinder()
    // What the package declares as a resource is in the bundle already.
    let declared = Set(target.sourceFiles.filter { $0.type == .resource }.map(\.url.standardizedFileURL.path))
    let files = try TargetFiles(finder.directory(of: target), without: declared)
    let module = target.moduleName
    let modelInputs = try files.models.flatMap { try TargetFiles.contents(of: $0) }
    let compiled = target.sourceFiles(withSuffix: "swift").map(\.url)
    let compiledAlready = Set(compiled.map(\.standardizedFileURL.path))
    let sources = files.sources.filter { !compiledAlready.contains($0.standardizedFileURL.path) }
    // The names that `coredata port` has taken out of the sources.
    let named = sources + compiled.filter { $0.lastPathComponent == "ObjectiveCNames.swift" }
    var commands: [Command] = []
    for compiled in files.replaced {
      Diagnostics.remark("\(files.relativePath(of: compiled)) is not used: its source beside it is compiled.")
    }
    for (name, urls) in Dictionary(grouping: files.models + files.mappings, by: \.resourceName) where urls.count > 1 {
      let paths = urls.map(files.relativePath).joined(separator: ", ")
      Diagnostics.error(
        "The target \(target.name) has \(urls.count) files that become \(name): \(paths). A bundle can hold one.")
    }
    for model in files.models {
      let name = model.deletingPathExtension().lastPathComponent
      let compiled = work.appending(path: "\(name).momd")
      let classes = work.appending(path: "\(name)+ManagedObjects.swift")
      commands.append(
        .buildCommand(
          displayName: "Compiling \(model.lastPathComponent)", executable: tool,
          arguments: [
            "model", "--module", module, "--output", compiled.path, "--classes", classes.path,
          ] + named.flatMap { ["--source", $0.path] } + [model.path],
          inputFiles: try TargetFiles.contents(of: model) + named, outputFiles: [compiled, classes]))
    }
    for mapping in files.mappings {
      let compiled = work.appending(path: mapping.resourceName)
      let verb = mapping.pathExtension == "cdm" ? "Copying" : "Compiling"
      commands.append(
        .buildCommand(
          displayName: "\(verb) \(mapping.lastPathComponent)", executable: tool,
          arguments: ["mapping", "--output", compiled.path] + files.models.flatMap { ["--model", $0.path] }
            + [mapping.path],
          inputFiles: try TargetFiles.contents(of: mapping) + modelInputs, outputFiles: [compiled]))
    }
    if !sources.isEmpty {
      // The compiler wants another name for each file of a module.
      var names: [String: Int] = [:]
      let outputs = sources.map { source in
        let name = files.relativePath(of: source).replacing("/", with: "-")
        names[name.lowercased(), default: 0] += 1
        let count = names[name.lowercased(), default: 1]
        return work.appending(path: "Translated").appending(path: count == 1 ? name : "\(count)-\(name)")
      }
      let namesFile = work.appending(path: "ObjectiveCNames.swift")
      let hasResources =
        !files.models.isEmpty || !files.mappings.isEmpty || target.sourceFiles.contains { $0.type == .resource }
      var arguments = ["sources", "--names", namesFile.path, "--resources", hasResources ? "yes" : "no"]
      arguments += files.models.flatMap { ["--model", $0.path] }
      arguments += outputs.flatMap { ["--output", $0.path] } + sources.map(\.path)
      commands.append(
        .buildCommand(
          displayName: "Translating \(sources.count) sources of \(target.name)", executable: tool, arguments: arguments,
          inputFiles: sources + modelInputs, outputFiles: outputs + [namesFile]))
    }
    return commands
  }
}

/// Swift 6.0 has only paths for directories, of which later versions warn. They do not warn in what is deprecated itself, nor
/// where that is called through a protocol.
private protocol DirectoryFinding {
  func directory(of target: any Target) -> URL
}

private struct DirectoryFinder: DirectoryFinding {
  @available(*, deprecated)
  func directory(of target: any Target) -> URL { URL(fileURLWithPath: target.directory.string) }
}

extension URL {
  /// The name of the resource that a model or mapping model becomes.
  fileprivate var resourceName: String {
    let isModel = ["xcdatamodeld", "xcdatamodel"].contains(pathExtension)
    return deletingPathExtension().lastPathComponent + (isModel ? ".momd" : ".cdm")
  }
}

/// The files below a target's directory that concern the plug-in.
private struct TargetFiles {
  private let directory: URL
  /// The paths of files that are left out.
  private let declared: Set<String>
  private(set) var models: [URL] = []
  private(set) var mappings: [URL] = []
  /// Compiled mapping models whose sources are beside them.
  private(set) var replaced: [URL] = []
  private(set) var sources: [URL] = []
  /// The directories that have been searched: a symbolic link may lead back to one.
  private var seen: Set<String> = []

  init(_ directory: URL, without declared: Set<String>) throws {
    self.directory = directory
    self.declared = declared
    try search(directory)
    let sources = Set(mappings.filter { $0.pathExtension != "cdm" }.map { $0.deletingPathExtension().path })
    replaced = mappings.filter { $0.pathExtension == "cdm" && sources.contains($0.deletingPathExtension().path) }
    mappings.removeAll(where: replaced.contains)
  }

  private mutating func search(_ directory: URL) throws {
    let manager = FileManager.default
    guard seen.insert(directory.resolvingSymlinksInPath().path).inserted else { return }
    for name in try manager.contentsOfDirectory(atPath: directory.path).sorted() where !name.hasPrefix(".") {
      let url = directory.appending(path: name)
      switch url.pathExtension {
      case "xcdatamodeld", "xcdatamodel": models.append(url)
      case "xcmappingmodel": mappings.append(url)
      case "cdm": if !declared.contains(url.standardizedFileURL.path) { mappings.append(url) }
      case "mapping":
        if !declared.contains(url.standardizedFileURL.path), try Self.isMapping(url) { mappings.append(url) }
      case "swift": sources.append(url)
      default:
        var isDirectory: ObjCBool = false
        if manager.fileExists(atPath: url.path, isDirectory: &isDirectory), isDirectory.boolValue { try search(url) }
      }
    }
  }

  func relativePath(of url: URL) -> String { String(url.path.dropFirst(directory.path.count).drop { $0 == "/" }) }

  /// Whether a file with the extension `mapping` is a mapping model as text: some line has an arrow.
  private static func isMapping(_ file: URL) throws -> Bool {
    String(decoding: try Data(contentsOf: file), as: UTF8.self).split(whereSeparator: \.isNewline)
      .contains { $0.first != "#" && $0.contains("->") }
  }

  /// The files in a package of Xcode's, or the file itself.
  static func contents(of package: URL) throws -> [URL] {
    if ["cdm", "mapping"].contains(package.pathExtension) { return [package] }
    return try FileManager.default.subpathsOfDirectory(atPath: package.path).sorted().map {
      package.appending(path: $0)
    }
    .filter { !$0.hasDirectoryPath }
  }
}
