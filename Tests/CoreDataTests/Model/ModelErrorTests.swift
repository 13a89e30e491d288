// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Documents that contradict themselves")
struct ModelErrorTests {
  private func document(_ edit: (inout ModelDocument) -> Void) -> ModelDocument {
    var document = ModelSamples.company().document
    edit(&document)
    return document
  }

  private func error(_ edit: (inout ModelDocument) -> Void) -> NSError? {
    thrownError { _ = try NSManagedObjectModel(document: document(edit)) }
  }

  @Test("A missing superentity is named")
  func missingParent() throws {
    let error = try #require(error { $0.entities[1].parentName = "Human" })
    #expect(error.domain == NSCocoaErrorDomain)
    #expect(error.code == NSCoreDataError)
    #expect(error.userInfo["entity"] as? String == "Employee")
    #expect(error.localizedFailureReason == "Employee: The parent entity Human does not exist.")
    #expect(error.userInfo["reason"] as? String == error.localizedFailureReason)
  }

  @Test("A circle of superentities is shown")
  func circle() throws {
    let error = try #require(error { $0.entities[0].parentName = "Employee" })
    #expect(error.localizedFailureReason?.contains("Person -> Employee -> Person") == true)
  }

  @Test("A missing destination and a missing inverse are named")
  func relationships() throws {
    let destination = try #require(error { $0.entities[2].relationships[0].destinationEntityName = "Robot" })
    #expect(destination.userInfo["property"] as? String == "staff")
    #expect(destination.localizedFailureReason?.contains("Robot") == true)
    let inverse = try #require(error { $0.entities[2].relationships[0].inverseName = "boss" })
    #expect(inverse.userInfo["entity"] as? String == "Department")
    #expect(inverse.localizedFailureReason?.contains("Employee.boss") == true)
  }

  @Test("Names that occur twice are named")
  func duplicates() throws {
    let entity = try #require(error { $0.entities[2].name = "Person" })
    #expect(entity.userInfo["entity"] as? String == "Person")
    let property = try #require(error { $0.entities[0].attributes[0].name = "born" })
    #expect(property.userInfo["property"] as? String == "born")
    #expect(error { $0.entities[2].name = "" } != nil)
  }

  @Test("Indexes and configurations over what is not there are named")
  func indexesAndConfigurations() throws {
    let index = try #require(error { $0.entities[2].indexes[0].elements[0].propertyName = "title" })
    #expect(index.userInfo["property"] as? String == "title")
    let mixed = try #require(
      error {
        $0.entities[2].indexes[0].elements.append(FetchIndexElementDocument(propertyName: "name", isRTree: true))
      })
    #expect(mixed.userInfo["entity"] as? String == "Department")
    let configuration = try #require(
      error { $0.configurations = [ConfigurationDocument(name: "Small", entityNames: ["Robot"])] })
    #expect(configuration.localizedFailureReason?.contains("Small") == true)
  }
}
