// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("Merging models")
struct ModelMergingTests {
  @Test("An entity that two models share leads to the entities of both, and back")
  func relationships() throws {
    func shared() -> NSEntityDescription { ModelSamples.entity("Tag", [ModelSamples.attribute("name", .string)]) }
    let first = NSManagedObjectModel()
    first.entities = [shared()]
    let second = NSManagedObjectModel()
    let (tag, note) = (shared(), ModelSamples.entity("Note"))
    let relationship = NSRelationshipDescription()
    relationship.name = "tag"
    relationship.maxCount = 1
    relationship.destinationEntity = tag
    note.properties = [relationship]
    second.entities = [tag, note]
    let merged = try #require(NSManagedObjectModel(byMerging: [first, second]))
    let copy = try #require(merged.entitiesByName["Note"]?.relationshipsByName["tag"])
    #expect(copy.destinationEntity === merged.entitiesByName["Tag"])
    #expect(relationship.destinationEntity === tag)
  }

  @Test("A relationship to an entity of another model leads to its copy")
  func acrossModels() throws {
    let (first, second) = (NSManagedObjectModel(), NSManagedObjectModel())
    let (note, tag) = (ModelSamples.entity("Note"), ModelSamples.entity("Tag"))
    first.entities = [note]
    second.entities = [tag]
    ModelSamples.connect(note, "tags", toMany: true, tag, "notes", inverseToMany: true)
    let merged = try #require(NSManagedObjectModel(byMerging: [first, second]))
    let tags = try #require(merged.entitiesByName["Note"]?.relationshipsByName["tags"])
    let notes = try #require(merged.entitiesByName["Tag"]?.relationshipsByName["notes"])
    #expect(tags.destinationEntity === merged.entitiesByName["Tag"])
    #expect(tags.inverseRelationship === notes)
    #expect(notes.inverseRelationship === tags)
    try merged.document.validate()
  }

  @Test("A superentity that two models share has the sub-entities of both")
  func hierarchy() throws {
    func model(_ child: String) -> NSManagedObjectModel {
      let parent = ModelSamples.entity("Thing", [ModelSamples.attribute("name", .string)])
      parent.subentities = [ModelSamples.entity(child), ModelSamples.entity("Common")]
      let model = NSManagedObjectModel()
      model.entities = [parent]
      return model
    }
    let merged = try #require(NSManagedObjectModel(byMerging: [model("Chair"), model("Table")]))
    let thing = try #require(merged.entitiesByName["Thing"])
    #expect(thing.subentities.compactMap(\.name) == ["Chair", "Common", "Table"])
    #expect(merged.entitiesByName["Table"]?.attributesByName["name"] != nil)
    #expect(merged.entities.count == 4)
  }

  @Test("Configurations, templates, identifiers and words are united")
  func rest() throws {
    let (first, second) = (ModelFolder.model(["A": ["text"]]), ModelFolder.model(["A": ["text"], "B": ["text"]]))
    first.setEntities(first.entities, forConfigurationName: "Main")
    second.setEntities(second.entities, forConfigurationName: "Main")
    second.setEntities([second.entities[1]], forConfigurationName: "Other")
    first.setFetchRequestTemplate(NSFetchRequest(entityName: "A"), forName: "all A")
    second.setFetchRequestTemplate(NSFetchRequest(entityName: "A"), forName: "all A")
    second.setFetchRequestTemplate(NSFetchRequest(entityName: "B"), forName: "all B")
    first.versionIdentifiers = ["1", "x"]
    second.versionIdentifiers = ["2", "x"]
    first.localizationDictionary = ["Entity/A": "one"]
    second.localizationDictionary = ["Entity/A": "two", "Entity/B": "three"]
    let merged = try NSManagedObjectModel.merging([first, second])
    #expect(merged.configurations == ["Main", "Other"])
    #expect(merged.entities(forConfigurationName: "Main")?.compactMap(\.name) == ["A", "B"])
    #expect(merged.entities(forConfigurationName: "Other")?.first === merged.entitiesByName["B"])
    #expect(Set(merged.fetchRequestTemplatesByName.keys) == ["all A", "all B"])
    #expect(merged.fetchRequestTemplate(forName: "all B")?.entity === merged.entitiesByName["B"])
    #expect(merged.versionIdentifiers == ["1", "2", "x"])
    #expect(merged.localizationDictionary == ["Entity/A": "one", "Entity/B": "three"])
  }

  @Test("A conflict says which entity it is about, and in what the versions of each differ")
  func conflict() throws {
    let (first, second) = (ModelFolder.model(["Note": ["text", "at"]]), ModelFolder.model(["Note": ["text"]]))
    second.entitiesByName["Note"]?.attributesByName["text"]?.isOptional = false
    second.entitiesByName["Note"]?.managedObjectClassName = "Notiz"
    let error = try #require(throws: NSError.self) { try NSManagedObjectModel.merging([first, second]) }
    #expect(error.code == NSCoreDataError)
    #expect(error.userInfo["entity"] as? String == "Note")
    #expect(error.userInfo["property"] as? String == "at")
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.contains("the entity 'Note'"))
    #expect(reason.contains("attributes.at is present in one, absent in the other"))
    #expect(reason.contains("attributes.text.isOptional is true in one, false in the other"))
    #expect(reason.contains("className is none in one, Notiz in the other"))
    #expect(!reason.contains("attributes.text.name"))
  }

  @Test("Different templates of one name are a conflict")
  func templateConflict() throws {
    let (first, second) = (ModelFolder.model(["A": ["text"]]), ModelFolder.model(["A": ["text"]]))
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "A")
    first.setFetchRequestTemplate(request, forName: "some")
    request.fetchLimit = 3
    second.setFetchRequestTemplate(request, forName: "some")
    let error = try #require(throws: NSError.self) { try NSManagedObjectModel.merging([first, second]) }
    #expect(error.localizedFailureReason?.contains("fetchLimit is 0 in one, 3 in the other") == true)
    #expect(error.localizedFailureReason?.contains("fetch request template 'some'") == true)
  }

  @Test(
    "Of models that fit a store, as few are taken as possible: versions that differ elsewhere do not get in the way")
  func choice() throws {
    // Tag is the same in all versions; the first one has a Tag with another class name, and no Note yet.
    let first = ModelFolder.model(["Tag": ["name"]])
    first.entitiesByName["Tag"]?.managedObjectClassName = "OldTag"
    let second = ModelFolder.model(["Tag": ["name"], "Note": ["text"]])
    let third = ModelFolder.model(["Tag": ["name"], "Note": ["text"], "Draft": ["text"]])
    let other = ModelFolder.model(["Reader": ["name"]])
    let hashes = second.entityVersionHashesByName.merging(other.entityVersionHashesByName) { $1 }
    let metadata: [String: Any] = [NSStoreModelVersionHashesKey: hashes]
    let merged = try #require(
      NSManagedObjectModel(byMerging: [first, third, second, other], forStoreMetadata: metadata))
    #expect(Set(merged.entitiesByName.keys) == ["Tag", "Note", "Reader"])
    #expect(merged.entitiesByName["Tag"]?.managedObjectClassName == "NSManagedObject")
  }

  @Test("Entities that a store does not have may contradict each other: that gives nil, and a reason")
  func contradiction() throws {
    let first = ModelFolder.model(["A": ["text"], "X": ["one"]])
    let second = ModelFolder.model(["B": ["text"], "X": ["two"]])
    let stored = ["A", "B"].map { name in (name, (first.entitiesByName[name] ?? second.entitiesByName[name])) }
    let hashes = Dictionary(uniqueKeysWithValues: stored.map { ($0.0, $0.1?.versionHash ?? Data()) })
    let metadata: [String: Any] = [NSStoreModelVersionHashesKey: hashes]
    #expect(NSManagedObjectModel(byMerging: [first, second], forStoreMetadata: metadata) == nil)
    let error = try #require(throws: NSError.self) {
      try NSManagedObjectModel.merging([first, second], forStoreMetadata: metadata)
    }
    #expect(error.code == NSCoreDataError)
    #expect(error.userInfo["entity"] as? String == "X")
  }

  @Test("The reason why no model fits a store names the entities that are missing")
  func missing() throws {
    let model = ModelFolder.model(["A": ["text"]])
    let hashes = model.entityVersionHashesByName.merging(["B": Data(count: 32)]) { $1 }
    let error = try #require(throws: NSError.self) {
      try NSManagedObjectModel.merging([model], forStoreMetadata: [NSStoreModelVersionHashesKey: hashes])
    }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(error.localizedFailureReason?.contains("'B'") == true)
    #expect(error.localizedFailureReason?.contains("'A'") == false)
  }
}
