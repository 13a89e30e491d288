// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What model caches repeat and sources may repeat: properties that an entity inherits anyway.
extension ModelDocument {
  /// Removes from every entity the properties that it inherits in the very same form.
  ///
  /// A property of a changed form stays, as it replaces the inherited one.
  package mutating func removeRepeatedProperties() {
    let index = EntityIndex(self)
    entities = entities.map { entity in
      let ancestors = index.lineage(of: entity.name).dropFirst()
      guard !ancestors.isEmpty else { return entity }
      var entity = entity
      entity.attributes.removeAll { own in
        ancestors.lazy.compactMap { $0.attributes.first { $0.name == own.name } }.first.map {
          // Indexes are the business of the entity that declares them, and are not repeated.
          var (left, right) = (own, $0)
          left.isIndexed = false
          right.isIndexed = false
          return left == right
        } ?? false
      }
      entity.relationships.removeAll { own in
        ancestors.lazy.compactMap { $0.relationships.first { $0.name == own.name } }.first == own
      }
      entity.fetchedProperties.removeAll { own in
        ancestors.lazy.compactMap { $0.fetchedProperties.first { $0.name == own.name } }.first == own
      }
      return entity
    }
  }
}
