// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSourceCode
import Foundation

/// The Swift sources and models below a directory, by module.
struct SourceTree {
  /// Sources that are compiled together.
  struct Module {
    let directory: URL
    /// Whether the module is a package target with models, and therefore has its own bundle.
    var hasBundle: Bool { isInPackage && !models.isEmpty }
    let isInPackage: Bool
    var sources: [URL] = []
    var models: [URL] = []
  }

  private(set) var modules: [String: Module] = [:]
  /// The symbolic links, which are not followed.
  private(set) var links: [URL] = []

  private let root: URL

  /// Directories that contain no sources, or those of others.
  private static let skipped: Set<String> = ["build", "Carthage", "DerivedData", "node_modules", "Pods"]

  /// - Throws: `CommandFailure` if there is no such directory; the errors of reading directories.
  init(_ directory: URL) throws {
    root = directory.resolvingSymlinksInPath().standardizedFileURL
    guard FileCalls.isDirectory(root) else {
      throw CommandFailure(.usage, "\(directory.path) is not a directory. Name the directory with the sources.")
    }
    try search(root, package: Self.package(around: root))
  }

  /// The models of all modules.
  var models: [URL] { modules.values.flatMap(\.models).sorted { $0.path < $1.path } }

  /// Returns the path of a file below the directory.
  func path(of file: URL) -> String {
    file.path.hasPrefix(root.path + "/") ? String(file.path.dropFirst(root.path.count + 1)) : file.path
  }

  private mutating func search(_ directory: URL, package: URL?) throws {
    let names = try FileCalls.names(in: directory).sorted()
    let package = names.contains("Package.swift") ? directory : package
    for name in names where !name.hasPrefix(".") {
      let url = directory.appendingPathComponent(name)
      if FileCalls.isSymbolicLink(url) {
        if url.pathExtension == "swift" || FileCalls.isDirectory(url.resolvingSymlinksInPath()) { links.append(url) }
        continue
      }
      switch url.pathExtension {
      case "xcdatamodeld", "xcdatamodel": self[moduleOf: url, package].models.append(url)
      case "swift" where FileCalls.isRegular(url):
        if name != "Package.swift" { self[moduleOf: url, package].sources.append(url) }
      default:
        if FileCalls.isDirectory(url), !Self.skipped.contains(name) { try search(url, package: package) }
      }
    }
  }

  private subscript(moduleOf file: URL, package: URL?) -> Module {
    get {
      let directory = moduleDirectory(of: file, package)
      return modules[directory.path] ?? Module(directory: directory, isInPackage: package != nil)
    }
    set { modules[newValue.directory.path] = newValue }
  }

  private func moduleDirectory(of file: URL, _ package: URL?) -> URL {
    guard let package else { return root }
    let parts = file.path.dropFirst(package.path.count + 1).split(separator: "/").map(String.init)
    guard parts.count > 2, ["Sources", "Tests", "Source", "Src"].contains(parts[0]) else {
      return package.path.count > root.path.count ? package : root
    }
    return package.appendingPathComponent(parts[0]).appendingPathComponent(parts[1])
  }

  /// Returns the package that contains a directory.
  private static func package(around directory: URL) -> URL? {
    var place = directory
    while place.path != "/" {
      if FileCalls.isRegular(place.appendingPathComponent("Package.swift")) { return place }
      place.deleteLastPathComponent()
    }
    return nil
  }
}
