// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's articles about concurrency and sync, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The code of the guide: concurrency")
struct ConcurrencyGuideTests {
  private let store: DailyUseStore
  private let container: NSPersistentContainer

  init() throws {
    store = try DailyUseStore()
    container = try store.container()
  }

  private func item(_ context: NSManagedObjectContext, _ id: NSManagedObjectID) throws -> NSManagedObject {
    try context.existingObject(with: id)
  }

  @Test("An import runs with a context of its own, and returns what the caller needs")
  func background() async throws {
    let names = ["Buy milk", "Call Ada", "Water the plants"]
    // guide: concurrency-background
    let ids = try await container.performBackgroundTask { context in
      context.name = "import"
      let items = names.map { name in
        let item = NSEntityDescription.insertNewObject(forEntityName: "TSPItem", into: context)
        item.setValue(name, forKey: "name")
        return item
      }
      try context.save()
      return items.map(\.objectID)
    }
    // end
    #expect(ids.count == 3 && ids.allSatisfy { !$0.isTemporaryID })
    #expect(try DailyUseStore.names(container) == names)

    let view = container.viewContext
    // guide: concurrency-ids
    let shown = try await view.perform {
      try ids.map { try view.existingObject(with: $0).value(forKey: "name") as? String ?? "" }
    }
    // end
    #expect(shown == names)
  }

  @Test("A context that merges sees what another one has saved")
  func merging() async throws {
    let ids = try DailyUseStore.add(["Buy milk"], to: container)
    // guide: concurrency-merge
    let view = container.viewContext
    await view.perform { view.automaticallyMergesChangesFromParent = true }
    // end
    let item = try await view.perform { try view.existingObject(with: ids[0]) }
    await view.perform { _ = item.value(forKey: "name") }

    let background = container.newBackgroundContext()
    // guide: concurrency-change
    try await background.perform {
      let item = try background.existingObject(with: ids[0])
      item.setValue("Buy oat milk", forKey: "name")
      try background.save()
    }
    // end
    let name = await view.perform { item.value(forKey: "name") as? String }
    #expect(name == "Buy oat milk")
  }

  @Test("Without merging, a context keeps the values that it has read")
  func stale() async throws {
    let ids = try DailyUseStore.add(["Buy milk"], to: container)
    let (first, second) = (container.newBackgroundContext(), container.newBackgroundContext())
    let seen = try await first.perform {
      let item = try first.existingObject(with: ids[0])
      _ = item.value(forKey: "name")
      try second.performAndWait {
        try second.existingObject(with: ids[0]).setValue("Buy oat milk", forKey: "name")
        try second.save()
      }
      let old = item.value(forKey: "name") as? String
      // guide: concurrency-refresh
      first.refresh(item, mergeChanges: true)
      // end
      return [old, item.value(forKey: "name") as? String]
    }
    #expect(seen == ["Buy milk", "Buy oat milk"])
  }

  @Test("A conflict is an error, until a policy decides")
  func conflict() async throws {
    let id = try DailyUseStore.add(["Buy milk"], to: container)[0]
    let (context, other) = (container.newBackgroundContext(), container.newBackgroundContext())
    try await context.perform {
      let item = try context.existingObject(with: id)
      item.setValue("Buy soy milk", forKey: "name")
      try other.performAndWait {
        try other.existingObject(with: id).setValue(true, forKey: "isDone")
        try other.save()
      }
      var lines: [String] = []
      // guide: concurrency-conflict
      do {
        try context.save()
      } catch let error as NSError where error.code == NSManagedObjectMergeError {
        let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? []
        for conflict in conflicts {
          let name = conflict.sourceObject.value(forKey: "name") ?? ""
          lines.append("\(name): version \(conflict.oldVersionNumber) here, \(conflict.newVersionNumber) in the store")
        }
        context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        try context.save()
      }
      // end
      #expect(lines == ["Buy soy milk: version 1 here, 2 in the store"])
      #expect(item.value(forKey: "isDone") as? Bool == true)
    }
    #expect(try DailyUseStore.names(container) == ["Buy soy milk"])
  }

  @Test("What a child saves is in its parent, and in the store when the parent saves")
  func parent() async throws {
    let id = try DailyUseStore.add(["Buy milk"], to: container)[0]
    let view = container.viewContext
    try await view.perform { [container] in
      // guide: concurrency-parent
      let draft = NSManagedObjectContext(.mainQueue)
      draft.parent = view
      let item = try draft.existingObject(with: id)
      item.setValue("Buy rice milk", forKey: "name")
      try draft.save()
      // end
      #expect(try DailyUseStore.names(container) == ["Buy milk"])
      #expect(view.hasChanges)

      // guide: concurrency-parent-save
      try view.save()
      // end
      #expect(try DailyUseStore.names(container) == ["Buy rice milk"])
    }
  }

  @Test("A generation shows one state of the store")
  func generation() async throws {
    try DailyUseStore.add(["Buy milk"], to: container)
    // guide: concurrency-generation
    let report = container.newBackgroundContext()
    try report.setQueryGenerationFrom(.current)
    // end
    let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
    #expect(try await report.perform { try report.count(for: request) } == 1)
    try DailyUseStore.add(["Call Ada"], to: container)
    #expect(try await report.perform { try report.count(for: request) } == 1)
    // guide: concurrency-generation-end
    try report.setQueryGenerationFrom(nil)
    // end
    #expect(try await report.perform { try report.count(for: request) } == 2)
  }

  @Test("An asynchronous fetch calls its block on the context's queue")
  func asynchronous() async throws {
    try DailyUseStore.add(["Buy milk", "Call Ada"], to: container)
    let context = container.newBackgroundContext()
    let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
    let found: Int? = try await withCheckedThrowingContinuation { continuation in
      // guide: concurrency-asynchronous
      let fetch = NSAsynchronousFetchRequest(fetchRequest: request) { result in
        if let error = result.operationError { return continuation.resume(throwing: error) }
        continuation.resume(returning: result.finalResult?.count)
      }
      context.perform {
        do { try context.execute(fetch) } catch { continuation.resume(throwing: error) }
      }
      // end
    }
    #expect(found == 2)
  }

  @Test("An object that another context has deleted is missing")
  func gone() async throws {
    let id = try DailyUseStore.add(["Buy milk"], to: container)[0]
    let context = container.newBackgroundContext()
    try await context.perform {
      context.delete(try context.existingObject(with: id))
      try context.save()
    }
    let other = container.newBackgroundContext()
    let code = await other.perform { () -> Int? in
      do {
        _ = try other.existingObject(with: id)
        return nil
      } catch {
        return (error as NSError).code
      }
    }
    #expect(code == NSManagedObjectReferentialIntegrityError)
  }
}
