// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

@testable import CoreData

/// Small models that several suites look at.
enum ModelSamples {
  static func attribute(
    _ name: String, _ type: NSAttributeDescription.AttributeType, optional: Bool = true
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.type = type
    attribute.isOptional = optional
    return attribute
  }

  static func entity(_ name: String, _ properties: [NSPropertyDescription] = []) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = properties
    return entity
  }

  /// Connects two entities with a relationship and its inverse.
  static func connect(
    _ source: NSEntityDescription, _ name: String, toMany: Bool = false, _ destination: NSEntityDescription,
    _ inverseName: String, inverseToMany: Bool = false
  ) {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.maxCount = toMany ? 0 : 1
    relationship.destinationEntity = destination
    let inverse = NSRelationshipDescription()
    inverse.name = inverseName
    inverse.maxCount = inverseToMany ? 0 : 1
    inverse.destinationEntity = source
    source.properties += [relationship]
    destination.properties += [inverse]
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
  }

  /// Person with the sub-entity Employee, and Department, which employees work in.
  static func company() -> NSManagedObjectModel {
    let person = entity("Person", [attribute("name", .string, optional: false), attribute("born", .date)])
    person.isAbstract = true
    let employee = entity("Employee", [attribute("salary", .decimal)])
    let department = entity("Department", [attribute("name", .string)])
    person.subentities = [employee]
    connect(department, "staff", toMany: true, employee, "department")
    connect(person, "friends", toMany: true, person, "friendOf", inverseToMany: true)
    department.indexes = [
      NSFetchIndexDescription(
        name: "byName",
        elements: [
          NSFetchIndexElementDescription(property: department.attributesByName["name"]!, collationType: .binary)
        ])
    ]
    let model = NSManagedObjectModel()
    model.entities = [person, employee, department]
    return model
  }
}
