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
  /// The version which new stores get; nil only where several versions are there and none is marked.
  package let currentVersionName: String?
  /// The hashes that Xcode noted for each version and entity of a compiled bundle; empty for sources.
  package let recordedHashes: [String: [String: Data]]
  /// The checksum that Xcode noted for each version of a compiled bundle; empty for sources and older bundles.
  package let recordedChecksums: [String: String]
  private let files: VersionFiles

  /// Finds a model with all its versions, which are read when they are asked for. A version that cannot be read, or that
  /// contradicts itself, is left out and stands in `unreadable`.
  ///
  /// - Parameter current: the version to take for the current one, whatever the bundle says.
  /// - Throws: `ModelFileError` where the file holds no model, or no version can be read.
  package init(contentsOf url: URL, current: String? = nil, parsers: SourceParsers = .standard) throws {
    self.url = url
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw ModelFileError(
        .missingFile, found: "There is no such file.", advice: "Check the path of the model.", file: url)
    }
    let contents = isFolder.boolValue ? try FileManager.default.contentsOfDirectory(atPath: url.path) : []
    guard isFolder.boolValue, !contents.contains("contents"), url.pathExtension != "xcdatamodel" else {
      let name = Self.baseName(url.lastPathComponent)
      let noted = ModelWarnings()
      let document = try Self.document(at: url, isFolder: isFolder.boolValue, parsers: parsers, warnings: noted)
      let reading = VersionReading(name, document, warnings: noted.list)
      files = VersionFiles([name]) { _ in reading }
      currentVersionName = name
      (recordedHashes, recordedChecksums) = ([:], [:])
      return
    }
    let sources = contents.filter { $0.hasSuffix(".xcdatamodel") }
    let compiled = contents.filter { $0.hasSuffix(".mom") }
    guard !sources.isEmpty || !compiled.isEmpty else {
      if let optimized = contents.first(where: { $0.hasSuffix(".omo") }) {
        throw OptimizedModel.unreadable(url.appendingPathComponent(optimized))
      }
      throw ModelFileError(
        .missingContents, found: "The folder holds neither an .xcdatamodel nor a .mom.",
        advice: "Name an .xcdatamodeld, .xcdatamodel, .momd or .mom.", file: url)
    }
    let isCompiled = sources.isEmpty
    let places = Self.sorted(isCompiled ? compiled : sources)
    let names = places.map(Self.baseName)
    let files = VersionFiles(names) { position in
      let place = url.appendingPathComponent(places[position])
      return VersionReading(names[position], at: place, isOnly: places.count == 1) { warnings in
        isCompiled
          ? try CompiledModelReader.document(at: place, warnings: warnings)
          : try XCDataModelReader.document(at: place, parsers: parsers, warnings: warnings)
      }
    }
    // A caller who names the current version has no need of the file that does, which may be unreadable then.
    let info = try isCompiled ? (current == nil ? VersionInfo(folder: url) : try? VersionInfo(folder: url)) : nil
    recordedHashes = info?.hashes ?? [:]
    recordedChecksums = info?.checksums ?? [:]
    currentVersionName =
      try current ?? info?.currentVersionName ?? (isCompiled ? nil : Self.markedVersion(in: url))
      ?? Self.fallback(names, bundle: url)
    self.files = VersionNames.suffice(names) ? files : files.chained(current: currentVersionName)
    // One version that can be read is enough, and all are looked at only where the likeliest is not it.
    let likeliest = names.firstIndex { $0 == currentVersionName } ?? names.count - 1
    guard files.readings(at: [likeliest])[0].document == nil, !files.all.contains(where: { $0.document != nil }),
      let first = files.all.compactMap(\.error).first
    else { return }
    throw first
  }

  /// A bundle of one version, which was read from a file of another kind: a store that carries its model.
  package init(url: URL, name: String, document: ModelDocument) {
    self.url = url
    files = VersionFiles([name]) { _ in VersionReading(name, document) }
    currentVersionName = name
    (recordedHashes, recordedChecksums) = ([:], [:])
  }

  /// The names of all versions in their order, of those too that cannot be read.
  ///
  /// Names with numbers are sorted as a person would: `Model`, `Model 2`, `Model 10`. Where that does not put all of them in
  /// order, `VersionChain` does.
  package var names: [String] { files.names }

  /// All versions that can be read, in their order.
  package var versions: [Version] {
    files.all.compactMap { reading in reading.document.map { (reading.name, $0) } }
  }

  /// The versions that cannot be read, with the reasons: they do not keep the others from being used.
  package var unreadable: [(name: String, error: ModelFileError)] { Self.unreadable(files.all) }

  /// What was passed over or corrected in versions that can be read.
  package var warnings: [ModelFileError] { files.all.flatMap(\.warnings) }

  /// As `unreadable` and `warnings`, of the versions that have been asked for so far.
  package var problemsSoFar: (unreadable: [(name: String, error: ModelFileError)], warnings: [ModelFileError]) {
    let readings = files.soFar
    return (Self.unreadable(readings), readings.flatMap(\.warnings))
  }

  private static func unreadable(_ readings: [VersionReading]) -> [(name: String, error: ModelFileError)] {
    readings.compactMap { reading in reading.error.map { (reading.name, $0) } }
  }

  /// Versions with their hashes by their positions in `names`, read on all processors; nil for those that cannot be read.
  package func versions(at positions: [Int]) -> [(document: ModelDocument, hashes: VersionHashes)?] {
    let hashes = files.hashes(at: positions)
    return zip(files.readings(at: positions), hashes).map { reading, hashes in
      guard let document = reading.document, let hashes else { return nil }
      return (document, hashes)
    }
  }

  /// The version of a name.
  /// - Throws: `ModelFileError` that lists the versions there are.
  package func document(named name: String) throws -> ModelDocument {
    if let position = names.firstIndex(of: name) {
      let reading = files.readings(at: [position])[0]
      if let document = reading.document { return document }
      if let error = reading.error { throw error }
    }
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
