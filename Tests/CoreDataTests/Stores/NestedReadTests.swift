// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Dispatch
import Foundation
import Testing

@testable import CoreData

/// Reads the store again while a fetch makes its objects, as a program's initializer may do.
final class CuriousObject: NSManagedObject, @unchecked Sendable {
  /// Called for each fault that is made.
  nonisolated(unsafe) static var onFault: (() -> Void)?

  required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
    if context == nil { CuriousObject.onFault?() }
  }
}

@Suite("Reads by a program's class while another thread closes the store", .serialized)
struct NestedReadTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Note", [.make("name", .stringAttributeType)])
    builder.entity("Tag", [.make("name", .stringAttributeType)])
    let model = builder.model()
    model.entitiesByName["Note"]?.managedObjectClassName = NSStringFromClass(CuriousObject.self)
    return model
  }

  @Test("Neither waits for the other, and the fetch ends", arguments: [false, true])
  func closing(replaces: Bool) throws {
    let place = try TemporaryStore()
    let (url, model) = (place.url, Self.model())
    let source = place.folder.appendingPathComponent("Source.sqlite")
    for url in [url, source] {
      let context = try place.context(model, at: url)
      for number in 0..<2_000 { context.make("Note", ["name": "\(number)"]) }
      context.make("Tag", ["name": "a"])
      try context.save()
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = coordinator
    let (isReading, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let (made, tags, notes) = (Guarded(0), Guarded<Int?>(nil), Guarded(0))
    CuriousObject.onFault = {
      let number = made.update { made in
        made += 1
        return made
      }
      guard number == 1_500 else { return }
      isReading.signal()
      // Until the other thread has begun to close the store.
      Thread.sleep(forTimeInterval: 0.3)
      tags.value = try? other.count(for: NSFetchRequest<NSManagedObject>(entityName: "Tag"))
    }
    defer { CuriousObject.onFault = nil }
    Thread.detachNewThread {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      // A failure shows in the number.
      context.performAndWait { notes.value = (try? context.all("Note", by: "name").count) ?? 0 }
      isDone.signal()
    }
    Thread.detachNewThread {
      isReading.wait()
      // A failure shows in what is counted.
      if replaces {
        try? coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: source, type: .sqlite)
      } else {
        try? coordinator.remove(store)
      }
      isDone.signal()
    }
    for _ in 0..<2 { try #require(isDone.wait(timeout: .now() + 60) == .success, "They wait for each other.") }
    #expect(notes.value == 2_000 && tags.value == 1)
    #expect(coordinator.persistentStores.isEmpty == !replaces)
    withExtendedLifetime(other) {}
  }
}
