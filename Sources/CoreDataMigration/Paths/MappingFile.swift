// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A mapping model that a migration may use, from a file or made in code.
package struct MappingFile {
  /// The file; nil for a mapping model that was made in code.
  package let url: URL?
  package let document: MappingDocument
  /// The mapping model that was made in code.
  package let object: AnyObject?

  package init(url: URL?, document: MappingDocument, object: AnyObject? = nil) {
    self.url = url
    self.document = document
    self.object = object
  }

  /// The mapping model's name in messages.
  package var name: String { url.map { "'\($0.lastPathComponent)'" } ?? "made in code" }

  /// An entity on one side of an entity mapping.
  package struct NamedEntity: Hashable {
    package let mapping: String
    package let side: MappingMismatch.Side
    package let entity: String
    package let hash: Data?

    package init(
      mapping: String, side: MappingMismatch.Side, entity: String, hash: Data?
    ) {
      self.mapping = mapping
      self.side = side
      self.entity = entity
      self.hash = hash
    }
  }

  /// Returns the entities that the mapping model names.
  package static func entities(of document: MappingDocument) -> [NamedEntity] {
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

  /// Returns the entities whose hashes differ between the mapping model and the models; empty where it fits.
  package static func mismatches(
    of document: MappingDocument, source: [String: Data], destination: [String: Data]
  ) -> [MappingMismatch] {
    entities(of: document).compactMap { named in
      let found = (named.side == .source ? source : destination)[named.entity]
      if let found, found == named.hash { return nil }
      return MappingMismatch(
        mapping: named.mapping, side: named.side, entity: named.entity, wanted: named.hash, found: found)
    }
  }

  /// Whether the mapping model uses policies of the program.
  package var needsCode: Bool {
    document.entityMappings.contains { $0.kind == .custom || !($0.policyClassName ?? "").isEmpty }
  }
}

/// An entity whose version hash differs between a mapping model and a model.
package struct MappingMismatch: Hashable, Sendable {
  /// The side of the mapping.
  package enum Side: String, Hashable, Sendable {
    case source, destination
  }

  /// The name of the entity mapping.
  package var mapping: String
  package var side: Side
  /// The entity that the mapping names.
  package var entity: String
  /// The version hash in the mapping; nil where it has none.
  package var wanted: Data?
  /// The version hash in the model; nil where it lacks the entity.
  package var found: Data?

  package init(
    mapping: String, side: Side, entity: String, wanted: Data? = nil, found: Data? = nil
  ) {
    self.mapping = mapping
    self.side = side
    self.entity = entity
    self.wanted = wanted
    self.found = found
  }
}
