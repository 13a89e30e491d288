// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// All versions of a model, read from any kind of model file.
///
/// The kind is determined by content, not by name: a directory of `.xcdatamodel` packages with or without
/// `.xccurrentversion`, one such package, the XML inside it, a directory of compiled `.mom` files with or without
/// `VersionInfo.plist`, or one compiled file.
package struct ModelBundle: Sendable {
  /// A version and its name, which is that of its file without the extension.
  package typealias Version = (name: String, document: ModelDocument)

  /// The file or directory.
  package let url: URL
  /// The name of the current version, which new stores get; nil if there are several versions and none is marked as
  /// current.
  package let currentVersionName: String?
  /// The version hashes that Xcode recorded for each version and entity of a compiled bundle; empty for sources.
  package let recordedHashes: [String: [String: Data]]
  /// The checksum that Xcode recorded for each version of a compiled bundle; empty for sources and older bundles.
  package let recordedChecksums: [String: String]
  private let files: VersionFiles
  /// Whether the names of the versions determine their order. Otherwise unreadable versions come first.
  private let isOrderedByName: Bool

  /// Opens a model, whose versions are read on first use. Versions that cannot be read or are invalid are omitted and
  /// listed in `unreadable`.
  ///
  /// - Parameter current: The name of the current version, which overrides that of the bundle.
  /// - Throws: `ModelFileError` if the file is not a model, or no version can be read.
  package init(contentsOf url: URL, current: String? = nil) throws {
    self.url = url
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
      throw ModelFileError(
        .missingFile, found: "The file does not exist.", advice: "Check the path of the model.", file: url)
    }
    let contents = isDirectory.boolValue ? try FileManager.default.contentsOfDirectory(atPath: url.path) : []
    guard isDirectory.boolValue, !contents.contains("contents"), url.pathExtension != "xcdatamodel" else {
      let name = Self.baseName(url.lastPathComponent)
      let noted = ModelWarnings()
      let document = try Self.document(at: url, isDirectory: isDirectory.boolValue, warnings: noted)
      let reading = VersionReading(name, document, warnings: noted.list)
      files = VersionFiles([name]) { _ in reading }
      currentVersionName = name
      (recordedHashes, recordedChecksums, isOrderedByName) = ([:], [:], true)
      return
    }
    let sources = contents.filter { $0.hasSuffix(".xcdatamodel") }
    let compiled = contents.filter { $0.hasSuffix(".mom") }
    guard !sources.isEmpty || !compiled.isEmpty else {
      if let optimized = contents.first(where: { $0.hasSuffix(".omo") }) {
        throw OptimizedModel.unreadable(url.appendingPathComponent(optimized))
      }
      throw ModelFileError(
        .missingContents, found: "The directory contains neither an .xcdatamodel nor a .mom.",
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
          : try Self.source(at: place, warnings: warnings)
      }
    }
    // If the caller names the current version, the file that names it is not needed and may be unreadable.
    let info = try isCompiled ? (current == nil ? VersionInfo(directory: url) : try? VersionInfo(directory: url)) : nil
    recordedHashes = info?.hashes ?? [:]
    recordedChecksums = info?.checksums ?? [:]
    currentVersionName =
      try current ?? info?.currentVersionName ?? (isCompiled ? nil : Self.markedVersion(in: url))
      ?? Self.fallback(names, bundle: url)
    isOrderedByName = VersionNames.suffice(names)
    self.files = isOrderedByName ? files : files.chained(current: currentVersionName)
    // One readable version is enough. Look at all of them only if the likeliest is not readable.
    let likeliest = names.firstIndex { $0 == currentVersionName } ?? names.count - 1
    guard files.readings(at: [likeliest])[0].document == nil, !files.all.contains(where: { $0.document != nil }),
      let first = files.all.compactMap(\.error).first
    else { return }
    throw first
  }

  /// Creates a bundle of versions that were read from another kind of file, such as a store that contains its model, or
  /// are declared in code.
  ///
  /// - Parameter versions: The versions in order; the last is the current one.
  package init(url: URL, versions: [Version]) {
    self.url = url
    files = VersionFiles(versions.map(\.name)) { VersionReading(versions[$0].name, versions[$0].document) }
    currentVersionName = versions.last?.name
    (recordedHashes, recordedChecksums, isOrderedByName) = ([:], [:], true)
  }

  /// The names of all versions in order, including unreadable ones.
  ///
  /// Names with numbers are sorted as a person would: `Model`, `Model 2`, `Model 10`. If the names do not determine the
  /// whole order, `VersionChain` does.
  package var names: [String] { files.names }

  /// All readable versions, in order.
  package var versions: [Version] {
    files.all.compactMap { reading in reading.document.map { (reading.name, $0) } }
  }

  /// The unreadable versions with their errors. They do not prevent the use of the others.
  package var unreadable: [(name: String, error: ModelFileError)] { Self.unreadable(files.all) }

  /// Returns the unreadable versions between two positions in `names`, with their errors, in order; if the names do not
  /// determine the order, all unreadable versions.
  package func unreadable(between first: Int, and last: Int) -> [(name: String, error: ModelFileError)] {
    guard isOrderedByName else { return unreadable }
    let between = min(first, last)...max(first, last)
    return Self.unreadable(files.readings(at: between.dropFirst().dropLast()))
  }

  /// The warnings about values that were ignored or corrected in readable versions.
  package var warnings: [ModelFileError] { files.all.flatMap(\.warnings) }

  /// Like `unreadable` and `warnings`, for the versions read so far.
  package var problemsSoFar: (unreadable: [(name: String, error: ModelFileError)], warnings: [ModelFileError]) {
    let readings = files.soFar
    return (Self.unreadable(readings), readings.flatMap(\.warnings))
  }

  private static func unreadable(_ readings: [VersionReading]) -> [(name: String, error: ModelFileError)] {
    readings.compactMap { reading in reading.error.map { (reading.name, $0) } }
  }

  /// Returns the versions at some positions in `names` with their hashes, reading them concurrently; nil for unreadable
  /// versions.
  package func versions(at positions: [Int]) -> [(document: ModelDocument, hashes: VersionHashes)?] {
    let hashes = files.hashes(at: positions)
    return zip(files.readings(at: positions), hashes).map { reading, hashes in
      guard let document = reading.document, let hashes else { return nil }
      return (document, hashes)
    }
  }

  /// Returns the version with the given name.
  /// - Throws: `ModelFileError` that lists the existing versions.
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

  /// Returns the current version.
  /// - Throws: `ModelFileError` if none is marked as current, or the marked one is missing.
  package func currentDocument() throws -> ModelDocument {
    guard let currentVersionName else {
      throw ModelFileError(
        .unknownVersion, found: "The model has \(versions.count) versions, none of which is marked as current.",
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

  /// Reads a version in the format identified by its first bytes.
  private static func document(at url: URL, isDirectory: Bool, warnings: ModelWarnings) throws -> ModelDocument {
    guard !isDirectory else { return try source(at: url, warnings: warnings) }
    let opening = try ModelFile.firstBytes(6, of: url)
    if opening == Data("bplist".utf8) { return try CompiledModelReader.document(at: url, warnings: warnings) }
    if opening.starts(with: OptimizedModel.opening) {
      return try CompiledModelReader.document(at: OptimizedModel.compiledModel(beside: url), warnings: warnings)
    }
    return try XCDataModelReader.document(at: url, warnings: warnings)
  }

  /// Reads a version from its package, including one from before Xcode 4.
  private static func source(at package: URL, warnings: ModelWarnings) throws -> ModelDocument {
    guard let old = OldModelReader.file(of: package) else {
      return try XCDataModelReader.document(at: package, warnings: warnings)
    }
    return try OldModelReader.document(at: old, warnings: warnings)
  }

  /// Returns the version named by `.xccurrentversion`, which may be missing or name no version.
  private static func markedVersion(in url: URL) throws -> String? {
    let file = url.appendingPathComponent(".xccurrentversion")
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    let contents = try PropertyLists.dictionary(at: file)
    return (contents["_XCCurrentVersionName"] as? String).map(baseName)
  }

  /// Returns the current version if none is marked: the only one, or the one with the name of the bundle.
  private static func fallback(_ names: [String], bundle url: URL) -> String? {
    names.count == 1 ? names[0] : names.first { $0 == baseName(url.lastPathComponent) }
  }
}

/// The optimized copy of a compiled model, `.omo`. Its format is undocumented, but the `.mom` beside it is equivalent.
enum OptimizedModel {
  /// The first bytes of every such file.
  static let opening = Data("momv2".utf8)

  /// Returns the compiled model beside an optimized one.
  /// - Throws: `ModelFileError` if it is missing.
  static func compiledModel(beside url: URL) throws -> URL {
    let compiled = url.deletingPathExtension().appendingPathExtension("mom")
    guard FileManager.default.fileExists(atPath: compiled.path) else { throw unreadable(url) }
    return compiled
  }

  /// Creates the error for an optimized model without a compiled one.
  static func unreadable(_ url: URL) -> ModelFileError {
    let compiled = url.deletingPathExtension().appendingPathExtension("mom").lastPathComponent
    return ModelFileError(
      .unsupportedFile, found: "The format of optimized models (.omo) is undocumented, and \(compiled) is missing.",
      advice: "Put the .mom of the same version beside it, or use the .xcdatamodel.", file: url)
  }
}

/// The `VersionInfo.plist` of a compiled bundle.
struct VersionInfo {
  private static let fileName = "VersionInfo.plist"
  private static let currentNameKey = "NSManagedObjectModel_CurrentVersionName"
  private static let hashesKey = "NSManagedObjectModel_VersionHashes"
  private static let checksumsKey = "NSManagedObjectModel_VersionChecksums"

  /// The name of the current version, which new stores get.
  var currentVersionName: String?
  /// The version hashes of the entities, by version.
  var hashes: [String: [String: Data]] = [:]
  /// The checksum of every version.
  var checksums: [String: String] = [:]

  /// Reads the file in a directory. All values are empty if it does not exist.
  init(directory: URL) throws {
    let file = directory.appendingPathComponent(Self.fileName)
    guard FileManager.default.fileExists(atPath: file.path) else { return }
    let contents = try PropertyLists.dictionary(at: file)
    currentVersionName = contents[Self.currentNameKey] as? String
    hashes = contents[Self.hashesKey] as? [String: [String: Data]] ?? [:]
    checksums = contents[Self.checksumsKey] as? [String: String] ?? [:]
  }

  /// Computes the content for some versions.
  init(versions: [ModelBundle.Version], currentVersionName: String) {
    self.currentVersionName = currentVersionName
    let computed = versions.map(\.document).concurrentMap { VersionHashes($0) }
    for (version, computed) in zip(versions, computed) {
      hashes[version.name] = computed.entities
      checksums[version.name] = computed.checksum
    }
  }

  /// Writes the file into a directory, as a binary property list like Xcode's compiler.
  func write(to directory: URL) throws {
    var contents: [String: ArchiveValue] = [
      Self.hashesKey: .dictionary(hashes.mapValues { .dictionary($0.mapValues { .data($0) }) }),
      Self.checksumsKey: .dictionary(checksums.mapValues { .string($0) }),
    ]
    contents[Self.currentNameKey] = currentVersionName.map { .string($0) }
    let data = BinaryPropertyListWriter.data(of: .dictionary(contents))
    try data.write(to: directory.appendingPathComponent(Self.fileName))
  }
}

/// Writing compiled models and model sources. Every file or directory is replaced atomically.
extension ModelBundle {
  // MARK: Compiled models

  /// Writes all versions as an `.momd`, with their hashes and checksums.
  ///
  /// - Parameters:
  ///   - versions: The versions. Their names become those of the files.
  ///   - current: The name of the current version, which new stores get.
  ///   - module: The Swift module for classes in the "current product module" (`.Person`).
  /// - Throws: `ModelFileError` for an invalid model or a name that cannot be a file name; file system errors.
  package static func writeCompiled(_ versions: [Version], current: String, module: String? = nil, to url: URL) throws {
    let compiled = versions.map { Version($0.name, $0.document.namingClasses(inModule: module)) }
    try checkNames(of: versions, current: current, for: url)
    try DirectoryReplacement.write(to: url) { directory in
      // A few at a time, which limits the memory used for a bundle of many versions.
      for start in stride(from: 0, to: compiled.count, by: versionsAtOnce) {
        let versions = Array(compiled[start..<min(start + versionsAtOnce, compiled.count)])
        let archives = try versions.map(\.document).concurrentMap { try archive(of: $0, file: url) }
        for (version, archive) in zip(versions, archives) {
          try archive.write(to: directory.appendingPathComponent(version.name + ".mom"))
        }
      }
      try VersionInfo(versions: compiled, currentVersionName: current).write(to: directory)
    }
  }

  private static let versionsAtOnce = 8

  /// Writes one version as a `.mom`.
  ///
  /// - Throws: The errors of `writeCompiled(_:current:module:to:)`.
  package static func writeCompiled(_ document: ModelDocument, module: String? = nil, to url: URL) throws {
    try archive(of: document.namingClasses(inModule: module), file: url).write(to: url, options: .atomic)
  }

  private static func archive(of document: ModelDocument, file: URL) throws -> Data {
    try data(of: document, file: file) { try CompiledModelWriter.archive(of: $0, form: .file) }
  }

  // MARK: Sources

  /// Writes all versions as an `.xcdatamodeld`, and marks the current one.
  ///
  /// - Parameters:
  ///   - versions: The versions. Their names become those of the packages.
  ///   - current: The name of the current version, which new stores get.
  /// - Throws: `ModelFileError` for an invalid model, for content that a source cannot express, or for a name that
  ///   cannot be a file name; file system errors.
  package static func writeSource(
    _ versions: [Version], current: String, style: SourceStyle = .current, to url: URL
  ) throws {
    try checkNames(of: versions, current: current, for: url)
    try DirectoryReplacement.write(to: url) { directory in
      for version in versions {
        let package = directory.appendingPathComponent(version.name + ".xcdatamodel", isDirectory: true)
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: false)
        try contents(of: version.document, style, file: url).write(to: package.appendingPathComponent("contents"))
      }
      try currentVersionMark(current).write(to: directory.appendingPathComponent(".xccurrentversion"))
    }
  }

  /// Writes one version as an `.xcdatamodel`.
  ///
  /// - Throws: The errors of `writeSource(_:current:style:to:)`.
  package static func writeSource(_ document: ModelDocument, style: SourceStyle = .current, to url: URL) throws {
    try DirectoryReplacement.write(to: url) { directory in
      try contents(of: document, style, file: url).write(to: directory.appendingPathComponent("contents"))
    }
  }

  private static func contents(of document: ModelDocument, _ style: SourceStyle, file: URL) throws -> Data {
    try data(of: document, file: file) { Data(try XCDataModelWriter.text(of: $0, style: style).utf8) }
  }

  /// Returns the property list that names the current version, formatted like Xcode's.
  private static func currentVersionMark(_ name: String) -> Data {
    Data(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>_XCCurrentVersionName</key>
      \t<string>\(XMLOutput.escaped(name)).xcdatamodel</string>
      </dict>
      </plist>

      """.utf8)
  }

  // MARK: Checks

  /// Encodes a valid document; errors name the file.
  private static func data(
    of document: ModelDocument, file: URL, _ encode: (ModelDocument) throws -> Data
  ) throws -> Data {
    do {
      try document.validate()
      return try encode(document)
    } catch let error as ModelFileError {
      throw error.inFile(file)
    }
  }

  /// Checks that the names of versions are distinct file names, and that the current version exists.
  private static func checkNames(of versions: [Version], current: String, for url: URL) throws {
    var seen: Set<String> = []
    for name in versions.map(\.name) {
      guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/"), !name.contains("\0"), seen.insert(name).inserted
      else {
        throw ModelFileError(
          .missingName, found: "\"\(name)\" is not a valid file name for a version, or is used twice.",
          advice: "Give every version a unique name that is valid for a file.", file: url)
      }
    }
    guard seen.contains(current) else {
      throw ModelFileError(
        .unknownVersion, found: "The model has no version named \"\(current)\".",
        advice: "It has \(versions.map { "\"\($0.name)\"" }.joined(separator: ", ")).", file: url)
    }
  }
}

extension ModelDocument {
  /// Returns the document with the module prepended to class names that begin with a dot, which Xcode calls the
  /// "current product module".
  package func namingClasses(inModule module: String?) -> ModelDocument {
    guard let module else { return self }
    var result = self
    for position in result.entities.indices {
      guard let name = result.entities[position].className, name.hasPrefix(".") else { continue }
      result.entities[position].className = module + name
    }
    return result
  }
}

/// Writes a directory atomically: an existing one stays until the new one is complete.
enum DirectoryReplacement {
  /// Fills a new directory beside the destination, then moves it into place.
  ///
  /// If an error occurs, the old directory is untouched and the new one is removed.
  static func write(to url: URL, _ fill: (URL) throws -> Void) throws {
    let files = FileManager.default
    let parent = url.deletingLastPathComponent()
    let token = UUID().uuidString
    let fresh = parent.appendingPathComponent(".\(url.lastPathComponent).\(token).new", isDirectory: true)
    try files.createDirectory(at: fresh, withIntermediateDirectories: true)
    do {
      try fill(fresh)
      guard files.fileExists(atPath: url.path) else { return try files.moveItem(at: fresh, to: url) }
      let old = parent.appendingPathComponent(".\(url.lastPathComponent).\(token).old", isDirectory: true)
      try files.moveItem(at: url, to: old)
      do {
        try files.moveItem(at: fresh, to: url)
      } catch {
        try files.moveItem(at: old, to: url)
        throw error
      }
      try files.removeItem(at: old)
    } catch {
      // The error that is being thrown takes precedence over a failure to remove the new directory.
      try? files.removeItem(at: fresh)
      throw error
    }
  }
}
