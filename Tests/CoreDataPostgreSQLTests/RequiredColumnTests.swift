// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Columns of required attributes in PostgreSQL", .needsPostgreSQL)
struct RequiredColumnTests {
  private let bench = ServerBench()

  private let options: [AnyHashable: Any] = [
    NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    // No model file has the versions.
    MigrationOption.allowsDowngrade: true, MigrationOption.allowsLoss: true,
  ]

  /// An entity and a subentity with the given attributes.
  private func model(_ own: [NSAttributeDescription], sub: [NSAttributeDescription] = []) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Item", [.make("name", .stringAttributeType)] + own)
    builder.entity("Special", parent: "Item", sub)
    return builder.model()
  }

  private static let date = Date(timeIntervalSinceReferenceDate: 0.123_456_789)

  /// Required attributes of all kinds, with their default values.
  private func attributes(_ optional: Bool = false) -> [NSAttributeDescription] {
    let values: [(String, NSAttributeType, Any)] = [
      ("int", .integer32AttributeType, 7), ("bool", .booleanAttributeType, true), ("real", .doubleAttributeType, 1.5),
      ("float", .floatAttributeType, Float(0.25)), ("text", .stringAttributeType, "it's \\ a ? default"),
      ("decimal", .decimalAttributeType, NSDecimalNumber(string: "12.34")), ("date", .dateAttributeType, Self.date),
      ("bytes", .binaryDataAttributeType, Data([0, 1, 255])),
      ("uuid", .UUIDAttributeType, UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF") ?? UUID()),
      ("uri", .URIAttributeType, URL(string: "https://example.org/?a=b") ?? URL(fileURLWithPath: "/")),
    ]
    return values.map { .make($0, $1, optional: optional, default: $2) }
  }

  /// The columns that are NOT NULL or have a default, each with its default.
  private func defaults() throws -> [String: String] {
    let rows = try bench.connection().query(
      "SELECT column_name::text, is_nullable::text || ' ' || coalesce(column_default::text, '-') "
        + "FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'zitem' "
        + "AND column_name NOT IN ('z_pk', 'z_ent', 'z_opt')")
    let all = (0..<rows.count).map { (rows.string($0, 0), rows.string($0, 1)) }
    return Dictionary(uniqueKeysWithValues: all.filter { $0.1 != "YES -" })
  }

  private func expectDefaults(_ object: NSManagedObject) {
    for attribute in attributes() {
      let value = object[attribute.name] as? NSObject
      #expect(value == attribute.defaultValue as? NSObject, "\(attribute.name): \(value as Any)")
    }
  }

  @Test("Rows of programs that do not know a required attribute get its default value, in new and in migrated stores")
  func rowsOfOthers() throws {
    for isMigrated in [false, true] {
      let bench = ServerBench()
      if isMigrated {
        let old = bench.context(try bench.coordinator(nil, model([])))
        old.make("Item", ["name": "old"])
        old.make("Special", ["name": "old"])
        try old.save()
      }
      let context = bench.context(try bench.coordinator(options, model(attributes())))
      context.make("Item", ["name": "new", "int": 8])
      try context.save()
      let other = try bench.connection()
      let number = try other.query("SELECT z_ent::bigint FROM z_primarykey WHERE z_name = 'Item'").int64(0, 0)
      _ = try other.run(
        "INSERT INTO zitem (z_pk, z_ent, z_opt, zname) VALUES (900, $1, 1, 'other')", [.integer(number)])
      #expect(throws: PostgreSQLError.self) { try other.run("UPDATE zitem SET zint = NULL WHERE zname = 'other'") }
      for object in try context.all("Item", where: NSPredicate(format: "name != 'new'")) { expectDefaults(object) }
      let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Item"))
      #expect(count == (isMigrated ? 4 : 2))
      #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    }
  }

  @Test("Migrated stores have the same defaults as new ones, and lose them with the attributes")
  func sameDefaults() throws {
    func coordinator(_ model: NSManagedObjectModel) throws {
      let coordinator = try bench.coordinator(options, model)
      try coordinator.remove(coordinator.persistentStores[0])
    }
    try coordinator(model(attributes()))
    let fresh = try defaults()
    // A date has a second column for what a timestamp cannot hold.
    #expect(fresh.count == 11 && fresh.values.count { $0.hasPrefix("NO ") } == 10, "\(fresh)")
    try coordinator(model(attributes(true)))
    #expect(try defaults() == [:])
    let context = bench.context(try bench.coordinator(nil, model(attributes(true))))
    let empty = context.make("Item", ["name": "empty"])
    for attribute in attributes() { empty.setValue(nil, forKey: attribute.name) }
    try context.save()
    try coordinator(model(attributes()))
    #expect(try defaults() == fresh)
    let filled = bench.context(try bench.coordinator(nil, model(attributes())))
    expectDefaults(try #require(filled.all("Item").first))
    // Other types, other values and other names.
    let others: [NSAttributeDescription] = [
      .make("int", .doubleAttributeType, optional: false, default: 7.5),
      .make("word", .stringAttributeType, optional: false, default: "other", renamedFrom: "text"),
    ]
    try coordinator(model(others))
    #expect(try defaults().mapValues { $0.contains("other") || $0.contains("7.5") } == ["zint": true, "zword": true])
    try coordinator(model([]))
    #expect(try defaults() == [:])
  }

  @Test("A column that some entities of its table lack has no default, and none when it comes to a parent")
  func subentities() throws {
    let level = NSAttributeDescription.make("level", .integer16AttributeType, optional: false, default: 3)
    let context = bench.context(try bench.coordinator(nil, model([], sub: [level])))
    context.make("Item", ["name": "plain"])
    context.make("Special", ["name": "special", "level": 4])
    try context.save()
    #expect(try defaults() == [:])
    let moved = NSAttributeDescription.make("level", .integer16AttributeType, optional: false, default: 3)
    let after = bench.context(try bench.coordinator(options, model([moved])))
    #expect(try after.all("Item").map { $0["level"] as? Int } == [3, 4])
    #expect(try defaults().keys.sorted() == ["zlevel"])
    let again = NSAttributeDescription.make("level", .integer16AttributeType, optional: false, default: 3)
    let back = bench.context(
      try bench.coordinator(
        options, model([], sub: [again])))
    #expect(try defaults() == [:])
    back.make("Item", ["name": "another"])
    try back.save()
  }

  @Test("Stores that were made without the constraints, and rows without a value, are migrated, copied and verified")
  func withoutConstraints() throws {
    let level = { NSAttributeDescription.make("level", .integer16AttributeType, optional: false, default: 3) }
    let context = bench.context(try bench.coordinator(nil, model([level()])))
    context.make("Item", ["name": "first"])
    try context.save()
    let owner = try bench.connection()
    try owner.execute(
      "ALTER TABLE zitem ALTER COLUMN zlevel DROP NOT NULL, ALTER COLUMN zlevel DROP DEFAULT; UPDATE zitem SET zlevel = NULL"
    )
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    let extra = NSAttributeDescription.make("extra", .stringAttributeType)
    let coordinator = try bench.coordinator(options, model([level(), extra]))
    let after = bench.context(coordinator)
    #expect(try after.all("Item").map { $0["level"] as? Int } == [nil])
    let copy = ServerBench()
    try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: copy.url, type: .postgreSQL)
    let copied = copy.context(
      try copy.coordinator(nil, model([level(), NSAttributeDescription.make("extra", .stringAttributeType)])))
    let object = try #require(try copied.all("Item").first)
    #expect(object["level"] == nil)
    object["level"] = 5
    try copied.save()
    // Without such rows, a copy has the constraint.
    let second = ServerBench()
    let source = try #require(copied.persistentStoreCoordinator)
    try source.migratePersistentStore(source.persistentStores[0], to: second.url, type: .postgreSQL)
    let rows = try second.connection().query(
      "SELECT attnotnull FROM pg_attribute WHERE attrelid = 'zitem'::regclass AND attname = 'zlevel'")
    #expect(rows.bool(0, 0))
  }

  @Test("A missing required value is an error with Apple's code")
  func missing() throws {
    let level = NSAttributeDescription.make("level", .integer16AttributeType, optional: false, default: 3)
    let context = bench.context(try bench.coordinator(nil, model([level])))
    context.make("Item", ["name": "first"])
    try context.save()
    try bench.connection().execute("ALTER TABLE zitem ALTER COLUMN zname SET NOT NULL")
    let problems = try PostgreSQLStore.problems(at: bench.url)
    #expect(problems.count == 1 && "\(problems)".contains("zitem.zname is NOT NULL"), "\(problems)")
    context.make("Item")
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.code == NSValidationMissingMandatoryPropertyError, "\(error)")
    #expect(context.hasChanges && "\(error)".contains("zname"))
  }
}
