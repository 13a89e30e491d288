// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Runs of copies")
struct CopyRunTests {
  private func notes(
    _ attributes: [NSAttributeDescription] = [.make("text", .stringAttributeType)], unique: Bool = false
  ) -> ModelBuilder {
    var builder = ModelBuilder()
    let note = builder.entity("Note", attributes)
    if unique { note.uniquenessConstraints = [["text"]] }
    return builder
  }

  private func filled(_ target: ModelBuilder, _ texts: [String?]) throws -> CopySteps {
    let steps = try CopySteps(notes(), target)
    try steps.fill { context in for text in texts { context.make("Note", optional: ["text": text]) } }
    steps.map("Note", "Note", ["text": "$source.text"])
    return steps
  }

  @Test("A new file has exactly what a new store of the model has")
  func definitions() throws {
    let steps = try CopySteps(CompanyModel.make(), CompanyModel.make())
    try steps.fill { _ in }
    try steps.migrate(to: steps.target, usesSQL: true)
    let fresh = steps.store.folder.appendingPathComponent("Fresh.sqlite")
    try StoreFile.create(at: fresh, document: steps.new.document)
    func master(_ url: URL) throws -> [String] {
      let connection = try SQLiteConnection(url: url, mode: .readOnly)
      defer { try? connection.close() }  // Only read from.
      #expect(try connection.pragma("journal_mode")?.text == "wal")
      return try connection.rows("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").map { "\($0.values)" }
    }
    #expect(try master(steps.target) == master(fresh))
  }

  @Test("A destination that exists is added to, pass after pass")
  func passes() throws {
    let steps = try filled(notes(), ["a", "b"])
    try steps.run()
    let dump = try steps.run()
    #expect(dump.values("Note", "text") == ["a", "a", "b", "b"])
    #expect(Set(dump.objects.keys) == ["Note/p1", "Note/p2", "Note/p3", "Note/p4"])
  }

  @Test("Keys that the destination has given out are not given out again, though their rows are gone")
  func spentKeys() throws {
    let steps = try filled(notes(), ["a", "b"])
    try steps.run()
    let context = NSManagedObjectContext(.privateQueue)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: steps.new)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: steps.target)
    context.persistentStoreCoordinator = coordinator
    for note in try context.all("Note", by: "text") { context.delete(note) }
    try context.save()
    try coordinator.remove(store)
    try steps.migrate(to: steps.target, usesSQL: true)
    #expect(Set(try steps.dump(steps.target).objects.keys) == ["Note/p3", "Note/p4"])
  }

  @Test("Files of values that were made go with a failure", arguments: [false, true])
  func filesOfFailure(isAdding: Bool) throws {
    func model(unique: Bool) -> ModelBuilder {
      notes(
        [.make("text", .stringAttributeType), .make("photo", .binaryDataAttributeType, external: true)], unique: unique)
    }
    let steps = try CopySteps(model(unique: false), model(unique: true))
    try steps.fill { context in
      for number in 0..<2 {
        context.make("Note", ["text": "\(number)", "photo": Data(repeating: UInt8(number), count: 200_000)])
      }
      if !isAdding { context.make("Note", ["text": "1"]) }
    }
    steps.map("Note", "Note", ["text": "$source.text", "photo": "$source.photo"])
    let folder = StoreLocation.externalData(of: steps.target)
    if isAdding { try steps.migrate(to: steps.target, usesSQL: true) }
    let before = try Set(FileCalls.names(in: folder))
    #expect(before.count == (isAdding ? 2 : 0))
    #expect(try steps.failure().code == NSMigrationConstraintViolationError)
    #expect(try Set(FileCalls.names(in: folder)) == before)
  }

  @Test("Values that are to be unique and are not: 134111 with entity, property and values")
  func uniqueness() throws {
    let steps = try filled(notes(unique: true), ["a", "b", "a", nil, nil])
    let error = try steps.failure()
    #expect(error.code == NSMigrationConstraintViolationError)
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.contains("'Note'") && reason.contains("'text'") && reason.contains("'a'") && !reason.contains("'b'"))
    #expect(try steps.store.files().filter { $0.contains("Target") } == [])
  }

  @Test("A failure leaves an existing destination as it was")
  func failureOfPass() throws {
    let steps = try filled(notes(unique: true), ["a", "b"])
    try steps.run()
    let before = try FileContent(steps.target)
    #expect(try steps.failure().code == NSMigrationConstraintViolationError)
    #expect(try FileContent(steps.target) == before)
  }

  @Test("A required attribute without value: 134110 with entity and attribute")
  func requiredValue() throws {
    let steps = try filled(notes([.make("text", .stringAttributeType, optional: false)]), ["a", nil])
    let error = try steps.failure()
    #expect(error.code == NSValidationMissingMandatoryPropertyError)
    #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "text")
  }

  @Test("Validation predicates of the destination are checked")
  func validation() throws {
    let text = NSAttributeDescription.make("text", .stringAttributeType)
    text.setValidationPredicates([NSPredicate(format: "length <= 3")], withValidationWarnings: ["1660"])
    let steps = try filled(notes([text]), ["abc", "abcd"])
    let error = try steps.failure()
    #expect(error.userInfo[NSValidationValueErrorKey] as? String == "abcd")
    #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "text")
  }

  @Test("Cancelling: the error given, no file, and the source as it was; progress is told in small steps")
  func cancelling() throws {
    let steps = try CopySteps(notes(), notes())
    try steps.fill { $0.make("Note", ["text": "a"]) }
    let connection = try SQLiteConnection(url: steps.store.url, mode: .readWrite)
    try connection.run(
      "WITH RECURSIVE n(k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM n WHERE k < 100000) "
        + "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) SELECT k, 1, 1, 'n' || k FROM n")
    try connection.close()
    steps.map("Note", "Note", ["text": "$source.text"])
    let content = try FileContent(steps.store.url)
    struct Enough: Error {}
    var told: [Float] = []
    #expect(throws: Enough.self) {
      try steps.migrate(to: steps.target, usesSQL: true) { manager in
        told.append(manager.migrationProgress)
        if manager.migrationProgress > 0.3 { manager.cancelMigrationWithError(Enough()) }
      }
    }
    #expect(told.count >= 3)
    #expect(try steps.store.files().filter { $0.contains("Target") } == [])
    #expect(try FileContent(steps.store.url) == content)
    let dump = try steps.run()
    #expect(dump.objects.count == 100_000)
  }

  @Test("Relationships and indexes are a part of the progress, and can be cancelled")
  func partsOfProgress() throws {
    func model() -> ModelBuilder {
      var builder = ModelBuilder()
      let person = builder.entity("Person", [.make("name", .stringAttributeType)])
      builder.entity("Dog", [.make("age", .integer32AttributeType)])
      builder.relate(.init("Person", "dogs", toMany: true), .init("Dog", "walkers", toMany: true))
      person.indexes = person.properties.prefix(1).map { name in
        NSFetchIndexDescription(
          name: "byName", elements: [NSFetchIndexElementDescription(property: name, collationType: .binary)])
      }
      return builder
    }
    let steps = try CopySteps(model(), model())
    try steps.fill { _ in }
    let connection = try SQLiteConnection(url: steps.store.url, mode: .readWrite)
    let numbers = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT 60000) "
    try connection.run(
      numbers + "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT k, 2, 1, 'n' || k FROM n")
    try connection.run(numbers + "INSERT INTO ZDOG (Z_PK, Z_ENT, Z_OPT) SELECT k, 1, 1 FROM n LIMIT 10")
    try connection.run(numbers + "INSERT INTO Z_1WALKERS SELECT k % 10 + 1, k FROM n")
    try connection.close()
    steps.map("Person", "Person", ["name": "$source.name"], links: ["dogs": CopySteps.made(of: "dogs")])
    steps.map("Dog", "Dog", ["age": "$source.age"], links: ["walkers": CopySteps.made(of: "walkers")])
    var told: Set<Float> = []
    try steps.migrate(to: steps.target, usesSQL: true) { told.insert($0.migrationProgress) }
    #expect(told.filter { $0 > 0.5 && $0 < 0.85 }.count >= 4)
    #expect(told.filter { $0 > 0.9 && $0 < 1 }.count >= 2)
    let target = steps.store.folder.appendingPathComponent("Cancelled.sqlite")
    struct Enough: Error {}
    #expect(throws: Enough.self) {
      try steps.migrate(to: target, usesSQL: true) { manager in
        if manager.migrationProgress > 0.9 { manager.cancelMigrationWithError(Enough()) }
      }
    }
    #expect(try steps.store.files().filter { $0.contains("Cancelled") } == [])
  }

  @Test("Derived attributes are computed, of columns and of relationships")
  func derived() throws {
    func model(derived: Bool) -> ModelBuilder {
      var builder = ModelBuilder()
      let person = builder.entity("Person", [.make("name", .stringAttributeType)])
      builder.entity("Dog", [.make("age", .integer32AttributeType)])
      builder.relate(.init("Person", "dogs", toMany: true), .init("Dog", "owner"))
      guard derived else { return builder }
      person.properties += [
        NSAttributeDescription.derived("search", .stringAttributeType, "canonical:(name)"),
        .derived("dogCount", .integer32AttributeType, "dogs.@count"),
        .derived("ages", .integer32AttributeType, "dogs.@sum.age"),
      ]
      return builder
    }
    let steps = try CopySteps(model(derived: false), model(derived: true))
    try steps.fill { context in
      let person = context.make("Person", ["name": "Zoë"])
      for age in [3, 4] { context.make("Dog", ["age": age, "owner": person]) }
    }
    steps.map("Person", "Person", ["name": "$source.name"])
    steps.map("Dog", "Dog", ["age": "$source.age"], links: ["owner": CopySteps.made(of: "owner")])
    let person = try #require(try steps.run().objects["Person/p1"])
    #expect(person["search"] == "zoe" && person["dogCount"] == "2" && person["ages"] == "7")
  }

  @Test("What stands in the source's write-ahead log is copied, and stays there")
  func writeAheadLog() throws {
    let steps = try CopySteps(notes(), notes())
    try steps.fill { $0.make("Note", ["text": "a"]) }
    let writer = try SQLiteConnection(url: steps.store.url, mode: .readWrite)
    try writer.run("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (2, 1, 1, 'in the log')")
    steps.map("Note", "Note", ["text": "$source.text"])
    let dump = try steps.run()
    #expect(dump.values("Note", "text") == ["a", "in the log"])
    #expect(try steps.store.files().contains("Source.sqlite-wal"))
    try writer.close()
  }

  @Test("A source that somebody writes to meanwhile is migrated as it was at the beginning", arguments: [true, false])
  func concurrentWriter(_ usesSQL: Bool) throws {
    let steps = try filled(notes(), (0..<1_200).map { "n\($0)" })
    let writer = try SQLiteConnection(url: steps.store.url, mode: .readWrite)
    let manager = NSMigrationManager(sourceModel: steps.old, destinationModel: steps.new)
    manager.usesStoreSpecificMigrationManager = usesSQL
    var failure: (any Error)?
    var hasWritten = false
    manager.progressHandler = { manager in
      guard manager.migrationProgress > 0, !hasWritten else { return }
      hasWritten = true
      do {
        try writer.run("UPDATE ZNOTE SET ZTEXT = 'new'")
        try writer.run("DELETE FROM ZNOTE WHERE Z_PK > 600")
      } catch {
        failure = error
      }
    }
    try manager.migrateStore(
      from: steps.store.url, type: .sqlite, mapping: steps.mappingModel, to: steps.target, type: .sqlite)
    #expect(hasWritten && failure == nil)
    #expect(try steps.dump(steps.target).values("Note", "text").sorted() == (0..<1_200).map { "n\($0)" }.sorted())
    #expect(try writer.scalar("SELECT COUNT(*) FROM ZNOTE WHERE ZTEXT = 'new'") == 600)
    try writer.close()
  }

  @Test(
    "Filters with string functions are carried out by SQL, with what objects find",
    arguments: [
      ("text BEGINSWITH[cd] 'é'", ["Eau", "éclair"]), ("text MATCHES '[a-z]+'", ["apple"]),
      ("text CONTAINS[c] 'PP'", ["apple"]), ("text LIKE '?a*'", ["Eau"]), ("text == nil", ["nil"]),
    ])
  func stringFilters(_ filter: String, _ found: [String]) throws {
    let steps = try CopySteps(notes(), notes())
    try steps.fill { context in
      for text in ["Eau", "éclair", "apple", "Zoo"] { context.make("Note", ["text": text]) }
      context.make("Note")
    }
    steps.map("Note", "Note", where: filter, ["text": "$source.text"])
    let dump = try steps.run()
    #expect(dump.values("Note", "text").sorted() == found.sorted())
  }

  @Test("A filter that asks for a key that is not there is an error, though there is no row", arguments: [true, false])
  func unknownKey(_ usesSQL: Bool) throws {
    let steps = try CopySteps(notes(), notes())
    try steps.fill { _ in }
    steps.map("Note", "Note", where: "nonsense == 1", ["text": "$source.text"])
    let error = try #require(throws: NSError.self) { try steps.migrate(to: steps.target, usesSQL: usesSQL) }
    #expect(error.localizedFailureReason?.contains("nonsense") == true, "\(error)")
    #expect(try steps.store.files().filter { $0.contains("Target") } == [])
  }
}
