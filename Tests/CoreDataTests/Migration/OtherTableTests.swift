// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A stand-in for the tables of `NSPersistentCloudKitContainer`: those of its columns that matter here.
@Suite("Tables that are not the model's")
struct OtherTableTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private static func model(_ entities: [(name: String, parent: String?)], text: String = "code")
    -> NSManagedObjectModel
  {
    var builder = ModelBuilder()
    for entity in entities {
      builder.entity(
        entity.name, parent: entity.parent, entity.parent == nil ? [.make(text, .stringAttributeType)] : [])
    }
    return builder.model()
  }

  private static let old = [("Parcel", nil), ("Van", nil)] as [(name: String, parent: String?)]

  /// A store with two parcels and a van, and the records of all three.
  private func fill() throws {
    let context = try store.context(Self.model(Self.old), options: [NSPersistentHistoryTrackingKey: true])
    for (entity, code) in [("Parcel", "a"), ("Parcel", "b"), ("Van", "x")] { context.make(entity, ["code": code]) }
    try context.save()
    try store.close()
    try change(
      """
      CREATE TABLE ANSCKRECORDMETADATA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENTITYID INTEGER, \
      ZENTITYPK INTEGER, ZCKRECORDNAME VARCHAR);
      CREATE UNIQUE INDEX RECORDS ON ANSCKRECORDMETADATA (ZENTITYID, ZENTITYPK);
      INSERT INTO ANSCKRECORDMETADATA VALUES (1, 16010, 1, 1, 1, 'parcel-1'), (2, 16010, 1, 1, 2, 'parcel-2'), \
      (3, 16010, 1, 2, 1, 'van-1');
      CREATE TABLE ANSCKEVENT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER);
      CREATE TABLE NOTES (ZENTITYID INTEGER);
      INSERT INTO NOTES VALUES (1);
      INSERT INTO Z_PRIMARYKEY VALUES (16010, 'NSCKRecordMetadata', 0, 3), (16011, 'NSCKEvent', 0, 0);
      """)
  }

  private func change(_ sql: String) throws {
    try SQLiteConnection.execute(sql, at: store.url)
  }

  private func rows(_ sql: String) throws -> [[SQLiteValue]] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    defer { try? connection.close() }  // Only read from.
    return try connection.rows(sql).map(\.values)
  }

  private func migrate(_ model: NSManagedObjectModel, _ options: [String: Any] = [:]) throws {
    let all: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](), NSPersistentHistoryTrackingKey: true,
    ]
    _ = try store.context(model, options: all.merging(options) { $1 })
    try store.close()
  }

  /// The entity's name and the object's code for each record.
  private func records(_ tables: [String]) throws -> [[SQLiteValue]] {
    let objects = tables.map { "SELECT Z_ENT, Z_PK, ZCODE FROM \($0)" }.joined(separator: " UNION ALL ")
    return try rows(
      "SELECT r.ZCKRECORDNAME, k.Z_NAME, o.ZCODE FROM ANSCKRECORDMETADATA r LEFT JOIN Z_PRIMARYKEY k ON k.Z_ENT = r.ZENTITYID "
        + "LEFT JOIN (\(objects)) o ON o.Z_ENT = r.ZENTITYID AND o.Z_PK = r.ZENTITYPK ORDER BY r.Z_PK")
  }

  @Test("Entity numbers in tables of NSPersistentCloudKitContainer follow the entities")
  func renumbered() throws {
    try fill()
    try migrate(Self.model([("Airway", nil)] + Self.old))
    #expect(
      try records(["ZPARCEL", "ZVAN"]) == [
        ["parcel-1", "Parcel", "a"], ["parcel-2", "Parcel", "b"], ["van-1", "Van", "x"],
      ])
    #expect(
      try rows("SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT > 16009 ORDER BY 1") == [
        [16010, "NSCKRecordMetadata"], [16011, "NSCKEvent"],
      ])
    // A column of that name in a table that the store does not list is anybody's.
    #expect(try rows("SELECT ZENTITYID FROM NOTES") == [[1]])
  }

  @Test("Records of objects whose entity is removed go with them, so that no other entity gets them")
  func removed() throws {
    try fill()
    try migrate(Self.model([("Van", nil)]), [MigrationOption.allowsLoss: true])
    #expect(try records(["ZVAN"]) == [["van-1", "Van", "x"]])
  }

  @Test("Keys follow their rows into the table of a new common parent")
  func merged() throws {
    try fill()
    try migrate(Self.model([("Thing", nil), ("Parcel", "Thing"), ("Van", "Thing")]))
    #expect(
      try records(["ZTHING"]) == [
        ["parcel-1", "Parcel", "a"], ["parcel-2", "Parcel", "b"], ["van-1", "Van", "x"],
      ])
  }

  @Test("A migration that makes a new store names tables that it would drop, and needs permission")
  func copied() throws {
    try fill()
    let (old, new) = (Self.model(Self.old), Self.model([("Airway", nil)] + Self.old))
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    let explicit = NSMappingModel()
    explicit.entityMappings = mapping.entityMappings
    let before = try FileContent(store.url)
    for losses in [false as Any, ["ANSCKRECORDMETADATA"], ["NOTES", "Parcel"]] {
      let error = try #require(throws: NSError.self) {
        try migrate(new, [MigrationOption.mappings: [explicit], MigrationOption.allowsLoss: losses])
      }
      #expect(error.domain == NSCocoaErrorDomain && error.code == NSMigrationError)
      let reason = error.localizedFailureReason ?? ""
      let places = losses as? [String] ?? []
      #expect(reason.contains("3 rows of the table ANSCKRECORDMETADATA") != places.contains("ANSCKRECORDMETADATA"))
      #expect(reason.contains("1 row of the table NOTES") != places.contains("NOTES"), "\(reason)")
      #expect(!reason.contains("ANSCKEVENT"))
      #expect(try FileContent(store.url) == before)
    }
    try migrate(
      new, [MigrationOption.mappings: [explicit], MigrationOption.allowsLoss: ["ANSCKRECORDMETADATA", "NOTES"]])
    #expect(try rows("SELECT COUNT(*) FROM sqlite_master WHERE name IN ('ANSCKRECORDMETADATA', 'NOTES')") == [[0]])
  }
}
