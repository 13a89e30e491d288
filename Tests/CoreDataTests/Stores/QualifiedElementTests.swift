// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// The resource was written by a version that put the names of composite attributes before those of their elements.
@Suite("Stores with qualified names of elements")
struct QualifiedElementTests {
  private static var options: [AnyHashable: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.allowsLoss: true, NSPersistentHistoryTrackingKey: true,
    ]
  }

  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
    let url = try #require(Bundle.module.url(forResource: "QualifiedElements", withExtension: "sqlite"))
    try FileManager.default.copyItem(at: url, to: store.url)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: store.url.path)
  }

  private func model() throws -> NSManagedObjectModel { try .load(contentsOf: store.url) }

  private func columns(_ table: String) throws -> [String] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    defer { try? connection.close() }  // Nothing is written.
    return try connection.catalog().table(named: table)?.columns.map(\.name) ?? []
  }

  private func person(_ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "name == %@", name)
    return try #require(try context.fetch(request).first)
  }

  private func checkValues(_ context: NSManagedObjectContext) throws {
    let anna = try person("Anna", context)
    #expect(
      anna["address"] as? NSDictionary == [
        "street": "Main", "city": "Bern", "id": 1, "geo": ["lat": 46.9, "lng": 7.4],
      ])
    #expect(anna["address_street"] as? String == "one line")
    #expect(anna["id"] as? UUID == UUID(uuidString: "00000000-0000-0000-0000-00000000000A"))
    #expect(
      anna["work"] as? NSDictionary
        == ["street": "Second", "since": Date(timeIntervalSinceReferenceDate: 2000) as NSDate])
    #expect(try person("Ben", context)["address"] == nil)
    let cleo = try person("Cleopatra", context)
    #expect(cleo["address"] as? NSDictionary == ["street": "Side", "id": 2])
    #expect(cleo["desk"] as? NSDictionary == ["street": "Corridor", "floor": 3])
    let pet = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Pet")).first)
    #expect(pet["home"] as? NSDictionary == ["room": "kitchen", "city": "Bern"])
    #expect((pet["city"] as? NSManagedObject)?["name"] as? String == "Rome")
  }

  @Test("Such a store opens, is queried, changed and saved under the names that it has")
  func unchanged() throws {
    let before = try ["ZPERSON", "ZPET"].map(columns)
    var context = try store.context(model(), options: [NSPersistentHistoryTrackingKey: true])
    try checkValues(context)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "address.geo.lat > 40 AND work.street == 'Second'")
    #expect(try context.fetch(request).map { $0["name"] as? String } == ["Anna"])
    let cleo = try person("Cleopatra", context)
    cleo["desk"] = ["street": "Hall", "floor": 4]
    let new = context.make("Employee", ["name": "Dora", "desk": ["street": "Attic"], "address": ["street": "Back"]])
    try context.save()
    new["address"] = ["street": "Front", "id": 1]
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == NSManagedObjectConstraintMergeError)
    try store.close()

    context = try store.context(model(), options: [NSPersistentHistoryTrackingKey: true])
    #expect(try person("Cleopatra", context)["desk"] as? NSDictionary == ["street": "Hall", "floor": 4])
    #expect(try person("Dora", context)["address"] as? NSDictionary == ["street": "Back"])
    let update = try #require(try PersistentHistoryTests.history(context).last?.changes?.last)
    #expect(Set(update.updatedProperties?.map(\.name) ?? []) == ["desk"])
    #expect(try ["ZPERSON", "ZPET"].map(columns) == before)
  }

  /// The model with another entity changed, so that the others are as they were.
  private func withArea() throws -> NSManagedObjectModel {
    let model = try model()
    let town = try #require(model.entitiesByName["Town"])
    town.properties.append(NSAttributeDescription.make("area", .integer64AttributeType))
    return model
  }

  @Test("The next migration gives the columns Core Data's names, whatever it changes", arguments: [false, true])
  func renamed(_ isDeferred: Bool) throws {
    let model = try withArea()
    var options = Self.options
    options[NSPersistentStoreDeferredLightweightMigrationOptionKey] = isDeferred
    var context = try store.context(model, options: options)
    try checkValues(context)
    try store.close()
    let fresh = try StoreSchema(document: model.document)
    for table in fresh.tables { #expect(try Set(columns(table.name)) == Set(table.columns.map(\.name))) }
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let indexes = Set(try connection.catalog().indexes.filter { $0.table.hasPrefix("Z") }.compactMap(\.sql))
    #expect(indexes == Set(fresh.indexes.map(\.statement.sql)))
    #expect(try connection.integrityCheck() == [])
    try connection.close()
    context = try store.context(model, options: options)
    try checkValues(context)
    #expect(try PersistentHistoryTests.history(context).count == 2)
  }

  @Test("Composite attributes and elements that are renamed, added and removed meanwhile take their values along")
  func changedComposites() throws {
    let model = try model()
    let person = try #require(model.entitiesByName["Person"])
    let place = NSCompositeAttributeDescription()
    place.name = "place"
    place.renamingIdentifier = "address"
    place.isOptional = true
    place.elements = [
      .make("street", .stringAttributeType, renamedFrom: "city"),
      .make("road", .stringAttributeType, renamedFrom: "street"),
      .make("id", .integer64AttributeType), .make("country", .stringAttributeType),
    ]
    // An attribute becomes an element of the same name, which is another property: its values are lost.
    let label = NSCompositeAttributeDescription()
    label.name = "label"
    label.isOptional = true
    label.elements = [.make("address_street", .stringAttributeType)]
    person.uniquenessConstraints = []
    let removed = ["address", "work", "address_street"]
    person.properties = person.properties.filter { !removed.contains($0.name) } + [place, label]
    let context = try store.context(model, options: Self.options)
    let anna = try self.person("Anna", context)
    #expect(anna["place"] as? NSDictionary == ["street": "Bern", "road": "Main", "id": 1])
    #expect(anna["label"] == nil)
    #expect(anna["id"] as? UUID == UUID(uuidString: "00000000-0000-0000-0000-00000000000A"))
    let cleo = try self.person("Cleopatra", context)
    #expect(cleo["place"] as? NSDictionary == ["road": "Side", "id": 2])
    #expect(cleo["desk"] as? NSDictionary == ["street": "Corridor", "floor": 3])
    try store.close()
    let fresh = try StoreSchema(document: model.document)
    for table in fresh.tables { #expect(try Set(columns(table.name)) == Set(table.columns.map(\.name))) }
  }

  // MARK: Ambiguous tables

  private static func item(_ attributes: String...) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let address = NSCompositeAttributeDescription()
    address.name = "address"
    address.isOptional = true
    address.elements = [.make("street", .stringAttributeType)]
    builder.entity("Item", [address] + attributes.map { .make($0, .stringAttributeType) })
    return builder.model()
  }

  @Test("A column left behind by a deferred cleanup is not taken for that of an element")
  func leftBehind() throws {
    let other = try TemporaryStore()
    try other.context(Self.item()).make("Item", ["address": ["street": "Main"]]).managedObjectContext?.save()
    try other.close()
    let connection = try SQLiteConnection(url: other.url, mode: .readWrite)
    try connection.execute("ALTER TABLE ZITEM RENAME COLUMN ZSTREET TO ZADDRESS_STREET")
    try connection.execute("ALTER TABLE ZITEM ADD COLUMN ZSTREET VARCHAR")
    try connection.execute("UPDATE ZITEM SET ZSTREET = 'of an attribute that a migration has removed'")
    try connection.close()
    let context = try other.context(Self.item())
    let item = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Item")).first)
    #expect(item["address"] as? NSDictionary == ["street": "Main"])
  }

  @Test("A migration with deferred cleanup leaves no column with the qualified name of an element behind")
  func leavesNone() throws {
    let other = try TemporaryStore()
    var context = try other.context(Self.item("address_street", "more"))
    context.make("Item", ["address": ["street": "Main"], "address_street": "one line", "more": "x"])
    try context.save()
    try other.close()
    var options = Self.options
    options[NSPersistentStoreDeferredLightweightMigrationOptionKey] = true
    context = try other.context(Self.item("more"), options: options)
    try other.close()
    context = try other.context(Self.item("more"))
    let item = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Item")).first)
    #expect(item["address"] as? NSDictionary == ["street": "Main"])
    #expect(item["more"] as? String == "x")
  }

  // MARK: Random models

  /// A random version of a model with names that clash. Properties of one name have one type in all versions.
  private static func version(_ random: inout SeededGenerator, isLater: Bool) -> NSManagedObjectModel {
    func attribute(_ name: String) -> NSAttributeDescription {
      .make(name, name.hasSuffix("id") ? .integer64AttributeType : .stringAttributeType)
    }
    func composite(_ name: String) -> NSCompositeAttributeDescription {
      let composite = NSCompositeAttributeDescription()
      composite.name = name
      composite.isOptional = true
      composite.elements = (["id", "a", "b", "a_b"].filter { _ in Int.random(in: 1...3, using: &random) > 1 } + ["z"])
        .map(attribute)
      composite.elements.shuffle(using: &random)
      return composite
    }
    var builder = ModelBuilder()
    var taken: Set<String> = []
    for (entity, parent) in [("Base", nil), ("Leaf", "Base")] as [(String, String?)] {
      let names = ["a", "b", "id", "a_b", "c_b", "c_id", "d_a"].filter { _ in Int.random(in: 1...2, using: &random) == 1
      }
      var properties = names.filter { taken.insert($0).inserted }.map(attribute)
      for name in ["c", "d", "c_a"] where Int.random(in: 1...2, using: &random) == 1 && taken.insert(name).inserted {
        let own = composite(name)
        if Int.random(in: 1...2, using: &random) == 1 {
          let inner = composite("n")
          own.elements.append(inner)
        }
        if isLater, Int.random(in: 1...3, using: &random) == 1 {
          own.name = "new_" + name
          own.renamingIdentifier = name
        }
        properties.append(own)
      }
      builder.entity(entity, parent: parent, properties)
    }
    return builder.model()
  }

  private static func fill(_ context: NSManagedObjectContext) throws {
    var counter = 0
    func value(_ attribute: NSAttributeDescription) -> Any {
      counter += 1
      if let composite = attribute as? NSCompositeAttributeDescription {
        return Dictionary(uniqueKeysWithValues: composite.elements.map { ($0.name, value($0)) })
      }
      return attribute.attributeType == .integer64AttributeType ? counter : "value \(counter)"
    }
    for entity in ["Base", "Base", "Leaf", "Leaf"] {
      let object = context.make(entity)
      for (key, attribute) in object.entity.attributesByName.sorted(by: { $0.key < $1.key }) where counter % 7 != 3 {
        object[key] = value(attribute)
      }
    }
    try context.save()
  }

  private static func contents(_ context: NSManagedObjectContext) throws -> [String: NSDictionary] {
    var contents: [String: NSDictionary] = [:]
    for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Base")) {
      let keys = Array(object.entity.attributesByName.keys)
      contents[object.objectID.uriRepresentation().lastPathComponent] =
        object.dictionaryWithValues(forKeys: keys) as NSDictionary
    }
    return contents
  }

  /// Gives the columns of a new store the qualified names.
  private static func qualify(_ url: URL, _ model: NSManagedObjectModel) throws {
    let selection = try SchemaSelection(document: model.document, configuration: nil)
    var builder = SchemaBuilder(
      selection: selection, numbers: selection.freshNumbers(), elementNames: .qualified)
    let (plain, qualified) = (try StoreSchema(document: model.document), try builder.build())
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    for (old, new) in zip(plain.tables, qualified.tables) {
      let table = SQLName.quoted(old.name)
      for (number, column) in old.columns.enumerated() {
        try connection.execute("ALTER TABLE \(table) RENAME COLUMN \(SQLName.quoted(column.name)) TO T\(number)")
      }
      for (number, column) in old.columns.enumerated() {
        let name = try #require(new.columns.first { $0.role == column.role }).name
        try connection.execute("ALTER TABLE \(table) RENAME COLUMN T\(number) TO \(SQLName.quoted(name))")
      }
    }
    try connection.close()
  }

  @Test("Random tables with qualified names read as those with plain names, before and after a migration")
  func random() throws {
    var different = 0
    for seed in 0..<20 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let (first, second) = (Self.version(&random, isLater: false), Self.version(&random, isLater: true))
      let (plain, qualified) = (try TemporaryStore(), try TemporaryStore())
      try Self.fill(plain.context(first))
      try plain.close()
      try FileManager.default.copyItem(at: plain.url, to: qualified.url)
      try Self.qualify(qualified.url, first)
      func columns(_ store: TemporaryStore) throws -> Set<String> {
        let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
        defer { try? connection.close() }  // Nothing is written.
        return Set(try connection.catalog().table(named: "ZBASE")?.columns.map(\.name) ?? [])
      }
      different += try columns(plain) == columns(qualified) ? 0 : 1
      let expected = try Self.contents(plain.context(first))
      #expect(expected.count == 4)
      #expect(try Self.contents(qualified.context(first)) == expected, "seed \(seed)")
      try plain.close()
      try qualified.close()
      let migrated = try Self.contents(plain.context(second, options: Self.options))
      #expect(try Self.contents(qualified.context(second, options: Self.options)) == migrated, "seed \(seed)")
      try plain.close()
      try qualified.close()
      #expect(try columns(qualified) == columns(plain), "seed \(seed)")
    }
    #expect(different > 12)
  }
}
