// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("Entities of a context")
struct EntityInContextTests {
  static func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: ModelSamples.company())
    return context
  }

  @Test("Entities are found by name, and objects inserted")
  func inserting() throws {
    let context = Self.context()
    let department = try #require(NSEntityDescription.entity(forEntityName: "Department", in: context))
    #expect(department.managedObjectModel === context.persistentStoreCoordinator?.managedObjectModel)
    #expect(NSEntityDescription.entity(forEntityName: "Robot", in: context) == nil)
    context.performAndWait {
      let object = NSEntityDescription.insertNewObject(forEntityName: "Department", into: context)
      #expect(object.entity === department)
      #expect(context.insertedObjects.contains(object))
    }
  }

  @Test("The coordinator ends the editing of its model")
  func freezing() {
    let context = Self.context()
    #expect(context.persistentStoreCoordinator?.managedObjectModel.isEditable == false)
  }

  @Test("An object of an unknown entity traps and says which entities there are")
  func unknown() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = NSEntityDescription.insertNewObject(forEntityName: "Robot", into: EntityInContextTests.context())
    }
    let words = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(words.contains("no entity named 'Robot'. It has: Department, Employee, Person."))
  }
}
