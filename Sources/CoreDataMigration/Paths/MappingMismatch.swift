// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An entity that a mapping model knows in another state than a model has it.
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
  /// The version hash that the mapping wants; nil where it has none.
  package var wanted: Data?
  /// The version hash that the model has; nil where it does not have the entity.
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
