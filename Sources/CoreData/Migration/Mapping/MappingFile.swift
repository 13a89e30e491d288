// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A mapping model that a migration may use: one from a file, or one made in code.
struct MappingFile {
  /// The file; nil for a mapping model that was made in code.
  let url: URL?
  let document: MappingDocument
  /// The mapping model that was made in code.
  let model: NSMappingModel?

  /// Reads a file.
  ///
  /// - Throws: as `NSMappingModel.load(contentsOf:forSourceModel:destinationModel:)`.
  init(contentsOf url: URL) throws {
    self.url = url
    document = try NSMappingModel.document(at: url)
    model = nil
  }

  /// Takes a mapping model that was made in code.
  init(_ model: NSMappingModel) {
    url = nil
    document = model.document
    self.model = model
  }

  /// What the mapping model is called in sentences.
  var name: String { url.map { "'\($0.lastPathComponent)'" } ?? "made in code" }

  /// One entity as one side of the mapping model knows it.
  struct NamedEntity: Hashable {
    let mapping: String
    let side: MappingMismatch.Side
    let entity: String
    let hash: Data?
  }

  /// The entities that the mapping model names.
  static func entities(of document: MappingDocument) -> [NamedEntity] {
    document.entityMappings.flatMap { mapping in
      [
        mapping.sourceEntityName.map {
          NamedEntity(mapping: mapping.name, side: .source, entity: $0, hash: mapping.sourceEntityVersionHash)
        },
        mapping.destinationEntityName.map {
          NamedEntity(
            mapping: mapping.name, side: .destination, entity: $0, hash: mapping.destinationEntityVersionHash)
        },
      ].compactMap { $0 }
    }
  }

  /// The entities that the mapping model knows in another state than the models have them; empty where it fits.
  static func mismatches(
    of document: MappingDocument, source: [String: Data], destination: [String: Data]
  ) -> [MappingMismatch] {
    entities(of: document).compactMap { named in
      let found = (named.side == .source ? source : destination)[named.entity]
      if let found, found == named.hash { return nil }
      return MappingMismatch(
        mapping: named.mapping, side: named.side, entity: named.entity, wanted: named.hash, found: found)
    }
  }

  /// The mapping model for two versions, with their hashes and properties where the file is a source that names them.
  ///
  /// - Throws: as `init(contentsOf:)`.
  func mappingModel(source: NSManagedObjectModel, destination: NSManagedObjectModel) throws -> NSMappingModel {
    if let model { return model }
    let fits = Self.mismatches(
      of: document, source: source.entityVersionHashesByName, destination: destination.entityVersionHashesByName
    ).isEmpty
    guard let url, !fits else { return NSMappingModel(document: document) }
    return try NSMappingModel.load(contentsOf: url, forSourceModel: source, destinationModel: destination)
  }

  /// Whether objects are made by code of the program, and not by expressions alone.
  var needsCode: Bool {
    document.entityMappings.contains { $0.kind == .custom || !($0.policyClassName ?? "").isEmpty }
  }
}
