// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A mapping model that a migration may use: one from a file, or one made in code.
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

  /// What the mapping model is called in sentences.
  package var name: String { url.map { "'\($0.lastPathComponent)'" } ?? "made in code" }

  /// One entity as one side of the mapping model knows it.
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

  /// The entities that the mapping model names.
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

  /// The entities that the mapping model knows in another state than the models have them; empty where it fits.
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

  /// Whether objects are made by code of the program, and not by expressions alone.
  package var needsCode: Bool {
    document.entityMappings.contains { $0.kind == .custom || !($0.policyClassName ?? "").isEmpty }
  }
}
