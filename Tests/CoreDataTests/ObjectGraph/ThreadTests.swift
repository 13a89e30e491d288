// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Dispatch
import Foundation
import Testing

@testable import CoreData

/// What may be used on any thread: identifiers, and an object's answer to which context it is of. `make sanitize` runs these
/// tests under the thread sanitizer, which sees also the races that end well.
@Suite("Objects on several threads")
struct ThreadTests {
  /// A value that the threads of a test share.
  private final class Shared<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
  }

  @Test("An identifier is read on other threads while a save replaces it")
  func identifiers() throws {
    let store = try TemporaryStore()
    let context = Shared(try store.context(CompanyModel.make()))
    for round in 0..<40 {
      let objects = Shared((0..<20).map { context.value.make("Employee", ["name": "Ada \($0)"]) })
      // Some have been asked for their identifier before they are saved, others have not.
      if round % 2 == 0 { for object in objects.value { _ = object.objectID } }
      let failure = Shared<(any Error)?>(nil)
      let seen = Shared<[[NSManagedObjectID]]>([[], [], []])
      let lock = NSLock()
      inThreads(4) { thread in
        if thread == 3 {
          do { try context.value.save() } catch { failure.value = error }
        } else {
          let found = (0..<5).flatMap { _ in objects.value.map(\.objectID) }
          lock.withLock { seen.value[thread] = found }
        }
      }
      #expect(failure.value == nil)
      for found in seen.value {
        for (position, id) in found.enumerated() {
          #expect(id.current == objects.value[position % 20].objectID)
        }
      }
      for object in objects.value { #expect(context.value.registeredObject(for: object.objectID) === object) }
    }
  }

  /// Runs a body on another thread; false if it takes longer than a minute, as one does that waits for ever.
  private func ends(_ body: @escaping @Sendable () -> Void) -> Bool {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      body()
      done.signal()
    }
    return done.wait(timeout: .now() + 60) == .success
  }

  @Test("A child merges what its parent has saved while the parent's queue waits for the child's")
  func mergeWhileParentWaits() throws {
    let store = try TemporaryStore()
    let parent = try store.context(CompanyModel.make())
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    child.automaticallyMergesChangesFromParent = true
    let names = Shared<[String]>([])
    let failure = Shared<(any Error)?>(nil)
    let isDone = ends {
      parent.performAndWait {
        do {
          let ada = parent.make("Employee", ["name": "a"])
          try parent.save()
          for round in 0..<50 {
            let id = ada.objectID
            child.performAndWait { child.object(with: id)["rating"] = Double(round) }
            ada["name"] = "\(round)"
            // The child's queue gets the merge, which reads the parent, before the next block.
            try parent.save()
            child.performAndWait { names.value.append(child.object(with: id).text("name") ?? "-") }
          }
        } catch {
          failure.value = error
        }
      }
    }
    try #require(isDone)
    #expect(failure.value == nil && names.value == (0..<50).map(String.init))
  }

  @Test("Queues that wait for each other go on, one thread at a time")
  func queuesInCircle() throws {
    let store = try TemporaryStore()
    let contexts = try (0..<3).map { _ in try store.context(CompanyModel.make()) }
    let counts = Shared([0, 0, 0])
    let isDone = ends {
      inThreads(3) { thread in
        for _ in 0..<300 {
          let order = (0..<3).map { (thread + $0) % 3 }
          contexts[order[0]].performAndWait {
            counts.value[order[0]] += 1
            contexts[order[1]].performAndWait {
              counts.value[order[1]] += 1
              contexts[order[2]].performAndWait { counts.value[order[2]] += 1 }
              counts.value[order[0]] += 1
            }
          }
        }
      }
    }
    try #require(isDone)
    #expect(counts.value == [1_200, 1_200, 1_200])
  }

  @Test("An identifier is read on other threads while the context lets the object go")
  func leavingContexts() throws {
    let store = try TemporaryStore()
    let context = Shared(try store.context(CompanyModel.make()))
    for round in 0..<60 {
      let objects = Shared((0..<20).map { _ in context.value.make("Employee") })
      inThreads(3) { thread in
        if thread == 0 {
          if round % 2 == 0 { context.value.rollback() } else { context.value.reset() }
        } else {
          for object in objects.value {
            _ = object.objectID
            _ = object.managedObjectContext
          }
        }
      }
      let keys = objects.value.map(\.objectID.key)
      #expect(objects.value.allSatisfy { $0.managedObjectContext == nil })
      objects.value = []
      #expect(keys.allSatisfy { context.value.registry[$0] == nil })
    }
  }

  @Test("Objects are asked for their context on other threads while it goes away")
  func contextsThatGo() throws {
    let store = try TemporaryStore()
    let model = CompanyModel.make()
    let coordinator = try #require(try store.context(model).persistentStoreCoordinator)
    for _ in 0..<500 {
      let context = Shared<NSManagedObjectContext?>(NSManagedObjectContext(.privateQueue))
      context.value?.persistentStoreCoordinator = coordinator
      let object = Shared(try #require(context.value?.make("Employee")))
      let start = DispatchSemaphore(value: 0)
      inThreads(2) { thread in
        if thread == 0 {
          start.wait()
          context.value = nil
        } else {
          start.signal()
          for _ in 0..<200 {
            if let found = object.value.managedObjectContext {
              #expect(found.persistentStoreCoordinator === coordinator)
            }
          }
        }
      }
      #expect(object.value.managedObjectContext == nil)
    }
  }

  @Test("Members of a relationship are looked up on several threads at once")
  func members() throws {
    let entity = try #require(CompanyModel.make().entitiesByName["Employee"])
    let ids = (0..<200).map { _ in TemporaryObjectID(for: entity) }
    let stranger = TemporaryObjectID(for: entity)
    for isOrdered in [true, false] {
      for _ in 0..<50 {
        let members = ToMany(ids, isOrdered: isOrdered)
        inThreads(4) { thread in
          var own = members
          let all = ids.allSatisfy { members.contains($0) }
          #expect(all && !members.contains(stranger))
          // A copy is changed while the others read what it was copied from.
          let (removed, inserted) = (own.remove(ids[thread * 7]) != nil, own.insert(stranger))
          #expect(removed && inserted && own.contains(stranger) && !own.contains(ids[thread * 7]))
          let agree = own.ids.allSatisfy { own.contains($0) }
          #expect(agree && own.count == ids.count)
        }
      }
    }
  }

  @Test("Identifiers are asked for their store on other threads while the store is moved")
  func stores() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    try context.save()
    let id = ada.objectID
    let coordinator = try #require(context.persistentStoreCoordinator)
    let first = Shared(try #require(coordinator.persistentStores.first))
    let second = Shared(NSPersistentStore(persistentStoreCoordinator: nil, configurationName: nil, at: store.url))
    let reference = first.value.reference
    inThreads(3) { thread in
      for round in 0..<2_000 {
        if thread == 0 {
          reference.move(to: round % 2 == 0 ? second.value : first.value)
        } else {
          #expect(id.persistentStore != nil)
        }
      }
    }
    #expect(id.persistentStore === first.value)
  }
}
