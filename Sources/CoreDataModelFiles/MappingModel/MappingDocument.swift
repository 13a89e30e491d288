// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A mapping model as plain values, the common form of all file formats.
public struct MappingDocument: Hashable, Sendable {
  /// The entity mappings in processing order.
  public var entityMappings: [EntityMappingDocument]
  /// The name of the source version; nil if the file does not contain it.
  public var sourceVersionName: String?
  /// The name of the destination version; nil if the file does not contain it.
  public var destinationVersionName: String?

  /// Whether the file contains no copies of its versions. Version hashes and defaults that depend on the source
  /// entities are then missing, unless the file is read together with the versions.
  package var lacksModels = false

  /// Creates a document.
  public init(
    entityMappings: [EntityMappingDocument] = [], sourceVersionName: String? = nil,
    destinationVersionName: String? = nil
  ) {
    self.entityMappings = entityMappings
    self.sourceVersionName = sourceVersionName
    self.destinationVersionName = destinationVersionName
  }
}

/// The type of an entity mapping. The raw values are those of `NSEntityMappingType`.
public enum EntityMappingKind: UInt, Hashable, Sendable {
  case undefined = 0
  case custom = 1
  case add = 2
  case remove = 3
  case copy = 4
  case transform = 5
}

/// A mapping from a source entity to a destination entity.
public struct EntityMappingDocument: Hashable, Sendable {
  /// The name of the mapping, used by expressions.
  public var name: String
  /// The type of the mapping.
  public var kind: EntityMappingKind
  /// The name of the source entity; nil for an added entity.
  public var sourceEntityName: String?
  /// The required version hash of the source entity.
  public var sourceEntityVersionHash: Data?
  /// The name of the destination entity; nil for a removed entity.
  public var destinationEntityName: String?
  /// The required version hash of the destination entity.
  public var destinationEntityVersionHash: Data?
  /// The class name of the migration policy.
  public var policyClassName: String?
  /// The expression for the source objects.
  public var sourceExpression: ExpressionSyntax?
  /// The attribute mappings in processing order.
  public var attributeMappings: [PropertyMappingDocument]
  /// The relationship mappings in processing order.
  public var relationshipMappings: [PropertyMappingDocument]
  /// The user info.
  public var userInfo: [String: PlainValue]

  /// Creates a mapping without property mappings.
  public init(name: String, kind: EntityMappingKind, sourceEntityName: String?, destinationEntityName: String?) {
    self.name = name
    self.kind = kind
    self.sourceEntityName = sourceEntityName
    self.destinationEntityName = destinationEntityName
    attributeMappings = []
    relationshipMappings = []
    userInfo = [:]
  }

  /// The filter predicate of the mapping editor as a string; nil if there is no filter, or the source expression was
  /// not made by the editor.
  public var filter: String? {
    guard case .fetch(.function(_, MappingExpressions.requestSelector, let arguments), _, _)? = sourceExpression,
      arguments.count == 2, case .constant(.string(let text)) = arguments[1], text != MappingExpressions.noFilter
    else { return nil }
    return text
  }
}

extension EntityMappingDocument {
  /// The key in the user info of an entity mapping whose value lists source properties that are dropped, separated by
  /// commas.
  package static let dropsKey = "coredata.drops"

  /// The source properties that the mapping drops intentionally.
  package var intentionallyDropped: [String] {
    guard case .string(let text)? = userInfo[Self.dropsKey] else { return [] }
    return text.split { $0 == "," || $0.isWhitespace }.map(String.init)
  }
}

/// A mapping of a property of a destination entity.
public struct PropertyMappingDocument: Hashable, Sendable {
  /// The name of the destination property.
  public var name: String
  /// The expression for the value; nil if the property keeps its default value.
  public var valueExpression: ExpressionSyntax?
  /// The user info.
  public var userInfo: [String: PlainValue]

  /// Creates a mapping.
  public init(name: String, valueExpression: ExpressionSyntax?, userInfo: [String: PlainValue] = [:]) {
    self.name = name
    self.valueExpression = valueExpression
    self.userInfo = userInfo
  }
}

extension MappingDocument {
  /// Updates the version hashes of all entity mappings. Hashes of unknown entities are unchanged.
  ///
  /// The hashes in a mapping model become outdated whenever a model is changed after the mapping was created.
  package mutating func updateHashes(source: [String: Data], destination: [String: Data]) {
    for position in entityMappings.indices {
      if let hash = entityMappings[position].sourceEntityName.flatMap({ source[$0] }) {
        entityMappings[position].sourceEntityVersionHash = hash
      }
      if let hash = entityMappings[position].destinationEntityName.flatMap({ destination[$0] }) {
        entityMappings[position].destinationEntityVersionHash = hash
      }
    }
  }
}

/// Reading and writing files.
extension MappingDocument {
  /// Reads an `.xcmappingmodel`, the `xcmapping.xml` in it, or a compiled `.cdm`, as determined by content. A file with
  /// the extension `.mapping` is in text form.
  ///
  /// - Parameters:
  ///   - source: The source version. If given, version hashes and default expressions come from it instead of from the
  ///     file.
  ///   - destination: The destination version, likewise.
  /// - Throws: `ModelFileError`.
  package init(contentsOf url: URL, source: ModelDocument? = nil, destination: ModelDocument? = nil) throws {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
      throw ModelFileError(
        .missingFile, found: "The file does not exist.", advice: "Check the path of the mapping model.", file: url)
    }
    let file = isDirectory.boolValue ? url.appendingPathComponent("xcmapping.xml") : url
    guard FileManager.default.fileExists(atPath: file.path) else {
      throw ModelFileError(
        .missingContents, found: "The directory contains no xcmapping.xml.",
        advice: "Name an .xcmappingmodel or a .cdm.",
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
      try isText ? MappingTextReader.document(of: data, file: file) : CompiledMapping.document(of: data)
    document.lacksModels = isText && (source == nil || destination == nil)
    document.updateHashes(
      source: source.map { VersionHashes($0).entities } ?? [:],
      destination: destination.map { VersionHashes($0).entities } ?? [:])
    return document
  }

  /// The extension of mapping models in text form.
  static let textExtension = "mapping"

  /// Whether a file with the extension of the text form looks like a mapping model, that is, contains a line with an
  /// arrow. A mapping model with errors is accepted, so that its errors are reported.
  package static func isText(at url: URL) -> Bool {
    let data: Data
    do {
      data = try ModelFile.read(url)
    } catch {
      // A directory or a file that is too large is not a mapping model. Other problems are reported when the mapping
      // model is read.
      return (error as? ModelFileError)?.kind != .unsupportedFile
    }
    return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
      .contains { $0.first != "#" && $0.contains("->") }
  }

  /// Returns the mapping model in text form, for a `.mapping` file.
  /// - Throws: The same errors as `write(to:source:destination:)`.
  package func text(comment: String? = nil) throws -> String { try MappingTextWriter.text(of: self, comment: comment) }

  /// Atomically writes a mapping model. The extension determines the form: `.cdm`, `.xcmappingmodel` or `.mapping`
  /// (text).
  ///
  /// - Parameters:
  ///   - source: The source version, a copy of which is part of an `.xcmappingmodel`.
  ///   - destination: The destination version, likewise.
  /// - Throws: `ModelFileError` if the form cannot express the document, or for another extension; file system errors.
  package func write(to url: URL, source: ModelBundle.Version? = nil, destination: ModelBundle.Version? = nil) throws {
    do {
      switch url.pathExtension {
      case "cdm": try writeCompiled(to: url)
      case Self.textExtension:
        try Data(MappingTextWriter.text(of: self).utf8).write(to: url, options: .atomic)
      case "xcmappingmodel":
        guard let source, let destination else {
          throw ModelFileError(
            .missingContents, found: "An .xcmappingmodel contains copies of its two versions, which are not given.",
            advice: "Name them.")
        }
        let data = try XCMappingWriter.data(
          of: self,
          versions: .init(
            source: source.document, destination: destination.document,
            sourcePath: source.name + ".xcdatamodel", destinationPath: destination.name + ".xcdatamodel"))
        try DirectoryReplacement.write(to: url) { try data.write(to: $0.appendingPathComponent("xcmapping.xml")) }
      default:
        throw ModelFileError(
          .unsupportedFile, found: "Mapping models cannot have the extension \"\(url.pathExtension)\".",
          advice: "Choose .cdm, .xcmappingmodel or .mapping.")
      }
    } catch let error as ModelFileError {
      throw error.inFile(url)
    }
  }

  /// Atomically writes a `.cdm`.
  /// - Throws: `ModelFileError` if the document contains a value that cannot be archived; file system errors.
  package func writeCompiled(to url: URL) throws {
    do {
      try CompiledMapping.archive(of: self).write(to: url, options: .atomic)
    } catch let error as ModelFileError {
      throw error.inFile(url)
    }
  }
}
