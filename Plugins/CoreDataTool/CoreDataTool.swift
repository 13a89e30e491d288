// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackagePlugin

/// `swift package coredata …`: the tool with the classes of the package that it runs in, so that migration policies, classes
/// of objects, value transformers and functions that models name are found.
///
/// The tool and the package's targets are built for debugging, and their object files are linked to one program.
@main
struct CoreDataTool: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) throws {
    let built = try build(.product("coredata"))
    try build(.all(includingTests: false))
    guard let tool = built.builtArtifacts.first(where: { $0.kind == .executable })?.url else {
      throw Failure("SwiftPM does not tell where it has built the tool coredata.")
    }
    let app = try AppModules(context.package, builtIn: tool.deletingLastPathComponent(), tool: tool.lastPathComponent)
    let program = context.pluginWorkDirectoryURL.appending(path: "coredata")
    try link(app, to: program, with: context.tool(named: "swiftc").url)
    let status = try run(program, arguments, environment: ["COREDATA_MODULES": app.modules.joined(separator: ":")])
    // `swift package` makes any other status than 0 its own 1.
    if status != 0 { exit(status) }
  }

  /// Builds for debugging: in other configurations the compiler optimizes over the borders of modules.
  @discardableResult
  private func build(_ subset: PackageManager.BuildSubset) throws -> PackageManager.BuildResult {
    let result = try packageManager.build(subset, parameters: .init(configuration: .debug))
    guard result.succeeded else { throw Failure("The package cannot be built.\n\(result.logText)") }
    return result
  }

  private func link(_ app: AppModules, to program: URL, with compiler: URL) throws {
    let list = program.appendingPathExtension("objects")
    let lines = app.objects.map { "\"\($0)\"" }.joined(separator: "\n")
    try lines.write(to: list, atomically: true, encoding: .utf8)
    let status = try run(
      compiler,
      app.linkerFlags + [
        "-o", program.path, "-module-name", "CoreDataCommand", "-emit-executable", "-g", "@\(list.path)",
        // SwiftPM gives the entry point of each executable a name of its own.
        "-Xlinker", "--defsym", "-Xlinker", "main=CoreDataCommand_main",
      ])
    guard status == 0 else { throw Failure("The tool cannot be linked with the classes of the package.") }
  }

  private func run(_ program: URL, _ arguments: [String], environment: [String: String] = [:]) throws -> Int32 {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}

/// The modules of a package, of what it depends on, and of the tool, as SwiftPM has built them.
private struct AppModules {
  /// The names of the package's own modules.
  private(set) var modules: [String] = []
  /// The paths of all object files.
  private(set) var objects: [String] = []
  private(set) var linkerFlags: [String] = []

  init(_ package: Package, builtIn directory: URL, tool: String) throws {
    let list = directory.appending(path: "\(tool).product/Objects.LinkFileList")
    // The sentence below says more than the error.
    guard let text = try? String(contentsOf: list, encoding: .utf8) else {
      throw Failure(
        "There is no list of the tool's object files at \(list.path): this version of SwiftPM is not known.")
    }
    objects = text.split(separator: "\n").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "'\"")) }
    let toolFolders = Set(objects.map { URL(filePath: $0).deletingLastPathComponent().path })
    let own = package.targets.compactMap { $0 as? any SourceModuleTarget }
      .filter { $0.kind == .generic || $0.kind == .executable }
    modules = own.map(\.moduleName)
    var seen: Set<String> = []
    for target in own.flatMap({ Self.linked($0, &seen) }) {
      if let library = target as? SystemLibraryTarget { linkerFlags += library.linkerFlags }
      let folder = directory.appending(path: "\(target.name).build")
      guard let module = target as? any SourceModuleTarget, module.kind == .generic || module.kind == .executable,
        !toolFolders.contains(folder.path)
      else { continue }
      objects += try Self.objects(of: module, in: folder)
    }
  }

  /// Returns a target, and those that it needs and were not seen before. What only a macro needs is part of the compiler's
  /// plug-in.
  private static func linked(_ target: any Target, _ seen: inout Set<String>) -> [any Target] {
    guard (target as? any SourceModuleTarget)?.kind != .macro, seen.insert(target.id).inserted else { return [] }
    var found: [any Target] = [target]
    for dependency in target.dependencies {
      switch dependency {
      case .target(let other): found += linked(other, &seen)
      case .product(let product): for other in product.targets { found += linked(other, &seen) }
      @unknown default: break
      }
    }
    return found
  }

  /// The object files of a module's present sources: its folder can hold those of earlier ones.
  private static func objects(of module: any SourceModuleTarget, in folder: URL) throws -> [String] {
    let map = folder.appending(path: "output-file-map.json")
    guard FileManager.default.fileExists(atPath: map.path) else {
      // A module in C: `Folder/File.c` becomes `Folder/File.c.o`.
      let sources = module.sourceFiles.filter { $0.type == .source }.map(\.url.path)
      let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
      return names.filter { name in name.hasSuffix(".o") && sources.contains { $0.hasSuffix("/" + name.dropLast(2)) } }
        .map { folder.appending(path: $0).path }.sorted()
    }
    let files = try JSONSerialization.jsonObject(with: Data(contentsOf: map)) as? [String: [String: String]]
    return (files ?? [:]).values.compactMap { $0["object"] }.sorted()
  }
}

private struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
