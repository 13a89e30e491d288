// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Many rows at once, which two threads read and write", .timeLimit(.minutes(60)))
struct ManyRowsTests {
  /// More than the first rows, which one thread reads, and no multiple of what the other reads at once.
  private static let count = 5_003

  private static func model(unique: Bool = false) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Person",
      [
        .make("name", .stringAttributeType), .make("number", .integer64AttributeType),
        .make("born", .dateAttributeType), .make("photo", .binaryDataAttributeType),
        .make("salary", .decimalAttributeType), .make("token", .UUIDAttributeType),
        .make("mood", .stringAttributeType, default: "calm", transient: true),
      ])
    builder.entity("Manager", parent: "Person", [.make("bonus", .doubleAttributeType)])
    builder.entity("Club", [.make("name", .stringAttributeType)])
    builder.relate(.init("Club", "members", toMany: true, ordered: true), .init("Person", "club"))
    builder.relate(.init("Manager", "reports", toMany: true), .init("Person", "manager"))
    builder.point(.init("Club", "past", toMany: true), to: "Person")
    let model = builder.model()
    if unique { model.entitiesByName["Person"]?.uniquenessConstraints = [["number"]] }
    return model
  }

  private static func values(_ number: Int) -> [String: Any] {
    var values: [String: Any] = ["number": number]
    if number % 3 != 0 { values["name"] = String(repeating: "n\(number) ", count: number % 40) }
    if number % 5 == 0 { values["born"] = Date(timeIntervalSinceReferenceDate: Double(number) / 8) }
    if number % 7 == 0 { values["photo"] = Data(repeating: UInt8(number % 251), count: number % 300) }
    if number % 11 == 0 { values["salary"] = NSDecimalNumber(string: "\(number).25") }
    if number % 13 == 0 { values["token"] = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }
    return values
  }

  /// A person that reads the store while the rows of a fetch are read.
  final class Curious: NSManagedObject {
    nonisolated(unsafe) static var look: (() -> Void)?

    required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
      super.init(entity: entity, insertInto: context)
      Curious.look?()
    }

    override func willTurnIntoFault() { Curious.look?() }
  }

  /// People, every fourth of them a manager, in the order of their numbers, and clubs between them.
  private func fill(_ context: NSManagedObjectContext) {
    var club: NSManagedObject?
    var manager: NSManagedObject?
    for number in 0..<Self.count {
      if number % 1_500 == 1_400 { club = context.make("Club", ["name": "club \(number)"]) }
      let person = context.make(number % 4 == 0 ? "Manager" : "Person", Self.values(number))
      if number % 4 == 0 {
        person.setValue(Double(number) / 2, forKey: "bonus")
        manager = person
      } else if number % 3 == 0 {
        person.setValue(manager, forKey: "manager")
      }
      if number % 2 == 0 { person.setValue(club, forKey: "club") }
    }
  }

  private func filled(unique: Bool = false) throws -> TemporaryStore {
    let place = try TemporaryStore()
    let context = try place.context(Self.model(unique: unique))
    fill(context)
    try context.save()
    try place.close()
    return place
  }

  private func check(_ person: NSManagedObject, _ number: Int) {
    let expected = Self.values(number)
    for key in ["name", "number", "born", "photo", "salary", "token"] {
      let (found, wanted) = (person.value(forKey: key) as? NSObject, expected[key] as? NSObject)
      if found != wanted { Issue.record("\(key) of \(number): \(String(describing: found))") }
    }
    #expect(person.value(forKey: "mood") as? String == "calm")
    #expect(person.entity.name == (number % 4 == 0 ? "Manager" : "Person"))
    if number % 4 == 0 { #expect(person.value(forKey: "bonus") as? Double == Double(number) / 2) }
    let manager = person.value(forKey: "manager") as? NSManagedObject
    #expect((manager != nil) == (number % 4 != 0 && number % 3 == 0))
    if let manager { #expect(manager.value(forKey: "number") as? Int == number / 4 * 4) }
    let club = person.value(forKey: "club") as? NSManagedObject
    #expect((club != nil) == (number >= 1_400 && number % 2 == 0))
    if let club { #expect(club.value(forKey: "name") as? String == "club \((number - 1_400) / 1_500 * 1_500 + 1_400)") }
  }

  @Test("Objects of several entities that are saved at once are read at once, each with its values and relationships")
  func all() throws {
    let place = try filled()
    let context = try place.context(Self.model())
    for ascending in [true, false] {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
      request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: ascending)]
      let people = try context.fetch(request)
      #expect(people.count == Self.count && Set(people.map(\.objectID)).count == Self.count)
      for (position, person) in people.enumerated() {
        check(person, ascending ? position : Self.count - 1 - position)
      }
    }
    let clubs = try context.all("Club", by: "name")
    let members = clubs.map { ($0.value(forKey: "members") as? NSOrderedSet)?.count ?? 0 }
    #expect(members.reduce(0, +) == (1_400..<Self.count).count { $0 % 2 == 0 })
    let connection = try SQLiteConnection(path: place.url.path, mode: .readOnly)
    #expect(try connection.scalar("SELECT COUNT(*) FROM ZPERSON WHERE Z_OPT = 1") == .integer(Int64(Self.count)))
    #expect(
      try connection.scalar("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person'") == .integer(Int64(Self.count)))
    // Their places among the members, which are written after all rows.
    #expect(
      try connection.scalar("SELECT COUNT(*) FROM ZPERSON WHERE (ZCLUB IS NULL) <> (Z_FOK_CLUB IS NULL)") == 0)
    #expect(try connection.integrityCheck() == [])
  }

  @Test("What the context knows already stays as it is, and what it does not is made")
  func known() throws {
    let place = try filled()
    let context = try place.context(Self.model())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "number >= 1000 AND number < 3500")
    let known = try context.fetch(request)
    for person in known where (person.value(forKey: "number") as? Int ?? 0) % 10 == 0 {
      person.setValue("changed", forKey: "name")
    }
    let people = try context.all("Person", by: "number")
    #expect(
      people.count == Self.count
        && Set(people.map(ObjectIdentifier.init)).isSuperset(of: known.map(ObjectIdentifier.init)))
    #expect(people.count { $0.value(forKey: "name") as? String == "changed" } == 250)
  }

  @Test(
    "Objects may read the store while those of a fetch are made and refreshed", .serialized,
    arguments: ["WAL", "DELETE", "pinned"])
  func nested(way: String) throws {
    let place = try filled()
    let model = Self.model()
    for entity in ["Person", "Manager"] { model.entitiesByName[entity]?.managedObjectClassName = "Curious" }
    ManagedObjectClasses.register(Curious.self, as: "Curious")
    let journal = [NSSQLitePragmasOption: ["journal_mode": way == "DELETE" ? "DELETE" : "WAL"]]
    let context = try place.context(model, options: journal)
    if way == "pinned" { try context.setQueryGenerationFrom(.current) }
    var (isLooking, calls, wrong) = (false, 0, 0)
    Curious.look = {
      if isLooking { return }
      isLooking = true
      defer { isLooking = false }
      calls += 1
      let request = NSFetchRequest<NSManagedObject>(entityName: "Club")
      request.predicate = NSPredicate(format: "name == %@", "club \(1_400 + calls % 3 * 1_500)")
      // An error is no count.
      if (try? context.count(for: request)) != 1 { wrong += 1 }
    }
    defer { Curious.look = nil }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    request.returnsObjectsAsFaults = false
    let people = try context.fetch(request)
    #expect(people.count == Self.count && calls == Self.count && wrong == 0)
    calls = 0
    request.shouldRefreshRefetchedObjects = true
    #expect(try context.fetch(request) == people && calls == Self.count && wrong == 0)
    Curious.look = nil
    for (number, person) in people.enumerated() { check(person, number) }
  }

  @Test(
    "A row that cannot be read ends the fetch with its error wherever it is, and the next fetch is as if there had been none"
  )
  func unreadable() throws {
    for number in [10, 1_500, Self.count] {
      let place = try filled()
      let context = try place.context(Self.model())
      let writer = try SQLiteConnection(path: place.url.path, mode: .readWrite)
      try writer.run("UPDATE ZPERSON SET ZBORN = 'never' WHERE Z_PK = \(number)")
      let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
      #expect {
        _ = try context.fetch(request)
      } throws: { error in
        let error = error as NSError
        return error.domain == NSCocoaErrorDomain && "\(error.userInfo)".contains("born")
      }
      try writer.run("UPDATE ZPERSON SET ZNAME = 'mended', ZBORN = NULL WHERE Z_PK = \(number)")
      let people = try context.fetch(request)
      #expect(people.count == Self.count && people.count { $0.value(forKey: "name") as? String == "mended" } == 1)
    }
  }

  @Test(
    "A row that cannot be written ends the save; nothing is in the store, everything is in the context, and can be saved later"
  )
  func unwritable() throws {
    let place = try TemporaryStore()
    let context = try place.context(Self.model())
    let writer = try SQLiteConnection(path: place.url.path, mode: .readWrite)
    for table in ["ZPERSON", "ZCLUB"] {
      // Nobody trusts triggers of the file, but constraints hold.
      try writer.run("CREATE UNIQUE INDEX own_\(table) ON \(table) (ZNAME)")
    }
    let people = (0..<Self.count).map {
      context.make("Person", ["name": "p\($0 == 4_000 ? 3_000 : $0)", "number": $0])
    }
    context.make("Club", ["name": "first"])
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try writer.scalar("SELECT (SELECT COUNT(*) FROM ZPERSON) + (SELECT COUNT(*) FROM ZCLUB)") == 0)
    #expect(context.insertedObjects.count == Self.count + 1)
    people[4_000].setValue("p4000", forKey: "name")
    try context.save()
    #expect(try writer.scalar("SELECT COUNT(DISTINCT ZNAME) FROM ZPERSON") == .integer(Int64(Self.count)))
    #expect(try writer.scalar("SELECT ZNUMBER FROM ZPERSON WHERE ZNAME = 'p4000'") == 4_000)
    #expect(!context.hasChanges)
  }

  @Test("Of rows with large values, few are kept beside those that are used", arguments: [100, 5_000])
  func large(count: Int) throws {
    let identities = RowIdentities(store: 1, reference: StoreReference(NSObject(), identifier: nil), members: [])
    let entity = NSEntityDescription()
    let photo = NSAttributeDescription()
    (photo.name, photo.attributeType) = ("photo", .binaryDataAttributeType)
    entity.properties = [photo]
    let layout = RowLayout(entity: entity, number: 1, identities: identities)
    let bytes = [UInt8](repeating: 1, count: 100_000)
    var packed: Int64 = 0
    let cursor = RowCursor { packer in
      if packed == count { return false }
      packed += 1
      packer.begin(slotCount: 1)
      bytes.withUnsafeBytes { packer.pack(data: $0, at: 0) }
      packer.end(primaryKey: packed, version: 1, entity: 1) { layout }
      return true
    }
    var greatest = 0
    let numbers = try cursor.map { rows in
      greatest = max(greatest, rows.count)
      return rows.map(\.key.number)
    }
    #expect(numbers == Array(1...Int64(count)) && greatest == 3)
  }

  @Test("A batch insertion of many rows fails as a whole, wherever the bad row is", arguments: [5, 255, 256, 4_000])
  func batch(number: Int) throws {
    let place = try TemporaryStore()
    let context = try place.context(Self.model())
    let writer = try SQLiteConnection(path: place.url.path, mode: .readWrite)
    func request(bad: Int?) -> NSBatchInsertRequest {
      let rows = (0..<Self.count).map { ["name": "p\($0 == bad ? $0 - 1 : $0)", "number": $0] as [String: Any] }
      return NSBatchInsertRequest(entityName: "Person", objects: rows)
    }
    try writer.run("CREATE UNIQUE INDEX own ON ZPERSON (ZNAME)")
    #expect(throws: (any Error).self) { try context.execute(request(bad: number)) }
    #expect(try writer.scalar("SELECT COUNT(*) FROM ZPERSON") == 0)
    try context.execute(request(bad: nil))
    #expect(try writer.scalar("SELECT COUNT(DISTINCT ZNUMBER) FROM ZPERSON") == .integer(Int64(Self.count)))
    #expect(try writer.scalar("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person'") == .integer(Int64(Self.count)))
  }

  @Test("The notifications about a save of many objects have the same objects, also if a merge policy drops some")
  func notifications() throws {
    let place = try filled(unique: true)
    let context = try place.context(Self.model(unique: true))
    context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    let objectLog = NotificationLog(context, NSManagedObjectContext.didSaveObjectsNotification)
    let identifierLog = NotificationLog(context, NSManagedObjectContext.didSaveObjectIDsNotification)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    let people = try context.fetch(request)
    for person in people[..<2_300] { person.setValue("changed", forKey: "name") }
    for person in people[2_400..<4_700] { context.delete(person) }
    // Those of numbers that the store has are dropped.
    for number in 4_900..<9_000 { context.make("Person", ["number": number]) }
    try context.save()
    let (posted, postedIdentifiers) = (objectLog.take(), identifierLog.take())
    try #require(posted.count == 1 && postedIdentifiers.count == 1)
    func objects(_ key: String) -> Set<NSManagedObjectID>? {
      (posted[0][key] as? Set<NSManagedObject>).map { Set($0.map(\.objectID)) }
    }
    func identifiers(_ key: String) -> Set<NSManagedObjectID>? { postedIdentifiers[0][key] as? Set<NSManagedObjectID> }
    #expect(objects(NSInsertedObjectsKey)?.count == 9_000 - Self.count)
    #expect(objects(NSInsertedObjectsKey) == identifiers(NSInsertedObjectIDsKey))
    #expect(objects(NSDeletedObjectsKey)?.count == 2_300)
    #expect(objects(NSDeletedObjectsKey) == identifiers(NSDeletedObjectIDsKey))
    #expect(try #require(identifiers(NSUpdatedObjectIDsKey)).isSuperset(of: people[..<2_300].map(\.objectID)))
    #expect(objects(NSUpdatedObjectsKey) == identifiers(NSUpdatedObjectIDsKey))
    #expect(try context.count(for: request) == Self.count - 2_300 + 9_000 - Self.count)
  }
}
