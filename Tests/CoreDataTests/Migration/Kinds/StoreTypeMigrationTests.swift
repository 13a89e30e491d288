// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Migrations between all types of stores with a file")
struct StoreTypeMigrationTests {
  private static let pairs = StoreTypeSample.kinds.flatMap { one in StoreTypeSample.kinds.map { (one, $0) } }

  private func migrate(_ sample: StoreTypeSample, _ kind: StoreKind, _ mapping: NSMappingModel) throws -> URL {
    let destination = kind.url(in: sample.folder.folder, "New")
    try NSMigrationManager(sourceModel: sample.old, destinationModel: sample.new).migrateStore(
      from: sample.url, type: sample.kind.type, mapping: mapping, to: destination, type: kind.type)
    return destination
  }

  /// What is in the second version of the sample's store.
  private func check(
    _ sample: StoreTypeSample, _ kind: StoreKind, _ url: URL, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let context = try sample.context(kind, url)
    let books = try context.all("Book")
    #expect(books.map { $0["name"] as? String } == ["B1", "B2", "B3", "B4", "B5"], sourceLocation: sourceLocation)
    #expect(books.map { $0["pages"] as? Int } == [100, 200, 300, 400, 500], sourceLocation: sourceLocation)
    for (index, book) in books.enumerated() {
      let number = index + 1
      #expect(book["tags"] as? [String] == ["t\(number)", "\u{1}<&>"], sourceLocation: sourceLocation)
      #expect(
        book["cover"] as? Data == Data(repeating: UInt8(number), count: number == 3 ? 300_000 : 10),
        sourceLocation: sourceLocation)
      #expect(
        book["price"] as? NSDecimalNumber == NSDecimalNumber(string: "12345678901234.\(number)"),
        sourceLocation: sourceLocation)
      #expect(
        book["id"] as? UUID == UUID(uuidString: "00000000-0000-0000-0000-00000000000\(number)"),
        sourceLocation: sourceLocation)
      #expect(
        book["printed"] as? Date == Date(timeIntervalSinceReferenceDate: Double(number) / 8),
        sourceLocation: sourceLocation)
      #expect(
        book["site"] as? URL == URL(string: "https://example.org/\(number)?q=ü"), sourceLocation: sourceLocation)
      #expect(book["isLent"] as? Bool == (number % 2 == 0), sourceLocation: sourceLocation)
    }
    #expect(books[3].entity.name == "Novel" && books[3]["genre"] as? String == "love", sourceLocation: sourceLocation)
    func names(_ value: Any?) -> [String] {
      let objects = (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? []
      return objects.compactMap { ($0 as? NSManagedObject)?["name"] as? String }
    }
    #expect(names(books[0]["related"]).sorted() == ["B2", "B3"], sourceLocation: sourceLocation)
    #expect(names(books[0]["relating"]) == ["B5"], sourceLocation: sourceLocation)
    let authors = try context.all("Author")
    #expect(authors.map { names($0["books"]).sorted() } == [["B1", "B3", "B4"], ["B2", "B5"]])
    try context.coordinator.remove(context.coordinator.persistentStores[0])
  }

  @Test("An inferred mapping keeps values, relationships, orders, UUID and metadata, and the source", arguments: pairs)
  func inferred(_ kinds: (StoreKind, StoreKind)) throws {
    let sample = try StoreTypeSample(kinds.0)
    let before = try sample.files()
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: sample.old, destinationModel: sample.new)
    let destination = try migrate(sample, kinds.1, mapping)
    try check(sample, kinds.1, destination)
    let context = try sample.context(kinds.1, destination)
    let authors = try context.all("Author")
    #expect(authors.map { $0["rank"] as? Int } == [7, 7])
    #expect(
      authors.map { ($0["books"] as? NSOrderedSet)?.array.compactMap { ($0 as? NSManagedObject)?["name"] as? String } }
        == [["B3", "B1", "B4"], ["B5", "B2"]])
    let found = try sample.metadata(kinds.1, destination)
    #expect(found["App"] as? String == "mine")
    #expect(found[NSStoreUUIDKey] as? String == (try sample.metadata(kinds.0, sample.url)[NSStoreUUIDKey] as? String))
    #expect(found[NSStoreTypeKey] as? String == kinds.1.rawValue)
    var after = try sample.files()
    #expect(after.data == before.data)
    after.names.remove(destination.lastPathComponent)
    after.names.remove(".New_SUPPORT")
    #expect(after.names == before.names)
    if kinds.1 == .sqlite { try StoreChecks.check(destination, sample.new) }
  }

  @Test("A policy sees objects with their relationships, and makes objects of its own, in order", arguments: pairs)
  func policy(_ kinds: (StoreKind, StoreKind)) throws {
    let sample = try StoreTypeSample(kinds.0)
    let destination = try migrate(sample, kinds.1, sample.mapping(policy: ChapterPolicy.self))
    try check(sample, kinds.1, destination)
    let context = try sample.context(kinds.1, destination)
    let books = try context.all("Book")
    let chapters = books.map { book in
      (book["chapters"] as? NSOrderedSet)?.array.compactMap { ($0 as? NSManagedObject)?["title"] as? String }
    }
    #expect(
      chapters == [["A1 2", "A1 1"], ["A2 2", "A2 1"], ["A1 2", "A1 1"], ["A1 2", "A1 1"], ["A2 2", "A2 1"]])
    #expect(try context.all("Author").map { $0["rank"] as? Int } == [9, 9])
    // What is made later gets numbers of its own.
    let taken = Set(try (context.all("Book") + context.all("Chapter", by: "title")).map(\.objectID))
    let added = context.make("Chapter", ["title": "later"])
    try context.save()
    #expect(taken.count == 15 && !taken.contains(added.objectID))
    try context.coordinator.remove(context.coordinator.persistentStores[0])
    #expect(try sample.context(kinds.1, destination).all("Chapter", by: "title").count == 11)
  }

  @Test("A policy that fails leaves the source, no destination, and nothing beside them", arguments: pairs)
  func failure(_ kinds: (StoreKind, StoreKind)) throws {
    let sample = try StoreTypeSample(kinds.0)
    let before = try sample.files()
    #expect(throws: BreakingPolicy.Failure(title: "B3")) {
      try migrate(sample, kinds.1, sample.mapping(policy: BreakingPolicy.self))
    }
    #expect(try sample.files() == before)
  }

  @Test("A destination that exists is appended to, or is left as it was", arguments: [StoreKind.xml, .binary])
  func appending(_ kind: StoreKind) throws {
    let sample = try StoreTypeSample(.xml)
    let destination = try migrate(sample, kind, sample.mapping())
    let first = try sample.contents(kind, destination)
    let ids = try sample.context(kind, destination).all("Book").map { $0.objectID.uriRepresentation().absoluteString }
    let bytes = try Data(contentsOf: destination)
    #expect(throws: BreakingPolicy.Failure.self) {
      try migrate(sample, kind, sample.mapping(policy: BreakingPolicy.self))
    }
    #expect(try Data(contentsOf: destination) == bytes)
    _ = try migrate(sample, kind, sample.mapping(policy: ChapterPolicy.self))
    #expect(try sample.contents(kind, destination).filter { $0.hasPrefix("Author") }.count == 4)
    let later = try sample.context(kind, destination).all("Book").map { $0.objectID.uriRepresentation().absoluteString }
    #expect(first.filter { $0.hasPrefix("Author") }.count == 2)
    #expect(later.count == 10 && Set(ids).isSubset(of: later))
  }

  @Test("Stores without a file, missing and damaged ones, and one file for both are refused")
  func refusals() throws {
    let sample = try StoreTypeSample(.xml)
    let before = try sample.files()
    let manager = NSMigrationManager(sourceModel: sample.old, destinationModel: sample.new)
    func code(_ source: URL, _ sourceKind: StoreKind, _ destination: URL, _ kind: StoreKind) -> Int? {
      let error = #expect(throws: NSError.self) {
        try manager.migrateStore(
          from: source, type: sourceKind.type, mapping: sample.mapping(), to: destination, type: kind.type)
      }
      #expect(error?.localizedRecoverySuggestion?.isEmpty == false)
      return error?.code
    }
    let new = sample.folder.folder.appendingPathComponent("New.xml")
    let none = sample.folder.folder.appendingPathComponent("None.xml")
    #expect(code(sample.url, .xml, new, .inMemory) == NSMigrationError)
    #expect(code(sample.url, .inMemory, new, .xml) == NSMigrationError)
    #expect(code(none, .xml, new, .sqlite) == NSMigrationManagerSourceStoreError)
    #expect(code(sample.url, .binary, new, .xml) == NSMigrationManagerSourceStoreError)
    #expect(code(sample.url, .xml, sample.url, .xml) == NSMigrationManagerDestinationStoreError)
    #expect(try sample.files() == before)
    try Data("no store".utf8).write(to: new)
    #expect(code(sample.url, .xml, new, .xml) == NSMigrationManagerDestinationStoreError)
    #expect(try Data(contentsOf: new) == Data("no store".utf8))
  }
}
