// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Mapping models as files.
extension MappingDocument {
  /// Reads an `.xcmappingmodel`, the `xcmapping.xml` inside it, or a compiled `.cdm`; what a file holds tells which. A file
  /// named `.mapping` is a text.
  ///
  /// - Parameters:
  ///   - source: the source version. Where it is given, what the file says about the version is not believed:
  ///     hashes and default expressions come from the version itself.
  ///   - destination: the destination version, likewise.
  /// - Throws: `ModelFileError`.
  package init(contentsOf url: URL, source: ModelDocument? = nil, destination: ModelDocument? = nil) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw ModelFileError(
        .missingFile, found: "There is no such file.", advice: "Check the path of the mapping model.", file: url)
    }
    let file = isFolder.boolValue ? url.appendingPathComponent("xcmapping.xml") : url
    guard FileManager.default.fileExists(atPath: file.path) else {
      throw ModelFileError(
        .missingContents, found: "The folder has no xcmapping.xml.", advice: "Name an .xcmappingmodel or a .cdm.",
        file: url)
    }
    let data = try ModelFile.read(file)
    do {
      self = try Self.document(of: data, file: file, source: source, destination: destination)
    } catch let error as ModelFileError {
      throw error.inFile(file)
    } catch let failure as ArchiveFailure {
      throw failure.error(file: file)
    }
  }

  static func document(
    of data: Data, file: URL, source: ModelDocument? = nil, destination: ModelDocument? = nil
  ) throws -> MappingDocument {
    let isText = file.pathExtension == textExtension
    guard isText || data.starts(with: Data("bplist".utf8)) else {
      return try XCMappingReader.document(of: data, file: file, source: source, destination: destination)
    }
    var document =
      try isText ? MappingTextReader.document(of: data, file: file) : CompiledMappingReader.document(of: data)
    document.lacksModels = isText && (source == nil || destination == nil)
    document.takeHashes(
      source: source.map { VersionHashes($0).entities } ?? [:],
      destination: destination.map { VersionHashes($0).entities } ?? [:])
    return document
  }

  /// The extension of mapping models as text.
  static let textExtension = "mapping"

  /// The mapping model as a text, for a `.mapping`.
  /// - Throws: as `write(to:source:destination:)`.
  package func text(comment: String? = nil) throws -> String { try MappingTextWriter.text(of: self, comment: comment) }

  /// Writes a mapping model, in one step: a `.cdm`, an `.xcmappingmodel` or a text, `.mapping`, as the name says.
  ///
  /// - Parameters:
  ///   - source: the source version, which an `.xcmappingmodel` holds a copy of.
  ///   - destination: the destination version, likewise.
  /// - Throws: `ModelFileError` where the form cannot say what the document says, or for another name; else what the file
  ///   system says.
  package func write(
    to url: URL, source: ModelBundle.Version? = nil, destination: ModelBundle.Version? = nil
  ) throws {
    do {
      switch url.pathExtension {
      case "cdm": try writeCompiled(to: url)
      case Self.textExtension:
        try Data(MappingTextWriter.text(of: self).utf8).write(to: url, options: .atomic)
      case "xcmappingmodel":
        guard let source, let destination else {
          throw ModelFileError(
            .missingContents, found: "An .xcmappingmodel holds copies of its two versions, and they are not given.",
            advice: "Name them.")
        }
        let data = try XCMappingWriter.data(
          of: self,
          versions: .init(
            source: source.document, destination: destination.document,
            sourcePath: source.name + ".xcdatamodel", destinationPath: destination.name + ".xcdatamodel"))
        try FolderReplacement.write(to: url) { try data.write(to: $0.appendingPathComponent("xcmapping.xml")) }
      default:
        throw ModelFileError(
          .unsupportedFile, found: "No form of mapping models has the extension \"\(url.pathExtension)\".",
          advice: "Name a .cdm, .xcmappingmodel or .mapping.")
      }
    } catch let error as ModelFileError {
      throw error.inFile(url)
    }
  }

  /// Writes a `.cdm`, in one step.
  /// - Throws: `ModelFileError` where the document holds values that no file can hold, else what the file system says.
  package func writeCompiled(to url: URL) throws {
    do {
      try CompiledMappingWriter.archive(of: self).write(to: url, options: .atomic)
    } catch let error as ModelFileError {
      throw error.inFile(url)
    }
  }
}
