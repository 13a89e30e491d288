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
  /// All versions that can be read, sorted as a person would: `Model`, `Model 2`, `Model 10`.
  package let versions: [Version]
  /// The versions that cannot be read, with the reasons: they do not keep the others from being used.
  package let unreadable: [(name: String, error: ModelFileError)]
  /// What was passed over or corrected in versions that were read.
  package let warnings: [ModelFileError]
  /// The version which new stores get; nil only where several versions are there and none is marked.
  package let currentVersionName: String?
  /// The hashes that Xcode noted for each version and entity of a compiled bundle; empty for sources.
  package let recordedHashes: [String: [String: Data]]
  /// The checksum that Xcode noted for each version of a compiled bundle; empty for sources and older bundles.
  package let recordedChecksums: [String: String]

  /// Reads a model with all its versions. A version that cannot be read, or that contradicts itself, is left out and
  /// stands in `unreadable`.
  /// - Throws: `ModelFileError` where the file holds no model, or no version can be read.
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
      let files = sources.isEmpty ? compiled : sources
      let isCompiled = sources.isEmpty
      let readings = try Self.sorted(files).concurrentMap { file in
        let place = url.appendingPathComponent(file)
        return try VersionReading(Self.baseName(file), at: place, isOnly: files.count == 1) { warnings in
          isCompiled
            ? try CompiledModelReader.document(at: place, warnings: warnings)
            : try XCDataModelReader.document(at: place, parsers: parsers, warnings: warnings)
        }
      }
      versions = readings.compactMap { reading in reading.document.map { (reading.name, $0) } }
      unreadable = readings.compactMap { reading in reading.error.map { (reading.name, $0) } }
      warnings = readings.flatMap(\.warnings)
      if versions.isEmpty, let first = unreadable.first { throw first.error }
      let names = Self.sorted(files).map(Self.baseName)
      if sources.isEmpty {
        let info = try VersionInfo(folder: url)
        recordedHashes = info.hashes
        recordedChecksums = info.checksums
        currentVersionName = info.currentVersionName ?? Self.fallback(names, bundle: url)
      } else {
        recordedHashes = [:]
        recordedChecksums = [:]
        currentVersionName = try Self.markedVersion(in: url) ?? Self.fallback(names, bundle: url)
      }
      return
    }
    let name = Self.baseName(url.lastPathComponent)
    let noted = ModelWarnings()
    versions = [
      (name, try Self.document(at: url, isFolder: isFolder.boolValue, parsers: parsers, warnings: noted))
    ]
    (unreadable, warnings) = ([], noted.list)
    currentVersionName = name
    recordedHashes = [:]
    recordedChecksums = [:]
  }

  /// A bundle of one version, which was read from a file of another kind: a store that carries its model.
  package init(url: URL, name: String, document: ModelDocument) {
    self.url = url
    versions = [(name, document)]
    currentVersionName = name
    (unreadable, warnings, recordedHashes, recordedChecksums) = ([], [], [:], [:])
  }

  /// The version of a name.
  /// - Throws: `ModelFileError` that lists the versions there are.
  package func document(named name: String) throws -> ModelDocument {
    if let version = versions.first(where: { $0.name == name }) { return version.document }
    if let version = unreadable.first(where: { $0.name == name }) { throw version.error }
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
  private static func document(
    at url: URL, isFolder: Bool, parsers: SourceParsers, warnings: ModelWarnings
  ) throws -> ModelDocument {
    guard !isFolder else { return try XCDataModelReader.document(at: url, parsers: parsers, warnings: warnings) }
    let opening = try ModelFile.firstBytes(6, of: url)
    if opening == Data("bplist".utf8) { return try CompiledModelReader.document(at: url, warnings: warnings) }
    if opening.starts(with: OptimizedModel.opening) {
      return try CompiledModelReader.document(at: OptimizedModel.compiledModel(beside: url), warnings: warnings)
    }
    return try XCDataModelReader.document(at: url, parsers: parsers, warnings: warnings)
  }

  /// The version that an `.xccurrentversion` names; it may be absent, or name none.
  private static func markedVersion(in url: URL) throws -> String? {
    let file = url.appendingPathComponent(".xccurrentversion")
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    let contents = try PropertyLists.dictionary(at: file)
    return (contents["_XCCurrentVersionName"] as? String).map(baseName)
  }

  /// Where nothing is marked: the only version, else the one that bears the bundle's name.
  private static func fallback(_ names: [String], bundle url: URL) -> String? {
    names.count == 1 ? names[0] : names.first { $0 == baseName(url.lastPathComponent) }
  }
}

/// A version of a bundle, or why it cannot be read.
private struct VersionReading: Sendable {
  let name: String
  let document: ModelDocument?
  let error: ModelFileError?
  let warnings: [ModelFileError]

  /// Reads a version.
  ///
  /// What the version means is checked where there are others, which it must not get in the way of.
  init(
    _ name: String, at place: URL, isOnly: Bool, _ body: (ModelWarnings) throws -> ModelDocument
  ) throws {
    self.name = name
    let noted = ModelWarnings()
    do {
      let document = try body(noted)
      if !isOnly { try document.validate() }
      (self.document, error) = (document, nil)
    } catch let error as ModelFileError {
      (document, self.error) = (nil, error.inFile(place))
    }
    warnings = noted.list
  }
}
