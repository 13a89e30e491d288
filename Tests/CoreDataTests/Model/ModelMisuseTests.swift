// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

/// A mistake in building a model, and a part of the sentence that it must end with.
enum ModelMisuse: String, CaseIterable, Codable, Sendable {
  case editInherited = "is inherited from 'Person': set 'isOptional' there."
  case propertyWithoutEntity = "The property 'text' has no entity"
  case entityWithoutModel = "The entity 'Note' has no model"
  case foreignProperty = "'text' belongs to entity 'Note': add a copy of it."
  case duplicateProperty = "Entity 'Note' cannot have two properties named 'text'."
  case renameToDuplicateProperty = "Entity 'Department' cannot have two properties named 'staff'."
  case foreignIndex = "The index 'byName' belongs to entity 'Department': add a copy of it."
  case mixedIndex = "The elements of the index 'mixed' must be either all binary or all R-tree elements."
  case foreignEntity = "Entity 'Person' belongs to another model: add a copy of it."
  case namelessEntity = "An entity needs a name before it can be part of a model."
  case duplicateEntity = "A model cannot have two entities named 'Note'."
  case renameToDuplicateEntity = "A model cannot have two entities named 'Person'."
  case secondSuperentity = "'Employee' already has the superentity 'Person': remove it there first."
  case circle = "Entity 'Person' cannot inherit from 'Employee', which is itself or inherits from it."
  case foreignConfiguration = "Entity 'Note' cannot be in configuration 'Small': it is not in the model."
  case foreignElement = "'text' belongs to another entity or composite attribute: add a copy of it."
  case duplicateElement = "'place' cannot have two elements named 'text'."
  case blockRule = "The property 'text' cannot be part of a model. A predicate made from a block"
  case blockTemplate = "The request 'some' cannot be part of a model. A sort descriptor with a comparator"
  case fewWarnings = "'text' needs one validation warning for each of its 1 predicates."
  case mergeOfDifferent = "Models with two different entities named 'Note' cannot be merged."

  func perform() {
    let model = ModelSamples.company()
    let department = model.entitiesByName["Department"]!
    let employee = model.entitiesByName["Employee"]!
    let note = ModelSamples.entity("Note", [ModelSamples.attribute("text", .string)])
    switch self {
    case .editInherited: employee.propertiesByName["name"]!.isOptional = true
    case .propertyWithoutEntity: _ = ModelSamples.attribute("text", .string).entity
    case .entityWithoutModel: _ = note.managedObjectModel
    case .foreignProperty: department.properties += note.properties
    case .duplicateProperty: note.properties += [ModelSamples.attribute("text", .date)]
    case .renameToDuplicateProperty: department.propertiesByName["name"]!.name = "staff"
    case .foreignIndex: note.indexes = department.indexes
    case .mixedIndex:
      _ = NSFetchIndexDescription(
        name: "mixed",
        elements: [NSFetchIndexElementType.binary, .rTree].map {
          NSFetchIndexElementDescription(property: note.properties[0], collationType: $0)
        })
    case .foreignEntity: NSManagedObjectModel().entities = model.entities
    case .namelessEntity: NSManagedObjectModel().entities = [NSEntityDescription()]
    case .duplicateEntity: NSManagedObjectModel().entities = [note, ModelSamples.entity("Note")]
    case .renameToDuplicateEntity: department.name = "Person"
    case .secondSuperentity: department.subentities = [employee]
    case .circle: employee.subentities = [model.entitiesByName["Person"]!]
    case .foreignConfiguration: model.setEntities([note], forConfigurationName: "Small")
    case .foreignElement: NSCompositeAttributeDescription().elements = note.properties as! [NSAttributeDescription]
    case .duplicateElement:
      let place = NSCompositeAttributeDescription()
      place.name = "place"
      place.elements = [ModelSamples.attribute("text", .string), ModelSamples.attribute("text", .date)]
    case .blockRule:
      note.properties[0].setValidationPredicates([NSPredicate { _, _ in true }], withValidationWarnings: nil)
    case .fewWarnings:
      note.properties[0].setValidationPredicates([NSPredicate(value: true)], withValidationWarnings: [])
    case .blockTemplate:
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Person")
      request.sortDescriptors = [
        NSSortDescriptor(key: "name", ascending: true, comparator: { _, _ in .orderedSame })
      ]
      model.setFetchRequestTemplate(request, forName: "some")
    case .mergeOfDifferent:
      let first = NSManagedObjectModel()
      first.entities = [note]
      let second = NSManagedObjectModel()
      second.entities = [ModelSamples.entity("Note")]
      _ = NSManagedObjectModel(byMerging: [first, second])
    }
  }
}

@Suite("Mistakes in building models")
struct ModelMisuseTests {
  @Test("Each traps and says why", arguments: ModelMisuse.allCases)
  func misuse(_ misuse: ModelMisuse) async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
      misuse.perform()
    }
    let words = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(words.contains(misuse.rawValue), "\(words)")
  }
}
