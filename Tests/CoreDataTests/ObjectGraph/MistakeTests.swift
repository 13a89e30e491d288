// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Common mistakes of programs")
struct MistakeTests {
  /// A model with a person and a pet.
  static func model(
    _ person: [NSPropertyDescription]? = nil, className: String = "NSManagedObject"
  ) -> NSManagedObjectModel {
    let entity = ModelSamples.entity(
      "Person",
      person ?? [
        ModelSamples.attribute("age", .integer16), ModelSamples.attribute("name", .string),
      ])
    entity.managedObjectClassName = className
    let pet = ModelSamples.entity("Pet", [ModelSamples.attribute("name", .string)])
    let model = NSManagedObjectModel()
    model.entities = [entity, pet]
    return model
  }

  private static func words(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test("An object of another model's entity with other properties is refused, and nothing is saved")
  func otherModel() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    let other = Self.model([
      ModelSamples.attribute("name", .string), ModelSamples.attribute("aaa", .integer16),
    ])
    try context.performAndWait {
      let entity = try #require(other.entitiesByName["Person"])
      let object = NSManagedObject(entity: entity, insertInto: context)
      object.setValue(77, forKey: "aaa")
      let error = try #require(#expect(throws: (any Error).self) { try context.save() }) as NSError
      #expect(error.code == NSCoreDataError)
      #expect(
        error.localizedFailureReason?.contains(
          "aaa only there; age only in the coordinator's model. Nothing was saved.") == true)
      context.reset()
      #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Person")) == 0)
      // An equal model's entity will do.
      let twin = Self.model()
      let equal = NSManagedObject(entity: try #require(twin.entitiesByName["Person"]), insertInto: context)
      equal.setValue(5, forKey: "age")
      try context.save()
      context.reset()
      let found = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person"))
      #expect(found.map { $0.value(forKey: "age") as? Int } == [5])
    }
  }

  @Test("An object of an entity that the coordinator's model does not have is refused by name")
  func unknownEntity() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    let other = NSManagedObjectModel()
    other.entities = [ModelSamples.entity("Alien", [])]
    try context.performAndWait {
      _ = NSManagedObject(entity: try #require(other.entitiesByName["Alien"]), insertInto: context)
      let error = try #require(#expect(throws: (any Error).self) { try context.save() }) as NSError
      #expect(error.code == NSCoreDataError)
      #expect(error.localizedFailureReason == "The model has no entity 'Alien'; it has Person, Pet.")
    }
    withExtendedLifetime(other) {}
  }

  @Test("A new object is not assigned to a store of another coordinator")
  func otherStore() throws {
    let (store, elsewhere) = (try TemporaryStore(), try TemporaryStore())
    let (context, other) = (try store.context(Self.model()), try elsewhere.context(Self.model()))
    try context.performAndWait {
      let object = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
      context.assign(object, to: try #require(other.persistentStoreCoordinator?.persistentStores.first))
      let error = try #require(#expect(throws: (any Error).self) { try context.save() }) as NSError
      #expect(error.code == NSPersistentStoreOperationError)
      #expect(error.localizedFailureReason?.contains("does not belong to its context's coordinator") == true)
    }
  }

  @Test("A model that no store can hold is what the error is about, and no store is left")
  func unstorableModel() throws {
    let store = try TemporaryStore()
    let relationship = NSRelationshipDescription()
    relationship.name = "home"
    let error =
      try #require(
        #expect(throws: (any Error).self) { _ = try store.context(Self.model([relationship])) }) as NSError
    #expect(error.code == NSPersistentStoreIncompatibleSchemaError)
    #expect(error.localizedFailureReason?.contains("“home” of “Person” has no destination entity") == true)
    #expect(error.localizedRecoverySuggestion == "Correct the model. Nothing was written.")
    #expect(try store.files() == [])
  }

  @Test("A directory that cannot be created is named")
  func directory() throws {
    let store = try TemporaryStore()
    try Data("a file".utf8).write(to: store.url)
    let url = store.url.appendingPathComponent("folder/Data.sqlite")
    let container = NSPersistentContainer(name: "Mistakes", managedObjectModel: Self.model())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    var found: NSError?
    container.loadPersistentStores { _, error in found = error as NSError? }
    let error = try #require(found)
    #expect(error.domain == NSCocoaErrorDomain)
    #expect(error.localizedFailureReason?.contains("/folder' for the store 'Data.sqlite'") == true)
    #expect(error.localizedRecoverySuggestion?.contains("Check the path") == true)
  }

  @Test("A context's coordinator cannot be replaced by another one, but set to nil before")
  func replacedCoordinator() async throws {
    let context = NSManagedObjectContext(.privateQueue)
    for _ in 0..<2 {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
      context.persistentStoreCoordinator = coordinator
      context.persistentStoreCoordinator = coordinator
      context.persistentStoreCoordinator = nil
    }
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = EntityInContextTests.context()
      context.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: ModelSamples.company())
    }
    #expect(Self.words(result.standardErrorContent).contains("already has a coordinator, whose objects it holds"))
  }

  @Test("A context without a coordinator says what it lacks")
  func noCoordinator() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = NSManagedObjectContext(.mainQueue)
      _ = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
    }
    #expect(
      Self.words(result.standardErrorContent).contains(
        "Set its persistentStoreCoordinator or its parent before it is used"))
  }

  @Test("A class that is not found is named on standard error, once")
  func missingClass() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = NSPersistentStoreCoordinator(
        managedObjectModel: MistakeTests.model(className: "Shop.Nobody"))
      context.performAndWait {
        for _ in 0..<3 { _ = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context) }
        _ = NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context)
      }
    }
    let warnings = Self.words(result.standardErrorContent).components(separatedBy: "CoreData: warning: ").dropFirst()
    #expect(warnings.count == 1)
    #expect(warnings.first?.contains("The class 'Shop.Nobody' of the entity 'Person' is not found") == true)
  }

  @Test("A transformer that is not registered is named on standard error")
  func missingTransformer() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let color = ModelSamples.attribute("color", .transformable)
      color.valueTransformerName = "ColorTransformer"
      let store = try TemporaryStore()
      let context = try store.context(MistakeTests.model([color]))
      try context.performAndWait {
        let object = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
        object.setValue(NSArray(array: [1]), forKey: "color")
        try context.save()
      }
    }
    #expect(
      Self.words(result.standardErrorContent).contains(
        "No value transformer is registered as 'ColorTransformer', which 'color' of 'Person'")
    )
  }
}
