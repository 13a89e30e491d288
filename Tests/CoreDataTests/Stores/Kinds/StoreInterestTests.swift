// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("What incremental stores are told of the objects that contexts use")
struct StoreInterestTests {
  private let bench: StoreKindBench

  init() throws {
    bench = try StoreKindBench(.incremental)
  }

  /// The numbers of contexts that use objects, sorted, once the store has been told.
  private func uses() async -> [Int] {
    // Reports that are under way are before this block.
    await bench.coordinator.perform {}
    return bench.coordinator.performAndWait { TestIncrementalStore.backend(at: bench.url).uses.values.sorted() }
  }

  @Test("Each context registers an object once, and releases it when the program lets it go, or on reset")
  func counts() async throws {
    let first = bench.context()
    var made: [NSManagedObject] = ["Ada", "Bob"].map { first.make("Employee", ["name": $0]) }
    // New objects are not the store's.
    #expect(await uses() == [])
    try first.save()
    #expect(await uses() == [1, 1])
    let second = bench.context()
    var fetched = try second.all("Employee")
    #expect(await uses() == [2, 2])
    #expect(try second.all("Employee").map(ObjectIdentifier.init) == fetched.map(ObjectIdentifier.init))
    #expect(await uses() == [2, 2])
    made = []
    #expect(await uses() == [1, 1])
    fetched.removeLast()
    #expect(await uses() == [1])
    second.reset()
    #expect(await uses() == [])
    withExtendedLifetime((made, fetched, first, second)) {}
  }

  @Test("A deleted object is released with the save, one found again is registered again")
  func deletion() async throws {
    let context = bench.context()
    let ada = context.make("Employee", ["name": "Ada"])
    try context.save()
    context.delete(ada)
    #expect(await uses() == [1])
    try context.save()
    #expect(await uses() == [])
    let bob = context.make("Employee", ["name": "Bob"])
    try context.save()
    context.reset()
    #expect(await uses() == [])
    let again = context.object(with: bob.objectID)
    #expect(await uses() == [1])
    withExtendedLifetime((ada, again)) {}
  }

  @Test("A context that goes away releases what it had, though the program keeps its objects")
  func contexts() async throws {
    let coordinator = bench.coordinator
    func kept() throws -> [NSManagedObject] {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      let objects = ["Ada", "Bob"].map { context.make("Employee", ["name": $0]) }
      try context.save()
      return objects
    }
    let objects = try kept()
    #expect(await uses() == [])
    withExtendedLifetime(objects) {}
  }

  @Test("Objects that many threads register and let go are counted right")
  func threads() async throws {
    let context = bench.context()
    let ids = try context.performAndWait {
      let objects = (0..<40).map { context.make("Employee", ["name": "\($0)"]) }
      try context.save()
      return objects.map(\.objectID)
    }
    context.reset()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let own = NSManagedObjectContext(.privateQueue)
          own.persistentStoreCoordinator = context.persistentStoreCoordinator
          for _ in 0..<20 {
            let objects = own.performAndWait { ids.map { own.object(with: $0) } }
            withExtendedLifetime(objects) {}
          }
        }
      }
    }
    #expect(await uses() == [])
  }

  @Test("A store that was removed is told nothing more")
  func removed() async throws {
    let context = bench.context()
    let ada = context.make("Employee", ["name": "Ada"])
    try context.save()
    #expect(await uses() == [1])
    try bench.coordinator.remove(bench.store)
    context.reset()
    #expect(await uses() == [1])
    withExtendedLifetime(ada) {}
    // A store that is added afterwards is told as before.
    TestIncrementalStore.backend(at: bench.url).uses = [:]
    try bench.coordinator.addPersistentStore(type: bench.kind.type, at: bench.url)
    let found = try context.all("Employee")
    #expect(found.count == 1)
    #expect(await uses() == [1])
    withExtendedLifetime(found) {}
  }
}
