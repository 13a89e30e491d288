// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Mapping models as files.
extension MappingDocument {
  /// Reads an `.xcmappingmodel`, the `xcmapping.xml` inside it, or a compiled `.cdm`; what a file holds tells which.
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
    guard data.starts(with: Data("bplist".utf8)) else {
      return try XCMappingReader.document(of: data, file: file, source: source, destination: destination)
    }
    var document = try CompiledMappingReader.document(of: data)
    document.takeHashes(
      source: source.map { VersionHashes($0).entities } ?? [:],
      destination: destination.map { VersionHashes($0).entities } ?? [:])
    return document
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
