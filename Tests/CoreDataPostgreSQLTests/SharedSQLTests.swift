// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient
@testable import CoreDataStoreFiles

/// The code that both engines run, on a server of PostgreSQL.
@Suite("SQL that both engines share, in PostgreSQL", .serialized, .needsPostgreSQL)
struct SharedSQLTests {
  private let store: SharedStore

  init() throws { store = try SharedStore() }

  @Test("Dates are split in SQL as in Swift, to the last bit")
  func dates() throws {
    var generator = SystemRandomNumberGenerator()
    var dates: [Double] = [
      0, -0.0, 1e-20, -1e-20, -0.0000005, -0.00000049, -0.0000009, 0.1, -0.1, 1e300, -1e300, .infinity, -.infinity,
      Date.distantPast.timeIntervalSinceReferenceDate, Date.distantFuture.timeIntervalSinceReferenceDate,
      9_223_339_708_799.999, 9_223_339_708_800, -211_845_110_400, -211_845_110_401, 1e13, 1e13 + 1,
      700_000_000.123_456_7,
    ]
    for exponent in -12...13 {
      for _ in 0..<8 { dates.append(Double.random(in: -1...1, using: &generator) * pow(10, Double(exponent))) }
    }
    let database = store.database
    try database.run("CREATE TEMP TABLE d (n bigint, v double precision)")
    for (number, date) in dates.enumerated() {
      try database.run("INSERT INTO d VALUES (?, ?)", [.integer(Int64(number)), .real(date)])
    }
    let rows = try database.rows(
      "SELECT CAST(\(StoredDate.timestamp(of: "v")) AS text), \(StoredDate.remainder(of: "v")), "
        + "('x' || encode(timestamptz_send(\(StoredDate.timestamp(of: "v"))), 'hex'))::bit(64)::bigint FROM d ORDER BY n"
    )
    try #require(rows.count == dates.count)
    for (row, date) in zip(rows, dates) {
      let expected = try #require(StoredDate(seconds: date))
      #expect(row[2].integer == expected.timestamp, "\(date)")
      #expect(row[1].real == expected.remainder, "\(date)")
      let back = StoredDate(timestamp: try #require(row[2].integer), remainder: row[1].real).seconds
      #expect(back == date)
    }
  }

  @Test("Relationships in join tables, with an order on both sides")
  func joinTables() throws {
    let (note, tag) = (try store.layout("Note"), try store.layout("Tag"))
    let notes = try (1...2).map { try store.insert("Note", key: $0) }
    let tags = try (1...4).map { try store.insert("Tag", key: $0) }
    let tagsOfNote = try #require(note.relationships["tags"])
    try store.write(notes[0], ["tags": .toMany(ToMany([tags[2], tags[0], tags[1]], isOrdered: true))], kind: .insert)
    try store.write(notes[1], ["tags": .toMany(ToMany([tags[0]], isOrdered: true))], kind: .insert)
    #expect(try store.members.members(of: tagsOfNote, primaryKey: 1) == [tags[2], tags[0], tags[1]])
    #expect(try store.members.members(of: #require(tag.relationships["notes"]), primaryKey: 1) == [notes[0], notes[1]])
    let before: [String: Slot] = ["tags": .toMany(ToMany([tags[2], tags[0], tags[1]], isOrdered: true))]
    try store.write(
      notes[0], ["tags": .toMany(ToMany([tags[3], tags[1], tags[2]], isOrdered: true))], kind: .update, before: before)
    #expect(
      try store.members.members(of: tagsOfNote, primaryKeys: [1, 2])
        == [1: [tags[3], tags[1], tags[2]], 2: [tags[0]]])
    try store.relationships.forget([1], note)
    #expect(try store.members.members(of: tagsOfNote, primaryKeys: [1, 2]) == [2: [tags[0]]])
  }

  @Test("A row comes last in the order of its new owner")
  func orderOfToOne() throws {
    let notes = try (1...4).map { try store.insert("Note", key: $0) }
    for child in [3, 2, 4] as [Int64] {
      try store.database.run("UPDATE znote SET zparent = 1 WHERE z_pk = ?", [.integer(child)])
      try store.write(notes[Int(child) - 1], ["parent": .toOne(notes[0])], kind: .update, before: ["parent": .null])
    }
    let children = try #require(try store.layout("Note").relationships["children"])
    #expect(try store.members.members(of: children, primaryKey: 1) == [notes[2], notes[1], notes[3]])
  }

  @Test("History keeps the changes, and the values of deleted rows")
  func history() throws {
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_78)
    let uuid = UUID()
    let history = StoreHistory(store.entities, .postgreSQL)
    try HistoryTables.make(in: store.database, tombstones: history.tombstoneCount)
    try HistoryTables.make(in: store.database, tombstones: history.tombstoneCount + 1)
    let note = try store.insert(
      "Note", key: 1,
      [
        "title": .string("Été '?"), "count": .integer(.max), "flag": .boolean(true), "price": .double(0.1),
        "amount": .object(NSDecimalNumber(string: "12345678901234567890.123456789")),
        "day": .date(date.timeIntervalSinceReferenceDate), "ident": .uuid(uuid), "bytes": .data(Data([0, 255, 1])),
      ])
    let others = try (2...3).map { try store.insert("Note", key: $0) }
    let table = note.entityDescription.slotTable
    let empty = RowSnapshot(id: note, version: 1, slots: table.defaults)
    let changes =
      others.map { RowChange(kind: .insert, id: $0, old: nil, slots: [], changed: SlotSet()) }
      + [RowChange(kind: .delete, id: note, old: empty)]
      + others.map {
        RowChange(
          kind: .update, id: $0, old: empty, slots: table.defaults,
          changed: SlotSet([table.position(of: "title")].compactMap { $0 }))
      }
    for _ in 0..<2 {
      try store.database.transaction {
        let writer = HistoryWriter(store.database, origin: HistoryOrigin(author: "me", process: "test"))
        try history.record(changes, with: writer)
        try writer.finish()
      }
    }
    var found: [(HistoryTransaction, [ObjectHistoryChange])] = []
    try history.read(.all, withChanges: true, in: store.database, of: store.store, external: nil) {
      found.append(($0, $1))
    }
    #expect(found.map(\.0.number) == [1, 2])
    #expect(found.map(\.0.origin.author) == ["me", "me"])
    let first = try #require(found.first?.1)
    #expect(first.map(\.stored.kind) == [.insert, .insert, .update, .update, .delete])
    #expect(first.map(\.id) == [others[0], others[1], others[0], others[1], note])
    #expect(first[2].properties?.map(\.name) == ["title"])
    let tombstone = try #require(first[4].tombstone)
    #expect(tombstone["title"] as? String == "Été '?")
    #expect(tombstone["count"] as? Int64 == .max)
    #expect(tombstone["flag"] as? Bool == true)
    #expect(tombstone["price"] as? Double == 0.1)
    #expect((tombstone["amount"] as? NSDecimalNumber)?.stringValue == "12345678901234567890.123456789")
    #expect(tombstone["day"] as? Date == date)
    #expect(tombstone["ident"] as? UUID == uuid)
    #expect(tombstone["bytes"] as? Data == Data([0, 255, 1]))
    #expect(try StoreHistory.delete(before: .number(2), in: store.database) == 1)
    #expect(try HistoryReader(store.database).isGap(after: 0))
    #expect(try StoreHistory.delete(before: .number(.max), in: store.database) == 1)
    #expect(try HistoryReader(store.database).lastNumber() == 2)
  }

  @Test("A transaction that records history waits for others, and numbers follow commits")
  func historyNumbers() throws {
    try HistoryTables.make(in: store.database, tombstones: 0)
    let other = try store.connect()
    try store.database.run("BEGIN")
    let writer = HistoryWriter(store.database, origin: HistoryOrigin())
    try writer.record(.insert, entity: 1, key: 1)
    try other.run("SET lock_timeout = '200ms'")
    #expect(throws: PostgreSQLError.self) {
      try other.transaction { try HistoryWriter(other, origin: HistoryOrigin()).record(.insert, entity: 1, key: 2) }
    }
    try writer.finish()
    try store.database.run("COMMIT")
    try store.database.flush()
    try other.transaction {
      let next = HistoryWriter(other, origin: HistoryOrigin())
      try next.record(.insert, entity: 1, key: 2)
      try next.finish()
      #expect(next.transaction == 2)
    }
  }

  @Test("Batch updates set constants of all types")
  func constants() throws {
    let ids = try (1...3).map { try store.insert("Note", key: $0) }
    let tag = try store.insert("Tag", key: 3)
    let uuid = UUID()
    let values: [AnyHashable: Any] = [
      "count": 7, "flag": true, "price": 2.5, "amount": NSDecimalNumber(string: "0.1000000000000000000001"),
      "day": Date(timeIntervalSinceReferenceDate: -0.1), "ident": uuid, "bytes": Data([9]), "ratio": Float(0.1),
      "main": tag,
    ]
    try store.batch { run in
      let rows = try run.rows()
      try rows.add(.identifiers([ids[0], ids[1]]))
      try BatchUpdate(run, store.entity("Note"), values).perform(rows)
      #expect(try rows.count() == 2)
      #expect(try rows.identifiers() == [ids[0], ids[1]])
    }
    let row = try #require(
      try store.database.rows(
        "SELECT zcount, zcount, zflag, zprice, CAST(zamount AS text), CAST(zident AS text), zbytes, zratio, zmain, "
          + "CAST(zday AS text), zday_sub, z_opt FROM znote WHERE z_pk = 2"
      ).first)
    let date = try #require(StoredDate(seconds: -0.1))
    #expect(row[1] == 7)
    #expect(row[2] == 1)
    #expect(row[3] == 2.5)
    #expect(row[4] == "0.1000000000000000000001")
    #expect(row[5].text == uuid.uuidString.lowercased())
    #expect(row[6].blob == Data([9]))
    #expect(row[7].real.map { Float($0) } == 0.1)
    #expect(row[8] == 3)
    #expect(row[9] == "2000-12-31 23:59:59.9+00")
    #expect(row[10].real == date.remainder)
    #expect(row[11] == 2)
    #expect(try store.database.scalar("SELECT z_opt FROM znote WHERE z_pk = 3") == 1)
  }

  @Test("Batch updates compute values in SQL, or in memory")
  func expressions() throws {
    let ids = try (1...3).map {
      try store.insert("Note", key: $0, ["count": .integer($0), "price": .double(-2.7), "day": .date(Double($0) / 3)])
    }
    try store.batch { run in
      let rows = try run.rows()
      try rows.add(.identifiers(ids))
      try BatchUpdate(
        run, store.entity("Note"),
        [
          "count": NSExpression(format: "count * 10"), "day": NSExpression(format: "other"),
          "other": NSExpression(format: "day"), "price": NSExpression(format: "count + 0.5"),
        ]
      ).perform(rows)
    }
    let rows = try store.database.rows(
      "SELECT zcount, zprice, zday, CAST((extract(epoch FROM zother) - 978307200) * 1000000 AS bigint), zother_sub "
        + "FROM znote ORDER BY z_pk")
    for (row, number) in zip(rows, 1...3) {
      #expect(row[0].integer == Int64(number * 10))
      #expect(row[1].real == Double(number) + 0.5)
      #expect(row[2].isNull)
      let date = try #require(StoredDate(seconds: Double(number) / 3))
      #expect(row[3].integer == date.microseconds)
      #expect(row[4].real == date.remainder)
    }
    #expect(rows.count == 3)
    try store.database.run("UPDATE znote SET zprice = -2.7")
    try store.batch { run in
      let rows = try run.rows()
      try rows.add(.identifiers(ids))
      try BatchUpdate(run, store.entity("Note"), ["count": NSExpression(format: "price")]).perform(rows)
    }
    #expect(try store.database.rows("SELECT DISTINCT zcount FROM znote").map { $0[0].integer } == [-2])
  }

  @Test("Batch updates find rows by predicates")
  func predicates() throws {
    for key in 1...3 as ClosedRange<Int64> {
      try store.insert("Note", key: key, ["count": .integer(key), "day": .date(Double(key) + 0.000_000_1)])
    }
    var query = RowQuery(entity: try store.entity("Note"), includesSubentities: true)
    query.predicate = try PredicateSyntax(
      NSPredicate(format: "day > %@ AND count < 3", Date(timeIntervalSinceReferenceDate: 1.000_000_1) as NSDate))
    try store.batch { run in
      let rows = try run.rows()
      try rows.add(.query(query))
      #expect(try rows.count() == 1)
      try BatchUpdate(run, store.entity("Note"), ["flag": true]).perform(rows)
    }
    #expect(try store.database.rows("SELECT z_pk FROM znote WHERE zflag").map { $0[0].integer } == [2])
  }

  @Test("Batch deletions follow the rules of relationships")
  func deletions() throws {
    let notes = try (1...4).map { try store.insert("Note", key: $0) }
    let tag = try store.insert("Tag", key: 1)
    try store.database.run("UPDATE znote SET zparent = 1 WHERE z_pk IN (2, 3)")
    try store.database.run("UPDATE znote SET zparent = 4 WHERE z_pk = 1")
    try store.write(notes[1], ["tags": .toMany(ToMany([tag], isOrdered: true))], kind: .insert)
    let history = StoreHistory(store.entities, .postgreSQL)
    try HistoryTables.make(in: store.database, tombstones: history.tombstoneCount)
    try store.batch(history) { run in
      let rows = try run.rows()
      try rows.add(.identifiers([notes[0]]))
      try BatchDelete(run).perform(rows)
      // The children go too.
      #expect(try rows.count() == 3)
    }
    #expect(try store.database.rows("SELECT z_pk FROM znote").map { $0[0] } == [4])
    #expect(
      try store.members.members(of: #require(try store.layout("Tag").relationships["notes"]), primaryKey: 1) == [])
    #expect(try store.database.scalar("SELECT COUNT(*) FROM achange WHERE zchangetype = 2") == 3)
  }

  @Test("Batch insertions merge with rows that have the same unique values", arguments: [1, 2])
  func insertions(constraints: Int) throws {
    let store = try SharedStore(constraints: constraints)
    try store.insert("Note", key: 1, ["title": .string("a"), "count": .integer(1)])
    let history = StoreHistory(store.entities, .postgreSQL)
    try HistoryTables.make(in: store.database, tombstones: history.tombstoneCount)
    try store.batch(history) { run in
      let insertion = try BatchInsert(
        run, store.entity("Note"), policy: .mergeByPropertyObjectTrumpMergePolicyType, keepsIdentifiers: true)
      let given: [(String?, Int)] = [
        ("b", 2), ("a", 10), (nil, 3), ("b", 20), (nil, 3), ("c", 4), ("a", 11), ("b", 21),
      ]
      for (title, count) in given {
        var values: [String: Any] = ["count": count]
        values["title"] = title
        try insertion.insert(insertion.values(values))
      }
      try insertion.finish()
      #expect(insertion.count == 8)
    }
    let rows = try store.database.rows("SELECT ztitle, zcount, z_opt FROM znote ORDER BY z_pk")
    #expect(rows.map { $0[0].text } == ["a", "b", nil, nil, "c"])
    #expect(rows.map { $0[1].integer } == [11, 21, 3, 3, 4])
    #expect(rows.map { $0[2].integer } == [3, 3, 1, 1, 1])
    let kinds = try store.database.rows("SELECT zentitypk, zchangetype FROM achange ORDER BY z_pk")
    #expect(kinds.filter { $0[0] == 1 }.map { $0[1].integer } == [1, 1])
    #expect(kinds.count { $0[1] == 0 } == 4)
    // A row is recorded as inserted before it is recorded as updated.
    #expect(kinds.filter { $0[0] == 2 }.map { $0[1].integer } == [0, 1, 1])
  }
}

/// A store in a schema of its own, made of the parts that shared code needs.
private final class SharedStore {
  let database: PostgreSQLDatabase
  let entities: StoredEntities
  let plans: RowPlans
  let store: NSPersistentStore
  private let model: NSManagedObjectModel
  private let coordinator: NSPersistentStoreCoordinator
  private let address: PostgreSQLAddress

  init(constraints: Int = 1) throws {
    address = try PostgreSQLAddress(TestServer.shared.schemaURL())
    var builder = ModelBuilder()
    let kept = [
      NSAttributeDescription.make("title", .stringAttributeType), .make("count", .integer64AttributeType),
      .make("flag", .booleanAttributeType), .make("price", .doubleAttributeType), .make("ratio", .floatAttributeType),
      .make("amount", .decimalAttributeType), .make("day", .dateAttributeType), .make("other", .dateAttributeType),
      .make("ident", .UUIDAttributeType), .make("bytes", .binaryDataAttributeType),
    ]
    for attribute in kept { attribute.preservesValueInHistoryOnDeletion = true }
    let note = builder.entity("Note", kept)
    note.uniquenessConstraints = constraints == 1 ? [["title"]] : [["title"], ["ident"]]
    builder.entity("Tag", [.make("name", .stringAttributeType)])
    builder.relate(
      RelationshipEnd("Note", "tags", toMany: true, ordered: true),
      RelationshipEnd("Tag", "notes", toMany: true, ordered: true))
    builder.relate(
      RelationshipEnd("Note", "children", toMany: true, ordered: true, rule: .cascadeDeleteRule),
      RelationshipEnd("Note", "parent"))
    builder.relate(RelationshipEnd("Note", "main"), RelationshipEnd("Tag", "mains", toMany: true))
    model = builder.model()
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    store = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let schema = try StoreSchema(document: model.document, dialect: .postgreSQL)
    entities = StoredEntities(schema: schema, model: model, store: store)
    plans = RowPlans(entities: entities)
    database = try Self.connect(address)
    try database.run("CREATE SCHEMA \(address.schema)")
    for statement in PostgreSQLDefinitions(schema).creationStatements { try database.run(statement.sql) }
  }

  /// Opens another connection to the store.
  func connect() throws -> PostgreSQLDatabase { try Self.connect(address) }

  private static func connect(_ address: PostgreSQLAddress) throws -> PostgreSQLDatabase {
    PostgreSQLDatabase(try PostgreSQLConnection(address, applicationName: "tests"), schema: address.schema)
  }

  var members: MemberReader { MemberReader(database: database, entities: entities) }
  var relationships: RelationshipWriter {
    RelationshipWriter(database: database, entities: entities, plans: plans)
  }

  func layout(_ name: String) throws -> EntityLayout { try #require(entities.schema[name]) }

  func entity(_ name: String) throws -> NSEntityDescription { try #require(model.entitiesByName[name]) }

  /// Inserts a row.
  @discardableResult
  func insert(_ name: String, key: Int64, _ slots: [String: Slot] = [:]) throws -> NSManagedObjectID {
    let layout = try layout(name)
    let description = try entity(name)
    try insert(layout, description, key, slots)
    return try #require(entities.id(entity: layout.number, primaryKey: key))
  }

  fileprivate func insert(
    _ layout: EntityLayout, _ description: NSEntityDescription, _ key: Int64, _ slots: [String: Slot]
  ) throws {
    var columns = ["z_pk", "z_ent", "z_opt"]
    var values: [BoundSQL] = ["\(value: .integer(key))", "\(value: .integer(Int64(layout.number)))", "1"]
    for (name, slot) in slots {
      let attribute = try #require(layout.attributes[name])
      let found = try ColumnValues(entities: entities, external: nil)
        .columns(of: slot, attribute, description: description.attributesByName[name], in: layout, row: key)
      columns += found.map(\.name)
      values += found.map(\.sql)
    }
    let list = values.joined(", ")
    try database.run(
      "INSERT INTO \(layout.table) (\(columns.joined(separator: ", "))) VALUES (\(list.sql))", list.values)
  }

  /// Writes what a change stores outside its row.
  func write(
    _ id: NSManagedObjectID, _ slots: [String: Slot], kind: RowChange.Kind, before: [String: Slot] = [:]
  ) throws {
    let table = id.entityDescription.slotTable
    func all(_ values: [String: Slot]) throws -> [Slot] {
      var list = table.defaults
      for (name, slot) in values { list[try #require(table.position(of: name))] = slot }
      return list
    }
    let old = kind == .insert ? nil : RowSnapshot(id: id, version: 1, slots: try all(before))
    let changed = SlotSet(slots.keys.compactMap { table.position(of: $0) })
    try relationships.writeRelationships([
      RowChange(kind: kind, id: id, old: old, slots: try all(slots), changed: changed)
    ])
  }

  func batch(_ history: StoreHistory? = nil, _ body: (BatchRun) throws -> Void) throws {
    try database.transaction {
      let run = BatchRun(
        database: database, entities: entities, plans: plans, engine: SharedEngine(self), history: history,
        derivations: Derivations(model), origin: HistoryOrigin())
      try body(run)
      try run.finish()
    }
  }
}

/// Rows for batch requests, by SQL alone.
private final class SharedEngine: BatchEngine {
  private let store: SharedStore

  init(_ store: SharedStore) { self.store = store }

  var external: ExternalData? { nil }

  func forEachRow(_ keys: [Int64], of entity: EntityLayout, _ body: (Int64, RowSnapshot) throws -> Void) throws {
    for key in keys {
      guard let id = store.entities.id(entity: entity.number, primaryKey: key) else { continue }
      let table = id.entityDescription.slotTable
      var slots = table.defaults
      let plain = try store.database.rows("SELECT zcount, zprice FROM \(entity.table) WHERE z_pk = ?", [.integer(key)])
      if let row = plain.first {
        slots[try #require(table.position(of: "count"))] = row[0].integer.map { .integer($0) } ?? .null
        slots[try #require(table.position(of: "price"))] = row[1].real.map { .double($0) } ?? .null
      }
      for name in ["day", "other"] {
        let sql =
          "SELECT ('x' || encode(timestamptz_send(z\(name)), 'hex'))::bit(64)::bigint, z\(name)_sub "
          + "FROM \(entity.table) WHERE z_pk = ?"
        guard let row = try store.database.rows(sql, [.integer(key)]).first, let timestamp = row[0].integer else {
          continue
        }
        let date = StoredDate(timestamp: timestamp, remainder: row[1].real)
        slots[try #require(table.position(of: name))] = .date(date.seconds)
      }
      try body(key, RowSnapshot(id: id, version: 1, slots: slots))
    }
  }

  func insertion(of plan: RowPlan) throws -> any BatchRowInsertion { SharedInsertion(store, plan) }

  /// Nobody else writes.
  func excludeWriters(of tables: [String]) {}
}

/// Keeps rows back until they are needed, as COPY does.
private final class SharedInsertion: BatchRowInsertion {
  private let store: SharedStore
  private let plan: RowPlan
  private var key: Int64 = 100
  private var waiting: [(key: Int64, slots: [String: Slot])] = []

  init(_ store: SharedStore, _ plan: RowPlan) { (self.store, self.plan) = (store, plan) }

  var findsDuplicates: Bool { false }

  func isNotUnique(_ error: any Error) -> Bool { false }

  func nextKey() throws -> Int64 {
    // The second row has the key 2.
    key = key == 100 ? 2 : key + 1
    return key
  }

  func insert(_ slots: [Slot], at positions: SlotSet, key: Int64) throws {
    let names = plan.entity.slotTable.names
    waiting.append((key, Dictionary(uniqueKeysWithValues: positions.map { (names[$0], slots[$0]) })))
  }

  func update(_ change: RowChange, from version: Int64) throws {
    try flush()
    let names = plan.entity.slotTable.names
    var assignments: [BoundSQL] = ["z_opt = \(value: .integer(version + 1))"]
    for position in change.changed {
      let attribute = try #require(plan.layout.attributes[names[position]])
      let values = ColumnValues(entities: store.entities, external: nil)
      assignments += try values.columns(
        of: change.slots[position], attribute, description: nil, in: plan.layout, row: 0
      ).map(\.assignment)
    }
    let list = assignments.joined(", ")
    let count = try store.database.change(
      "UPDATE \(plan.layout.table) SET \(list.sql) WHERE z_pk = ? AND z_opt = ?",
      list.values + [.integer(change.id.key.number), .integer(version)])
    #expect(count == 1)
  }

  func flush() throws {
    for (key, slots) in waiting { try store.insert(plan.layout, plan.entity, key, slots) }
    waiting = []
  }

  func finish() throws { try flush() }
}
