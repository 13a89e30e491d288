// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Compiled models: `.mom` files, and `.momd` folders of them.
extension ModelBundle {
  /// Writes all versions as an `.momd`, with their hashes and checksums, in one step: the old folder stays until the
  /// new one is complete.
  ///
  /// - Parameters:
  ///   - versions: the versions by name; the names become those of the files.
  ///   - current: the version which new stores get.
  ///   - module: the Swift module for classes whose source says "current product module" (`.Person`).
  /// - Throws: `ModelFileError` for a model that makes no sense or a name that no file can have, else what the file
  ///   system says.
  package static func writeCompiled(
    _ versions: [Version], current: String, module: String? = nil, to url: URL
  ) throws {
    let compiled = versions.map { Version($0.name, $0.document.namingClasses(inModule: module)) }
    try checkNames(of: versions, current: current, for: url)
    try FolderReplacement.write(to: url) { folder in
      for version in compiled {
        let file = folder.appendingPathComponent(version.name + ".mom")
        try archive(of: version.document, file: url).write(to: file)
      }
      try VersionInfo(versions: compiled, currentVersionName: current).write(to: folder)
    }
  }

  /// Writes one version as a `.mom`, in one step.
  /// - Throws: as for an `.momd`.
  package static func writeCompiled(_ document: ModelDocument, module: String? = nil, to url: URL) throws {
    try archive(of: document.namingClasses(inModule: module), file: url).write(to: url, options: .atomic)
  }

  private static func archive(of document: ModelDocument, file: URL) throws -> Data {
    do {
      try document.validate()
      return try CompiledModelWriter.archive(of: document, form: .file)
    } catch let error as ModelFileError {
      throw error.inFile(file)
    }
  }

  /// Makes sure that every version has a file of its own within the folder, and that the current one is there.
  static func checkNames(of versions: [Version], current: String, for url: URL) throws {
    var seen: Set<String> = []
    for name in versions.map(\.name) {
      guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/"), !name.contains("\0"), seen.insert(name).inserted
      else {
        throw ModelFileError(
          .missingName, found: "\"\(name)\" cannot be the name of a version, or is there twice.",
          advice: "Name every version as a file can be named.", file: url)
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
  /// The document with the module in front of classes that begin with a dot: "current product module" in Xcode.
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
