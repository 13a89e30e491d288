// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

/// An entity of the list of vectors, as the file holds it.
private struct Vector: Decodable {
  struct Property: Decodable {
    let kind: String
    let optional: Bool?
    let transient: Bool?
    let modifier: String?
    let type: UInt32
    let flags: Int?
    let dest: String?
    let inverse: String?
    let max: Int?
    let min: Int?
    let ordered: Bool?
    let property_hash: String
  }

  let entity: String
  let abstract: Bool
  let superentity: String?
  let modifier: String?
  let unique: [[String]]
  let properties: [String: Property]
  let entity_hash: String

  func document() throws -> EntityDocument {
    var result = EntityDocument(name: entity, parentName: superentity, isAbstract: abstract)
    result.versionHashModifier = modifier
    result.uniquenessConstraints = unique
    for (name, property) in properties {
      if property.kind == "r" {
        var relationship = RelationshipDocument(
          name: name, destinationEntityName: property.dest, inverseName: property.inverse,
          isOptional: property.optional ?? false)
        relationship.maxCount = property.max ?? 0
        relationship.minCount = property.min ?? 0
        relationship.isOrdered = property.ordered ?? false
        relationship.isTransient = property.transient ?? false
        relationship.versionHashModifier = property.modifier
        result.relationships.append(relationship)
      } else {
        var attribute = AttributeDocument(
          name: name, kind: try #require(AttributeKind(rawValue: property.type)),
          isOptional: property.optional ?? false)
        attribute.isTransient = property.transient ?? false
        attribute.versionHashModifier = property.modifier
        attribute.allowsExternalBinaryDataStorage = (property.flags ?? 0) & 4 != 0
        attribute.preservesValueInHistoryOnDeletion = (property.flags ?? 0) & 16 != 0
        result.attributes.append(attribute)
      }
    }
    return result
  }
}

@Suite("Version hashes of Apple's own making")
struct VersionHashVectorTests {
  private static let file = Fixtures.root.deletingLastPathComponent()
    .appendingPathComponent("reference/version-hash-vectors.json")

  @Test(
    "Every entity and property of the list of vectors has its hash",
    .enabled(if: FileManager.default.fileExists(atPath: file.path), "The list of vectors is not beside the fixtures"))
  func vectors() throws {
    let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: Self.file))
    #expect(vectors.count == 12)
    for vector in vectors {
      let parent = try vectors.first { $0.entity == vector.superentity }?.document()
      let document = ModelDocument(entities: try [vector.document()] + (parent.map { [$0] } ?? []))
      let hashes = VersionHashes(document)
      #expect(hashes.entities[vector.entity].map(hex) == vector.entity_hash, "\(vector.entity)")
      for (name, property) in vector.properties {
        #expect(hashes.property(name, of: vector.entity).map(hex) == property.property_hash, "\(vector.entity).\(name)")
      }
    }
  }
}
