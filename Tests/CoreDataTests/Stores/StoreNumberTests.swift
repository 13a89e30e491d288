// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Numbers that no store of Core Data has, in stores that somebody has sent.
@Suite("Numbers in stores that nothing wrote on purpose")
struct StoreNumberTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Note", [.make("text", .stringAttributeType), .make("rank", .integer16AttributeType)])
    builder.entity("Memo", parent: "Note", [.make("price", .decimalAttributeType)])
    builder.entity("Box", [.make("name", .stringAttributeType)])
    builder.relate(.init("Box", "notes", toMany: true, ordered: true), .init("Note", "box"))
    builder.relate(.init("Box", "labels", toMany: true, ordered: true), .init("Note", "boxes", toMany: true))
    return builder.model()
  }

  /// A store with three notes in a box, changed by hand.
  private func make(_ sql: String) throws {
    let context = try store.context(model())
    let notes = ["a", "b", "c"].enumerated().map { context.make("Note", ["text": $1, "rank": $0]) }
    let box = context.make("Box", ["name": "box"])
    box.setValue(NSOrderedSet(array: notes), forKey: "notes")
    box.setValue(NSOrderedSet(array: notes), forKey: "labels")
    try context.save()
    try store.close()
    try change(sql)
  }

  private func change(_ sql: String) throws {
    try SQLiteConnection.execute(sql, at: store.url)
  }

  private func table(_ sql: String) throws -> [[SQLiteValue]] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    defer { try? connection.close() }  // Only read from.
    return try connection.rows(sql).map(\.values)
  }

  // MARK: Numbers of entities

  private static let anyTable =
    "ALTER TABLE Z_PRIMARYKEY RENAME TO OLD; CREATE TABLE Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX); "
    + "INSERT INTO Z_PRIMARYKEY SELECT * FROM OLD; DROP TABLE OLD; "

  @Test(
    "Entity numbers that contradict one another are told",
    arguments: [
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = -1 WHERE Z_NAME = 'Note'", 259, "the number -1"),
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = 0 WHERE Z_NAME = 'Box'", 259, "the number 0"),
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = 2147483648 WHERE Z_NAME = 'Note'", 259, "the number 2147483648"),
      (
        "UPDATE Z_PRIMARYKEY SET Z_ENT = 9223372036854775807 WHERE Z_NAME = 'Memo'", 259,
        "the number 9223372036854775807"
      ),
      (
        "UPDATE Z_PRIMARYKEY SET Z_ENT = -9223372036854775808 WHERE Z_NAME = 'Memo'", 259, "number -9223372036854775808"
      ),
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = 2147483647 WHERE Z_NAME = 'Note'", 134020, "from 1 to 16000"),
      ("UPDATE Z_PRIMARYKEY SET Z_ENT = 16001 WHERE Z_NAME = 'Box'", 134020, "from 1 to 16000"),
      (anyTable + "UPDATE Z_PRIMARYKEY SET Z_ENT = 2", 259, "gives the number 2 to the entities"),
      (anyTable + "UPDATE Z_PRIMARYKEY SET Z_ENT = 'x' WHERE Z_NAME = 'Box'", 259, "the number 'x'"),
      (anyTable + "UPDATE Z_PRIMARYKEY SET Z_ENT = NULL WHERE Z_NAME = 'Box'", 259, "the number NULL"),
      (anyTable + "UPDATE Z_PRIMARYKEY SET Z_ENT = 1e300 WHERE Z_NAME = 'Box'", 259, "the number 1e+300"),
      ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Box' WHERE Z_NAME = 'Memo'", 259, "“Box” twice"),
      ("UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT WHERE Z_NAME = 'Note'", 259, "“Note” its own ancestor"),
      ("UPDATE Z_PRIMARYKEY SET Z_SUPER = 5 - Z_ENT WHERE Z_ENT > 1", 259, "its own ancestor"),
      ("UPDATE Z_PRIMARYKEY SET Z_SUPER = 9223372036854775807 WHERE Z_NAME = 'Memo'", 259, "the parent number"),
    ])
  func entityNumbers(_ sql: String, _ code: Int, _ sentence: String) throws {
    try make(sql)
    let error = try #require(#expect(throws: NSError.self) { _ = try store.context(model()) })
    #expect(error.domain == NSCocoaErrorDomain && error.code == code)
    #expect(error.localizedFailureReason?.contains(sentence) == true, "\(error.localizedFailureReason ?? "")")
  }

  @Test(
    "Greatest keys that are none do not matter: the table tells",
    arguments: ["-1", "NULL", "'x'", "-9223372036854775808", "1e300", "x'00'"])
  func greatestKeys(_ value: String) throws {
    try make("UPDATE Z_PRIMARYKEY SET Z_MAX = \(value)")
    let context = try store.context(model())
    let note = context.make("Memo")
    try context.save()
    #expect(note.objectID.uriRepresentation().lastPathComponent == "p4")
  }

  @Test(
    "A store that has no keys left says so, and saves nothing",
    arguments: [
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_NAME = 'Note'",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775806 WHERE Z_NAME = 'Note'",
      "UPDATE ZNOTE SET Z_PK = 9223372036854775807 WHERE Z_PK = 3",
    ])
  func noKeysLeft(_ sql: String) throws {
    try make(sql)
    let context = try store.context(model())
    context.make("Box", ["name": "new"])
    for _ in 0..<2 { context.make("Memo") }
    let error = try #require(#expect(throws: NSError.self) { try context.save() })
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSPersistentStoreSaveError)
    #expect(error.localizedFailureReason?.contains("No primary keys are left for new objects of 'Note'") == true)
    try store.close()
    #expect(try table("SELECT (SELECT COUNT(*) FROM ZNOTE), (SELECT COUNT(*) FROM ZBOX)") == [[3, 1]])
  }

  @Test("The last key that there is can be used")
  func lastKey() throws {
    try make("UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775806 WHERE Z_NAME = 'Note'")
    let context = try store.context(model())
    let note = context.make("Memo")
    try context.save()
    #expect(note.objectID.uriRepresentation().lastPathComponent == "p9223372036854775807")
    context.make("Memo")
    #expect(throws: NSError.self) { try context.save() }
    try store.close()
    #expect(try table("SELECT COUNT(*) FROM ZNOTE") == [[4]])
  }

  // MARK: Keys of rows

  @Test(
    "Rows with keys at both ends of all numbers are read and changed",
    arguments: ["-9223372036854775808", "-1", "0", "9223372036854775807"])
  func keys(_ key: String) throws {
    try make(
      "UPDATE ZNOTE SET Z_PK = \(key) WHERE Z_PK = 1; UPDATE Z_1LABELS SET Z_2LABELS = \(key) WHERE Z_2LABELS = 1")
    let context = try store.context(model())
    let notes = try context.all("Note", by: "text")
    #expect(notes.map { $0.value(forKey: "text") as? String } == ["a", "b", "c"])
    notes[0].setValue("z", forKey: "text")
    let box = try #require(notes[0].value(forKey: "box") as? NSManagedObject)
    #expect((box.value(forKey: "labels") as? NSOrderedSet)?.count == 3)
    try context.save()
    try store.close()
    #expect(try table("SELECT ZTEXT FROM ZNOTE WHERE Z_PK = \(key)") == [["z"]])
  }

  @Test(
    "A table whose rows need not have different numbers as keys is refused",
    arguments: [
      "Z_PK INTEGER", "Z_PK VARCHAR PRIMARY KEY", "Z_PK INTEGER PRIMARY KEY DESC", "Z_PK INTEGER UNIQUE",
    ])
  func keyDeclarations(_ declaration: String) throws {
    try make(
      "ALTER TABLE ZBOX RENAME TO OLD; CREATE TABLE ZBOX (\(declaration), Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR); "
        + "INSERT INTO ZBOX SELECT Z_PK, Z_ENT, Z_OPT, ZNAME FROM OLD; DROP TABLE OLD")
    let error = try #require(#expect(throws: NSError.self) { _ = try store.context(model()) })
    #expect(error.code == NSPersistentStoreIncompatibleSchemaError)
    #expect(error.localizedFailureReason?.contains("does not have Z_PK as its INTEGER PRIMARY KEY") == true)
  }

  // MARK: Versions of rows

  @Test(
    "Versions of rows are counted on from any number",
    arguments: ["9223372036854775807", "-9223372036854775808", "-1", "NULL", "'x'", "1e300", "-1e300", "x'00'", "2.5"])
  func versions(_ version: String) throws {
    try make("UPDATE ZNOTE SET Z_OPT = \(version)")
    let context = try store.context(model())
    let notes = try context.all("Note", by: "text")
    for round in 1...3 {
      notes[0].setValue(round, forKey: "rank")
      try context.save()
    }
    context.delete(notes[1])
    try context.save()
    try store.close()
    let rows = try table("SELECT ZRANK, typeof(Z_OPT) FROM ZNOTE WHERE ZTEXT IN ('a', 'b')")
    #expect(rows == [[3, "integer"]])
  }

  // MARK: Places in an order

  @Test(
    "Places in an order are given anew where they leave no room",
    arguments: ["9223372036854775807", "9223372036854775000", "-9223372036854775808", "1e300", "'x'", "x'00'", "NULL"])
  func places(_ place: String) throws {
    try make("UPDATE ZNOTE SET Z_FOK_BOX = \(place) WHERE ZTEXT = 'c'; UPDATE Z_1LABELS SET Z_FOK_2LABELS = \(place)")
    let context = try store.context(model())
    let box = try context.all("Box")[0]
    for (position, key) in ["notes", "labels"].enumerated() {
      let members = box.mutableOrderedSetValue(forKey: key)
      #expect(members.count == 3)
      members.add(context.make("Note", ["text": "d\(position)"]))
      members.insert(context.make("Note", ["text": "e\(position)"]), at: 1)
    }
    // A member that knows of its box from its own side alone comes last.
    let last = context.make("Note", ["text": "f"])
    last.setValue(box, forKey: "box")
    func texts(_ box: NSManagedObject, _ key: String) -> [String] {
      (box.value(forKey: key) as? NSOrderedSet)?.compactMap {
        ($0 as? NSManagedObject)?.value(forKey: "text") as? String
      }
        ?? []
    }
    let expected = (texts(box, "notes"), texts(box, "labels"))
    #expect(expected.0.count == 6 && expected.1.count == 5)
    try context.save()
    try store.close()
    let read = try store.context(model()).all("Box")[0]
    #expect(texts(read, "notes") == expected.0)
    #expect(texts(read, "labels") == expected.1)
    #expect(try table("SELECT COUNT(*) FROM ZNOTE WHERE ZBOX = 1 AND typeof(Z_FOK_BOX) <> 'integer'") == [[0]])
  }

  @Test("Places that keep an order grow, whatever they were")
  func arranging() {
    let extremes: [Int64?] = [nil, .min, .min + 1, -1, 0, 1, 2048, .max - 1025, .max - 1024, .max - 1, .max]
    for first in extremes {
      for second in extremes {
        for third in extremes {
          for list in [[first, second, third], [first, nil, second, nil, third, nil]] {
            let keys = OrderKeys.arranged(list)
            #expect(keys.count == list.count && zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }, "\(list)")
          }
        }
      }
    }
  }

  // MARK: Values

  @Test(
    "A real that is no integer of any size is not read as one",
    arguments: ["1e300", "-1e300", "9e999", "9.3e18", "'x'", "x'00'"])
  func reals(_ value: String) throws {
    try make("UPDATE ZNOTE SET ZRANK = \(value) WHERE ZTEXT = 'b'")
    let context = try store.context(model())
    let error = try #require(#expect(throws: NSError.self) { _ = try context.all("Note", by: "text") })
    #expect(error.code == NSPersistentStoreOperationError)
    #expect(error.localizedFailureReason?.contains("rank of the row 2 in ZNOTE cannot be read") == true)
  }

  @Test(
    "Decimals are read as they are, or not at all",
    arguments: [
      ("1e127", "1e127"), ("1e128", "1e128"), ("1.5e150", "1.5e150"), ("-3e164", "-3e164"), ("1e165", "1e165"),
      ("3.5e165", nil),
      ("1e-200", "0"),
      ("'NaN'", "NaN"), ("'-12.25'", "-12.25"), ("1e300", nil), ("9e999", nil), ("'12 apples'", nil), ("'0x10'", nil),
      ("'1e2147483647'", nil), ("'1e9223372036854775807'", nil), ("''", nil), ("'-'", nil), ("'e'", nil),
    ] as [(String, String?)])
  func decimals(_ value: String, _ number: String?) throws {
    try make("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT, ZPRICE) VALUES (9, 3, 1, 'm', \(value))")
    let context = try store.context(model())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Memo")
    guard let number else {
      #expect(throws: NSError.self) { _ = try context.fetch(request) }
      return
    }
    let found = try #require(try context.fetch(request).first?.value(forKey: "price") as? NSDecimalNumber)
    guard number != "NaN" else { return #expect(found == .notANumber) }
    // Foundation's conversion to a real is not exact.
    let (real, expected) = (found.doubleValue, Double(number) ?? .nan)
    #expect(abs(real - expected) <= abs(expected) * 1e-12)
  }

  @Test("A real that no decimal can be is no value of a decimal attribute, and does not stop the program")
  func infiniteDecimals() throws {
    let attribute = NSAttributeDescription.make("price", .decimalAttributeType)
    for value in [Double.infinity, -.infinity, 1e300, -1e300] {
      #expect(Slot(value, for: attribute) == nil)
      #expect(Slot(NSNumber(value: value), for: attribute) == nil)
    }
    #expect(Slot(Double.nan, for: attribute) != nil)
    #expect(Slot(Double.leastNonzeroMagnitude, for: attribute)?.isSame(as: .object(NSDecimalNumber.zero)) == true)
    #expect(PlainValue.real(.infinity).foundationValue(kind: .decimal) as? NSDecimalNumber == .notANumber)
  }
}
