// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Version hashes of Apple's own making")
struct VersionHashTableTests {
  private let table: VersionHashTable

  init() throws {
    table = try VersionHashTable()
  }

  @Test("Every entity and property of the table has the hash that Apple's tools computed")
  func hashes() throws {
    #expect(table.entities.count == 184)
    var properties = 0
    for facts in table.entities {
      let model = TableModel(try #require(table.chain(of: facts), "\(facts.name)")).model
      let entity = try #require(model.entitiesByName[facts.name])
      #expect(hex(entity.versionHash) == facts.hash, "\(facts.name) \(facts.hash)")
      let known =
        facts.attributes.map { ($0.name, $0.traits.hash) } + facts.relationships.map { ($0.name, $0.traits.hash) }
      for case (let name, let hash?) in known {
        #expect(hex(entity.propertiesByName[name]?.versionHash) == hash, "\(facts.name).\(name)")
        properties += 1
      }
    }
    #expect(properties == 49)
  }

  @Test("The table has entities with most facts that make a hash")
  func coverage() {
    let entities = table.entities
    let attributes = entities.flatMap(\.attributes)
    let relationships = entities.flatMap(\.relationships)
    #expect(Set(attributes.map(\.type)).count == 12)
    #expect(entities.filter(\.isAbstract).count > 5)
    #expect(entities.filter { $0.parentName != nil }.count > 40)
    #expect(entities.filter { $0.uniquenessConstraints.count == 1 }.count > 10)
    #expect(entities.filter { $0.uniquenessConstraints.count > 1 }.count > 2)
    #expect(attributes.filter(\.traits.isTransient).count > 1)
    #expect(attributes.filter(\.isPreserved).count > 0)
    #expect(attributes.filter { $0.traits.modifier != nil }.count > 10)
    #expect(relationships.filter(\.isOrdered).count > 9)
    #expect(relationships.filter { $0.inverseName == nil }.count > 10)
    #expect(relationships.filter { $0.maxCount == 1 }.count > 200)
    #expect(relationships.filter { $0.minCount == 1 }.count > 50)
  }
}

/// A model with an entity of the table and its ancestors, and with what their relationships lead to.
///
/// Of another entity only its name is known, and the names of the inverse relationships, which it has.
private struct TableModel {
  let model = NSManagedObjectModel()
  private var entities: [String: NSEntityDescription] = [:]

  init(_ chain: [VersionHashTable.Entity]) {
    for facts in chain {
      entities[facts.name] = Self.entity(facts)
    }
    for facts in chain {
      guard let entity = entities[facts.name] else { continue }
      if let parent = facts.parentName.flatMap({ entities[$0] }) { parent.subentities = [entity] }
      // A child's line can repeat what it inherits.
      let inherited = Set((chain.first { $0.name == facts.parentName }?.attributes ?? []).map(\.name))
      entity.properties = facts.attributes.filter { !inherited.contains($0.name) }.map(Self.attribute)
      for relationship in facts.relationships { add(relationship, to: entity) }
    }
    model.entities = entities.values.sorted { ($0.name ?? "") < ($1.name ?? "") }
  }

  private static func entity(_ facts: VersionHashTable.Entity) -> NSEntityDescription {
    let result = NSEntityDescription()
    result.name = facts.name
    result.isAbstract = facts.isAbstract
    result.versionHashModifier = facts.modifier
    result.uniquenessConstraints = facts.uniquenessConstraints
    return result
  }

  private static func attribute(_ facts: VersionHashTable.Attribute) -> NSAttributeDescription {
    let result = NSAttributeDescription()
    result.name = facts.name
    result.attributeType = facts.type
    result.isOptional = facts.traits.isOptional
    result.isTransient = facts.traits.isTransient
    result.versionHashModifier = facts.traits.modifier
    result.allowsExternalBinaryDataStorage = facts.isExternal
    result.preservesValueInHistoryOnDeletion = facts.isPreserved
    return result
  }

  private mutating func add(_ facts: VersionHashTable.Relationship, to entity: NSEntityDescription) {
    // The other side of one that was added before.
    let result = entity.relationshipsByName[facts.name] ?? NSRelationshipDescription()
    result.name = facts.name
    result.isOptional = facts.traits.isOptional
    result.isTransient = facts.traits.isTransient
    result.versionHashModifier = facts.traits.modifier
    result.minCount = facts.minCount
    result.maxCount = facts.maxCount
    result.isOrdered = facts.isOrdered
    if entity.relationshipsByName[facts.name] == nil { entity.properties.append(result) }

    let destination = entities[facts.destinationName] ?? NSEntityDescription()
    destination.name = facts.destinationName
    entities[facts.destinationName] = destination
    result.destinationEntity = destination
    guard let inverseName = facts.inverseName else { return }
    let inverse = destination.relationshipsByName[inverseName] ?? NSRelationshipDescription()
    inverse.name = inverseName
    if destination.relationshipsByName[inverseName] == nil {
      inverse.destinationEntity = entity
      destination.properties.append(inverse)
    }
    result.inverseRelationship = inverse
    if inverse.inverseRelationship == nil { inverse.inverseRelationship = result }
  }
}
