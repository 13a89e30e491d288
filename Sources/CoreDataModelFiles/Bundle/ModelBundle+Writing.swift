// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writing compiled models and model sources. Every file or directory is replaced atomically.
extension ModelBundle {
  // MARK: Compiled models

  /// Writes all versions as an `.momd`, with their hashes and checksums.
  ///
  /// - Parameters:
  ///   - versions: The versions. Their names become those of the files.
  ///   - current: The name of the current version, which new stores get.
  ///   - module: The Swift module for classes in the "current product module" (`.Person`).
  /// - Throws: `ModelFileError` for an invalid model or a name that cannot be the name of a file; errors of the file
  ///   system.
  package static func writeCompiled(
    _ versions: [Version], current: String, module: String? = nil, to url: URL
  ) throws {
    let compiled = versions.map { Version($0.name, $0.document.namingClasses(inModule: module)) }
    try checkNames(of: versions, current: current, for: url)
    try DirectoryReplacement.write(to: url) { directory in
      for version in compiled {
        let file = directory.appendingPathComponent(version.name + ".mom")
        try archive(of: version.document, file: url).write(to: file)
      }
      try VersionInfo(versions: compiled, currentVersionName: current).write(to: directory)
    }
  }

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

  /// Writes all versions as an `.xcdatamodeld`, with the mark of the current one.
  ///
  /// - Parameters:
  ///   - versions: The versions. Their names become those of the packages.
  ///   - current: The name of the current version, which new stores get.
  /// - Throws: `ModelFileError` for an invalid model, for content that a source cannot express, or for a name that
  ///   cannot be the name of a file; errors of the file system.
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

  /// The property list that names the current version, formatted like Xcode's.
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
  /// Returns the document with the module in front of class names that begin with a dot, which Xcode calls the
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
