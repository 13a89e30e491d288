// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreData
@testable import CoreDataTracing

/// The statements that an observation has reported, of the databases in one directory.
final class ReportedStatements: Sendable {
  private let found = Guarded<[StoreStatement]>([])
  let observation: StatementObservation

  init(at location: String, includingValues: Bool = false) {
    let found = found
    observation = StatementObservation(includingValues: includingValues, location: location) { statement in
      found.update { $0.append(statement) }
    }
  }

  deinit { observation.end() }

  /// The statements since the last call.
  func take() -> [StoreStatement] {
    observation.flush()
    return found.update { found in
      defer { found = [] }
      return found
    }
  }
}

@Suite("Reports of statements")
struct StatementTraceTests {
  private let store: TemporaryStore
  private let reported: ReportedStatements

  init() throws {
    store = try TemporaryStore()
    reported = ReportedStatements(at: store.folder.path)
  }

  private func named(_ name: String, author: String? = nil) throws -> NSManagedObjectContext {
    let context = try store.context(CompanyModel.make())
    context.name = name
    context.transactionAuthor = author
    return context
  }

  private func isInsertion(_ statement: StoreStatement, _ table: String) -> Bool {
    statement.sql.replacing("\"", with: "").hasPrefix("INSERT INTO \(table) ")
  }

  @Test("Each kind of request is reported with its context, its rows and its time, and without values")
  func requests() throws {
    let context = try named("import", author: "Ada")
    let opening = reported.take().filter { $0.request != .other }
    #expect(!opening.isEmpty && opening.allSatisfy { $0.request == .opening && $0.contextName == nil })
    #expect(opening.allSatisfy { $0.location.hasPrefix(store.folder.path) })

    func check(
      _ request: StoreStatement.Request, _ start: String, rows: Int, location: SourceLocation = #_sourceLocation
    ) {
      // Connections that are no longer used end their transactions at any time.
      let found = reported.take().filter { $0.request != .other }
      #expect(found.allSatisfy { $0.request == request }, "\(found.map(\.request))", sourceLocation: location)
      #expect(
        found.allSatisfy { $0.contextName == "import" && $0.author == "Ada" }, "\(found)", sourceLocation: location)
      let matching = found.filter { $0.sql.hasPrefix(start) && $0.sql.contains("ZEMPLOYEE") }
      #expect(matching.map(\.rowCount).reduce(0, +) == rows, "\(found)", sourceLocation: location)
      #expect(found.allSatisfy { $0.failure == nil && $0.missedCount == 0 }, "\(found)", sourceLocation: location)
      #expect(matching.contains { $0.duration > .zero }, sourceLocation: location)
      let texts = found.map(\.sql).joined(separator: "\n")
      #expect(!texts.contains("Lovelace") && found.allSatisfy { $0.sqlWithValues == nil }, sourceLocation: location)
    }

    for number in 0..<3 { context.make("Employee", ["name": "Lovelace", "age": number]) }
    try context.save()
    check(.save, "INSERT", rows: 3)
    context.reset()
    let all = try context.all("Employee", where: NSPredicate(format: "name == %@", "Lovelace"))
    check(.fetch, "SELECT", rows: 3)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    #expect(try context.count(for: request) == 3)
    check(.count, "SELECT", rows: 1)
    let id = all[0].objectID
    context.reset()
    #expect(context.object(with: id).value(forKey: "name") as? String == "Lovelace")
    check(.fault, "SELECT", rows: 1)
    let update = NSBatchUpdateRequest(entityName: "Employee")
    update.propertiesToUpdate = ["age": 7]
    try context.execute(update)
    check(.batchUpdate, "UPDATE", rows: 3)
    try context.execute(NSBatchInsertRequest(entityName: "Employee", objects: [["name": "Lovelace"]]))
    check(.batchInsert, "INSERT", rows: 1)
    try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Employee")))
    let deletion = reported.take().filter { $0.request != .other }
    #expect(!deletion.isEmpty && deletion.allSatisfy { $0.request == .batchDelete && $0.contextName == "import" })
  }

  @Test("Values are reported only to those who ask for them")
  func values() throws {
    let all = ReportedStatements(at: store.folder.path, includingValues: true)
    let context = try named("a")
    context.make("Employee", ["name": "Love'lace", "age": 36])
    try context.save()
    context.reset()
    _ = try context.all("Employee", where: NSPredicate(format: "name == %@", "Love'lace"))
    let texts = all.take().compactMap(\.sqlWithValues)
    #expect(texts.contains { $0.hasPrefix("INSERT") && $0.contains("'Love''lace'") }, "\(texts)")
    #expect(texts.contains { $0.hasPrefix("SELECT") && $0.contains("'Love''lace'") }, "\(texts)")
    let found = reported.take()
    #expect(!found.isEmpty && found.allSatisfy { $0.sqlWithValues == nil && !$0.sql.contains("Love") })
  }

  @Test("A value that is too large to be shown leaves the statement without values, and is stored")
  func largeValue() throws {
    let all = ReportedStatements(at: store.folder.path, includingValues: true)
    let context = try named("a")
    context.make("Employee", ["name": "x", "photo": Data(repeating: 7, count: 3 << 20)])
    try context.save()
    let insertion = try #require(all.take().first { isInsertion($0, "ZEMPLOYEE") })
    #expect(insertion.sqlWithValues == nil && insertion.rowCount == 1)
    context.reset()
    #expect((try context.all("Employee").first?.value(forKey: "photo") as? Data)?.count == 3 << 20)
  }

  @Test("A statement that fails, or does not compile, is reported with the database's error")
  func failures() throws {
    let connection = try SQLiteConnection(path: store.folder.path + "/Other.sqlite", mode: .create)
    _ = reported.take()
    try connection.execute("CREATE TABLE T (X UNIQUE); INSERT INTO T VALUES (1), (2)")
    let script = reported.take()
    #expect(script.map(\.sql) == ["CREATE TABLE T (X UNIQUE);", "INSERT INTO T VALUES (1), (2)"])
    #expect(script.map(\.rowCount) == [0, 2] && script.allSatisfy { $0.request == .other })
    #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO T VALUES (?)", [.integer(2)]) }
    #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO MISSING VALUES (1)") }
    #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO T VALUES (1)") }
    let found = reported.take()
    #expect(
      found.map(\.sql) == [
        "INSERT INTO T VALUES (?)", "INSERT INTO MISSING VALUES (1)", "INSERT INTO T VALUES (1)",
      ])
    #expect(found.map(\.failure?.code) == ["SQLite 2067", "SQLite 1", "SQLite 2067"])
    #expect(found[0].failure?.message == "UNIQUE constraint failed: T.X")
    #expect(found[1].failure?.message == "no such table: MISSING")
    // The statement is used again, and is no longer the one that failed.
    try connection.run("INSERT INTO T VALUES (?)", [.integer(3)])
    #expect(reported.take().map(\.failure?.code) == [nil])
    try connection.close()
  }

  @Test("A statement whose rows are not all read is reported when it is reset")
  func partialRead() throws {
    let connection = try SQLiteConnection(path: store.folder.path + "/Other.sqlite", mode: .create)
    try connection.execute("CREATE TABLE T (X); INSERT INTO T VALUES (1), (2), (3)")
    _ = reported.take()
    for _ in 0..<2 { #expect(try connection.scalar("SELECT X FROM T")?.integer == 1) }
    #expect(reported.take().map(\.rowCount) == [1, 1])
    #expect(try connection.rows("SELECT X FROM T").count == 3)
    #expect(reported.take().map(\.rowCount) == [3])
    try connection.close()
  }

  @Test("A handler may save, in the context that is saving too, and its own statements are not reported")
  func savingHandler() throws {
    let context = try named("program")
    _ = reported.take()
    let handled = Guarded(0)
    let own = Guarded<StatementObservation?>(nil)
    let saving = StatementObservation(location: store.folder.path) { statement in
      guard statement.sql.hasPrefix("INSERT"), statement.sql.contains("ZEMPLOYEE") else { return }
      handled.update { $0 += 1 }
      context.performAndWait {
        context.make("Department", ["name": "after \(statement.rowCount)"])
        #expect(context.saveCode() == 0)
      }
      // Nothing waits for itself.
      own.value?.flush()
    }
    own.value = saving
    context.performAndWait {
      for _ in 0..<5 { context.make("Employee", ["name": "x"]) }
      #expect(context.saveCode() == 0)
    }
    saving.flush()
    saving.end()
    #expect(handled.value == 5)
    #expect(try context.performAndWait { try context.all("Department").count } == 5)
    own.value = nil
    #expect(!reported.take().contains { isInsertion($0, "ZDEPARTMENT") })
  }

  @Test("A handler that is too slow misses statements, and learns how many")
  func slowHandler() throws {
    let connection = try SQLiteConnection(path: store.folder.path + "/Other.sqlite", mode: .create)
    let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let counts = Guarded<(handled: Int, missed: Int)>((0, 0))
    let slow = StatementObservation(location: store.folder.path) { statement in
      let isFirst = counts.update { counts in
        counts.handled += 1
        counts.missed += statement.missedCount
        return counts.handled == 1
      }
      if isFirst {
        begun.signal()
        mayEnd.wait()
      }
    }
    func run(_ count: Int) throws { for _ in 0..<count { _ = try connection.scalar("SELECT 1") } }
    try run(1)
    begun.wait()
    try run(10_007)
    mayEnd.signal()
    slow.flush()
    #expect(counts.value.handled == 10_001 && counts.value.missed == 0)
    try run(1)
    slow.flush()
    #expect(counts.value.handled == 10_002 && counts.value.missed == 7)
    slow.end()
    try run(1)
    slow.flush()
    #expect(counts.value.handled == 10_002)
    try connection.close()
  }

  @Test("Threads are told apart")
  func threads() throws {
    let context = try named("main")
    context.make("Employee", ["name": "x"])
    try context.save()
    _ = reported.take()
    let coordinator = try #require(context.persistentStoreCoordinator)
    inThreads(8) { number in
      let own = NSManagedObjectContext(.privateQueue)
      own.persistentStoreCoordinator = coordinator
      own.name = "thread \(number)"
      own.performAndWait {
        for _ in 0..<20 { #expect(throws: Never.self) { try own.all("Employee") } }
      }
    }
    let fetches = reported.take().filter { $0.sql.contains("ZEMPLOYEE") }
    let counts = Dictionary(grouping: fetches) { $0.contextName ?? "" }.mapValues(\.count)
    #expect(counts.keys.sorted() == (0..<8).map { "thread \($0)" }, "\(counts)")
    #expect(counts.values.allSatisfy { $0 >= 20 }, "\(counts)")
  }

  @Test("An asynchronous fetch is that of its context")
  func asynchronousFetch() async throws {
    let context = try named("report", author: "Ada")
    try context.performAndWait {
      for number in 0..<5 { context.make("Employee", ["name": "\(number)"]) }
      try context.save()
    }
    _ = reported.take()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let request = NSAsynchronousFetchRequest(
        fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Employee")
      ) { result in
        #expect(result.finalResult?.count == 5)
        continuation.resume()
      }
      context.perform { #expect(throws: Never.self) { try context.execute(request) } }
    }
    let found = reported.take().filter { $0.request != .other }
    #expect(found.contains { $0.sql.contains("ZEMPLOYEE") && $0.rowCount == 5 }, "\(found)")
    #expect(found.allSatisfy { $0.request == .fetch && $0.contextName == "report" && $0.author == "Ada" }, "\(found)")
  }

  @Test("The statements of a child's requests are those of its parent")
  func children() throws {
    let parent = try named("parent")
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    child.name = "child"
    _ = reported.take()
    _ = try child.performAndWait { try child.all("Employee") }
    let found = reported.take().filter { $0.request != .other }
    #expect(!found.isEmpty && found.allSatisfy { $0.contextName == "parent" && $0.request == .fetch }, "\(found)")
  }

  @Test("A migration is reported as one, in place and by a manager", arguments: [true, false])
  func migration(isInPlace: Bool) throws {
    func model(_ names: [String]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Item", names.map { .make($0, .stringAttributeType) })
      return builder.model()
    }
    let context = try store.context(model(["name"]))
    context.make("Item", ["name": "Lovelace"])
    try context.save()
    try store.close()
    _ = reported.take()
    let (old, new) = (model(["name"]), model(["name", "note"]))
    if isInPlace {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
      try coordinator.addPersistentStore(
        type: .sqlite, at: store.url,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        ])
    } else {
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
      try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
        from: store.url, type: .sqlite, mapping: mapping, to: store.folder.appendingPathComponent("New.sqlite"),
        type: .sqlite)
    }
    let found = reported.take()
    let own = found.filter { $0.request == .migration }
    #expect(own.contains { $0.sql.hasPrefix(isInPlace ? "ALTER TABLE" : "INSERT") }, "\(found)")
    #expect(found.allSatisfy { [.migration, .opening, .other].contains($0.request) }, "\(found)")
    #expect(!found.contains { $0.sql.contains("Lovelace") })
  }
}

@Suite("The log of statements")
struct StatementLogTests {
  private func contents(_ text: String?, _ arguments: [String] = []) -> StatementLog.Contents {
    StatementLog.request(arguments: ["program"] + arguments, environment: text.map { ["COREDATA_LOG": $0] } ?? [:])
      .contents
  }

  @Test("The environment and Apple's argument ask for it")
  func requests() {
    #expect(contents(nil).isEmpty && contents("").isEmpty)
    #expect(contents("sql") == .sql && contents("timing") == .timing)
    #expect(contents("SQL, timing") == [.sql, .timing])
    #expect(contents("timing,values") == [.sql, .timing, .values])
    let argument = "-com.apple.CoreData.SQLDebug"
    #expect(contents(nil, [argument, "0"]).isEmpty && contents(nil, [argument]).isEmpty)
    #expect(contents(nil, [argument, "1"]) == [.sql, .timing])
    #expect(contents(nil, [argument, "3"]) == [.sql, .timing, .values])
    let unknown = StatementLog.request(arguments: [], environment: ["COREDATA_LOG": "sql,ti\u{1B}ming,on"])
    #expect(unknown.contents == .sql && unknown.unknown == ["'ti\\u{1B}ming'", "'on'"])
  }

  private func report(_ failure: StatementReport.Failure? = nil) -> StatementReport {
    StatementReport(
      sql: "SELECT\n  1\u{1B}[2J WHERE x = ?", boundSQL: "SELECT 1 WHERE x = 'a\nCoreData: sql: forged'",
      location: "/tmp/Store.sqlite", duration: .microseconds(12_345), rowCount: 1, failure: failure,
      origin: StatementOrigin(kind: .batchInsert, contextName: "one\ntwo", author: "me"))
  }

  @Test("A statement is one line, whatever its text, its values and its context are")
  func lines() {
    let end = "batch insert in 'one two' by 'me'; /tmp/Store.sqlite\n"
    #expect(StatementLog(contents: .sql).line(report()) == "CoreData: sql: SELECT   1\\u{1B}[2J WHERE x = ? -- \(end)")
    #expect(StatementLog(contents: .timing).line(report()) == "CoreData: 12.345 ms, 1 row; \(end)")
    #expect(
      StatementLog(contents: [.sql, .values]).line(report())
        == "CoreData: sql: SELECT 1 WHERE x = 'a CoreData: sql: forged' -- \(end)")
    #expect(
      StatementLog(contents: .sql).line(report(.init(code: "SQLite 1", message: "no such table: T"))).hasSuffix(
        " -- failed with SQLite 1: no such table: T; \(end)"))
  }

  @Test("The documented example is a line of the log")
  func documentedExample() throws {
    let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Documentation/PostgreSQL.md")
    let lines = try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
    let sql = "SELECT t0.z_pk, t0.z_ent, t0.z_opt, t0.zname FROM zitem t0 WHERE t0.zname = $1"
    let report = StatementReport(
      sql: sql, boundSQL: nil, location: "postgresql://app@db/shop", duration: .microseconds(412), rowCount: 1,
      failure: nil, origin: StatementOrigin(kind: .fetch, contextName: "import", author: "Ada"))
    let line = StatementLog(contents: [.sql, .timing]).line(report)
    #expect(lines.filter { $0.hasPrefix("CoreData: ") }.map { $0 + "\n" } == [line])
    #expect(!StatementLog(contents: .timing).line(report).contains(sql))
  }
}
