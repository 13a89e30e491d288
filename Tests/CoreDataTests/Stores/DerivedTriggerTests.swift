// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A program that writes a store as Apple's framework does: with the triggers, and with functions that they notify.
private final class TriggeringProgram {
  private var connection: OpaquePointer?
  /// The arguments of the functions, in the order of the calls.
  private(set) var notified: [String] = []

  init(_ url: URL) throws {
    try #require(sqlite3_open(url.path, &connection) == SQLITE_OK)
    for name in [
      "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
    ] {
      let this = Unmanaged.passUnretained(self).toOpaque()
      sqlite3_create_function_v2(
        connection, name, 5, SQLITE_UTF8 | SQLITE_INNOCUOUS, this,
        { context, count, values in
          let program = Unmanaged<TriggeringProgram>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
          let texts = (0..<Int(count)).map { position in
            sqlite3_value_text(values?[position]).map { String(cString: $0) } ?? "NULL"
          }
          program.notified.append(texts.joined(separator: " "))
          sqlite3_result_null(context)
        }, nil, nil, nil)
    }
  }

  func run(_ sql: String) {
    var message: UnsafeMutablePointer<CChar>?
    let code = sqlite3_exec(connection, sql, nil, nil, &message)
    #expect(code == SQLITE_OK, "\(message.map { String(cString: $0) } ?? "") in \(sql)")
    sqlite3_free(message)
  }

  func takeNotified() -> [String] {
    defer { notified = [] }
    return notified
  }

  func close() { sqlite3_close(connection) }
}

@Suite("Triggers of derived attributes")
struct DerivedTriggerTests {
  private static func model(
    count: String? = "bookCount", format: String = "books.@count", isOrdered: Bool = false, subentity: String? = nil,
    _ extra: [NSAttributeDescription] = []
  ) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Author",
      [.make("name", .stringAttributeType)] + (count.map { [.derived($0, .integer32AttributeType, format)] } ?? [])
        + extra)
    builder.entity("Book", [.make("title", .stringAttributeType)])
    if let subentity { builder.entity("Special", parent: subentity) }
    builder.relate(.init("Author", "books", toMany: true, ordered: isOrdered), .init("Book", "author"))
    return builder.model()
  }

  /// Books with the names of their authors; both are roots of hierarchies.
  private static func named(of entity: String = "Book") -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Author", [.make("name", .stringAttributeType)])
    builder.entity("Poet", parent: "Author")
    let name = NSAttributeDescription.derived("authorName", .stringAttributeType, "author.name")
    builder.entity("Book", [.make("title", .stringAttributeType)] + (entity == "Book" ? [name] : []))
    builder.entity("Comic", parent: "Book", entity == "Comic" ? [name] : [])
    builder.relate(.init("Author", "books", toMany: true), .init("Book", "author"))
    return builder.model()
  }

  private func triggers(_ url: URL) throws -> [DatabaseCatalog.Trigger] {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    defer { try? connection.close() }  // Nothing was written.
    return try connection.catalog().triggers.sorted { $0.name < $1.name }
  }

  @Test("A new store has Core Data's triggers, word for word", arguments: ["books.@count", "count:(books)"])
  func text(format: String) throws {
    let store = try TemporaryStore()
    _ = try store.context(Self.model(format: format))
    try store.close()
    let name = "Z_DA_ZBOOK_Author_bookCount_PARAMETER"
    func trigger(_ suffix: String, _ event: String, _ row: String, _ value: String) -> String {
      "CREATE TRIGGER \(name)_\(suffix) AFTER \(event) ON ZBOOK FOR EACH ROW WHEN (\(row).ZAUTHOR NOT NULL) BEGIN "
        + "UPDATE ZAUTHOR SET ZBOOKCOUNT = \(value) WHERE Z_PK = \(row).ZAUTHOR; "
        + "SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZAUTHOR', Z_ENT, Z_PK, 'bookCount', ZBOOKCOUNT) "
        + "FROM ZAUTHOR WHERE Z_PK = \(row).ZAUTHOR; END"
    }
    let wanted = [
      "CREATE TRIGGER Z_DA_ZAUTHOR_Author_bookCount_SOURCE_INSERT AFTER INSERT ON ZAUTHOR FOR EACH ROW BEGIN "
        + "UPDATE ZAUTHOR SET ZBOOKCOUNT = (SELECT IFNULL(COUNT(ZAUTHOR), 0) FROM ZBOOK WHERE ZAUTHOR = NEW.Z_PK) "
        + "WHERE Z_PK = NEW.Z_PK; "
        + "SELECT NSCoreDataDATriggerInsertUpdatedAffectedObjectValue('ZAUTHOR', Z_ENT, Z_PK, 'bookCount', ZBOOKCOUNT) "
        + "FROM ZAUTHOR WHERE Z_PK = NEW.Z_PK; END",
      trigger("DELETE", "DELETE", "OLD", "ZBOOKCOUNT - 1"),
      trigger("INSERT", "INSERT", "NEW", "IFNULL(ZBOOKCOUNT, 0) + 1"),
      trigger("UPDATE_DECREMENT", "UPDATE OF ZAUTHOR", "OLD", "ZBOOKCOUNT - 1"),
      trigger("UPDATE_INCREMENT", "UPDATE OF ZAUTHOR", "NEW", "ZBOOKCOUNT + 1"),
    ]
    #expect(try triggers(store.url).map(\.sql) == wanted)
  }

  @Test("A new store has Core Data's triggers of a to-one key path, word for word, in hierarchies too")
  func keyPathText() throws {
    let store = try TemporaryStore()
    _ = try store.context(Self.named())
    try store.close()
    let function = "SELECT NSCoreDataDATrigger"
    let value = "AffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'authorName', ZAUTHORNAME) FROM ZBOOK WHERE"
    let own =
      "FOR EACH ROW BEGIN UPDATE ZBOOK SET ZAUTHORNAME = (SELECT ZNAME FROM ZAUTHOR WHERE Z_PK = NEW.ZAUTHOR) "
      + "WHERE Z_PK = NEW.Z_PK; "
    let theirs = "FOR EACH ROW BEGIN UPDATE ZBOOK SET ZAUTHORNAME = NEW.ZNAME WHERE ZAUTHOR = NEW.Z_PK; "
    let wanted = [
      "CREATE TRIGGER Z_DA_ZAUTHOR_Book_authorName_PARAMETER_INSERT AFTER INSERT ON ZAUTHOR \(theirs)"
        + "\(function)InsertUpdated\(value) ZAUTHOR = NEW.Z_PK; END",
      "CREATE TRIGGER Z_DA_ZAUTHOR_Book_authorName_PARAMETER_UPDATE AFTER UPDATE OF ZNAME ON ZAUTHOR \(theirs)"
        + "\(function)Updated\(value) ZAUTHOR = NEW.Z_PK; END",
      "CREATE TRIGGER Z_DA_ZBOOK_Book_authorName_SOURCE_INSERT AFTER INSERT ON ZBOOK \(own)"
        + "\(function)InsertUpdated\(value) Z_PK = NEW.Z_PK; END",
      "CREATE TRIGGER Z_DA_ZBOOK_Book_authorName_SOURCE_UPDATE AFTER UPDATE OF ZAUTHOR ON ZBOOK \(own)"
        + "\(function)Updated\(value) Z_PK = NEW.Z_PK; END",
    ]
    #expect(try triggers(store.url).map(\.sql) == wanted)
  }

  @Test("Programs with and without the triggers of a key path write a store in turn, and its values are right")
  func keyPathBothSides() throws {
    let store = try TemporaryStore()
    func change(_ body: (NSManagedObjectContext) throws -> Void) throws -> [String?] {
      let context = try store.context(Self.named())
      try body(context)
      try context.save()
      context.reset()
      let books = try context.all("Book", by: "title")
      let names = books.map { $0["authorName"] as? String }
      #expect(books.map { ($0["author"] as? NSManagedObject)?["name"] as? String } == names)
      try store.close()
      return names
    }
    let first = try change { context in
      let ada = context.make("Poet", ["name": "Ada"])
      context.make("Author", ["name": "Bob"])
      context.make("Book", ["title": "a", "author": ada])
      context.make("Comic", ["title": "b"])
    }
    #expect(first == ["Ada", nil])
    let program = try TriggeringProgram(store.url)
    program.run("UPDATE ZAUTHOR SET ZNAME = 'Eve' WHERE ZNAME = 'Ada'")
    #expect(program.takeNotified().map { $0.hasSuffix("authorName Eve") } == [true])
    program.run("UPDATE ZBOOK SET ZAUTHOR = (SELECT Z_PK FROM ZAUTHOR WHERE ZNAME = 'Bob') WHERE ZTITLE = 'b'")
    #expect(program.takeNotified().map { $0.hasSuffix("authorName Bob") } == [true])
    program.run(
      "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZTITLE) "
        + "SELECT 3, Z_ENT, 1, ZAUTHOR, 'c' FROM ZBOOK WHERE ZTITLE = 'a'")
    #expect(program.takeNotified().map { $0.hasSuffix("authorName Eve") } == [true])
    program.run("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Book'")
    program.close()
    #expect(try change { _ in } == ["Eve", "Bob", "Eve"])
    let second = try change { context in
      for author in try context.all("Author") where author["name"] as? String == "Eve" { author["name"] = "Zoe" }
    }
    #expect(second == ["Zoe", "Bob", "Zoe"])
    try StoreChecks.check(store.url, Self.named())
  }

  @Test("Programs with and without the triggers write a store in turn, and its counts are right")
  func bothSides() throws {
    let store = try TemporaryStore()
    func change(_ body: (NSManagedObjectContext, [NSManagedObject]) throws -> Void) throws -> [Int?] {
      let context = try store.context(Self.model())
      try body(context, try context.all("Author"))
      try context.save()
      context.reset()
      let counts = try context.all("Author").map { $0["bookCount"] as? Int }
      #expect(try context.all("Author").map { ($0["books"] as? NSSet)?.count } == counts)
      try store.close()
      return counts
    }
    let first = try change { context, _ in
      let ada = context.make("Author", ["name": "Ada"])
      context.make("Author", ["name": "Bob"])
      for title in ["a", "b", "c"] { context.make("Book", ["title": title, "author": ada]) }
    }
    #expect(first == [3, 0])
    let program = try TriggeringProgram(store.url)
    program.run("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZTITLE) VALUES (4, 2, 1, 2, 'd')")
    #expect(program.takeNotified() == ["ZAUTHOR 1 2 bookCount 1"])
    program.run("UPDATE ZBOOK SET ZAUTHOR = 2 WHERE ZTITLE = 'a'")
    #expect(program.takeNotified().sorted() == ["ZAUTHOR 1 1 bookCount 2", "ZAUTHOR 1 2 bookCount 2"])
    program.run("DELETE FROM ZBOOK WHERE ZTITLE = 'b'")
    #expect(program.takeNotified() == ["ZAUTHOR 1 1 bookCount 1"])
    program.run("INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (3, 1, 1, 'Eve')")
    #expect(program.takeNotified() == ["ZAUTHOR 1 3 bookCount 0"])
    program.run("UPDATE ZBOOK SET ZAUTHOR = NULL WHERE ZTITLE = 'd'")
    program.run("UPDATE Z_PRIMARYKEY SET Z_MAX = 4")
    program.close()
    #expect(try change { _, _ in } == [1, 1, 0])
    let second = try change { context, authors in
      context.make("Book", ["title": "e", "author": authors[2]])
      for book in try context.all("Book", by: "title") where book["title"] as? String == "a" {
        book["author"] = authors[0]
      }
    }
    #expect(second == [2, 0, 1])
    try StoreChecks.check(store.url, Self.model())
  }

  @Test("Migrations drop and make triggers with the attributes")
  func migrations() throws {
    let automatic: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.allowsLoss: true,
    ]
    let renamed = Self.model(count: "written")
    renamed.entitiesByName["Author"]?.attributesByName["written"]?.renamingIdentifier = "bookCount"
    let store = try TemporaryStore()
    let writer = try store.context(Self.model(count: nil))
    writer.make("Book", ["author": writer.make("Author", ["name": "Ada"])])
    try writer.save()
    try store.close()
    #expect(try triggers(store.url).isEmpty)
    for (model, names) in [
      (Self.model(), "bookCount"), (Self.model([.make("born", .dateAttributeType)]), "bookCount"), (renamed, "written"),
    ] {
      let context = try store.context(model, options: automatic)
      #expect(try context.all("Author").first?[names] as? Int == 1)
      try store.close()
      #expect(try triggers(store.url).count == 5 && triggers(store.url).allSatisfy { $0.name.contains("_\(names)_") })
      try StoreChecks.checkLikeNew(store.url, model)
      let program = try TriggeringProgram(store.url)
      program.run("UPDATE ZBOOK SET ZAUTHOR = NULL; UPDATE ZBOOK SET ZAUTHOR = 1")
      program.close()
    }
    _ = try store.context(Self.model(count: nil), options: automatic)
    try store.close()
    #expect(try triggers(store.url).isEmpty)
  }

  @Test("Triggers whose text is not known are not written")
  func others() throws {
    for model in [
      Self.model(subentity: "Author"), Self.model(subentity: "Book"), Self.model(isOrdered: true),
      Self.model(format: "books.@max.title"),
      Self.model(count: nil, [.derived("length", .integer32AttributeType, "name.length")]),
      Self.named(of: "Comic"),
    ] {
      let store = try TemporaryStore()
      _ = try store.context(model)
      try store.close()
      #expect(try triggers(store.url).isEmpty)
    }
  }
}
