// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Changes that are inferred and carried out in place, each with its values; and the data that they do not allow.
@Suite("Changes that are inferred")
struct InferredChangeTests {
  private let store: TemporaryStore
  private static let options = [
    NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    MigrationOption.allowsLoss: true,
  ]

  init() throws { store = try TemporaryStore() }

  private static func model(_ build: (inout ModelBuilder) -> Void) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    build(&builder)
    return builder.model()
  }

  private func fill(
    _ build: (inout ModelBuilder) -> Void, _ fill: (NSManagedObjectContext) throws -> Void
  ) throws {
    let context = try store.context(Self.model(build))
    try fill(context)
    try context.save()
    try store.close()
  }

  private func migrate(_ build: (inout ModelBuilder) -> Void) throws -> StoreDump {
    let context = try store.context(Self.model(build), options: Self.options)
    for check in [StoreChecks.check, StoreChecks.checkJoins, StoreChecks.checkFiles, StoreChecks.checkLikeNew] {
      try check(store.url, Self.model(build), #_sourceLocation)
    }
    let dump = try StoreDump(context)
    try store.close()
    return dump
  }

  private func refusal(_ build: (inout ModelBuilder) -> Void) throws -> NSError {
    let before = try FileContent(store.url)
    let files = try externalFiles()
    let error = #expect(throws: NSError.self) { _ = try migrate(build) }
    try store.close()
    #expect(try FileContent(store.url) == before)
    #expect(try externalFiles() == files)
    return try #require(error)
  }

  private func externalFiles(of url: URL? = nil) throws -> [String] {
    let folder = StoreFiles.externalData(of: url ?? store.url).appendingPathComponent("_EXTERNAL_DATA")
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  // MARK: Required to-many relationships

  @Test(
    "A required to-many relationship that is new, or leads elsewhere, is empty, and may stay so"
  )
  func requiredToMany() throws {
    try fill({
      $0.entity("Band", [.make("name", .stringAttributeType)])
      $0.entity("Song")
      $0.entity("Fan")
      $0.relate(.init("Band", "works", toMany: true, optional: false), .init("Song", "band"))
    }) { context in
      for name in ["a", "b"] {
        context.make("Band", ["name": name, "works": Set([context.make("Song")])])
      }
    }
    let build: (inout ModelBuilder) -> Void = {
      $0.entity("Band", [.make("name", .stringAttributeType)])
      $0.entity("Song")
      $0.entity("Fan")
      $0.relate(.init("Band", "works", toMany: true, optional: false), .init("Fan", "idol"))
      $0.relate(.init("Band", "songs", toMany: true, optional: false), .init("Song", "singers", toMany: true))
    }
    _ = try migrate(build)
    let context = try store.context(Self.model(build))
    let bands = try context.all("Band")
    #expect(bands.map { $0.value(forKey: "name") as? String } == ["a", "b"])
    for band in bands {
      #expect(
        (band.value(forKey: "works") as? NSSet)?.count == 0 && (band.value(forKey: "songs") as? NSSet)?.count == 0)
    }
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Song")) == 2)
    bands[0].setValue("c", forKey: "name")
    try context.save()
    bands[0].setValue(Set([context.make("Fan")]), forKey: "works")
    bands[0].setValue(Set([context.make("Song")]), forKey: "songs")
    try context.save()
  }

  // MARK: Names that no rule predicts

  @Test("A store keeps the names that its join tables and their columns have; what is new comes last")
  func joinNames() throws {
    func model(_ builder: inout ModelBuilder, isNew: Bool) {
      builder.entity("Art", [.make("name", .stringAttributeType)])
      builder.entity(
        "Person", [.make("name", .stringAttributeType)] + (isNew ? [.make("age", .integer16AttributeType)] : []))
      builder.entity("Show", [.make("name", .stringAttributeType)])
      builder.entity("Store", [.make("name", .stringAttributeType)])
      if isNew { builder.entity("Aisle") }
      builder.relate(.init("Show", "arts", toMany: true), .init("Art", "shows", toMany: true))
      builder.relate(.init("Store", "arts", toMany: true), .init("Art", "stores", toMany: true))
      builder.relate(.init("Person", "trusted", toMany: true), .init("Person", "trusting", toMany: true))
      if isNew { builder.relate(.init("Art", "aisles", toMany: true), .init("Aisle", "arts", toMany: true)) }
    }
    try fill({
      model(&$0, isNew: false)
    }) { context in
      let art = context.make("Art", ["name": "a", "shows": Set([context.make("Show", ["name": "s"])])])
      art.setValue(Set([context.make("Store", ["name": "t"])]), forKey: "stores")
      context.make("Person", ["name": "p", "trusted": Set([context.make("Person", ["name": "q"])])])
    }
    // As another framework may have named them.
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    for (table, from, to) in [
      ("Z_1SHOWS", "Z_1ARTS", "X"), ("Z_1STORES", "Z_1ARTS1", "Z_1ARTS"), ("Z_1SHOWS", "X", "Z_1ARTS1"),
    ] {
      try connection.run("ALTER TABLE \(table) RENAME COLUMN \(from) TO \(to)")
    }
    try connection.run("ALTER TABLE Z_2TRUSTED RENAME TO Z_2TRUSTING")
    try connection.close()

    let context = try store.context(Self.model { model(&$0, isNew: true) }, options: Self.options)
    let art = try #require(try context.all("Art").first)
    func names(_ object: NSManagedObject?, _ key: String) -> [String] {
      (object?.value(forKey: key) as? Set<NSManagedObject> ?? []).compactMap { $0.value(forKey: "name") as? String }
    }
    #expect(names(art, "shows") == ["s"] && names(art, "stores") == ["t"] && names(art, "aisles").isEmpty)
    let people = try context.all("Person")
    #expect(names(people.first, "trusted") == ["q"] && names(people.last, "trusting") == ["p"])
    try store.close()
    let file = try SQLiteConnection(url: store.url, mode: .readOnly)
    let tables = try file.catalog().tables.filter { $0.name.hasPrefix("Z_") && $0.name.contains { $0.isNumber } }
    try file.close()
    #expect(
      Set(tables.map { "\($0.name)(\($0.columns.map(\.name).joined(separator: ", ")))" }) == [
        "Z_2SHOWS(Z_2ARTS1, Z_4SHOWS)", "Z_2STORES(Z_2ARTS, Z_5STORES)", "Z_3TRUSTING(Z_3TRUSTED, Z_3TRUSTING)",
        "Z_1ARTS(Z_1AISLES, Z_2ARTS2)",
      ])
  }

  // MARK: A new common parent

  private func vehicles(_ builder: inout ModelBuilder) {
    builder.entity("Bike", [.make("name", .stringAttributeType), .make("gears", .integer16AttributeType)])
    builder.entity("Car", [.make("name", .stringAttributeType), .make("seats", .integer16AttributeType)])
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.relate(.init("Owner", "bikes", toMany: true, ordered: true), .init("Bike", "owner"))
    builder.relate(.init("Owner", "cars", toMany: true), .init("Car", "drivers", toMany: true, ordered: true))
    builder.point(.init("Bike", "spare"), to: "Bike")
    builder.point(.init("Owner", "favourites", toMany: true), to: "Bike")
  }

  private func vehiclesWithParent(_ builder: inout ModelBuilder) {
    builder.entity("Vehicle", isAbstract: true, [.make("name", .stringAttributeType)])
    builder.entity("Bike", parent: "Vehicle", [.make("gears", .integer16AttributeType)])
    builder.entity("Car", parent: "Vehicle", [.make("seats", .integer16AttributeType)])
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.relate(.init("Owner", "bikes", toMany: true, ordered: true), .init("Bike", "owner"))
    builder.relate(.init("Owner", "cars", toMany: true), .init("Car", "drivers", toMany: true, ordered: true))
    builder.point(.init("Bike", "spare"), to: "Bike")
    builder.point(.init("Owner", "favourites", toMany: true), to: "Bike")
  }

  @Test("Two entities get a new common parent: one keeps its keys, the other's move with all that refers to them")
  func commonParent() throws {
    try fill(vehicles) { context in
      let cars = (1...3).map { context.make("Car", ["name": "c\($0)", "seats": $0]) }
      let bikes = (1...2).map { context.make("Bike", ["name": "b\($0)", "gears": $0]) }
      let owners = (1...2).map { context.make("Owner", ["name": "o\($0)"]) }
      try context.save()
      bikes[0].setValue(bikes[1], forKey: "spare")
      owners[0].setValue(NSOrderedSet(array: [bikes[1], bikes[0]]), forKey: "bikes")
      owners[1].setValue(NSSet(array: [bikes[0]]), forKey: "favourites")
      cars[0].setValue(NSOrderedSet(array: [owners[1], owners[0]]), forKey: "drivers")
      cars[2].setValue(NSOrderedSet(array: [owners[0]]), forKey: "drivers")
    }
    let before = try StoreDump(store.context(Self.model(vehicles)))
    try store.close()
    func key(_ entity: String, _ name: String, _ dump: StoreDump) throws -> String {
      try #require(dump.objects.first { $0.key.hasPrefix("\(entity)/") && $0.value["name"] == name }?.key)
    }
    let after = try migrate(vehiclesWithParent)
    #expect(after.objects.count == 7)
    // The table of three rows keeps its keys; that of two moves behind it.
    for name in ["c1", "c2", "c3"] { #expect(try key("Car", name, after) == key("Car", name, before)) }
    #expect(Set(after.objects.keys.filter { $0.hasPrefix("Bike/") }) == ["Bike/p4", "Bike/p5"])
    let (b1, b2) = (try key("Bike", "b1", after), try key("Bike", "b2", after))
    let (o1, o2) = (try key("Owner", "o1", after), try key("Owner", "o2", after))
    #expect(after.objects[b1] == ["name": "b1", "gears": "1", "owner": o1, "spare": b2])
    #expect(after.objects[b2] == ["name": "b2", "gears": "2", "owner": o1, "spare": ""])
    #expect(after.objects[o1]?["bikes"] == "\(b2), \(b1)")
    #expect(after.objects[o2]?["favourites"] == b1)
    #expect(after.objects[try key("Car", "c1", after)]?["drivers"] == "\(o2), \(o1)")
    #expect(
      after.objects[o1]?["cars"]
        == [try key("Car", "c1", after), try key("Car", "c3", after)].sorted().joined(separator: ", "))
    // A key that was given out is not given out again.
    let context = try store.context(Self.model(vehiclesWithParent))
    let new = context.make("Bike", ["name": "b3"])
    try context.save()
    #expect(StoreDump.key(new.objectID) == "Bike/p6")
  }

  @Test("History of rows whose keys move goes with them")
  func history() throws {
    try fill(vehicles) { context in
      context.make("Car", ["name": "c1"])
      context.make("Car", ["name": "c2"])
      context.make("Bike", ["name": "b1"])
    }
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run(
      "CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, "
        + "ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB)")
    for (entity, key) in [(1, 1), (2, 1), (2, 2), (3, 9)] {
      try connection.run(
        "INSERT INTO ACHANGE (Z_ENT, ZENTITY, ZENTITYPK) VALUES (16001, ?, ?)",
        [.integer(Int64(entity)), .integer(Int64(key))])
    }
    try connection.close()
    _ = try store.context(Self.model(vehiclesWithParent), options: Self.options)
    try store.close()
    let reader = try SQLiteConnection(url: store.url, mode: .readOnly)
    let rows = try reader.rows("SELECT ZENTITY, ZENTITYPK FROM ACHANGE ORDER BY Z_PK").map { $0.values.map(\.literal) }
    try reader.close()
    // Owner is 1, Vehicle 2, Bike 3 and Car 4.
    #expect(rows == [["3", "3"], ["4", "1"], ["4", "2"], ["1", "9"]])
  }

  // MARK: Relationships

  private func notes(_ builder: inout ModelBuilder, _ tag: RelationshipEnd) {
    builder.entity("Note", [.make("text", .stringAttributeType)])
    builder.entity("Tag", [.make("text", .stringAttributeType)])
    builder.relate(.init("Note", "tags", toMany: true), tag)
  }

  @Test("Many-to-many becomes one-to-many and back, where every object has one")
  func oneToMany() throws {
    try fill({ notes(&$0, .init("Tag", "notes", toMany: true)) }) { context in
      let tags = (1...3).map { context.make("Tag", ["text": "t\($0)"]) }
      context.make("Note", ["text": "n", "tags": NSSet(array: [tags[0], tags[2]])])
    }
    let one = try migrate { notes(&$0, .init("Tag", "note")) }
    #expect(one.values("Tag", "note") == ["", "Note/p1", "Note/p1"])
    let many = try migrate { notes(&$0, .init("Tag", "notes", toMany: true, renamedFrom: "note")) }
    #expect(many.values("Tag", "notes") == ["", "Note/p1", "Note/p1"])
    #expect(many.values("Note", "tags") == one.values("Note", "tags"))
  }

  @Test("Where an object has several, the error names the relationship, one of the objects and those that it has")
  func severalOwners() throws {
    try fill({ notes(&$0, .init("Tag", "notes", toMany: true)) }) { context in
      let tag = context.make("Tag")
      context.make("Note", ["tags": NSSet(object: tag)])
      context.make("Note", ["tags": NSSet(object: tag)])
    }
    let error = try refusal { notes(&$0, .init("Tag", "note")) }
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo["entity"] as? String == "Tag")
    #expect(error.userInfo["property"] as? String == "note")
    #expect(error.localizedFailureReason?.contains("1 has several: Tag/p1 has Note/p1, Note/p2") == true)
    #expect(error.localizedRecoverySuggestion?.contains("to-many") == true)
  }

  @Test("Two relationships that become each other's inverse keep what either knew, or are refused where they disagree")
  func coupled() throws {
    func apart(_ builder: inout ModelBuilder) {
      builder.entity("Note", [.make("text", .stringAttributeType)])
      builder.entity("Tag", [.make("text", .stringAttributeType)])
      builder.point(.init("Note", "tags", toMany: true), to: "Tag")
      builder.point(.init("Tag", "note"), to: "Note")
    }
    try fill(apart) { context in
      let (left, right) = (context.make("Note", ["text": "left"]), context.make("Note", ["text": "right"]))
      let tags = (1...3).map { context.make("Tag", ["text": "t\($0)"]) }
      left.setValue(NSSet(array: [tags[0], tags[1]]), forKey: "tags")
      tags[1].setValue(left, forKey: "note")
      tags[2].setValue(right, forKey: "note")
    }
    let after = try migrate { notes(&$0, .init("Tag", "note")) }
    let texts = after.objects.mapValues { $0["text"] ?? "" }
    let owners = after.objects.filter { $0.key.hasPrefix("Tag/") }.map {
      "\($0.value["text"] ?? "") \(texts[$0.value["note"] ?? ""] ?? "-")"
    }
    #expect(owners.sorted() == ["t1 left", "t2 left", "t3 right"])

    _ = try migrate(apart)
    let context = try store.context(Self.model(apart))
    let tag = try #require(try all("Tag", context).first { $0["text"] as? String == "t1" })
    tag.setValue(try all("Note", context).first { $0["text"] as? String == "right" }, forKey: "note")
    try context.save()
    try store.close()
    let error = try refusal { notes(&$0, .init("Tag", "note")) }
    #expect(error.userInfo["property"] as? String == "note")
    #expect(error.localizedFailureReason?.contains("has several") == true)
  }

  private func all(_ entity: String, _ context: NSManagedObjectContext) throws -> [NSManagedObject] {
    try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity))
  }

  @Test("A relationship that leads to a child of where it led keeps the objects that are of this kind")
  func narrowed() throws {
    func media(_ builder: inout ModelBuilder, _ destination: String) {
      builder.entity("Media", [.make("name", .stringAttributeType)])
      builder.entity("Photo", parent: "Media")
      builder.entity("Album", [.make("name", .stringAttributeType)])
      builder.point(.init("Album", "cover"), to: destination)
    }
    try fill({ media(&$0, "Media") }) { context in
      context.make("Album", ["name": "a", "cover": context.make("Photo", ["name": "p"])])
      context.make("Album", ["name": "b", "cover": context.make("Media", ["name": "m"])])
    }
    let after = try migrate { media(&$0, "Photo") }
    let covers = after.objects.values.filter { $0["cover"] != nil }.map { "\($0["name"] ?? "") \($0["cover"] ?? "")" }
    #expect(covers.sorted().map { String($0.prefix(8)) } == ["a Photo/", "b "])
  }

  // MARK: Values

  @Test(
    "A number that the new type cannot hold is refused with the number and the object; the store is as it was",
    arguments: [
      (NSAttributeType.integer64AttributeType, 70_000 as NSNumber, NSAttributeType.integer16AttributeType, "70000"),
      (.integer32AttributeType, -32_769, .integer16AttributeType, "-32769"),
      (.integer64AttributeType, 32_768, .integer16AttributeType, "32768"),
      (.integer64AttributeType, 3_000_000_000, .integer32AttributeType, "3000000000"),
      (.integer64AttributeType, 2_147_483_648, .integer32AttributeType, "2147483648"),
      (.integer64AttributeType, -2_147_483_649, .integer32AttributeType, "-2147483649"),
      (.doubleAttributeType, -1e19, .integer64AttributeType, "-1e+19"),
      (.doubleAttributeType, 1e19, .integer64AttributeType, "1e+19"),
      (.doubleAttributeType, 1e39, .floatAttributeType, "1e+39"),
      (.doubleAttributeType, 1e200, .decimalAttributeType, "1e+200"),
      (.decimalAttributeType, NSDecimalNumber.notANumber, .doubleAttributeType, "NaN"),
    ])
  func narrowing(_ old: NSAttributeType, _ value: NSNumber, _ new: NSAttributeType, _ text: String) throws {
    try fill({ $0.entity("Item", [.make("n", old)]) }) { context in
      context.make("Item", ["n": NSDecimalNumber(value: 1)])
      try context.save()
      context.make("Item", ["n": value])
    }
    let error = try refusal { $0.entity("Item", [.make("n", new)]) }
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo["entity"] as? String == "Item")
    #expect(error.userInfo["property"] as? String == "n")
    #expect(error.localizedFailureReason?.contains("1 object; that of Item/p2 is ") == true)
    #expect(error.localizedFailureReason?.contains(text) == true, "\(error.localizedFailureReason ?? "")")
  }

  @Test("The ends of a type's range are kept; fractions are cut off")
  func ends() throws {
    try fill({ $0.entity("Item", [.make("a", .integer64AttributeType), .make("b", .doubleAttributeType)]) }) {
      context in
      context.make("Item", ["a": 32_767, "b": -32_768.9])
      context.make("Item", ["a": -32_768, "b": 32_767.9])
    }
    let after = try migrate {
      $0.entity("Item", [.make("a", .integer16AttributeType), .make("b", .integer16AttributeType)])
    }
    #expect(after.values("Item", "a") == ["-32768", "32767"])
    #expect(after.values("Item", "b") == ["-32768", "32767"])
  }

  @Test("So are those of a 32-bit type, and the least of a 64-bit one")
  func wideEnds() throws {
    try fill({ $0.entity("Item", [.make("a", .integer64AttributeType), .make("b", .doubleAttributeType)]) }) {
      context in
      context.make("Item", ["a": 2_147_483_647, "b": -9_223_372_036_854_775_808.0])
      context.make("Item", ["a": -2_147_483_648, "b": 1.5])
    }
    let after = try migrate {
      $0.entity("Item", [.make("a", .integer32AttributeType), .make("b", .integer64AttributeType)])
    }
    #expect(after.values("Item", "a") == ["-2147483648", "2147483647"])
    #expect(after.values("Item", "b") == ["-9223372036854775808", "1"])
  }

  @Test("A new uniqueness constraint that rows violate is 134111 with entity, properties, values and how many rows")
  func constraint() throws {
    try fill({ $0.entity("Item", [.make("code", .stringAttributeType)]) }) { context in
      for code in ["a", "b", "a", "c", "a", "c"] { context.make("Item", ["code": code]) }
      context.make("Item")
      context.make("Item")
    }
    let error = try refusal {
      $0.entity("Item", [.make("code", .stringAttributeType)]).uniquenessConstraints = [["code"]]
    }
    #expect(error.code == NSMigrationConstraintViolationError)
    #expect(error.userInfo["entity"] as? String == "Item")
    #expect(error.userInfo["property"] as? String == "code")
    #expect(error.localizedFailureReason?.contains("'a' (3 rows); 'c' (2 rows)") == true)
  }

  @Test("Of many values that violate a constraint five are told, and how many there are; relationships go by name")
  func constraintOverRelationship() throws {
    func build(_ builder: inout ModelBuilder, _ constraints: [[Any]]) {
      builder.entity("Owner")
      builder.entity("Item", [.make("code", .stringAttributeType)]).uniquenessConstraints = constraints
      builder.relate(.init("Item", "owner"), .init("Owner", "items", toMany: true))
    }
    try fill({ build(&$0, []) }) { context in
      let owners = [context.make("Owner"), context.make("Owner")]
      for code in ["a", "b", "c", "d", "e", "f", "g"] {
        for owner in [owners[0], owners[0], owners[1]] { context.make("Item", ["code": code, "owner": owner]) }
      }
      context.make("Item", ["code": "g", "owner": owners[0]])
    }
    let error = try refusal { build(&$0, [["owner", "code"]]) }
    #expect(error.code == NSMigrationConstraintViolationError)
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.contains("'owner', 'code'"), "\(reason)")
    let pattern = /'a' \(2 rows\); \d, 'b' \(2 rows\); .*'e' \(2 rows\); 7 values in 15 rows in all\./
    #expect(reason.contains(pattern) && !reason.contains("'f'"), "\(reason)")
  }

  @Test(
    "A transient attribute becomes stored and starts with its default value; a stored one becomes transient and goes")
  func transience() throws {
    try fill({
      $0.entity("Item", [.make("a", .stringAttributeType, transient: true), .make("b", .stringAttributeType)])
    }) { context in
      context.make("Item", ["a": "gone", "b": "kept"])
    }
    let after = try migrate {
      $0.entity(
        "Item",
        [
          .make("a", .stringAttributeType, optional: false, default: "new"),
          .make("b", .stringAttributeType, transient: true),
        ])
    }
    #expect(after.objects == ["Item/p1": ["a": "new"]])
  }

  @Test("A property that a sub-entity repeats has one column, whether the model comes from the app or from the store")
  func repeated() throws {
    func document(_ extra: [AttributeDocument], below: Bool) -> ModelDocument {
      let name = AttributeDocument(name: "name", kind: .string)
      var (parent, child) = (EntityDocument(name: "Media"), EntityDocument(name: "Photo", parentName: "Media"))
      parent.attributes = [name]
      child.attributes = [name] + extra
      var document = ModelDocument(versionIdentifiers: [""])
      document.entities = below ? [parent, child] : [parent]
      return document
    }
    let old = document([AttributeDocument(name: "size", kind: .integer32)], below: true)
    let context = try store.context(NSManagedObjectModel(document: old))
    context.make("Photo", ["name": "p", "size": 3])
    context.make("Media", ["name": "m"])
    try context.save()
    try store.close()
    let wider = try NSManagedObjectModel(
      document: document(
        [AttributeDocument(name: "size", kind: .integer32), AttributeDocument(name: "date", kind: .date)], below: true))
    #expect(try StoreDump(store.context(wider, options: Self.options)).values("Photo", "name") == ["p"])
    try store.close()
    try StoreChecks.check(store.url, wider)
    let narrower = try NSManagedObjectModel(document: document([], below: false))
    #expect(try StoreDump(store.context(narrower, options: Self.options)).values("Media", "name") == ["m"])
    try StoreChecks.check(store.url, narrower)
  }

  // MARK: Files

  private func documents(_ builder: inout ModelBuilder, keepsData: Bool = true, isUnique: Bool = false) {
    let data = NSAttributeDescription.make("data", .binaryDataAttributeType, external: true)
    let item = builder.entity("Item", [.make("name", .stringAttributeType)] + (keepsData ? [data] : []))
    if isUnique { item.uniquenessConstraints = [["name"]] }
    builder.entity("Other", [.make("data", .binaryDataAttributeType, external: true)])
  }

  @Test("Files of values that a migration drops are removed after it, and none before; a backup has its own")
  func files() throws {
    let large = Data(repeating: 3, count: 200_000)
    try fill({ documents(&$0) }) { context in
      context.make("Item", ["name": "a", "data": large])
      context.make("Item", ["name": "a", "data": Data([1])])
      context.make("Other", ["data": large])
    }
    #expect(try externalFiles().count == 2)
    // A failure after the rows were dealt with leaves the files where they are.
    _ = try refusal { documents(&$0, keepsData: false, isUnique: true) }
    let backup = try StoreBackup.make(of: store.url)
    let after = try migrate { documents(&$0, keepsData: false) }
    #expect(after.values("Other", "data") == [large.base64EncodedString()])
    #expect(try externalFiles().count == 1)
    #expect(try externalFiles(of: backup).count == 2)
    _ = try migrate { $0.entity("Item", [.make("name", .stringAttributeType)]) }
    #expect(try externalFiles().isEmpty)
  }

  // MARK: Derived attributes

  @Test("A default value of a transformable or composite attribute comes into rows as a save would write it")
  func transformableDefault() throws {
    try fill({ $0.entity("X", [.make("n", .integer64AttributeType)]) }) { $0.make("X", ["n": 1]) }
    func defaulted(_ name: String, _ value: Any) -> NSAttributeDescription {
      let attribute = NSAttributeDescription.make(name, .transformableAttributeType)
      attribute.defaultValue = value
      return attribute
    }
    let new = Self.model {
      $0.entity(
        "X",
        [
          .make("n", .integer64AttributeType), defaulted("text", "s"), defaulted("number", 5),
          defaulted("list", ["a", "b"]), defaulted("table", ["k": 1]),
        ])
    }
    let context = try store.context(new, options: Self.options)
    let old = try #require(try context.all("X", by: "n").first)
    let fresh = context.make("X", ["n": 2])
    try context.save()
    context.refresh(fresh, mergeChanges: false)
    for object in [old, fresh] {
      #expect(object["text"] as? String == "s")
      #expect(object["number"] as? Int == 5)
      #expect(object["list"] as? [String] == ["a", "b"])
      #expect((object["table"] as? [String: Int]) == ["k": 1])
    }
    try store.close()
  }

  @Test("A new composite attribute has the same value in rows as in new objects: none without a required element")
  func compositeDefault() throws {
    try fill({ $0.entity("X", [.make("n", .integer64AttributeType)]) }) { $0.make("X", ["n": 1]) }
    func composite(_ name: String, _ elements: [NSAttributeDescription]) -> NSAttributeDescription {
      let attribute = NSCompositeAttributeDescription()
      attribute.name = name
      attribute.isOptional = true
      attribute.elements = elements
      return attribute
    }
    func street() -> NSAttributeDescription { .make("street", .stringAttributeType, default: "Main") }
    func city(_ value: String? = nil) -> NSAttributeDescription {
      .make("city", .stringAttributeType, optional: false, default: value)
    }
    let given = composite("given", [street(), city()])
    given.defaultValue = ["street": "Side"]
    func house(_ name: String, _ value: [String: Any]) -> NSAttributeDescription {
      let house = composite(
        name, [composite("inner", [street(), city("Bern")]), .make("floor", .integer16AttributeType, default: 2)])
      house.defaultValue = value
      return house
    }
    let new = Self.model {
      $0.entity(
        "X",
        [
          .make("n", .integer64AttributeType), given, composite("lacking", [street(), city()]),
          composite("complete", [street(), city("Bern")]),
          composite(
            "nested", [composite("inner", [street(), city()]), .make("floor", .integer16AttributeType, default: 2)]),
          house("partial", ["inner": ["street": "Side"]]), house("wrong", ["inner": 5, "floor": 3]),
        ])
    }
    let context = try store.context(new, options: Self.options)
    let old = try #require(try context.all("X", by: "n").first)
    let fresh = context.make("X", ["n": 2])
    for object in [old, fresh] {
      #expect(object["given"] as? NSDictionary == ["street": "Side"])
      #expect(object["lacking"] as? NSDictionary == nil)
      #expect(object["complete"] as? NSDictionary == ["street": "Main", "city": "Bern"])
      #expect(object["nested"] as? NSDictionary == ["floor": 2])
      #expect(object["partial"] as? NSDictionary == ["inner": ["street": "Side", "city": "Bern"], "floor": 2])
      // A default value that is not of the element's type is none.
      #expect(object["wrong"] as? NSDictionary == ["inner": ["street": "Main", "city": "Bern"], "floor": 3])
    }
    try store.close()
  }

  @Test("Derived attributes that are new, or whose source has changed, are computed for the rows that there are")
  func derived() throws {
    func library(_ builder: inout ModelBuilder, author: [NSAttributeDescription], book: [NSAttributeDescription]) {
      builder.entity("Author", [.make("name", .stringAttributeType)] + author)
      builder.entity("Book", [.make("pages", .integer64AttributeType)] + book)
      builder.entity("Novel", parent: "Book")
      builder.relate(.init("Author", "books", toMany: true), .init("Book", "author"))
      builder.relate(.init("Book", "fans", toMany: true), .init("Author", "likes", toMany: true))
    }
    try fill({ library(&$0, author: [.derived("key", .stringAttributeType, "uppercase:(name)")], book: []) }) {
      context in
      let ada = context.make("Author", ["name": "Ädá"])
      context.make("Book", ["pages": 100, "author": ada, "fans": NSSet(object: ada)])
      context.make("Novel", ["pages": 50, "author": ada])
      context.make("Author", ["name": "Bo"])
    }
    let after = try migrate {
      library(
        &$0,
        author: [
          .derived("key", .stringAttributeType, "canonical:(name)"),
          .derived("count", .integer32AttributeType, "books.@count"),
          .derived("liked", .integer16AttributeType, "likes.@count"),
          .derived("sum", .integer64AttributeType, "books.@sum.pages"),
          .derived("most", .doubleAttributeType, "books.@max.pages"), .derived("saved", .dateAttributeType, "now()"),
        ],
        book: [
          .derived("writer", .stringAttributeType, "author.name"),
          .derived("low", .stringAttributeType, "lowercase:(writer)"),
        ])
    }
    #expect(after.values("Author", "key") == ["ada", "bo"])
    #expect(after.values("Author", "count") == ["0", "2"])
    #expect(after.values("Author", "liked") == ["0", "1"])
    #expect(after.values("Author", "sum") == ["0", "150"])
    #expect(after.values("Author", "most") == ["100.0", "nil"])
    #expect(after.values("Author", "saved").contains("nil") == false)
    #expect(after.values("Book", "writer") + after.values("Novel", "writer") == ["Ädá", "Ädá"])
    #expect(after.values("Novel", "low") == ["ädá"])
  }
}
