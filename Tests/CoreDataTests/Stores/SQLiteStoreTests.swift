// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Rows of SQLite stores")
struct SQLiteStoreTests {
  @Test("Every type of attribute is read back as it was written, and stands in the file as Core Data would have it")
  func types() throws {
    let bench = try StoreBench(BenchModels.types)
    let token = UUID()
    let place: NSDictionary = ["x": NSNumber(value: 1.5), "label": "here"]
    let values: [String: Slot] = [
      "small": .integer(-3), "whole": .integer(.max), "flag": .boolean(true), "real": .double(0.1),
      "single": .float(1.7), "price": .object(NSDecimalNumber(string: "10.11")), "moment": .date(86_400),
      "name": .string("Zoë"), "token": .uuid(token),
      "site": .object(try #require(NSURL(string: "https://example.org/a"))),
      "bytes": .data(Data([0, 1, 2])), "tags": .archived(Data([9])), "large": .data(Data([7, 7])),
      "place": .object(place),
    ]
    let id = try bench.insert("Thing", values).id
    let row = try #require(try bench.read(id))
    for (key, value) in values {
      #expect(bench.slot(key, of: row)?.isSame(as: value) == true, "\(key)")
    }
    let stored = try bench.table(
      "SELECT typeof(ZMOMENT), typeof(ZREAL), typeof(ZPRICE), hex(ZLARGE), length(ZTOKEN), ZX, ZFLAG FROM ZTHING")
    #expect(
      stored == [["integer", "real", "real", "010707", 16, 1.5, 1]],
      "whole dates are integers by the column's affinity, inline data begin with 1")
    let empty = try #require(try bench.read(bench.insert("Thing").id))
    #expect(empty.slots.allSatisfy { $0.isNull })
  }

  @Test("Large data get a file of their own, which goes with the row or the value")
  func externalData() throws {
    let bench = try StoreBench(BenchModels.types)
    let large = Data(repeating: 5, count: ExternalData.smallestFile)
    let folder = bench.folder.appendingPathComponent(".Bench_SUPPORT/_EXTERNAL_DATA")
    let inserted = try bench.insert("Thing", ["large": .data(large)])
    let bytes = try #require(try bench.table("SELECT ZLARGE FROM ZTHING")[0][0].blob)
    #expect(bytes.count == 38 && bytes.first == 2 && bytes.last == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
    let row = try #require(try bench.read(inserted.id))
    #expect(bench.slot("large", of: row)?.isSame(as: .data(large)) == true)

    try bench.store.writeRows([bench.change(.update, row.id, old: row, ["large": .data(large + [1])])])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)

    let stale = bench.change(.update, row.id, old: row, ["large": .data(large)])
    #expect(throws: RowConflicts.self) { try bench.store.writeRows([stale]) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)

    let last = try #require(try bench.read(row.id))
    try bench.store.writeRows([bench.change(.delete, row.id, old: last)])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("Versions grow with every save, and a row changed by others is a conflict that writes nothing")
  func conflicts() throws {
    let bench = try StoreBench(BenchModels.company)
    let ada = try bench.insert("Person", ["name": .string("Ada")])
    let bob = try bench.insert("Person", ["name": .string("Bob")])
    try bench.store.writeRows([bench.change(.update, ada.id, old: ada, ["age": .integer(36)])])
    #expect(try bench.read(ada.id)?.version == 2)
    do {
      try bench.store.writeRows([
        bench.change(.update, bob.id, old: bob, ["age": .integer(1)]),
        bench.change(.update, ada.id, old: ada, ["age": .integer(37)]),
      ])
      Issue.record("The stale change was written.")
    } catch let error as RowConflicts {
      let conflict = try #require(error.conflicts.first)
      #expect(error.conflicts.count == 1 && conflict.id == ada.id && conflict.expectedVersion == 1)
      #expect(conflict.stored?.version == 2)
    }
    #expect(try bench.table("SELECT ZAGE, Z_OPT FROM ZPERSON ORDER BY Z_PK") == [[36, 2], [.null, 1]])
    let now = try #require(try bench.read(ada.id))
    try bench.store.writeRows([bench.change(.delete, ada.id, old: now)])
    #expect(try bench.read(ada.id) == nil)
    #expect(throws: RowConflicts.self) { try bench.store.writeRows([bench.change(.delete, ada.id, old: now)]) }
  }

  @Test("Values that must be unique are refused with 133021, and nothing is written")
  func uniqueness() throws {
    let bench = try StoreBench(BenchModels.company)
    try bench.insert("Note", ["name": .string("a")])
    let error = #expect(throws: NSError.self) { try bench.insert("Note", ["name": .string("a")]) }
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == NSManagedObjectConstraintMergeError)
    #expect(error?.localizedFailureReason?.contains("ZNOTE.ZNAME") == true)
    #expect(try bench.table("SELECT COUNT(*) FROM ZNOTE") == [[1]])
  }

  @Test("Primary keys are counted up at the root entity, past rows that others have added")
  func primaryKeys() throws {
    let bench = try StoreBench(BenchModels.company)
    let ids = try bench.store.makeIdentifiers(for: [
      bench.entity("Person"), bench.entity("Manager"), bench.entity("Note"), bench.entity("Person"),
    ])
    #expect(ids.map(\.key.number) == [1, 2, 1, 3])
    #expect(
      try bench.table("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT")
        == [["Department", 0], ["Note", 1], ["Person", 3], ["Manager", 0], ["Project", 0]])
    try bench.connection.run("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT) VALUES (40, 2, 1)")
    #expect(try bench.store.makeIdentifiers(for: [bench.entity("Note")]).map(\.key.number) == [41])
  }

  @Test("A to-one relationship stands in its column, with the concrete entity beside it")
  func toOne() throws {
    let bench = try StoreBench(BenchModels.company)
    let boss = try bench.insert("Manager", ["name": .string("Eve")])
    let first = try bench.insert("Person", ["name": .string("Ada"), "boss": .toOne(boss.id)])
    let second = try bench.insert("Person", ["name": .string("Bob"), "boss": .toOne(boss.id)])
    #expect(
      try bench.table("SELECT ZBOSS, Z3_BOSS, Z_FOK_BOSS FROM ZPERSON ORDER BY Z_PK")
        == [[.null, .null, .null], [1, 4, 2048], [1, 4, 3072]])
    let row = try #require(try bench.read(first.id))
    guard case .toOne(let id)? = bench.slot("boss", of: row) else {
      Issue.record("The boss is not there.")
      return
    }
    #expect(id == boss.id && id.entity.name == "Manager")
    #expect(try bench.members("reports", of: boss.id) == [2, 3])

    let reordered = bench.change(
      .update, boss.id, old: boss, ["reports": StoreBench.many([second, first], ordered: true)])
    try bench.store.writeRows([reordered])
    #expect(try bench.members("reports", of: boss.id) == [3, 2])
    try bench.store.writeRows([bench.change(.update, first.id, old: row, ["boss": .null])])
    #expect(try bench.members("reports", of: boss.id) == [3])
    #expect(
      try bench.table("SELECT ZBOSS, Z3_BOSS, Z_FOK_BOSS FROM ZPERSON WHERE Z_PK = 2") == [[.null, .null, .null]])
  }

  @Test("A many-to-many relationship may be written from one side or both, and keeps its order")
  func manyToMany() throws {
    let bench = try StoreBench(BenchModels.company)
    let people = try ["Ada", "Bob", "Eve"].map { try bench.insert("Person", ["name": .string($0)]) }
    let id = try bench.store.makeIdentifiers(for: [bench.entity("Project")])[0]
    let project = bench.change(
      .insert, id, old: nil, ["members": StoreBench.many([people[2], people[0]], ordered: true)])
    let other = bench.change(
      .update, people[0].id, old: people[0], ["projects": .toMany(ToMany([id], isOrdered: false))])
    try bench.store.writeRows([project, other])
    #expect(try bench.members("members", of: id) == [3, 1])
    #expect(try bench.members("projects", of: people[0].id) == [1])
    #expect(
      try bench.table("SELECT Z_3MEMBERS, Z_5PROJECTS, Z_FOK_3MEMBERS FROM Z_3PROJECTS ORDER BY 3")
        == [[3, 1, 2048], [1, 1, 3072]])

    var old = try #require(try bench.read(id))
    old.slots[try #require(id.entity.slotTable.position(of: "members"))] =
      project.slots[
        try #require(id.entity.slotTable.position(of: "members"))]
    try bench.store.writeRows([
      bench.change(.update, id, old: old, ["members": StoreBench.many([people[1], people[2]], ordered: true)])
    ])
    #expect(try bench.members("members", of: id) == [2, 3])
    try bench.store.writeRows([bench.change(.delete, people[1].id, old: try bench.read(people[1].id))])
    #expect(try bench.table("SELECT Z_3MEMBERS FROM Z_3PROJECTS") == [[3]])
  }

  @Test("A relationship that is its own inverse stands in its table once")
  func reflexive() throws {
    let bench = try StoreBench(BenchModels.company)
    let (ada, bob) = (try bench.insert("Person"), try bench.insert("Person"))
    let changes = [
      bench.change(.update, ada.id, old: ada, ["friends": StoreBench.many([bob])]),
      bench.change(.update, bob.id, old: bob, ["friends": StoreBench.many([ada])]),
    ]
    try bench.store.writeRows(changes)
    #expect(try bench.table("SELECT COUNT(*) FROM Z_3FRIENDS") == [[1]])
    #expect(try bench.members("friends", of: ada.id) == [2])
    #expect(try bench.members("friends", of: bob.id) == [1])
    let old = RowSnapshot(id: bob.id, version: 2, slots: changes[1].slots)
    try bench.store.writeRows([bench.change(.update, bob.id, old: old, ["friends": StoreBench.many([])])])
    #expect(try bench.members("friends", of: ada.id) == [])
  }

  @Test("A to-many relationship without inverse is kept in the destination's table")
  func withoutInverse() throws {
    let bench = try StoreBench(BenchModels.company)
    let notes = try ["a", "b"].map { try bench.insert("Note", ["name": .string($0)]) }
    let ada = try bench.insert("Person", ["notes": StoreBench.many(notes)])
    #expect(try bench.table("SELECT Z3NOTES FROM ZNOTE") == [[1], [1]])
    #expect(try bench.members("notes", of: ada.id) == [1, 2])
    try bench.store.writeRows([bench.change(.update, ada.id, old: ada, ["notes": StoreBench.many([notes[1]])])])
    #expect(try bench.members("notes", of: ada.id) == [2])
    try bench.store.writeRows([bench.change(.delete, ada.id, old: try bench.read(ada.id))])
    #expect(try bench.table("SELECT Z3NOTES FROM ZNOTE") == [[.null], [.null]])
  }

  @Test("A value that is not of its type is an error that names the row")
  func damagedValue() throws {
    let bench = try StoreBench(BenchModels.types)
    let id = try bench.insert("Thing", ["token": .uuid(UUID())]).id
    try bench.connection.run("UPDATE ZTHING SET ZTOKEN = x'00'")
    let error = #expect(throws: NSError.self) { try bench.read(id) }
    #expect(error?.code == NSPersistentStoreOperationError)
    #expect(error?.localizedFailureReason == "The value in token of the row 1 in ZTHING cannot be read: it is X'00'.")
  }

  @Test("A row of no entity of its table is an error that names the row, unless the table has one entity only")
  func unknownEntityNumber() throws {
    let bench = try StoreBench(BenchModels.company)
    let note = try bench.insert("Note", ["name": .string("a")]).id
    let person = try bench.insert("Person", ["name": .string("Ada")]).id
    try bench.connection.run("UPDATE ZNOTE SET Z_ENT = 99")
    try bench.connection.run("UPDATE ZPERSON SET Z_ENT = 99")
    #expect(try bench.read(note)?.id.entity.name == "Note")
    let error = #expect(throws: NSError.self) { try bench.read(person) }
    #expect(error?.localizedFailureReason?.contains("its number is 99") == true)
  }
}
