// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

/// Rules that no table of a company breaks: what is optional, derived or composite, the history, and the hashes.
@Suite("Rules of verification")
struct StoreVerifierRuleTests {
  private func verdict(_ store: TemporaryStore) throws -> StoreVerdict {
    try StoreVerifier(StoreReader(url: store.url)).run()
  }

  private func run(_ sql: String, on store: TemporaryStore) throws {
    try SQLiteConnection.execute(sql, at: store.url)
  }

  private static var rollbackJournal: [AnyHashable: Any] { [NSSQLitePragmasOption: ["journal_mode": "DELETE"]] }

  @Test("An optional relationship may be empty, but not have fewer members than its minimum")
  func optionalCount() throws {
    var builder = ModelBuilder()
    builder.entity("Shelf", [.make("name", .stringAttributeType)])
    builder.entity("Book", [.make("title", .stringAttributeType)])
    builder.relate(.init("Shelf", "books", toMany: true), .init("Book", "shelf"))
    let model = builder.model()
    let books = try #require(model.entitiesByName["Shelf"]?.relationshipsByName["books"])
    (books.minCount, books.maxCount) = (2, 0)
    let store = try TemporaryStore()
    let context = try store.context(model, options: Self.rollbackJournal)
    context.make("Shelf", ["name": "empty"])
    let full = context.make("Shelf", ["name": "full"])
    for title in ["a", "b"] { context.make("Book", ["title": title, "shelf": full]) }
    try context.save()
    try store.close()
    #expect(try verdict(store).defects.isEmpty)

    try run("UPDATE ZBOOK SET ZSHELF = NULL WHERE ZTITLE = 'a'", on: store)
    let defects = try verdict(store).defects
    #expect(defects.map(\.kind) == [.count] && defects.first?.count == 1)
    #expect(defects.first?.examples.first?.text == "The row 2 has 1 members; at least 2 are required.")
  }

  @Test("A derived value that is missing is computed by the next save, so it is no defect")
  func derivedValue() throws {
    var builder = ModelBuilder()
    builder.entity(
      "Note", [.make("title", .stringAttributeType, optional: false), .make("words", .integer64AttributeType)])
    let model = builder.model()
    let note = try #require(model.entitiesByName["Note"])
    let canonical = NSDerivedAttributeDescription()
    canonical.name = "canonical"
    canonical.attributeType = .stringAttributeType
    canonical.isOptional = false
    canonical.derivationExpression = NSExpression(format: "canonical:(title)")
    note.properties.append(canonical)
    let store = try TemporaryStore()
    let context = try store.context(model, options: Self.rollbackJournal)
    context.make("Note", ["title": "A"])
    try context.save()
    try store.close()
    try run("UPDATE ZNOTE SET ZCANONICAL = NULL", on: store)
    #expect(try verdict(store).defects.isEmpty)
    try run("UPDATE ZNOTE SET ZTITLE = NULL", on: store)
    #expect(try verdict(store).defects.map(\.place) == ["Note.title"])
  }

  @Test("What a composite attribute requires is required where it has a value")
  func compositeElements() throws {
    var builder = ModelBuilder()
    builder.entity("House", [.make("name", .stringAttributeType)])
    let model = builder.model()
    let address = NSCompositeAttributeDescription()
    address.name = "address"
    address.isOptional = true
    address.elements = [
      .make("street", .stringAttributeType, optional: false), .make("number", .integer16AttributeType),
    ]
    try #require(model.entitiesByName["House"]).properties.append(address)
    let store = try TemporaryStore()
    let context = try store.context(model, options: Self.rollbackJournal)
    context.make("House", ["name": "nowhere"])
    context.make("House", ["name": "there", "address": ["street": "High Street", "number": 1]])
    try context.save()
    let column = try #require(
      try StoreReader(url: store.url).schema?["House"]?.attributes["address"]?.elements.first { $0.name == "street" }?
        .column)
    try store.close()
    #expect(try verdict(store).defects.isEmpty)
    try run("UPDATE ZHOUSE SET \(column) = NULL", on: store)
    let defects = try verdict(store).defects
    #expect(defects.map(\.kind) == [.requiredValue] && defects.first?.place == "House.address.street")
    #expect(defects.first?.count == 1)
  }

  @Test("A change of persistent history needs its transaction")
  func history() throws {
    let store = try TemporaryStore()
    var options = Self.rollbackJournal
    options[NSPersistentHistoryTrackingKey] = true
    let context = try store.context(CompanyModel.make(), options: options)
    for number in 1...3 {
      context.make("Task", ["title": "t\(number)"])
      try context.save()
    }
    try store.close()
    #expect(try verdict(store).defects.isEmpty)
    try run("DELETE FROM ATRANSACTION WHERE Z_PK = 2", on: store)
    let defects = try verdict(store).defects
    #expect(defects.map(\.kind) == [.history] && defects.first?.count == 1 && defects.first?.isRepairable == false)
  }

  @Test("A hash in the metadata that is not that of the carried model is told, with its entity")
  func hashes() throws {
    let company = try CompanyStore()
    let url = company.url
    let plist = try #require(
      try StoreReader(url: url).connection.scalar("SELECT Z_PLIST FROM Z_METADATA")?.blob)
    var metadata = try #require(
      try PropertyListSerialization.propertyList(from: plist, format: nil) as? [String: Any])
    var hashes = try #require(metadata[NSStoreModelVersionHashesKey] as? [String: Data])
    hashes["Task"] = Data(repeating: 1, count: 32)
    hashes["Ghost"] = Data(repeating: 2, count: 32)
    metadata[NSStoreModelVersionHashesKey] = hashes
    let edited = try PropertyListSerialization.data(fromPropertyList: metadata, format: .binary, options: 0)
    let literal = SQLiteValue.blob(edited).literal
    try company.damage("UPDATE Z_METADATA SET Z_PLIST = \(literal)")
    let defects = try company.verdict().defects
    #expect(defects.map(\.kind) == [.metadata, .metadata] && defects.map(\.place) == ["Ghost", "Task"])
    #expect(defects.map(\.isRepairable) == [false, false])
    #expect(defects[0].examples.first?.text.contains("which the carried model does not have") == true)
    #expect(defects[1].examples.first?.text.contains("is not that of the carried model") == true)
  }

  @Test("A repair is only kept where nothing is left to repair, and nothing new is wrong")
  func worsened() {
    func verdict(_ defects: StoreDefect...) -> StoreVerdict {
      StoreVerdict(defects: defects, rows: [:], fileCount: 0, gaps: [])
    }
    let key = StoreDefect(.greatestKey, entity: "Task", "Too low.", repair: ["UPDATE"], cure: "")
    let type = StoreDefect(.type, entity: "Task", "No text.", cure: "")
    let other = StoreDefect(.type, entity: "Project", "No text.", cure: "")
    let count = StoreDefect(.count, entity: "Project", "Too few.", cure: "")
    #expect(StoreRepair.isBetter(verdict(), than: verdict(key)))
    #expect(StoreRepair.isBetter(verdict(type), than: verdict(key, type)))
    #expect(StoreRepair.isBetter(verdict(count), than: verdict(key)))
    #expect(!StoreRepair.isBetter(verdict(key), than: verdict(key)))
    #expect(!StoreRepair.isBetter(verdict(type), than: verdict(key)))
    #expect(!StoreRepair.isBetter(verdict(other), than: verdict(key, type)))
  }

  @Test("A trigger in a store does nothing when the store is repaired")
  func triggers() throws {
    let company = try CompanyStore()
    try company.damage(
      """
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Task';
      CREATE TRIGGER spoil AFTER UPDATE ON Z_PRIMARYKEY BEGIN UPDATE ZTASK SET ZTITLE = x'00'; END
      """)
    let rows = try company.rows()
    #expect(try StoreRepair(of: company.url, model: nil).after.defects.isEmpty)
    #expect(try company.rows() == rows)
  }
}
