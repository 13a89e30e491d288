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

  @Test("Variables of a template's predicate get values, and the template keeps its variables")
  func variables() throws {
    let model = ModelSamples.company()
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Person")
    request.predicate = NSPredicate(format: "name == $NAME AND born < $DAY")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    model.setFetchRequestTemplate(request, forName: "named")
    let document = try #require(model.document.fetchRequestTemplates.first)
    #expect(document.sortKeys == [SortKeyDocument(keyPath: "name", ascending: false)])
    let again = try NSManagedObjectModel(document: model.document)
    #expect(again == model)
    let made = try #require(
      again.fetchRequestFromTemplate(
        withName: "named", substitutionVariables: ["NAME": "Ada", "DAY": Date(timeIntervalSinceReferenceDate: 0)]))
    let ada: [String: Any] = ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: -1)]
    #expect(made.predicate?.evaluate(with: ada) == true)
    #expect(made.predicate?.evaluate(with: ["name": "Bob", "born": Date.distantPast]) == false)
    #expect(made.sortDescriptors?.map(\.key) == ["name"])
    #expect(model.fetchRequestTemplate(forName: "named")?.predicate == request.predicate)
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
