// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// An incremental store with the methods that Apple's guide lists, and no others.
private final class ListStore: NSIncrementalStore, @unchecked Sendable {
  private var values: [String: [String: Any]] = [:]

  override func loadMetadata() throws {
    metadata = [NSStoreUUIDKey: ProcessInfo.processInfo.globallyUniqueString, NSStoreTypeKey: "ListStore"]
  }

  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    switch request.requestType {
    case .saveRequestType:
      let save = try #require(request as? NSSaveChangesRequest)
      for object in save.insertedObjects ?? [] {
        values[referenceObject(for: object.objectID) as? String ?? ""] = ["name": object.value(forKey: "name") ?? ""]
      }
      return []
    default:
      let fetch = try #require(request as? NSFetchRequest<NSManagedObject>)
      let entity = try #require(fetch.entity)
      return values.keys.sorted().compactMap { context?.object(with: newObjectID(for: entity, referenceObject: $0)) }
    }
  }

  override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    let own = values[referenceObject(for: objectID) as? String ?? ""] ?? [:]
    return NSIncrementalStoreNode(objectID: objectID, withValues: own, version: 1)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any { NSNull() }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: UUID().uuidString) }
  }
}

/// A store that does not even set the type in its metadata.
private final class BareStore: NSAtomicStore, @unchecked Sendable {
  override func load() throws {}
  override func save() throws {}
}

@Suite("Stores of the program as Apple documents them")
struct DocumentedStoreTests {
  @Test("An incremental store need not override its type: that is in the metadata")
  func incremental() throws {
    NSPersistentStoreCoordinator.registerStoreClass(ListStore.self, forStoreType: "ListStore")
    var builder = ModelBuilder()
    builder.entity("Item", [.make("name", .stringAttributeType)])
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: builder.model())
    let store = try coordinator.addPersistentStore(
      ofType: "ListStore", configurationName: nil, at: URL(fileURLWithPath: "/nowhere"), options: nil)
    #expect(store.type == "ListStore")
    #expect(coordinator.metadata(for: store)[NSStoreTypeKey] as? String == "ListStore")
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    context.make("Item", ["name": "one"])
    try context.save()
    context.reset()
    #expect(try context.all("Item").map { $0["name"] as? String } == ["one"])
  }

  @Test("Without a type in the metadata, the one that the class is registered for counts")
  func bare() throws {
    NSPersistentStoreCoordinator.registerStoreClass(BareStore.self, forStoreType: "BareStoreType")
    var builder = ModelBuilder()
    builder.entity("Item", [.make("name", .stringAttributeType)])
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: builder.model())
    let store = try coordinator.addPersistentStore(
      ofType: "BareStoreType", configurationName: nil, at: URL(fileURLWithPath: "/nowhere"), options: nil)
    #expect(store.type == "BareStoreType")
    #expect(store.metadata[NSStoreTypeKey] as? String == "BareStoreType")
  }
}
