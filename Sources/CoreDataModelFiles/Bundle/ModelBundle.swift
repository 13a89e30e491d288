// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// All versions of a model, read from any of the forms that models come in.
///
/// What a file is is told by what it holds, not by its name: a folder of `.xcdatamodel` packages with or without
/// `.xccurrentversion`, one such package, the XML inside it, a folder of compiled `.mom` files with or without
/// `VersionInfo.plist`, or one compiled file.
package struct ModelBundle: Sendable {
  /// A version by its name, which is that of its file without the extension.
  package typealias Version = (name: String, document: ModelDocument)

  /// The file or folder that was read.
  package let url: URL
  /// All versions, sorted as a person would: `Model`, `Model 2`, `Model 10`.
  package let versions: [Version]
  /// The version which new stores get; nil only where several versions are there and none is marked.
  package let currentVersionName: String?
  /// The hashes that Xcode noted for each version and entity of a compiled bundle; empty for sources.
  package let recordedHashes: [String: [String: Data]]
  /// The checksum that Xcode noted for each version of a compiled bundle; empty for sources and older bundles.
  package let recordedChecksums: [String: String]

  /// Reads a model with all its versions. What the versions mean is not checked; see `ModelDocument.validate()`.
  /// - Throws: `ModelFileError`.
  package init(contentsOf url: URL, parsers: SourceParsers = .standard) throws {
    self.url = url
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw ModelFileError(
        .missingFile, found: "There is no such file.", advice: "Check the path of the model.", file: url)
    }
    let names = isFolder.boolValue ? try FileManager.default.contentsOfDirectory(atPath: url.path) : []
    if isFolder.boolValue, !names.contains("contents"), url.pathExtension != "xcdatamodel" {
      let sources = names.filter { $0.hasSuffix(".xcdatamodel") }
      let compiled = names.filter { $0.hasSuffix(".mom") }
      guard !sources.isEmpty || !compiled.isEmpty else {
        if let optimized = names.first(where: { $0.hasSuffix(".omo") }) {
          throw OptimizedModel.unreadable(url.appendingPathComponent(optimized))
        }
        throw ModelFileError(
          .missingContents, found: "The folder holds neither an .xcdatamodel nor a .mom.",
          advice: "Name an .xcdatamodeld, .xcdatamodel, .momd or .mom.", file: url)
      }
      if sources.isEmpty {
        let info = try VersionInfo(folder: url)
        versions = try Self.sorted(compiled).concurrentMap {
          (Self.baseName($0), try CompiledModelReader.document(at: url.appendingPathComponent($0)))
        }
        recordedHashes = info.hashes
        recordedChecksums = info.checksums
        currentVersionName = info.currentVersionName ?? Self.fallback(versions, bundle: url)
      } else {
        versions = try Self.sorted(sources).concurrentMap {
          let source = url.appendingPathComponent($0)
          return (Self.baseName($0), try XCDataModelReader.document(at: source, parsers: parsers))
        }
        recordedHashes = [:]
        recordedChecksums = [:]
        currentVersionName = try Self.markedVersion(in: url) ?? Self.fallback(versions, bundle: url)
      }
      return
    }
    let name = Self.baseName(url.lastPathComponent)
    versions = [(name, try Self.document(at: url, isFolder: isFolder.boolValue, parsers: parsers))]
    currentVersionName = name
    recordedHashes = [:]
    recordedChecksums = [:]
  }

  /// The version of a name.
  /// - Throws: `ModelFileError` that lists the versions there are.
  package func document(named name: String) throws -> ModelDocument {
    if let version = versions.first(where: { $0.name == name }) { return version.document }
    throw ModelFileError(
      .unknownVersion, found: "The model has no version named \"\(name)\".",
      advice: "It has \(versions.map { "\"\($0.name)\"" }.joined(separator: ", ")).", file: url)
  }

  /// The current version.
  /// - Throws: `ModelFileError` where none is marked, or the marked one is absent.
  package func currentDocument() throws -> ModelDocument {
    guard let currentVersionName else {
      throw ModelFileError(
        .unknownVersion, found: "The model has \(versions.count) versions, and none is marked as current.",
        advice: "Choose the current version in Xcode, or name one.", file: url)
    }
    return try document(named: currentVersionName)
  }

  private static func baseName(_ file: String) -> String {
    (file as NSString).deletingPathExtension
  }

  private static func sorted(_ files: [String]) -> [String] {
    files.sorted { VersionNames.precede(baseName($0), baseName($1)) }
  }

  /// Reads one version, in the format that its first bytes tell.
  private static func document(at url: URL, isFolder: Bool, parsers: SourceParsers) throws -> ModelDocument {
    guard !isFolder else { return try XCDataModelReader.document(at: url, parsers: parsers) }
    let opening = try ModelFile.firstBytes(6, of: url)
    if opening == Data("bplist".utf8) { return try CompiledModelReader.document(at: url) }
    if opening.starts(with: OptimizedModel.opening) {
      return try CompiledModelReader.document(at: OptimizedModel.compiledModel(beside: url))
    }
    return try XCDataModelReader.document(at: url, parsers: parsers)
  }

  /// The version that an `.xccurrentversion` names; it may be absent, or name none.
  private static func markedVersion(in url: URL) throws -> String? {
    let file = url.appendingPathComponent(".xccurrentversion")
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    let contents = try PropertyLists.dictionary(at: file)
    return (contents["_XCCurrentVersionName"] as? String).map(baseName)
  }

  /// Where nothing is marked: the only version, else the one that bears the bundle's name.
  private static func fallback(_ versions: [Version], bundle url: URL) -> String? {
    if versions.count == 1 { return versions[0].name }
    return versions.first { $0.name == baseName(url.lastPathComponent) }?.name
  }
}
