// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// What corresponds to what in two versions of a model, as plain values: what an inferred mapping model is made of, and
/// what a migration in place is planned from.
///
/// Lists of properties hold persistent attributes and relationships only, inherited ones included, sorted by name.
package struct InferredMapping: Hashable, Sendable {
  /// A property in both versions.
  package struct PropertyMatch: Hashable, Sendable {
    package var source: String
    package var destination: String

    package init(
      source: String, destination: String
    ) {
      self.source = source
      self.destination = destination
    }
  }

  /// An entity in both versions.
  package struct EntityMatch: Hashable, Sendable {
    package var source: String
    package var destination: String
    /// Whether the version hashes are equal.
    package var isUnchanged: Bool
    package var attributes: [PropertyMatch] = []
    package var relationships: [PropertyMatch] = []
    /// Destination names.
    package var addedAttributes: [String] = []
    package var addedRelationships: [String] = []
    /// Those of the added attributes that must have a value and have no default one: no objects may exist.
    package var attributesWithoutValue: [String] = []
    /// Source names.
    package var removedAttributes: [String] = []
    package var removedRelationships: [String] = []
    /// Relationships that lead to another entity than before, so that their objects are dropped: they count as removed and
    /// added, and are listed here besides so that somebody can tell the user.
    package var redirectedRelationships: [PropertyMatch] = []

    package init(
      source: String, destination: String, isUnchanged: Bool, attributes: [PropertyMatch] = [],
      relationships: [PropertyMatch] = [], addedAttributes: [String] = [], addedRelationships: [String] = [],
      attributesWithoutValue: [String] = [], removedAttributes: [String] = [], removedRelationships: [String] = [],
      redirectedRelationships: [PropertyMatch] = []
    ) {
      self.source = source
      self.destination = destination
      self.isUnchanged = isUnchanged
      self.attributes = attributes
      self.relationships = relationships
      self.addedAttributes = addedAttributes
      self.addedRelationships = addedRelationships
      self.attributesWithoutValue = attributesWithoutValue
      self.removedAttributes = removedAttributes
      self.removedRelationships = removedRelationships
      self.redirectedRelationships = redirectedRelationships
    }
  }

  /// Sorted by the destination's name.
  package var matched: [EntityMatch]
  /// Names of destination entities, sorted.
  package var added: [String]
  /// Names of source entities, sorted.
  package var removed: [String]

  /// Finds out what corresponds to what.
  ///
  /// - Throws: `InferenceFailure` with everything that stands in the way.
  package init(source: ModelDocument, destination: ModelDocument) throws {
    let old = ModelSide(source, hashes: VersionHashes(source).entities)
    let new = ModelSide(destination, hashes: VersionHashes(destination).entities)
    self = try MappingInference(source: old, destination: new).run()
  }

  package init(matched: [EntityMatch], added: [String], removed: [String]) {
    self.matched = matched
    self.added = added
    self.removed = removed
  }

  /// The first new attribute that leaves objects without a value that they must have, if there are objects.
  package var attributeWithoutValue: (entity: String, attribute: String)? {
    for match in matched {
      if let attribute = match.attributesWithoutValue.first { return (match.destination, attribute) }
    }
    return nil
  }

  /// The match of a source entity.
  package func match(ofSource name: String) -> EntityMatch? {
    matched.first { $0.source == name }
  }

  /// The match of a destination entity.
  package func match(ofDestination name: String) -> EntityMatch? {
    matched.first { $0.destination == name }
  }
}
