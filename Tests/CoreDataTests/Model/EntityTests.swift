// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("Entities")
struct EntityTests {
  @Test("A sub-entity has its own copies of inherited properties, whose entity is the sub-entity")
  func inheritedCopies() throws {
    let model = ModelSamples.company()
    let person = try #require(model.entitiesByName["Person"])
    let employee = try #require(model.entitiesByName["Employee"])
    let inherited = try #require(employee.attributesByName["name"])
    let original = try #require(person.attributesByName["name"])
    #expect(inherited !== original)
    #expect(inherited.entity === employee)
    #expect(original.entity === person)
    #expect(!inherited.isOptional)
    #expect(
      Set(employee.propertiesByName.keys) == ["name", "born", "friends", "friendOf", "salary", "department"])
    #expect(employee.properties.map(\.name).last == "department")
  }

  @Test("Edits of an ancestor reach the copies, which stay the same objects")
  func editsReachCopies() throws {
    let model = ModelSamples.company()
    let person = try #require(model.entitiesByName["Person"])
    let employee = try #require(model.entitiesByName["Employee"])
    let inherited = try #require(employee.attributesByName["born"])
    person.attributesByName["born"]?.isOptional = false
    #expect(employee.attributesByName["born"] === inherited)
    #expect(!inherited.isOptional)
    person.attributesByName["born"]?.name = "birthday"
    #expect(employee.attributesByName["born"] == nil)
    #expect(employee.attributesByName["birthday"] === inherited)
    person.properties += [ModelSamples.attribute("nickname", .string)]
    #expect(employee.attributesByName["nickname"] != nil)
  }

  @Test("A property and an entity are found by the name that they got last, and only by that")
  func renaming() throws {
    let model = ModelSamples.company()
    let person = try #require(model.entitiesByName["Person"])
    let born = try #require(person.attributesByName["born"])
    born.name = "birthday"
    #expect(person.attributesByName["birthday"] === born)
    #expect(person.propertiesByName["birthday"] === born)
    #expect(person.attributesByName["born"] == nil)
    let friends = try #require(person.relationshipsByName["friends"])
    friends.name = "companions"
    #expect(Set(person.relationshipsByName.keys) == ["companions", "friendOf"])
    person.name = "Human"
    #expect(model.entitiesByName["Human"] === person)
    #expect(model.entitiesByName["Person"] == nil)
    #expect(model.entityVersionHashesByName.keys.contains("Human"))
  }

  @Test("Setting the properties as they were read keeps inherited ones inherited")
  func settingAsRead() throws {
    let model = ModelSamples.company()
    let employee = try #require(model.entitiesByName["Employee"])
    employee.properties += [ModelSamples.attribute("badge", .uuid)]
    #expect(employee.ownProperties.map(\.name) == ["salary", "department", "badge"])
    #expect(employee.propertiesByName["name"]?.inheritedFrom != nil)
  }

  @Test("Sub-entities know their superentity, and leave it when they are taken out")
  func hierarchy() throws {
    let person = ModelSamples.entity("Person", [ModelSamples.attribute("name", .string)])
    let employee = ModelSamples.entity("Employee")
    let manager = ModelSamples.entity("Manager")
    person.subentities = [employee]
    employee.subentities = [manager]
    #expect(manager.superentity === employee)
    #expect(manager.isKindOf(entity: person))
    #expect(!person.isKindOf(entity: manager))
    #expect(manager.attributesByName["name"]?.inheritedFrom === person.attributesByName["name"])
    #expect(Array(person.subentitiesByName.keys) == ["Employee"])
    person.subentities = []
    #expect(employee.superentity == nil)
    #expect(manager.attributesByName["name"] == nil)
  }

  @Test("A model takes the sub-entities of its entities in of themselves")
  func modelTakesFamilies() {
    let person = ModelSamples.entity("Person")
    let model = NSManagedObjectModel()
    model.entities = [person]
    person.subentities = [ModelSamples.entity("Employee")]
    #expect(Set(model.entitiesByName.keys) == ["Person", "Employee"])
    #expect(model.map { $0.name ?? "" }.sorted() == ["Employee", "Person"])
  }

  @Test("Relationships are found by destination, inherited ones too")
  func relationshipsForDestination() throws {
    let model = ModelSamples.company()
    let employee = try #require(model.entitiesByName["Employee"])
    let person = try #require(model.entitiesByName["Person"])
    #expect(Set(employee.relationships(forDestination: person).map(\.name)) == ["friends", "friendOf"])
    #expect(employee.relationships(forDestination: employee).isEmpty)
  }

  @Test("The renaming identifier is the name, and the class NSManagedObject, unless set")
  func defaults() {
    let entity = ModelSamples.entity("Person", [ModelSamples.attribute("name", .string)])
    #expect(entity.renamingIdentifier == "Person")
    #expect(entity.managedObjectClassName == "NSManagedObject")
    #expect(entity.propertiesByName["name"]?.renamingIdentifier == "name")
    entity.renamingIdentifier = "Human"
    entity.name = "Individual"
    #expect(entity.renamingIdentifier == "Human")
  }

  @Test("A copy stands alone and has the inherited properties as its own")
  func copies() throws {
    let model = ModelSamples.company()
    let employee = try #require(model.entitiesByName["Employee"])
    let copy = try #require(employee.copy() as? NSEntityDescription)
    #expect(copy.superentity == nil)
    #expect(copy.owningModel == nil)
    #expect(Set(copy.ownProperties.map(\.name)) == Set(employee.propertiesByName.keys))
    copy.name = "Worker"
    copy.attributesByName["name"]?.isOptional = true
    #expect(employee.name == "Employee")
    #expect(employee.attributesByName["name"]?.isOptional == false)
  }

  @Test("Entities are equal by content, whatever the order of their properties")
  func equality() throws {
    let left = ModelSamples.company()
    let right = ModelSamples.company()
    let person = try #require(right.entitiesByName["Person"])
    #expect(left == right)
    person.properties = Array(person.properties.reversed())
    #expect(left == right)
    #expect(left.entitiesByName["Person"] == person)
    person.attributesByName["born"]?.defaultValue = Date(timeIntervalSinceReferenceDate: 0)
    #expect(left.entitiesByName["Person"] != person)
    #expect(left.entitiesByName["Employee"] != right.entitiesByName["Employee"])
    #expect(left != right)
  }

  @Test("Composite attributes own their elements and copy them")
  func composites() throws {
    let composite = NSCompositeAttributeDescription()
    composite.name = "address"
    composite.elements = [ModelSamples.attribute("street", .string), ModelSamples.attribute("zip", .integer32)]
    let entity = ModelSamples.entity("Place", [composite])
    #expect(composite.type == .composite)
    #expect(composite.elements[0].entity === entity)
    let copy = try #require(composite.copy() as? NSCompositeAttributeDescription)
    #expect(copy.elements.map(\.name) == ["street", "zip"])
    #expect(copy.elements[0] !== composite.elements[0])
    #expect(copy.versionHash == composite.versionHash)
  }
}
