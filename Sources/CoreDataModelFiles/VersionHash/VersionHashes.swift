// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The version hashes of a model, which identify the model that a store was written with.
///
/// Core Data compares hashes, never models. Which properties are part of the hashes was derived from stores and models
/// written by Apple's tools. Delete rules, classes, default values, indexes and user info are not.
package struct VersionHashes: Sendable {
  /// The hash of every entity, 32 bytes each.
  package let entities: [String: Data]
  private let properties: [String: [String: Data]]

  /// Computes the hashes of all entities and properties of a model.
  package init(_ document: ModelDocument) {
    let index = EntityIndex(document)
    var properties: [String: [String: Data]] = [:]
    for entity in document.entities {
      properties[entity.name] = Self.ownPropertyHashes(of: entity)
    }
    var entities: [String: Data] = [:]
    var counted: [String: [CountedProperty]] = [:]
    for entity in document.entities {
      // From the nearest ancestor with a hash down, so that the parent's hash is available for its children.
      for name in index.lineageNames(of: entity.name).prefix(while: { entities[$0] == nil }).reversed() {
        guard let member = index[name] else { continue }
        let inherited = member.parentName.flatMap { counted[$0] } ?? []
        let all = Self.merged(inherited, Self.ownProperties(of: member, properties[name] ?? [:]))
        entities[name] = Self.hash(of: member, parent: member.parentName.flatMap { entities[$0] }, properties: all)
        counted[name] = all
      }
    }
    self.entities = entities
    self.properties = properties
  }

  /// Returns the hash of a property declared by an entity.
  package func property(_ name: String, of entity: String) -> Data? {
    properties[entity]?[name]
  }

  /// The `NSStoreModelVersionChecksumKey`, which is also the checksum of a version in `VersionInfo.plist`.
  package var checksum: String { Self.checksum(of: entities) }

  /// Returns the `NSStoreModelVersionHashesDigest`: a digest of the names and hashes of all entities.
  package static func digest(of hashes: [String: Data]) -> String {
    let sorted = hashes.sorted { bytewise($0.key, $1.key) }
    return SHA2.hash512(sorted.reduce(into: Data()) { $0 += Data($1.key.utf8) + $1.value }).base64EncodedString()
  }

  /// Returns the checksum of hashes by entity name.
  package static func checksum(of hashes: [String: Data]) -> String {
    let sorted = hashes.sorted { bytewise($0.key, $1.key) }
    return SHA2.hash256(sorted.reduce(into: Data()) { $0 += $1.value }).base64EncodedString()
  }

  /// A property of an entity with its hash; nil for a transient property, which is not part of the entity's hash.
  private typealias CountedProperty = (name: String, hash: Data?)

  /// Returns the attributes and relationships that an entity declares, sorted by name.
  private static func ownProperties(of entity: EntityDocument, _ hashes: [String: Data]) -> [CountedProperty] {
    var own: [String: Data?] = [:]
    for attribute in entity.attributes {
      own.updateValue(attribute.isTransient ? nil : hashes[attribute.name], forKey: attribute.name)
    }
    for relationship in entity.relationships {
      own.updateValue(relationship.isTransient ? nil : hashes[relationship.name], forKey: relationship.name)
    }
    return own.map { ($0.key, $0.value) }.sorted { bytewise($0.name, $1.name) }
  }

  /// Merges an entity's own properties into the inherited ones, both sorted by name. An own property replaces an
  /// inherited one of the same name.
  private static func merged(_ inherited: [CountedProperty], _ own: [CountedProperty]) -> [CountedProperty] {
    var merged: [CountedProperty] = []
    merged.reserveCapacity(inherited.count + own.count)
    var rest = own[...]
    for property in inherited {
      while let first = rest.first, bytewise(first.name, property.name) { merged.append(rest.removeFirst()) }
      if rest.first?.name != property.name { merged.append(property) }
    }
    return merged + rest
  }

  private static func hash(of entity: EntityDocument, parent: Data?, properties: [CountedProperty]) -> Data {
    var input = Data(entity.name.utf8)
    input.append(entity.isAbstract ? 1 : 0)
    if let parent { input += parent }
    for case (_, let hash?) in properties { input += hash }
    input += Data((entity.versionHashModifier ?? "").utf8)
    for constraint in entity.uniquenessConstraints.map({ $0.joined(separator: ".") }).sorted(by: bytewise) {
      input += Data(constraint.utf8)
    }
    return SHA2.hash256(input)
  }

  private static func ownPropertyHashes(of entity: EntityDocument) -> [String: Data] {
    var hashes: [String: Data] = [:]
    for attribute in entity.attributes { hashes[attribute.name] = hash(of: attribute) }
    for relationship in entity.relationships {
      hashes[relationship.name] = hash(of: relationship, in: entity.name)
    }
    for fetched in entity.fetchedProperties {
      // A fetched property is always transient, and not part of the entity's hash.
      hashes[fetched.name] = SHA2.hash256(
        base(fetched.name, isOptional: fetched.isOptional, isTransient: true, modifier: fetched.versionHashModifier))
    }
    return hashes
  }

  private static func hash(of attribute: AttributeDocument) -> Data {
    if let derivation = attribute.derivation {
      return SHA2.hash256(Data(PredicatePrinter.derivationFormat(derivation).utf8))
    }
    if attribute.kind == .composite {
      let elements = attribute.elements.sorted { bytewise($0.name, $1.name) }
      return SHA2.hash256(elements.reduce(into: Data()) { $0 += hash(of: $1) })
    }
    var input = base(
      attribute.name, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
      modifier: attribute.versionHashModifier)
    input += littleEndian(attribute.kind.rawValue)
    if attribute.allowsExternalBinaryDataStorage || attribute.preservesValueInHistoryOnDeletion { input.append(1) }
    return SHA2.hash256(input)
  }

  private static func hash(of relationship: RelationshipDocument, in entityName: String) -> Data {
    let isItsOwnInverse =
      relationship.inverseName == relationship.name && relationship.destinationEntityName == entityName
    var input = base(
      relationship.name, isOptional: relationship.isOptional, isTransient: relationship.isTransient,
      modifier: relationship.versionHashModifier)
    input += Data((relationship.destinationEntityName ?? "").utf8)
    if !isItsOwnInverse { input += Data((relationship.inverseName ?? "").utf8) }
    input += littleEndian(Int32(clamping: relationship.maxCount))
    input += littleEndian(Int32(clamping: relationship.minCount))
    if relationship.isOrdered { input += Data([1, 0]) }
    return SHA2.hash256(input)
  }

  private static func base(_ name: String, isOptional: Bool, isTransient: Bool, modifier: String?) -> Data {
    // The base is itself a hash, so the hash of a property is a hash over a hash.
    var input = Data(name.utf8)
    input += littleEndian(UInt16((isOptional ? 1 : 0) | (isTransient ? 2 : 0)))
    input += Data((modifier ?? "").utf8)
    return SHA2.hash256(input)
  }

  private static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> Data {
    withUnsafeBytes(of: number.littleEndian) { Data($0) }
  }

  /// Whether a name comes before another by its bytes. Core Data does not sort names as Unicode text.
  private static func bytewise(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}

/// Compares models down to the hashes of their entities and properties.
package struct ModelLikeness {
  /// An entity or a property with its hash.
  struct Part: Hashable {
    let entity: String
    let property: String?
    let hash: Data?
  }

  let parts: Set<Part>

  /// Collects the parts of a model.
  package init(_ document: ModelDocument, _ hashes: VersionHashes) {
    parts = document.entities.reduce(into: []) { parts, entity in
      parts.insert(Part(entity: entity.name, property: nil, hash: hashes.entities[entity.name]))
      for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
        parts.insert(Part(entity: entity.name, property: name, hash: hashes.property(name, of: entity.name)))
      }
    }
  }

  /// Returns the number of entities and properties that only one of the two models has.
  package func distance(to other: ModelLikeness) -> Int { parts.symmetricDifference(other.parts).count }
}
