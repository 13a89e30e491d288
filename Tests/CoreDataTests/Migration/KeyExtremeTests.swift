// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Migrations of stores whose primary keys are as far apart as numbers can be.
@Suite("Migrations of rows with any keys")
struct KeyExtremeTests {
  // MARK: By a mapping model

  private func notes() -> ModelBuilder {
    var builder = ModelBuilder()
    builder.entity("Note", [.make("text", .stringAttributeType)])
    builder.entity("Box", [.make("text", .stringAttributeType)])
    builder.relate(.init("Box", "notes", toMany: true), .init("Note", "box"))
    builder.relate(.init("Box", "labels", toMany: true), .init("Note", "boxes", toMany: true))
    return builder
  }

  /// Three notes in a box, of which the first and the last get other keys.
  private func steps(first: Int64, last: Int64) throws -> CopySteps {
    let steps = try CopySteps(notes(), notes())
    try steps.fill { context in
      let box = context.make("Box", ["text": "box"])
      let notes = ["a", "b", "c"].map { context.make("Note", ["text": $0]) }
      box.setValue(NSSet(array: notes), forKey: "notes")
      box.setValue(NSSet(array: notes), forKey: "labels")
    }
    try Self.change(
      steps.store.url,
      """
      UPDATE ZNOTE SET Z_PK = Z_PK + 3;
      UPDATE ZNOTE SET Z_PK = CASE Z_PK WHEN 4 THEN \(first) WHEN 5 THEN 2 ELSE \(last) END;
      UPDATE Z_1LABELS SET Z_2LABELS = CASE Z_2LABELS WHEN 1 THEN \(first) WHEN 3 THEN \(last) ELSE 2 END
      """)
    steps.map(
      "Note", "Note", ["text": "$source.text"],
      links: [
        "box": CopySteps.made(by: "BoxToBox", "$source.box"), "boxes": CopySteps.made(by: "BoxToBox", "$source.boxes"),
      ])
    steps.map(
      "Box", "Box", ["text": "$source.text"],
      links: [
        "notes": CopySteps.made(by: "NoteToNote", "$source.notes"),
        "labels": CopySteps.made(by: "NoteToNote", "$source.labels"),
      ])
    return steps
  }

  private static func change(_ url: URL, _ sql: String) throws {
    try SQLiteConnection.execute(sql, at: url)
  }

  @Test(
    "Are copied with what refers to them, however far apart the keys are",
    arguments: [
      (1, 3), (1, 1 << 61), (-1, 3), (0, 3), (-(1 << 61), 1 << 60), (1, .max), (1, .max - 1), (.min, 3), (.min, .max),
      (.min + 1, 1 << 62),
    ] as [(Int64, Int64)], [true, false])
  func copied(_ keys: (Int64, Int64), usesSQL: Bool) throws {
    let steps = try steps(first: keys.0, last: keys.1)
    try steps.migrate(to: steps.target, usesSQL: usesSQL)
    try check(steps)
  }

  @Test(
    "Are copied into a new file by SQL alone where there is room", arguments: [(-(1 << 61), 1 << 60), (1, 1 << 61)])
  func filled(_ keys: (Int64, Int64)) throws {
    let steps = try steps(first: keys.0, last: keys.1)
    var reports = 0
    let executions = try steps.migrate(to: steps.target, usesSQL: true) { _ in reports += 1 }
    #expect(executions.allSatisfy { $0.rows == .sql && $0.relationships == .sql })
    // Each stretch of keys is a statement: there are not as many as keys.
    #expect(reports < 100_000)
    try check(steps)
  }

  private func check(_ steps: CopySteps) throws {
    let dump = try steps.dump(steps.target)
    #expect(dump.values("Note", "text") == ["a", "b", "c"])
    let box = try #require(dump.objects.first { $0.key.hasPrefix("Box/") })
    for key in ["notes", "labels"] { #expect(box.value[key]?.split(separator: ",").count == 3, "\(key)") }
    for (key, note) in dump.objects where key.hasPrefix("Note/") {
      #expect(note["box"] == box.key && note["boxes"] == box.key)
    }
  }

  @Test("Join tables are copied from their first row on, whatever its number is")
  func joinRows() throws {
    let steps = try steps(first: 1, last: 3)
    try Self.change(
      steps.store.url,
      """
      UPDATE Z_1LABELS SET rowid = -9223372036854775808 WHERE Z_2LABELS = 1;
      UPDATE Z_1LABELS SET rowid = 9223372036854775807 WHERE Z_2LABELS = 3
      """)
    try steps.run()
    try check(steps)
  }

  @Test("A reference to a key that no row has does not become one to another row")
  func strayReferences() throws {
    let steps = try steps(first: 1, last: 3)
    // What is made of the second mapping's rows comes behind those of the first.
    steps.map("Note", "Note", name: "Again", ["text": "$source.text"])
    try Self.change(
      steps.store.url,
      """
      UPDATE ZNOTE SET ZBOX = 9223372036854775807 WHERE ZTEXT = 'a'; UPDATE ZNOTE SET ZBOX = -7 WHERE ZTEXT = 'b';
      INSERT INTO Z_1LABELS VALUES (1, 5), (1, 9223372036854775807), (1, -7), (77, 1)
      """)
    for usesSQL in [true, false] {
      let url = steps.store.folder.appendingPathComponent("\(usesSQL).sqlite")
      try steps.migrate(to: url, usesSQL: usesSQL)
      let dump = try steps.dump(url)
      let box = try #require(dump.objects.first { $0.key.hasPrefix("Box/") })
      #expect(box.value["notes"]?.split(separator: ",").count == 1)
      #expect(box.value["labels"]?.split(separator: ",").count == 3)
    }
  }

  @Test("A row with the number of no entity of its table stops a migration, by SQL and by objects")
  func strayEntity() throws {
    func people(_ more: [NSAttributeDescription]) -> ModelBuilder {
      var builder = ModelBuilder()
      builder.entity("Person", [.make("name", .stringAttributeType)] + more)
      builder.entity("Pupil", parent: "Person")
      return builder
    }
    let steps = try CopySteps(people([]), people([.make("note", .stringAttributeType)]))
    try steps.fill { context in
      for entity in ["Person", "Pupil"] { context.make(entity, ["name": entity]) }
    }
    for entity in ["Person", "Pupil"] { steps.map(entity, entity, ["name": "$source.name"]) }
    try Self.change(steps.store.url, "UPDATE ZPERSON SET Z_ENT = 77 WHERE ZNAME = 'Pupil'")
    for usesSQL in [true, false] {
      let error = try #require(throws: NSError.self) { try steps.migrate(to: steps.target, usesSQL: usesSQL) }
      #expect(error.code == NSMigrationError)
      #expect(error.localizedFailureReason?.contains("is of an entity with the number 77") == true, "\(error)")
      #expect(!FileManager.default.fileExists(atPath: steps.target.path))
    }
  }

  @Test("Reserved keys never meet, and none is reserved beyond all numbers")
  func reservations() {
    let bounds: [Int64] = [.min, .min + 1, -(1 << 62), -1, 0, 1, 7, 1 << 61, 1 << 62, .max - 1, .max]
    for lower in bounds {
      for upper in bounds where lower <= upper {
        for used in [0, 1, 1 << 61, .max - 1, .max] as [Int64] {
          var reservations = KeyReservations()
          var last = used
          for source in 1...3 {
            let place = KeyReservations.Place(entity: source, root: source)
            let made = reservations.reserve(lower...upper, of: place, for: .init(entity: 9, root: 9), inUse: used)
            guard let made else { continue }
            #expect(
              made.last == upper + made.offset && (last == 0 || lower + made.offset > last), "\(lower)...\(upper)")
            last = made.last
          }
        }
      }
    }
  }

  // MARK: In place

  private func vehicles(withParent: Bool) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    if withParent { builder.entity("Vehicle") }
    let parent = withParent ? "Vehicle" : nil
    builder.entity("Bike", parent: parent, [.make("name", .stringAttributeType)])
    builder.entity("Car", parent: parent, [.make("name", .stringAttributeType)])
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.relate(.init("Owner", "bike"), .init("Bike", "owner"))
    builder.relate(.init("Owner", "bikes", toMany: true), .init("Bike", "owners", toMany: true))
    return builder.model()
  }

  /// Three cars and two bikes, which will get the same parent, so that the bikes get other keys.
  private func garage(_ sql: String) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(vehicles(withParent: false))
    for name in ["c1", "c2", "c3"] { context.make("Car", ["name": name]) }
    let bikes = ["b1", "b2"].map { context.make("Bike", ["name": $0]) }
    try context.save()
    for bike in bikes {
      let owner = context.make("Owner", ["name": "o", "bike": bike])
      owner.setValue(NSSet(object: bike), forKey: "bikes")
    }
    try context.save()
    try store.close()
    try Self.change(store.url, sql)
    return store
  }

  private static let options = [
    NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
  ]

  @Test(
    "Tables become one where keys leave room",
    arguments: [
      "", "UPDATE ZBIKE SET Z_PK = -9223372036854775807 WHERE Z_PK = 99",
      "UPDATE ZBIKE SET Z_PK = -5 WHERE ZNAME = 'b2'",
      "UPDATE ZBIKE SET Z_PK = 4611686018427387900 WHERE ZNAME = 'b2'",
      "UPDATE ZCAR SET Z_PK = -9223372036854775808 WHERE Z_PK = 1",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = -1", "UPDATE Z_PRIMARYKEY SET Z_MAX = 'x'",
    ])
  func joined(_ sql: String) throws {
    let store = try garage(sql)
    let context = try store.context(vehicles(withParent: true), options: Self.options)
    #expect(try context.all("Bike").map { $0.value(forKey: "name") as? String } == ["b1", "b2"])
    #expect(try context.all("Car").map { $0.value(forKey: "name") as? String } == ["c1", "c2", "c3"])
    context.make("Bike", ["name": "new"])
    try context.save()
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Vehicle")) == 6)
  }

  @Test(
    "Tables do not become one where keys leave no room: the store is as it was",
    arguments: [
      "UPDATE ZBIKE SET Z_PK = 9223372036854775807 WHERE ZNAME = 'b2'",
      "UPDATE ZBIKE SET Z_PK = -9223372036854775808 WHERE ZNAME = 'b2'",
      "UPDATE ZCAR SET Z_PK = 9223372036854775807 WHERE Z_PK = 1",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_NAME = 'Car'",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_NAME = 'Bike'",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 6917529027641081856",
    ])
  func noRoom(_ sql: String) throws {
    let store = try garage(sql)
    let error = try #require(
      #expect(throws: NSError.self) {
        _ = try store.context(vehicles(withParent: true), options: Self.options)
      })
    #expect(error.code == NSMigrationError)
    #expect(error.localizedFailureReason?.contains("leave no room for them") == true)
    let context = try store.context(vehicles(withParent: false))
    #expect(try context.all("Car").count == 3)
    #expect(try context.all("Bike").count == 2)
  }

  @Test("References to keys that were never given out lead to no row of the table that two have become")
  func strayInPlace() throws {
    let store = try garage(
      """
      UPDATE ZOWNER SET ZBIKE = -1 WHERE Z_PK = 1; UPDATE ZOWNER SET ZBIKE = 9223372036854775807 WHERE Z_PK = 2;
      UPDATE Z_1OWNERS SET Z_1BIKES = -1 WHERE Z_1BIKES = 1
      """)
    let context = try store.context(vehicles(withParent: true), options: Self.options)
    for owner in try context.all("Owner") { #expect(owner.value(forKey: "bike") == nil) }
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    defer { try? connection.close() }  // Only read from.
    #expect(try connection.scalar("SELECT COUNT(*) FROM ZOWNER WHERE ZBIKE IS NOT NULL") == 0)
  }
}
