// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

/// Two versions of a model: the one that an old instance goes on with, and the one that a new instance migrates to.
enum RollingChange: String, CaseIterable, Sendable {
  case addedOptional, addedRequired, becomesRequired, renamed, removed, otherType, newEntity, newParent, unique,
    manyToMany
  case renamedEntity, byCopy

  /// The names of the items whose `level` is the default value.
  static func model(_ change: RollingChange?) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var attributes: [NSAttributeDescription] = [
      .make("name", .stringAttributeType),
      .make("count", change == .otherType ? .doubleAttributeType : .integer64AttributeType),
    ]
    switch change {
    case .becomesRequired: attributes.append(.make("note", .stringAttributeType, optional: false, default: "none"))
    case .renamed: attributes.append(.make("comment", .stringAttributeType, renamedFrom: "note"))
    case .removed: break
    default: attributes.append(.make("note", .stringAttributeType))
    }
    if change == .addedOptional || change == .byCopy { attributes.append(.make("extra", .stringAttributeType)) }
    if change == .addedRequired {
      attributes.append(.make("extra", .integer32AttributeType, optional: false, default: 7))
    }
    if change == .newParent { builder.entity("Base") }
    let name = change == .renamedEntity ? "Thing" : "Item"
    let item = builder.entity(
      name, parent: change == .newParent ? "Base" : nil, renamedFrom: change == .renamedEntity ? "Item" : nil,
      attributes)
    builder.entity("Tag", [.make("title", .stringAttributeType)])
    if change == .newEntity { builder.entity("Extra", [.make("title", .stringAttributeType)]) }
    builder.relate(.init("Tag", "items", toMany: true), .init(name, "tag", toMany: change == .manyToMany))
    if change == .unique { item.uniquenessConstraints = [["name"]] }
    let model = builder.model()
    model.versionIdentifiers = [change?.rawValue ?? "first"]
    return model
  }

  /// The options of the migration.
  var options: [AnyHashable: Any] {
    var options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      // No model file has the first version.
      MigrationOption.allowsDowngrade: true, MigrationOption.allowsLoss: true,
    ]
    if self == .byCopy {
      let (old, new) = (Self.model(nil), Self.model(self))
      options[NSPersistentStoreStagedMigrationManagerOptionKey] = NSStagedMigrationManager([
        NSCustomMigrationStage(
          migratingFrom: NSManagedObjectModelReference(model: old, versionChecksum: old.versionChecksum),
          to: NSManagedObjectModelReference(model: new, versionChecksum: new.versionChecksum))
      ])
    }
    return options
  }
}

@Suite("Old instances whose store is migrated", .needsPostgreSQL)
struct RollingTests {
  private let bench = ServerBench()

  /// What an old instance may be doing.
  private static let operations: [(name: String, run: @Sendable (NSManagedObjectContext) throws -> Void)] = [
    (
      "insert",
      { context in
        context.make("Item", ["name": "late", "note": "n"])
        try context.save()
      }
    ),
    ("fetch", { _ = try $0.all("Item") }),
    ("count", { _ = try $0.count(for: NSFetchRequest<NSManagedObject>(entityName: "Item")) }),
    ("fetch of another entity", { _ = try $0.all("Tag", by: "title") }),
    (
      "dictionaries",
      { context in
        let request = NSFetchRequest<NSDictionary>(entityName: "Item")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = ["name"]
        _ = try context.fetch(request)
      }
    ),
    (
      "batch insert",
      { context in
        _ = try context.execute(NSBatchInsertRequest(entityName: "Item", objects: [["name": "late"]]))
      }
    ),
    (
      "batch update",
      { context in
        let request = NSBatchUpdateRequest(entityName: "Item")
        request.propertiesToUpdate = ["name": "late"]
        _ = try context.execute(request)
      }
    ),
    (
      "batch update of another entity",
      { context in
        let request = NSBatchUpdateRequest(entityName: "Tag")
        request.propertiesToUpdate = ["title": "late"]
        _ = try context.execute(request)
      }
    ),
    (
      "batch delete",
      { context in
        _ = try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Item")))
      }
    ),
    (
      "history",
      { context in
        let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
        _ = try context.execute(request)
      }
    ),
    (
      "deletion of history",
      { context in
        _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture))
      }
    ),
    (
      "metadata",
      { context in
        let coordinator = try #require(context.persistentStoreCoordinator)
        let store = coordinator.persistentStores[0]
        coordinator.setMetadata((store.metadata ?? [:]).merging(["mine": 1]) { $1 }, for: store)
        context.make("Tag", ["title": "late"])
        try context.save()
      }
    ),
    (
      "query generation",
      {
        try $0.setQueryGenerationFrom(.current); _ = try $0.all("Item")
      }
    ),
  ]

  /// Everything in the tables of the store, by table.
  private func contents(_ observer: PostgreSQLConnection) throws -> [String: String] {
    let tables = try observer.query(
      "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
    )
    var found: [String: String] = [:]
    for row in 0..<tables.count {
      let name = tables.string(row, 0)
      found[name] = try observer.query(
        "SELECT coalesce(string_agg(t::text, '|' ORDER BY t::text), '') FROM \"\(name)\" t"
      )
      .string(0, 0)
    }
    return found
  }

  @Test(
    "An old instance is told the versions at its next transaction, whatever it does, and writes nothing",
    arguments: RollingChange.allCases)
  func told(change: RollingChange) throws {
    let tracking: [AnyHashable: Any] = [NSPersistentHistoryTrackingKey: true]
    let first = bench.context(try bench.coordinator(tracking, RollingChange.model(nil)))
    for number in 0..<3 {
      first.make(
        "Item", ["name": "i\(number)", "count": number, "note": "n", "tag": first.make("Tag", ["title": "t"])])
    }
    try first.save()
    // Each instance has connections that have prepared their statements, and objects of two kinds.
    let instances = try Self.operations.map { operation in
      let context = bench.context(try bench.coordinator(tracking, RollingChange.model(nil)))
      for _ in 0..<3 { _ = try context.all("Item") }
      return (operation, context)
    }
    let faulting = bench.context(try bench.coordinator(tracking, RollingChange.model(nil)))
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    request.includesPropertyValues = false
    let fault = try #require(try faulting.fetch(request).first)
    let changing = bench.context(try bench.coordinator(tracking, RollingChange.model(nil)))
    let changed = try changing.all("Item")
    changed[0]["name"] = "late"
    changing.delete(changed[1])

    _ = try bench.coordinator(change.options.merging(tracking) { $1 }, RollingChange.model(change))
    let observer = try bench.connection()
    let before = try contents(observer)
    func expectTold(_ name: String, _ body: () throws -> Void) throws {
      let error = try #require(throws: (any Error).self, "\(change) \(name)") { try body() } as NSError
      #expect(error.code == NSPersistentStoreIncompatibleVersionHashError, "\(change) \(name): \(error)")
      #expect(
        "\(error)".contains("from the version 'first' to the version '\(change.rawValue)'"),
        "\(change) \(name): \(error)")
    }
    for (operation, context) in instances {
      // It is told as often as it tries.
      for _ in 0..<2 { try expectTold(operation.name) { try operation.run(context) } }
    }
    try expectTold("changes") { try changing.save() }
    #expect(changing.hasChanges)
    try expectTold("a fault") { _ = try faulting.existingObject(with: fault.objectID) }
    #expect(try contents(observer) == before)
  }

  @Test(
    "A save that waits for a migration in progress is refused when that commits, and goes on if it does not",
    arguments: RollingChange.allCases, [true, false])
  func waiting(change: RollingChange, commits: Bool) throws {
    let old = bench.context(try bench.coordinator(nil, RollingChange.model(nil)))
    old.make("Item", ["name": "first", "note": "n"])
    try old.save()
    let model = RollingChange.model(change)
    let migration = try PostgreSQLStore.beginMigration(of: bench.url, options: [:])
    guard change != .byCopy else { return migration.rollBack() }
    #expect(try migration.migrate(through: [RollingChange.model(nil), model], configuration: nil))
    let result = Guarded<Result<Void, any Error>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    let observer = try bench.connection()
    Thread.detachNewThread {
      result.value = Result {
        try old.performAndWait {
          old.make("Item", ["name": "second"])
          try old.save()
        }
      }
      isDone.signal()
    }
    while try observer.query("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation::regclass::text LIKE 'z%'")
      .int64(0, 0) == 0, result.value == nil
    {
      Thread.sleep(forTimeInterval: 0.01)
    }
    #expect(result.value == nil)
    if commits { try migration.commit() } else { migration.rollBack() }
    isDone.wait()
    let count = try observer.query(
      "SELECT count(*) FROM \(change == .renamedEntity && commits ? "zthing" : change == .newParent && commits ? "zbase" : "zitem")"
    ).int64(0, 0)
    if commits {
      let error = try #require(throws: (any Error).self) { try result.value?.get() } as NSError
      #expect(error.code == NSPersistentStoreIncompatibleVersionHashError, "\(change): \(error)")
      #expect(count == 1)
    } else {
      try result.value?.get()
      #expect(count == 2)
    }
  }

  @Test(
    "Threads of old instances that go on while a new one migrates write no row wrongly",
    arguments: RollingChange.allCases)
  func goingOn(change: RollingChange) throws {
    let first = bench.context(try bench.coordinator(nil, RollingChange.model(nil)))
    for number in 0..<2_000 { first.make("Item", ["name": "i\(number)", "count": number]) }
    first.make("Tag", ["title": "tag"])
    try first.save()
    let saved = Guarded<[String]>([])
    let errors = Guarded<[NSError]>([])
    let stalls = Guarded<[String: Double]>([:])
    let started = DispatchSemaphore(value: 0)
    let group = DispatchGroup()
    let clock = ContinuousClock()
    for number in 0..<4 {
      let coordinator = try bench.coordinator(nil, RollingChange.model(nil))
      let isReader = number == 3
      group.enter()
      Thread.detachNewThread { [bench] in
        defer { group.leave() }
        // Until the instance is told.
        for round in 0... {
          let context = bench.context(coordinator)
          let name = "live\(number)-\(round)"
          let start = clock.now
          // The last wait ends with the error.
          defer {
            let (kind, time) = (isReader ? "reader" : "writer", start.duration(to: clock.now) / .seconds(1))
            stalls.update { $0[kind] = max($0[kind] ?? 0, time) }
          }
          do {
            try context.performAndWait {
              if isReader {
                _ = try context.all("Item", where: NSPredicate(format: "count < 20"))
              } else {
                context.make("Item", ["name": name])
                try context.save()
                saved.update { $0.append(name) }
              }
            }
          } catch {
            errors.update { $0.append(error as NSError) }
            started.signal()
            return
          }
          if round == 3 { started.signal() }
        }
      }
    }
    for _ in 0..<4 { started.wait() }
    let after = bench.context(try bench.coordinator(change.options, RollingChange.model(change)))
    group.wait()
    #expect(errors.value.map(\.code) == [Int](repeating: NSPersistentStoreIncompatibleVersionHashError, count: 4))
    let objects = try after.all(change == .renamedEntity ? "Thing" : "Item")
    let names = objects.compactMap { $0["name"] as? String }.filter { $0.hasPrefix("live") }
    var wrong = Set(names).symmetricDifference(saved.value).count
    #expect(names.count == saved.value.count && objects.count == 2_000 + names.count)
    switch change {
    case .addedRequired: wrong += objects.count { $0["extra"] as? Int != 7 }
    case .becomesRequired: wrong += objects.count { $0["note"] as? String != "none" }
    default: break
    }
    #expect(wrong == 0)
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    print(
      "Rolling deployment, \(change): \(saved.value.count) rows by old instances, \(wrong) written wrongly; longest wait of "
        + "a reader \(stalls.value["reader"] ?? 0) s, of a writer \(stalls.value["writer"] ?? 0) s")
  }

  @Test("A judgement names the tables that a migration locks against reading", arguments: RollingChange.allCases)
  func judgement(change: RollingChange) throws {
    _ = try bench.coordinator(nil, RollingChange.model(nil))
    let models = [RollingChange.model(nil), RollingChange.model(change)]
    let judgement = RollingJudgement(
      try PostgreSQLStore.migrationStatements(at: bench.url, through: models, configuration: nil))
    let quick: [RollingChange] = [.addedOptional, .addedRequired, .renamed, .removed, .newEntity]
    let isCompatible = quick.contains(change) || change == .renamedEntity || change == .byCopy
    #expect(judgement.verdict == (isCompatible ? .compatible : .stopFirst), "\(change): \(judgement)")
    let migration = try PostgreSQLStore.beginMigration(of: bench.url, options: [:])
    defer { migration.rollBack() }
    #expect(try migration.migrate(through: models, configuration: nil))
    // Others still see the tables as they were.
    let rows = try bench.connection().query(
      "SELECT DISTINCT c.relname::text FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
        + "WHERE l.mode = 'AccessExclusiveLock' AND l.granted AND c.relkind = 'r' "
        + "AND c.relnamespace = current_schema()::regnamespace ORDER BY 1")
    let locked = Set((0..<rows.count).map { rows.string($0, 0) })
    #expect(locked == Set(judgement.unreadable).intersection(["zitem", "ztag"]), "\(change)")
  }

  @Test("Metadata of others is no migration, and a store that is replaced or removed is told apart from one")
  func others() throws {
    let context = bench.context(try bench.coordinator(nil, RollingChange.model(nil)))
    context.make("Item", ["name": "first"])
    try context.save()
    try NSPersistentStoreCoordinator.setMetadata(["mine": 1], type: .postgreSQL, at: bench.url)
    #expect(try context.all("Item").count == 1)
    context.make("Item", ["name": "second"])
    try context.save()
    let other = NSPersistentStoreCoordinator(managedObjectModel: RollingChange.model(nil))
    try other.destroyPersistentStore(at: bench.url, type: .postgreSQL)
    let removed = try #require(throws: (any Error).self) { try context.all("Item") } as NSError
    #expect(removed.code == NSPersistentStoreOperationError && "\(removed)".contains("removed"), "\(removed)")
    _ = try bench.coordinator(nil, RollingChange.model(nil))
    context.make("Item", ["name": "third"])
    let replaced = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(replaced.code == NSPersistentStoreOperationError && "\(replaced)".contains("replaced"), "\(replaced)")
    #expect(try bench.connection().query("SELECT count(*) FROM zitem").int64(0, 0) == 0)
  }

  @Test("A store that was migrated and back again is read by old instances only if its tables are the same")
  func back() throws {
    let context = bench.context(try bench.coordinator(nil, RollingChange.model(nil)))
    context.make("Item", ["name": "first"])
    try context.save()
    _ = try bench.coordinator(RollingChange.addedOptional.options, RollingChange.model(.addedOptional))
    _ = try bench.coordinator(RollingChange.addedOptional.options, RollingChange.model(nil))
    context.reset()
    #expect(try context.all("Item").count == 1)
    try bench.connection().execute(
      "ALTER TABLE zitem RENAME COLUMN znote TO zother; UPDATE z_metadata SET z_version = 1")
    let error = try #require(throws: (any Error).self) { try context.all("Tag", by: "title") } as NSError
    #expect(
      error.code == NSPersistentStoreOperationError && "\(error)".contains("tables of the store were changed"),
      "\(error)")
  }

  @Test("A migration that cannot lock the tables lets the others go on between its attempts")
  func attempts() throws {
    let old = bench.context(try bench.coordinator(nil, RollingChange.model(nil)))
    old.make("Item", ["name": "first"])
    try old.save()
    let holder = try bench.connection()
    try holder.begin()
    let (process, application) = try holder.serverProcess()
    _ = try holder.query("SELECT * FROM zitem")
    let isOver = Guarded(false)
    let result = Guarded<NSError?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [bench] in
      let options = RollingChange.addedRequired.options.merging([NSPersistentStoreTimeoutOption: 6.0]) { $1 }
      do {
        _ = try bench.coordinator(options, RollingChange.model(.addedRequired))
      } catch {
        result.value = error as NSError
      }
      isOver.value = true
      isDone.signal()
    }
    // Reads and saves that end while the migration is trying. If one of them waited for all of its time, there would be few.
    let observer = try bench.connection()
    func isWaiting() throws -> Bool {
      try observer.query("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'zitem'::regclass").int64(0, 0)
        > 0
    }
    while try !isWaiting(), !isOver.value { Thread.sleep(forTimeInterval: 0.005) }
    var count = 0
    while !isOver.value {
      _ = try old.all("Item")
      old.make("Item", ["name": "next"])
      try old.save()
      if !isOver.value { count += 1 }
    }
    isDone.wait()
    let error = try #require(result.value)
    #expect(error.code == NSPersistentStoreTimeoutError, "\(error)")
    #expect(
      "\(error)".contains(
        "process \(process) of tester (\(application), idle in transaction, in a transaction since "), "\(error)")
    #expect(count > 3)
    try holder.rollback()
  }
}
