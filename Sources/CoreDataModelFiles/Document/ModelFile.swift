// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Reads untrusted files of models, mapping models and bundles.
package enum ModelFile {
  /// The maximum file size in bytes.
  package static let largest = 1 << 25

  /// Reads a whole file.
  ///
  /// - Throws: `ModelFileError` if the file is not regular, missing, too large or unreadable.
  package static func read(_ url: URL) throws -> Data {
    try translating(url) { try RegularFile.read(url, limit: largest) }
  }

  /// Reads the first bytes of a file.
  ///
  /// - Throws: The same errors as `read(_:)`.
  package static func firstBytes(_ count: Int, of url: URL) throws -> Data {
    try translating(url) { try RegularFile.firstBytes(count, of: url) }
  }

  private static func translating(_ url: URL, _ body: () throws -> Data) throws -> Data {
    do {
      return try body()
    } catch RegularFile.Problem.notRegular(_, let kind) {
      throw ModelFileError(
        .unsupportedFile, found: "The path names \(kind), not a regular file.", advice: "Name a model file.",
        file: url)
    } catch RegularFile.Problem.tooLarge(_, let bytes, let limit) {
      throw ModelFileError(
        .unsupportedFile, found: "The file has \(bytes) bytes; at most \(limit) are read.",
        advice: "Check that it is a model file.", file: url)
    } catch let failure as FileFailure {
      let reason = String(cString: strerror(failure.number))
      throw ModelFileError(
        failure.number == ENOENT ? .missingFile : .unreadableFile, found: "The file cannot be read: \(reason).",
        advice: "Check the path and its permissions.", file: url)
    }
  }
}

/// An error in a model file or an invalid model: what was found, where, and what to do.
package struct ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    case missingFile
    case missingContents
    case unreadableFile
    case unsupportedFile
    case notXML
    case brokenXML
    case notAnArchive
    case brokenArchive
    case unknownClass
    case unknownAttributeType
    case unreadableValue
    case unreadableExpression
    case missingName
    case duplicateEntity
    case duplicateProperty
    case missingParent
    case inheritanceCycle
    case missingDestination
    case missingInverse
    case missingProperty
    case missingComposite
    case missingEntity
    case unknownVersion
  }

  package var kind: Kind
  /// A sentence about what was found.
  package var found: String
  /// A sentence about what to do.
  package var advice: String
  package var file: String?
  package var line: Int?
  package var entity: String?
  package var property: String?

  package init(
    _ kind: Kind, found: String, advice: String, file: URL? = nil, line: Int? = nil, entity: String? = nil,
    property: String? = nil
  ) {
    self.kind = kind
    self.found = found
    self.advice = advice
    self.file = file?.path
    self.line = line
    self.entity = entity
    self.property = property
  }

  /// Returns the error with the file's URL added, unless it already has one.
  package func inFile(_ url: URL) -> ModelFileError {
    var copy = self
    copy.file = file ?? url.path
    return copy
  }

  package var description: String {
    var place: [String] = []
    if let file { place.append(file) }
    if let line { place.append("line \(line)") }
    switch (entity, property) {
    case (let entity?, let property?): place.append("\(entity).\(property)")
    case (let entity?, nil): place.append("entity \(entity)")
    case (nil, let property?): place.append("property \(property)")
    case (nil, nil): break
    }
    let prefix = place.isEmpty ? "" : place.joined(separator: ", ") + ": "
    return "\(prefix)\(found) \(advice)"
  }
}

/// Collects warnings about values that readers ignore or correct. Such values do not make a model unreadable.
package final class ModelWarnings {
  /// The warnings without duplicates. A composite type is read once for every attribute that uses it.
  package private(set) var list: [ModelFileError] = []

  package init() {}

  func add(_ warning: ModelFileError) {
    if !list.contains(warning) { list.append(warning) }
  }
}
