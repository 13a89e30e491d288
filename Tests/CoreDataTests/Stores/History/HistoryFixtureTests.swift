// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Persistent history in stores made by Apple's tools")
struct HistoryFixtureTests {
  @Test(
    "A store with history is read, continued, and read again",
    .enabled(if: Fixtures.isPresent, "The fixtures are not there."))
  func continued() throws {
    let fixture = Fixtures.url(
      "Karim-ezzedine__CartKit/Tests/CartKitStorageSwiftDataTests/LegacySwiftData/CartKitSwiftData_v1.sqlite")
    let temporary = try Fixtures.copy(ofStore: fixture)
    let url = temporary.url
    let store = try TemporaryStore()
    let model = try NSManagedObjectModel.load(contentsOf: url)
    var context = try store.context(model, options: PersistentHistoryTests.tracked, at: url)
    let first = try PersistentHistoryTests.history(context)
    #expect(first.map(\.transactionNumber) == [1])
    #expect(first[0].bundleID == "com.apple.dt.xctest.tool" && first[0].processID == "xctest")
    #expect(first[0].author == nil && first[0].contextName == nil)
    #expect(first[0].timestamp == Date(timeIntervalSinceReferenceDate: 791478105.8269320))
    let change = try #require(first[0].changes?.first)
    #expect(change.changeType == .insert && change.changedObjectID.entity.name == "CartModel")
    let cart = try context.existingObject(with: change.changedObjectID)
    #expect(cart["storeId"] as? String == "store-legacy")

    cart["status"] = "closed"
    cart["updatedAt"] = Date()
    context.transactionAuthor = "test"
    try context.save()
    try store.close()
    context = try store.context(
      try NSManagedObjectModel.load(contentsOf: url), options: PersistentHistoryTests.tracked, at: url)
    let second = try PersistentHistoryTests.history(context, after: first[0].token)
    #expect(second.map(\.transactionNumber) == [2] && second[0].author == "test")
    #expect(second[0].changes?.first?.changedObjectID.uriRepresentation() == change.changedObjectID.uriRepresentation())
    #expect(Set(second[0].changes?.first?.updatedProperties?.map(\.name) ?? []) == ["status", "updatedAt"])
    #expect(try PersistentHistoryTests.history(context).count == 2)
    try store.close()

    let file = try SQLiteConnection(url: url, mode: .readOnly)
    #expect(try file.integrityCheck() == [])
    let numbers = try file.rows("SELECT Z_ENT, Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 16000").map(\.values)
    #expect(numbers == [[16001, "CHANGE", 2], [16002, "TRANSACTION", 2], [16003, "TRANSACTIONSTRING", 4]])
    // Attributes: context, createdAt, displayName, id, maxItemCount, metadataJSON, minSubtotalAmount,
    // minSubtotalCurrencyCode, profileId, status, storeId, storeImageURLString, updatedAt. Then the relationship items.
    #expect(try file.scalar("SELECT HEX(ZCOLUMNS) FROM ACHANGE WHERE Z_PK = 2")?.text == "0048")
    try file.close()
  }

  @Test(
    "A new store has the tables and indexes of history as Apple's framework makes them",
    .enabled(if: Fixtures.isPresent, "The fixtures are not there."))
  func layout() throws {
    let fixture = Fixtures.url(
      "TrinsicVentures__FreezeRay/FreezeRayTestApp/FreezeRay/Fixtures/2.0.0/App-2_0_0.sqlite")
    let temporary = try Fixtures.copy(ofStore: fixture)
    let url = temporary.url
    let store = try TemporaryStore()
    _ = try store.context(
      try NSManagedObjectModel.load(contentsOf: url), options: PersistentHistoryTests.tracked)
    func statements(_ url: URL) throws -> [String] {
      let connection = try SQLiteConnection(url: url, mode: .readOnly)
      defer { try? connection.close() }  // Nothing is written.
      return try connection.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        .compactMap { $0[0].text }
    }
    #expect(try statements(store.url) == statements(url))
  }

  @Test(
    "Updates in stores of Core Data have the bytes of their entities, and name what had changed",
    .enabled(if: Fixtures.isPresent, "The fixtures are not there."))
  func updatedProperties() throws {
    /// What each set of bits of an entity means, and how many updates have it.
    struct Update: Hashable {
      let entity: String
      let properties: Set<String>
    }
    var found: [Update: Int] = [:]
    for url in Fixtures.swiftDataStores {
      let fixture = try FixtureStore(url)
      guard try fixture.connection.hasTable("ACHANGE") else { continue }
      let model = try #require(try fixture.models().last?.document, "\(fixture.name)")
      let schema = try StoreSchema(document: model, catalog: fixture.catalog, primaryKeys: fixture.primaryKeys)
      for row in try fixture.connection.rows(
        "SELECT ZENTITY, ZCOLUMNS, COUNT(*) FROM ACHANGE WHERE ZCOLUMNS IS NOT NULL GROUP BY 1, 2")
      {
        let entity = try #require(schema.entity(number: Int(row[0].integer ?? 0)))
        let bits = HistoryBits(entity, in: schema)
        let bytes = try #require(row[1].blob)
        let properties = bits.properties(in: bytes)
        #expect(bits.bytes(of: properties) == bytes, "\(fixture.name) \(entity.name)")
        found[Update(entity: entity.name, properties: properties), default: 0] += Int(row[2].integer ?? 0)
      }
    }
    #expect(
      found == [
        // Garnishes, authors, dates, subjects and titles that existed were given to new cocktails and cards.
        Update(entity: "Garnish", properties: ["cocktails"]): 78, Update(entity: "Author", properties: ["cards"]): 1,
        Update(entity: "Date", properties: ["cards"]): 2, Update(entity: "Subject", properties: ["cards"]): 18,
        Update(entity: "Title", properties: ["cards", "picks"]): 1,
        // Ten cards that had two crops each got two more; their authors, titles … stayed.
        Update(entity: "StereoCard", properties: ["crops"]): 10,
        // Folders and recipes were put into folders, then recipes deleted one by one.
        Update(entity: "SDFolder", properties: ["parentFolder"]): 3,
        Update(entity: "SDRecipe", properties: ["parentFolder"]): 116,
        Update(entity: "SDFolder", properties: ["recipes"]): 78,
        Update(entity: "CraftingRecipe", properties: ["producedItemCount"]): 3,
        Update(entity: "CraftingRecipe", properties: ["requiredComponents"]): 3,
        Update(entity: "Item", properties: ["craftingRecipe"]): 2,
      ])
  }
}
