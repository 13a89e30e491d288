// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Dispatch
import Foundation
import Testing

@testable import CoreData

/// Requests, stores, descriptions, stages and managers are used by one thread while another changes them. `make sanitize` runs
/// these tests under the thread sanitizer, which sees also the races that end well.
@Suite("Requests and settings on several threads", .serialized)
struct RequestThreadTests {
  /// What the threads of a test found wrong.
  private final class Findings: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [String] = []
    private var busyThreads = 2

    var all: [String] { lock.withLock { found } }
    var isFinished: Bool { lock.withLock { busyThreads == 0 } }

    func finish() { lock.withLock { busyThreads -= 1 } }

    func add(_ text: String) { lock.withLock { found.append(text) } }

    func expect(_ isRight: Bool, _ text: @autoclosure () -> String) { if !isRight { add(text()) } }

    func catching(_ body: () throws -> Void) {
      do { try body() } catch { add("\(error)") }
    }
  }

  /// Calls `use` a number of times on two threads, and meanwhile `change` on another one, with 0, 1, 2 and so on.
  ///
  /// - Returns: what was found wrong, and how often `change` was called.
  private func together(
    _ rounds: Int, change: @escaping @Sendable (Int) throws -> Void, use: @escaping @Sendable (Findings) throws -> Void
  ) -> (found: [String], changes: Int) {
    let findings = Findings()
    nonisolated(unsafe) var changes = 0
    inThreads(3) { thread in
      if thread > 0 {
        findings.catching { for _ in 0..<rounds { try use(findings) } }
        findings.finish()
        return
      }
      findings.catching {
        repeat {
          try change(changes)
          changes += 1
          // Locks are not fair.
          if changes % 8 == 0 { usleep(50) }
        } while !findings.isFinished
      }
    }
    return (findings.all, changes)
  }

  private func employees(_ store: TemporaryStore, _ count: Int) throws -> NSPersistentStoreCoordinator {
    let context = try store.context(CompanyModel.make())
    for number in 0..<count { context.make("Employee", ["name": "Employee \(number)", "badge": number]) }
    try context.save()
    return try #require(context.persistentStoreCoordinator)
  }

  @Test("Contexts execute a request while another thread changes its predicate, its limit and its entity")
  func sharedFetchRequest() throws {
    let store = try TemporaryStore()
    let coordinator = try employees(store, 40)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.sortDescriptors = [NSSortDescriptor(key: "badge", ascending: true)]
    request.predicate = NSPredicate(format: "badge < 20")
    request.fetchLimit = 3
    let (found, _) = together(200) { round in
      request.predicate = NSPredicate(format: round % 2 == 0 ? "badge >= 20" : "badge < 20")
      request.fetchLimit = round % 3 == 0 ? 7 : 3
      request.entity = coordinator.managedObjectModel.entitiesByName["Employee"]
    } use: { findings in
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      try context.performAndWait {
        let badges = try context.fetch(request).compactMap { $0["badge"] as? Int }
        let start = badges.first ?? -1
        findings.expect(
          (start == 0 || start == 20) && (badges.count == 3 || badges.count == 7)
            && badges == Array(start..<start + badges.count), "\(badges)")
        let count = try context.count(for: request)
        findings.expect(count == 3 || count == 7, "\(count) counted")
      }
    }
    #expect(found == [])
  }

  @Test("The content of a request is read as it was at one moment")
  func momentsOfFetchRequests() {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    let shared = NSFetchRequest<any NSFetchRequestResult>(sharing: request)
    let (found, changes) = together(3_000) { round in
      request.fetchLimit = round + 1
      shared.fetchOffset = round + 1
    } use: { findings in
      let specification = request.specification
      let ahead = specification.fetchLimit - specification.fetchOffset
      findings.expect(ahead == 0 || ahead == 1, "\(specification.fetchLimit), \(specification.fetchOffset)")
      let copy = shared.copy() as? NSFetchRequest<any NSFetchRequestResult>
      let copied = copy.map { $0.fetchLimit - $0.fetchOffset }
      findings.expect(copied == 0 || copied == 1, "\(String(describing: copied)) in the copy")
    }
    #expect(found == [])
    #expect(request.fetchLimit == changes && request.fetchOffset == changes)
  }

  @Test("Threads that set different properties of a request do not undo what the others set")
  func lostSettings() {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    let findings = Findings()
    inThreads(3) { thread in
      for round in 1...20_000 {
        switch thread {
        case 0:
          request.fetchLimit = round
          findings.expect(request.fetchLimit == round, "limit")
        case 1:
          request.fetchOffset = round
          findings.expect(request.fetchOffset == round, "offset")
        default:
          request.relationshipKeyPathsForPrefetching = ["\(round)"]
          findings.expect(request.relationshipKeyPathsForPrefetching == ["\(round)"], "key paths")
        }
      }
    }
    #expect(findings.all == [])
  }

  @Test("A batch request is executed while another thread changes the type of its result")
  func batchRequests() throws {
    let store = try TemporaryStore()
    let coordinator = try employees(store, 10)
    let update = NSBatchUpdateRequest(entityName: "Employee")
    update.propertiesToUpdate = ["age": 40]
    let insert = NSBatchInsertRequest(entityName: "Department", objects: [])
    let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Department"))
    let (found, _) = together(40) { round in
      update.resultType = round % 2 == 0 ? .updatedObjectIDsResultType : .updatedObjectsCountResultType
      update.predicate = NSPredicate(format: round % 2 == 0 ? "badge < 4" : "badge >= 6")
      update.propertiesToUpdate = ["age": round, "steps": round]
      insert.objectsToInsert = Array(repeating: ["name": "\(round)"], count: round % 3)
      insert.resultType = round % 2 == 0 ? .objectIDs : .count
      delete.resultType = round % 2 == 0 ? .resultTypeObjectIDs : .resultTypeCount
      delete.affectedStores = round % 2 == 0 ? nil : coordinator.persistentStores
    } use: { findings in
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      try context.performAndWait {
        let updated = try context.execute(update) as? NSBatchUpdateResult
        switch updated?.resultType {
        case .updatedObjectIDsResultType?:
          let count = (updated?.result as? [NSManagedObjectID])?.count
          findings.expect(count == 4 || count == 10, "\(String(describing: count)) identifiers")
        case .updatedObjectsCountResultType?:
          let count = updated?.result as? Int
          findings.expect(count == 4 || count == 10, "\(String(describing: count)) updated")
        default: findings.expect(updated?.result as? Bool == true, "no status")
        }
        let inserted = try context.execute(insert) as? NSBatchInsertResult
        if inserted?.resultType == .objectIDs {
          findings.expect(((inserted?.result as? [NSManagedObjectID])?.count ?? 9) < 3, "inserted identifiers")
        }
        let deleted = try context.execute(delete) as? NSBatchDeleteResult
        findings.expect(deleted?.result != nil, "no result of the deletion")
        _ = (update.copy(), insert.copy(), delete.copy())
      }
    }
    #expect(found == [])
  }

  @Test("History is fetched while another thread changes the request")
  func historyRequests() throws {
    let store = try TemporaryStore()
    let context = try store.context(
      CompanyModel.make(), options: [NSPersistentHistoryTrackingKey: NSNumber(value: true)])
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let coordinator = try #require(context.persistentStoreCoordinator)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date(timeIntervalSince1970: 0))
    let (found, _) = together(60) { round in
      request.resultType = round % 2 == 0 ? .count : .transactionsOnly
      request.fetchRequest = round % 3 == 0 ? nil : NSPersistentHistoryTransaction.fetchRequest
    } use: { findings in
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      try context.performAndWait {
        let result = try context.execute(request) as? NSPersistentHistoryResult
        if result?.resultType == .count {
          findings.expect(result?.result as? Int == 1, "\(String(describing: result?.result)) counted")
        } else {
          let transactions = result?.result as? [NSPersistentHistoryTransaction]
          findings.expect(transactions?.count == 1, "no transaction")
        }
        findings.expect((request.copy() as? NSPersistentHistoryChangeRequest)?.deletes == false, "deletes")
      }
    }
    #expect(found == [])
  }

  @Test("The metadata and the location of a store are read on other threads while they are set")
  func stores() throws {
    for type in [NSPersistentStore.StoreType.sqlite, .inMemory, .xml] {
      let place = try TemporaryStore()
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      let store = try coordinator.addPersistentStore(type: type, at: place.url)
      let identifier = store.identifier
      let (found, changes) = together(40) { round in
        coordinator.name = "\(round)"
        if round % 2 == 0 {
          store.metadata = ["round": round]
        } else {
          coordinator.setMetadata(["round": round], for: store)
        }
      } use: { findings in
        findings.expect(store.identifier == identifier, "\(store.identifier ?? "no identifier")")
        findings.expect(store.url?.isFileURL == true && !store.isReadOnly, "the location")
        findings.expect(store.persistentStoreCoordinator === coordinator, "the coordinator")
        findings.expect(store.reference.identifier == identifier, "the reference")
        _ = coordinator.name
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
          context.make("Employee", ["name": "Ada"])
          try context.save()
        }
      }
      #expect(found == [], "\(type)")
      #expect(store.metadata["round"] as? Int == changes - 1)
      // What was set last is what the next save writes.
      try coordinator.writeMetadata()
      try coordinator.remove(store)
      if type != .inMemory {
        let written = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: type, at: place.url)
        #expect(written["round"] as? Int == changes - 1)
      }
    }
  }

  @Test("Descriptions and containers are read on other threads while they are set")
  func descriptions() throws {
    let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
    let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
    container.persistentStoreDescriptions = [description]
    let (found, _) = together(1_000) { round in
      description.url = URL(fileURLWithPath: "/dev/null/\(round)")
      description.configuration = "\(round)"
      description.timeout = TimeInterval(round)
      description.setOption(NSNumber(value: round), forKey: "\(round % 10)")
      description.setValue(NSNumber(value: round), forPragmaNamed: "\(round % 10)")
      description.isReadOnly = round % 2 == 0
      container.persistentStoreDescriptions = Array(repeating: description, count: round % 4)
    } use: { findings in
      let copy = description.copy() as? NSPersistentStoreDescription
      findings.expect(copy?.options.count ?? 0 <= 17, "the options")
      // What other threads set meanwhile does not undo what this one sets.
      let key = UUID().uuidString
      for value in [NSNumber(value: true), nil] {
        description.setOption(value, forKey: key)
        findings.expect(description.options[key] == value, "an option was undone")
        description.setValue(value, forPragmaNamed: key)
        findings.expect(description.sqlitePragmas[key] == value, "a pragma was undone")
      }
      findings.expect(description.url?.path.hasPrefix("/dev/null") == true, "the location")
      findings.expect(container.persistentStoreDescriptions.allSatisfy { $0 === description }, "the descriptions")
    }
    #expect(found == [])
  }

  @Test("The settings of a migration are read on other threads while they are set")
  func migrationSettings() throws {
    let model = CompanyModel.make()
    let reference = NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
    let stage = NSCustomMigrationStage(migratingFrom: reference, to: reference)
    let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
    let node = NSIncrementalStoreNode(
      objectID: TemporaryObjectID(for: try #require(model.entitiesByName["Employee"])),
      withValues: [:], version: 0)
    let name = try #require(model.entitiesByName["Employee"]?.propertiesByName["name"])
    let (found, _) = together(1_000) { round in
      stage.label = "stage \(round)"
      stage.willMigrateHandler = round % 2 == 0 ? nil : { _, _ in }
      stage.didMigrateHandler = round % 2 == 0 ? nil : { _, _ in }
      manager.userInfo = ["round": round]
      manager.usesStoreSpecificMigrationManager = round % 2 == 0
      manager.progressHandler = round % 2 == 0 ? nil : { _ in }
      manager.show(progress: Float(round) / 1_000)
      node.update(withValues: ["name": "\(round + 1)"], version: UInt64(round + 1))
    } use: { findings in
      let title = stage.title
      findings.expect(title.hasPrefix("'stage ") || title.hasPrefix("from "), title)
      _ = (stage.willMigrateHandler, stage.didMigrateHandler)
      findings.expect(manager.userInfo.map { $0["round"] is Int } ?? true, "the values of the program")
      _ = (manager.usesStoreSpecificMigrationManager, manager.progressHandler, manager.migrationProgress)
      manager.cancelMigrationWithError(CocoaError(.userCancelled))
      let version = node.version
      let value = (node.value(for: name) as? String).flatMap(UInt64.init) ?? 0
      findings.expect(value >= version, "the value \(value) is older than the version \(version)")
    }
    #expect(found == [])
  }

  @Test("Coordinators freeze a model while other threads read it")
  func freezing() {
    for _ in 0..<20 {
      let model = CompanyModel.make()
      let findings = Findings()
      inThreads(4) { thread in
        for _ in 0..<5 {
          if thread == 0 { _ = NSPersistentStoreCoordinator(managedObjectModel: model) }
          let entity = model.entitiesByName["Employee"]
          findings.expect(entity?.attributesByName["name"] != nil, "no attribute")
          findings.expect(entity?.slotTable.position(of: "name") != nil, "no slot")
          findings.expect(model.versionChecksum == model.versionChecksum, "the checksum")
          findings.expect(model.entityVersionHashesByName.count == model.entities.count, "the hashes")
        }
      }
      #expect(findings.all == [])
      #expect(!model.isEditable)
    }
  }
}
