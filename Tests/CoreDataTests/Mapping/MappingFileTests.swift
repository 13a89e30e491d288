// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Mapping models in files")
struct MappingFileTests {
  @Test("A mapping model made in code is the same after it was written and read")
  func roundTrip() throws {
    let mapping = NSEntityMapping()
    mapping.name = "CarToVan"
    mapping.mappingType = .customEntityMappingType
    mapping.sourceEntityName = "Car"
    mapping.destinationEntityName = "Van"
    mapping.sourceEntityVersionHash = Data([1])
    mapping.entityMigrationPolicyClassName = "App.Policy"
    mapping.sourceExpression = NSExpression(format: "FETCH($request, $manager.sourceContext, NO)")
    mapping.userInfo = ["modelVersion": "3", "steps": 2]
    let attribute = NSPropertyMapping()
    attribute.name = "price"
    attribute.valueExpression = NSExpression(format: "($source.amount - 32) / 1.8")
    attribute.userInfo = ["unit": "C"]
    mapping.attributeMappings = [attribute]
    mapping.relationshipMappings = []
    let model = NSMappingModel()
    model.entityMappings = [mapping]
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let file = folder.appendingPathComponent("Mapping.cdm")
    try model.document.writeCompiled(to: file)
    let read = try #require(NSMappingModel(contentsOf: file))
    #expect(read.document == model.document)
    let back = try #require(read.entityMappingsByName["CarToVan"])
    #expect(back.userInfo?["modelVersion"] as? String == "3")
    #expect(back.attributeMappings?.first?.valueExpression == attribute.valueExpression)
  }

  @Test("What is no mapping model is refused with a reason; the failable initializer gives nil")
  func refusal() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let absent = folder.appendingPathComponent("Absent.cdm")
    let missing = #expect(throws: NSError.self) { try NSMappingModel.load(contentsOf: absent) }
    #expect(missing?.code == CocoaError.Code.fileReadNoSuchFile.rawValue)
    #expect(NSMappingModel(contentsOf: absent) == nil)
    #expect(NSMappingModel(contentsOf: nil) == nil)
    let text = folder.appendingPathComponent("Text.cdm")
    try Data("no mapping".utf8).write(to: text)
    let wrong = #expect(throws: NSError.self) { try NSMappingModel.load(contentsOf: text) }
    #expect(wrong?.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect(wrong?.localizedDescription == "The mapping model could not be read.")
    #expect(wrong?.localizedFailureReason?.contains("Text.cdm") == true)
  }

  @Test("Among the files of a folder the mapping model is found whose hashes fit the models, the fuller one first")
  func search() throws {
    let source = try NSManagedObjectModel(document: ModelDocument(entities: [EntityDocument(name: "Car")]))
    var changed = EntityDocument(name: "Car")
    changed.attributes = [AttributeDocument(name: "seats", kind: .integer16)]
    let destination = try NSManagedObjectModel(
      document: ModelDocument(entities: [changed, EntityDocument(name: "Van")]))
    var car = EntityMappingDocument(
      name: "CarToCar", kind: .copy, sourceEntityName: "Car", destinationEntityName: "Car")
    let van = EntityMappingDocument(name: "Van", kind: .add, sourceEntityName: nil, destinationEntityName: "Van")
    func search(_ folder: URL) -> [String]? {
      let search = MappingSearch(source: source, destination: destination)
      return search.mapping(in: ModelSearch(folders: [folder]))?.entityMappings.map(\.name)
    }
    let directory = try TemporaryDirectory()
    let folder = directory.url
    var full = MappingDocument(entityMappings: [car, van])
    try full.writeCompiled(to: folder.appendingPathComponent("Stale.cdm"))
    try Data("broken".utf8).write(to: folder.appendingPathComponent("Broken.cdm"))
    #expect(search(folder) == nil)
    full.updateHashes(
      source: source.entityVersionHashesByName, destination: destination.entityVersionHashesByName)
    car = full.entityMappings[0]
    try MappingDocument(entityMappings: [car]).writeCompiled(to: folder.appendingPathComponent("A.cdm"))
    #expect(search(folder) == ["CarToCar"])
    try full.writeCompiled(to: folder.appendingPathComponent("B.cdm"))
    #expect(search(folder) == ["CarToCar", "Van"])
    #expect(NSMappingModel(from: [], forSourceModel: source, destinationModel: destination) == nil)
    #expect(NSMappingModel(from: nil, forSourceModel: nil, destinationModel: destination) == nil)
  }
}
