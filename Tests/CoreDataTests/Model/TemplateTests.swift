// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreData

@Suite("Fetch requests in models")
struct TemplateTests {
  private func request(_ entityName: String, limit: Int) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: entityName)
    request.fetchLimit = limit
    request.fetchOffset = 2
    request.includesSubentities = false
    return request
  }

  @Test("A template comes back as a request of its own, with the model's entity")
  func templates() throws {
    let model = ModelSamples.company()
    let request = request("Person", limit: 7)
    model.setFetchRequestTemplate(request, forName: "some")
    request.fetchLimit = 1
    let found = try #require(model.fetchRequestTemplate(forName: "some"))
    #expect(found.fetchLimit == 7)
    #expect(found.fetchOffset == 2)
    #expect(!found.includesSubentities)
    #expect(found.entity === model.entitiesByName["Person"])
    found.fetchLimit = 3
    #expect(model.fetchRequestTemplatesByName["some"]?.fetchLimit == 7)
    #expect(model.fetchRequestTemplate(forName: "other") == nil)
    #expect(model.fetchRequestFromTemplate(withName: "other", substitutionVariables: [:]) == nil)
    #expect(model.fetchRequestFromTemplate(withName: "some", substitutionVariables: [:])?.fetchLimit == 7)
    model.setFetchRequestTemplate(nil, forName: "some")
    #expect(model.fetchRequestTemplatesByName.isEmpty)
  }

  @Test("Templates go along when a model is copied, merged, and made a document")
  func copies() throws {
    let model = ModelSamples.company()
    model.setFetchRequestTemplate(request("Person", limit: 7), forName: "some")
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    let found = try #require(copy.fetchRequestTemplate(forName: "some"))
    #expect(found.entity === copy.entitiesByName["Person"])
    #expect(found.fetchOffset == 2)
    #expect(copy == model)
    let merged = try #require(NSManagedObjectModel(byMerging: [model]))
    #expect(merged.fetchRequestTemplate(forName: "some")?.fetchLimit == 7)
    let document = model.document
    #expect(document.fetchRequestTemplates.map(\.entityName) == ["Person"])
    #expect(try NSManagedObjectModel(document: document).fetchRequestTemplate(forName: "some")?.fetchLimit == 7)
  }

  @Test("A fetched property keeps its request, and copies have it too")
  func fetchedProperties() throws {
    let model = ModelSamples.company()
    let property = NSFetchedPropertyDescription()
    property.name = "colleagues"
    property.fetchRequest = request("Employee", limit: 5)
    let employee = try #require(model.entitiesByName["Employee"])
    employee.properties += [property]
    #expect(property.fetchRequest?.entity === employee)
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    let twin = try #require(
      copy.entitiesByName["Employee"]?.propertiesByName["colleagues"] as? NSFetchedPropertyDescription)
    #expect(twin.fetchRequest?.fetchLimit == 5)
    #expect(twin.fetchRequest?.entity === copy.entitiesByName["Employee"])
    #expect(copy == model)
    property.fetchRequest = nil
    #expect(copy != model)
  }
}
