// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Stores that carry more than Core Data's tables")
struct ForeignSchemaTests {
  private static let bodies = [
    "DELETE FROM ZNOTE WHERE Z_PK % 2 = 0", "UPDATE ZNOTE SET ZTITLE = 'pwned', ZBODY = 'pwned'",
    "UPDATE Z_METADATA SET Z_UUID = 'pwned'", "SELECT RAISE(IGNORE)", "SELECT RAISE(ABORT, 'pwned')",
  ]

  private func sample(_ sql: String = "") throws -> (store: TemporaryStore, content: [String]) {
    let store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 12, photos: 0)
    let content = try RecoverySample.content(store.url)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.execute(sql)
    try connection.setJournalMode(.delete)
    try connection.close()
    return (store, content)
  }

  @Test(
    "No trigger that a store carries runs while it is migrated",
    arguments: ["ZNOTE", "ZFOLDER", "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"], ["INSERT", "UPDATE", "DELETE"])
  func triggers(table: String, event: String) throws {
    // Half of them, the others for the next event; with `make torture` all.
    let position = ["INSERT", "UPDATE", "DELETE"].firstIndex(of: event) ?? 0
    for (number, time) in ["BEFORE", "AFTER"].enumerated() {
      for (place, body) in Self.bodies.enumerated() where TortureSize.isFull || (number + place + position) % 2 == 0 {
        let (store, content) = try sample("CREATE TRIGGER t \(time) \(event) ON \(table) BEGIN \(body); END")
        try RecoverySample.migration(store.url, [(2, .inferred), (3, .inferred), (4, .inferred)]).run()
        #expect(try RecoverySample.content(store.url) == content, "\(time) \(body)")
        let metadata = try SQLiteStore.metadataForPersistentStore(with: store.url)
        #expect(UUID(uuidString: metadata[NSStoreUUIDKey] as? String ?? "") != nil)
      }
    }
  }

  @Test("No trigger that a store carries runs while rows are saved", arguments: Self.bodies)
  func saving(body: String) throws {
    let events = ["INSERT", "UPDATE", "DELETE"]
    let (store, content) = try sample(
      events.map { "CREATE TRIGGER t\($0) BEFORE \($0) ON ZNOTE BEGIN \(body); END" }.joined(separator: ";"))
    let context = try store.context(RecoverySample.model(1))
    let note = context.make("Note", ["title": "new"])
    try context.save()
    note["title"] = "changed"
    try context.save()
    context.delete(note)
    try context.save()
    try store.close()
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("Triggers of derived attributes, as Core Data writes them, do not count what the context has counted")
  func derivedAttributes() throws {
    let store = try TemporaryStore()
    let first = try store.context(DerivedAttributeTests.model())
    first.make("Author", ["name": "Ada"])
    try first.save()
    try store.close()
    let file = try SQLiteConnection(path: store.url.path, mode: .readWrite)
    let (name, done) = (
      "Z_DA_ZBOOK_Author_bookCount_PARAMETER",
      "SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZAUTHOR', Z_ENT, Z_PK, 'bookCount', ZBOOKCOUNT) FROM ZAUTHOR"
    )
    for (suffix, event, row, change) in [
      ("INSERT", "INSERT", "NEW", "IFNULL(ZBOOKCOUNT, 0) + 1"), ("DELETE", "DELETE", "OLD", "ZBOOKCOUNT - 1"),
      ("UPDATE_INCREMENT", "UPDATE OF ZAUTHOR", "NEW", "IFNULL(ZBOOKCOUNT, 0) + 1"),
      ("UPDATE_DECREMENT", "UPDATE OF ZAUTHOR", "OLD", "ZBOOKCOUNT - 1"),
    ] {
      try file.run(
        "CREATE TRIGGER \(name)_\(suffix) AFTER \(event) ON ZBOOK FOR EACH ROW WHEN (\(row).ZAUTHOR NOT NULL) BEGIN "
          + "UPDATE ZAUTHOR SET ZBOOKCOUNT = \(change) WHERE Z_PK = \(row).ZAUTHOR; "
          + "\(done) WHERE Z_PK = \(row).ZAUTHOR; END")
    }
    try file.close()
    let context = try store.context(DerivedAttributeTests.model())
    let ada = try #require(try context.all("Author").first)
    let books = (0..<3).map { context.make("Book", ["author": ada, "pages": $0]) }
    try context.save()
    context.delete(books[0])
    try context.save()
    try store.close()
    let read = try #require(try store.context(DerivedAttributeTests.model()).all("Author").first)
    #expect(read["bookCount"] as? Int == 2)
    let catalog = try SQLiteConnection(url: store.url, mode: .readOnly).catalog()
    #expect(catalog.triggers.filter { $0.name.hasPrefix(name) }.count == 4, "they stay for Apple's framework")
  }

  private static func replacingNotes(_ change: (String) -> String) -> String {
    let columns = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER", "ZFOLDER INTEGER", "ZTITLE VARCHAR"]
    let definition = (columns + ["ZBODY VARCHAR", "ZPHOTO BLOB"]).map(change).joined(separator: ", ")
    return "ALTER TABLE ZNOTE RENAME TO OLD; CREATE TABLE ZNOTE (\(definition)); "
  }

  @Test(
    "Tables that compute values or let rows vanish are refused, with the table and what is wrong with it",
    arguments: [
      (Self.replacingNotes { $0 == "ZTITLE VARCHAR" ? "ZTITLE AS (hex(zeroblob(400000000)))" : $0 }, "column ZTITLE"),
      (Self.replacingNotes { $0 == "Z_OPT INTEGER" ? "Z_OPT NOT NULL ON CONFLICT IGNORE" : $0 }, "ON CONFLICT"),
      ("DROP TABLE ZNOTE; CREATE VIRTUAL TABLE ZNOTE USING rtree(Z_PK, ZA, ZB)", "virtual table"),
    ])
  func tables(sql: String, found: String) throws {
    let (store, _) = try sample(sql)
    let bytes = try Data(contentsOf: store.url)
    for options: [AnyHashable: Any] in [[NSReadOnlyPersistentStoreOption: true], [:]] {
      let error = #expect(throws: NSError.self) { _ = try store.context(RecoverySample.model(1), options: options) }
      #expect(error?.code == NSPersistentStoreIncompatibleSchemaError)
      #expect(error?.localizedFailureReason?.contains("table ZNOTE") == true)
      #expect(error?.localizedFailureReason?.contains(found) == true, "\(String(describing: error))")
    }
    let error = #expect(throws: NSError.self) {
      try RecoverySample.migration(store.url, [(2, .inferred)]).run()
    }
    #expect(error?.code == NSPersistentStoreIncompatibleSchemaError)
    // The settings of an opened store change its journal mode, and with it two bytes of the header and the counters.
    #expect(try Data(contentsOf: store.url).count == bytes.count)
    #expect(
      try SQLiteConnection(url: store.url, mode: .readOnly).catalog().table(named: "ZNOTE")?.unsupportedFeature != nil)
  }

  @Test("An index that hides rows hides none from a migration", arguments: [2, 4])
  func lyingIndex(version: Int) throws {
    let condition = " WHERE Z_PK < 3"
    let (store, content) = try sample("CREATE INDEX Z_LIAR ON ZNOTE(Z_ENT)\(condition)")
    try StoreDamage.replace(condition, with: String(repeating: " ", count: condition.utf8.count), in: store.url)
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    #expect(try connection.scalar("SELECT COUNT(*) FROM ZNOTE") == 2)
    try connection.close()
    let way: [(to: Int, kind: StoreMigration.Step.Kind)] =
      version == 2 ? [(2, .mapping)] : [(2, .inferred), (3, .inferred), (4, .inferred)]
    let report = try RecoverySample.migration(store.url, way).run()
    #expect(report.rows["Note"]?.before == 12 && report.rows["Note"]?.after == 12)
    #expect(try RecoverySample.content(store.url) == content)
  }
}
