// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A policy that changes nothing, so that objects run its mapping.
final class CompositePolicy: NSEntityMigrationPolicy {}

@Suite("Composite attributes")
struct CompositeAttributeTests {
  private static let kinds: [NSPersistentStore.StoreType] = [.sqlite, .xml, .binary, .inMemory]

  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  private static func composite(
    _ name: String, _ elements: [NSAttributeDescription], default value: [String: Any]? = nil
  ) -> NSCompositeAttributeDescription {
    let composite = NSCompositeAttributeDescription()
    composite.name = name
    composite.isOptional = true
    composite.defaultValue = value
    composite.elements = elements
    return composite
  }

  private static func model(_ elements: [NSAttributeDescription], _ more: [NSAttributeDescription] = [])
    -> NSManagedObjectModel
  {
    var builder = ModelBuilder()
    builder.entity("Shop", [.make("name", .stringAttributeType), composite("place", elements)] + more)
    return builder.model()
  }

  private static func address() -> [NSAttributeDescription] {
    [
      .make("street", .stringAttributeType), .make("zip", .integer32AttributeType),
      composite("geo", [.make("lat", .doubleAttributeType), .make("note", .stringAttributeType)]),
    ]
  }

  private func context(
    _ model: NSManagedObjectModel, _ kind: NSPersistentStore.StoreType = .sqlite
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: kind, at: store.folder.appendingPathComponent(kind.rawValue))
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func close(_ context: NSManagedObjectContext) throws {
    let coordinator = try #require(context.persistentStoreCoordinator)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func files(beside name: String = "SQLite") throws -> [String] {
    let folder = ExternalData(store: store.folder.appendingPathComponent(name)).folder.path
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  // MARK: Values

  @Test("A dictionary that does not fit is refused with the names of the elements")
  func unknownElements() throws {
    let object = try context(Self.model(Self.address())).make("Shop")
    for (value, words) in [
      (["town": "x"], "'place' of 'Shop' has no element 'town'. It has: geo, street, zip."),
      (["zip": "x"] as [String: Any], "does not have the class of its element"),
    ] {
      let error = try #require(throws: NSError.self) { try object.setCheckedValue(value, forKeyPath: "place") }
      #expect(error.code == NSManagedObjectValidationError)
      #expect(error.localizedFailureReason?.contains(words) == true, "\(error)")
    }
    #expect(object["place"] == nil)
  }

  @Test("An object has a dictionary of its own, with the values that the store will return", arguments: kinds)
  func ownValues(_ kind: NSPersistentStore.StoreType) throws {
    let context = try context(Self.model(Self.address()), kind)
    let given = NSMutableDictionary(dictionary: [
      "street": NSMutableString(string: "Main"), "zip": 7.0, "geo": ["note": NSNull()],
    ])
    let shop = context.make("Shop", ["place": given])
    given["street"] = "Other"
    #expect(shop["place"] as? NSDictionary == ["street": "Main", "zip": 7])
    try context.save()
    given["street"] = "Third"
    #expect(!context.hasChanges)
    let set = shop["place"] as? NSDictionary
    context.refresh(shop, mergeChanges: false)
    #expect(shop["place"] as? NSDictionary == set)
    #expect(shop.value(forKeyPath: "place.zip") as? Int == 7)
  }

  @Test("A dictionary without values is no value, before a save as after it", arguments: kinds)
  func empty(_ kind: NSPersistentStore.StoreType) throws {
    let context = try context(Self.model(Self.address()), kind)
    for value in [[:], ["geo": [String: Any]()], ["geo": ["lat": NSNull()], "zip": NSNull()]] as [[String: Any]] {
      context.make("Shop", ["place": value])
    }
    #expect(try context.all("Shop", where: NSPredicate(format: "place == nil")).count == 3)
    try context.save()
    context.refreshAllObjects()
    #expect(try context.all("Shop", where: NSPredicate(format: "place == nil")).count == 3)
  }

  @Test("Setting equal values of every type is no change", arguments: kinds)
  func equalValues(_ kind: NSPersistentStore.StoreType) throws {
    let (day, token) = (Date(timeIntervalSinceReferenceDate: 7.5), UUID())
    func values() -> [String: Any] {
      [
        "text": "e\u{301}", "day": day, "token": token, "data": Data([1, 2]), "number": 5, "flag": true,
        "decimal": NSDecimalNumber(string: "1.25"), "site": URL(string: "https://example.org/a") as Any,
        "inner": ["day": day],
      ]
    }
    let context = try context(
      Self.model([
        .make("text", .stringAttributeType), .make("day", .dateAttributeType), .make("token", .UUIDAttributeType),
        .make("data", .binaryDataAttributeType), .make("number", .integer64AttributeType),
        .make("flag", .booleanAttributeType), .make("decimal", .decimalAttributeType),
        .make("site", .URIAttributeType), Self.composite("inner", [.make("day", .dateAttributeType)]),
      ]), kind)
    _ = context.make("Shop", ["place": values()])
    try context.save()
    context.reset()
    let shop = try #require(try context.all("Shop").first)
    #expect((shop["place"] as? [String: Any])?.count == 9)
    shop["place"] = values()
    #expect(shop.changedValues().isEmpty && !shop.hasPersistentChangedValues)
    shop["place"] = values().merging(["day": day + 1]) { $1 }
    #expect(Array(shop.changedValues().keys) == ["place"])
  }

  @Test("An invalid element is named by its key path")
  func invalid() throws {
    let latitude = NSAttributeDescription.make("lat", .doubleAttributeType, optional: false)
    let context = try context(Self.model([Self.composite("geo", [latitude, .make("note", .stringAttributeType)])]))
    _ = context.make("Shop", ["place": ["geo": ["note": "here"]]])
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.userInfo[NSValidationKeyErrorKey] as? String == "place.geo.lat")
  }

  @Test("Another form of the same letters is a change", arguments: kinds)
  func bytes(_ kind: NSPersistentStore.StoreType) throws {
    let context = try context(Self.model(Self.address()), kind)
    let shop = context.make("Shop", ["place": ["geo": ["note": "caf\u{E9}"]]])
    try context.save()
    shop.setValue("cafe\u{301}", forKeyPath: "place.geo.note")
    try context.save()
    context.refresh(shop, mergeChanges: false)
    let note = try #require(shop.value(forKeyPath: "place.geo.note") as? String)
    #expect(Array(note.unicodeScalars) == Array("cafe\u{301}".unicodeScalars))
  }

  @Test("Transformable elements come back as values, and keep them when others change", arguments: kinds)
  func transformables(_ kind: NSPersistentStore.StoreType) throws {
    let tags = NSAttributeDescription.make("tags", .transformableAttributeType)
    tags.valueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
    let model = Self.model([
      tags, .make("zip", .integer32AttributeType),
      Self.composite("inner", [.make("list", .transformableAttributeType)]),
    ])
    let first = try context(model, kind)
    let shop = first.make("Shop", ["place": ["tags": ["a", "b"], "inner": ["list": [1, 2]]] as [String: Any]])
    try first.save()
    for zip in 1...2 {
      first.refresh(shop, mergeChanges: false)
      #expect(shop.value(forKeyPath: "place.tags") as? [String] == ["a", "b"])
      #expect(shop.value(forKeyPath: "place.inner.list") as? [Int] == [1, 2])
      shop.setValue(zip, forKeyPath: "place.zip")
      try first.save()
    }
    guard kind != .inMemory else { return }
    try close(first)
    let second = try context(model, kind)
    let read = try #require(try second.all("Shop").first)
    #expect(read.value(forKeyPath: "place.tags") as? [String] == ["a", "b"])
    #expect(read.value(forKeyPath: "place.inner.list") as? [Int] == [1, 2])
    try close(second)
  }

  @Test("New objects have the default values of the elements, unless a required one would be missing")
  func defaults() throws {
    let elements: [NSAttributeDescription] = [
      .make("zip", .integer32AttributeType, default: 5), .make("street", .stringAttributeType),
      Self.composite("geo", [.make("lat", .doubleAttributeType, optional: false, default: 1.5)]),
    ]
    let partial: [NSAttributeDescription] = [
      .make("a", .integer32AttributeType, default: 5), .make("b", .stringAttributeType, optional: false),
    ]
    let own =
      [.make("a", .integer32AttributeType, default: 5), .make("b", .stringAttributeType)]
      as [NSAttributeDescription]
    let context = try context(
      Self.model(elements, [Self.composite("partial", partial), Self.composite("own", own, default: ["b": "B"])]))
    let shop = context.make("Shop")
    #expect(shop["place"] as? NSDictionary == ["zip": 5, "geo": ["lat": 1.5]])
    #expect(shop["partial"] == nil)
    #expect(shop["own"] as? NSDictionary == ["a": 5, "b": "B"])
    try context.save()
  }

  // MARK: Fetches

  @Test("Equal dictionaries and lists are one distinct result and one group", arguments: kinds)
  func distinct(_ kind: NSPersistentStore.StoreType) throws {
    let context = try context(Self.model(Self.address(), [.make("tags", .transformableAttributeType)]), kind)
    for number in 0..<12 {
      context.make(
        "Shop",
        ["place": ["zip": number % 3, "geo": ["note": "n\(number % 3)"]] as [String: Any], "tags": [number % 2, [1]]])
    }
    context.make("Shop")
    for saves in [false, true] {
      if saves { try context.save() }
      for (keys, count) in [(["place"], 4), (["tags"], 3), (["place", "tags"], 7)] {
        let request = NSFetchRequest<NSDictionary>(entityName: "Shop")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = keys
        request.returnsDistinctResults = true
        #expect(try context.fetch(request).count == count, "\(keys)")
        request.returnsDistinctResults = false
        request.propertiesToGroupBy = keys
        #expect(try context.fetch(request).count == count, "\(keys)")
      }
    }
  }

  // MARK: Uniqueness constraints

  @Test("A uniqueness constraint covers an element, or all elements of a composite attribute", arguments: kinds)
  func uniqueness(_ kind: NSPersistentStore.StoreType) throws {
    for constraint in [["place.geo.note"], ["name", "place.geo"], ["place"]] {
      let model = Self.model(Self.address())
      model.entities[0].uniquenessConstraints = [constraint]
      let context = try context(model, kind)
      let (one, two) = (place("Main", 7, 1.5, "n"), place("Main", 7, 1.5, "m"))
      context.make("Shop", ["name": "a", "place": one])
      context.make("Shop", ["name": "a", "place": two])
      // Without a value, nothing is compared.
      for _ in 0..<2 { context.make("Shop", ["name": "a", "place": ["zip": 7]]) }
      try context.save()
      let twin = context.make("Shop", ["name": "a", "place": one])
      let error = try #require(throws: NSError.self) { try context.save() }
      #expect(error.code == NSManagedObjectConstraintMergeError, "\(error)")
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      twin["name"] = "a"
      try context.save()
      #expect(try context.all("Shop").count == 4, "\(constraint)")
      try close(context)
      if kind != .inMemory {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.destroyPersistentStore(at: store.folder.appendingPathComponent(kind.rawValue), type: kind)
      }
    }
  }

  @Test("A conflict has the values of elements, and the store's come back where they go first", arguments: kinds)
  func uniquenessConflict(_ kind: NSPersistentStore.StoreType) throws {
    let model = Self.model(Self.address())
    model.entities[0].uniquenessConstraints = [["place.geo.note", "name"]]
    let context = try context(model, kind)
    context.make("Shop", ["name": "a", "place": place("Main", 7, 1.5, "n")])
    let shop = context.make("Shop", ["name": "a", "place": place("Side", 8, 2.5, "m")])
    try context.save()
    shop["place"] = place("Side", 8, 2.5, "n")
    let error = try #require(throws: NSError.self) { try context.save() }
    let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
    #expect(conflicts?.first?.constraintValues as NSDictionary? == ["place.geo.note": "n", "name": "a"])
    #expect(error.localizedFailureReason?.contains("place.geo.note, name of ") == true, "\(error)")
    context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    try context.save()
    #expect(shop.value(forKeyPath: "place.geo.note") as? String == "m")
    try close(context)
  }

  @Test("A uniqueness constraint covers decimal numbers, in attributes and in elements", arguments: kinds)
  func uniqueDecimals(_ kind: NSPersistentStore.StoreType) throws {
    let model = Self.model([.make("price", .decimalAttributeType)], [.make("rent", .decimalAttributeType)])
    model.entities[0].uniquenessConstraints = [["rent"], ["place.price"]]
    let context = try context(model, kind)
    func values(_ name: String, _ rent: String, _ price: String) -> [String: Any] {
      ["name": name, "rent": NSDecimalNumber(string: rent), "place": ["price": NSDecimalNumber(string: price)]]
    }
    context.make("Shop", values("a", "1.1", "1.1"))
    context.make("Shop", values("b", "2.5", "-3.25"))
    try context.save()
    context.make("Shop", values("c", "1.10", "7"))
    context.make("Shop", values("d", "8.75", "-3.250"))
    let error = try #require(throws: NSError.self) { try context.save() }
    #expect(error.code == NSManagedObjectConstraintMergeError, "\(error)")
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try context.save()
    #expect(try context.all("Shop").map { $0["name"] as? String } == ["c", "d"])
    try close(context)
  }

  private func place(_ street: String, _ zip: Int, _ lat: Double, _ note: String) -> [String: Any] {
    ["street": street, "zip": zip, "geo": ["lat": lat, "note": note] as [String: Any]]
  }

  // MARK: Files of values

  private static func pictures(_ elements: [NSAttributeDescription]? = nil) -> NSManagedObjectModel {
    model(
      elements ?? [
        .make("blob", .binaryDataAttributeType, external: true), .make("zip", .integer32AttributeType),
        composite("inner", [.make("blob", .binaryDataAttributeType, external: true)]),
      ], [.make("blob", .binaryDataAttributeType, external: true)])
  }

  private static func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 150_000) }

  @Test("Files of elements go with the values: no file is left behind, and none is lost")
  func files() throws {
    let context = try context(Self.pictures())
    let shop = context.make(
      "Shop", ["place": ["blob": Self.large(1), "inner": ["blob": Self.large(2)]] as [String: Any]])
    try context.save()
    #expect(try files().count == 2)
    for zip in 1...3 {
      shop.setValue(zip, forKeyPath: "place.zip")
      try context.save()
    }
    #expect(try files().count == 2)
    // A batch update of an attribute with the name of an element.
    for value in [Self.large(3), Self.large(4)] {
      let update = NSBatchUpdateRequest(entityName: "Shop")
      update.propertiesToUpdate = ["blob": value]
      try context.execute(update)
    }
    #expect(try files().count == 3)
    context.refreshAllObjects()
    #expect(shop.value(forKeyPath: "place.blob") as? Data == Self.large(1))
    #expect(shop.value(forKeyPath: "place.inner.blob") as? Data == Self.large(2))
    let update = NSBatchUpdateRequest(entityName: "Shop")
    update.propertiesToUpdate = ["place": ["zip": 1]]
    try context.execute(update)
    #expect(try files().count == 1)
    context.refreshAllObjects()
    context.delete(shop)
    try context.save()
    #expect(try files() == [])
  }

  @Test("A batch update with an element that needs files is refused: rows must not share one")
  func sharedFile() throws {
    let context = try context(Self.pictures())
    for number in 0..<2 { context.make("Shop", ["name": "\(number)", "place": ["zip": 1]]) }
    try context.save()
    let update = NSBatchUpdateRequest(entityName: "Shop")
    update.propertiesToUpdate = ["place": ["inner": ["blob": Self.large(1)]]]
    let error = try #require(throws: NSError.self) { try context.execute(update) }
    #expect(error.code == NSCoreDataError && error.localizedFailureReason?.contains("'place' of 'Shop'") == true)
    #expect(try files() == [])
    update.propertiesToUpdate = ["place": ["inner": ["blob": Data([1])]]]
    try context.execute(update)
  }

  @Test("A migration removes the files of elements that are dropped, and keeps those of renamed ones")
  func migratedFiles() throws {
    let before = try context(Self.pictures())
    before.make("Shop", ["place": ["blob": Self.large(1), "inner": ["blob": Self.large(2)]] as [String: Any]])
    try before.save()
    try close(before)
    let inner = Self.composite(
      "core", [.make("image", .binaryDataAttributeType, renamedFrom: "blob", external: true)])
    inner.renamingIdentifier = "inner"
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.pictures([inner]))
    try coordinator.addPersistentStore(
      type: .sqlite, at: store.folder.appendingPathComponent("SQLite"),
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.allowsLoss: true,
      ])
    let after = NSManagedObjectContext(.privateQueue)
    after.persistentStoreCoordinator = coordinator
    let shop = try #require(try after.all("Shop").first)
    #expect(shop.value(forKeyPath: "place.core.image") as? Data == Self.large(2))
    #expect(try files().count == 1)
  }

  // MARK: Mapping models

  @Test("Mapping models keep renamed elements, and give new ones their default values", arguments: [true, false])
  func mappings(inSQL: Bool) throws {
    func renamed(_ attribute: NSAttributeDescription, _ name: String) -> NSAttributeDescription {
      attribute.renamingIdentifier = name
      return attribute
    }
    let old = Self.model(Self.address())
    let new = Self.model(
      [
        .make("road", .stringAttributeType, renamedFrom: "street"),
        .make("zip", .integer64AttributeType, optional: false, default: 9),
        renamed(
          Self.composite("spot", [.make("lat", .floatAttributeType), .make("lon", .doubleAttributeType, default: 3)]),
          "geo"), .make("city", .stringAttributeType, default: "Rome"),
      ], [Self.composite("extra", [.make("x", .doubleAttributeType, default: 1)])])
    let before = try context(old)
    before.make(
      "Shop", ["name": "a", "place": ["street": "Main", "zip": 7, "geo": ["lat": 1.5, "note": "n"]] as [String: Any]])
    before.make("Shop", ["name": "b"])
    try before.save()
    try close(before)
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    if !inSQL {
      for entity in mapping.entityMappings {
        entity.entityMigrationPolicyClassName = NSStringFromClass(CompositePolicy.self)
      }
    }
    let target = store.folder.appendingPathComponent("New")
    try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
      from: store.folder.appendingPathComponent("SQLite"), type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    let after = try TemporaryStore().context(new, at: target)
    let shops = try after.all("Shop")
    let place: NSDictionary = ["road": "Main", "zip": 7, "spot": ["lat": 1.5, "lon": 3.0], "city": "Rome"]
    #expect(shops.first?["place"] as? NSDictionary == place)
    // Without a policy, a required element keeps its default value where the source has none.
    let missing: NSDictionary =
      inSQL
      ? ["zip": 9, "spot": ["lon": 3.0], "city": "Rome"] : shops.last?["place"] as? NSDictionary ?? [:]
    #expect(shops.last?["place"] as? NSDictionary == missing)
    #expect(shops.last?.value(forKeyPath: "place.city") as? String == "Rome")
    #expect(shops.map { $0["extra"] as? NSDictionary } == [["x": 1.0], ["x": 1.0]])
  }
}
