// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataTestSupport
import CoreDataTesting
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataAnalysis
@testable import CoreDataPostgreSQL

/// What plans are weighed by, counted in a server and in a SQLite store with the same rows.
@Suite("Counting in PostgreSQL as in SQLite", .needsPostgreSQL)
struct CountingTests {
  private let store: TemporaryStore
  private let bench = ServerBench()

  init() throws { store = try TemporaryStore() }

  /// Fills a SQLite store, and moves a copy of its rows into the server.
  private func fill(
    _ document: ModelDocument, _ url: URL, _ server: URL, _ body: (NSManagedObjectContext) throws -> Void
  ) throws {
    let model = try NSManagedObjectModel(document: document)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      try body(context)
      try context.save()
    }
    try coordinator.migratePersistentStore(store, to: server, type: .postgreSQL)
  }

  private func counts(
    _ counting: any StoreCounting, from old: ModelDocument, to new: ModelDocument
  ) throws -> StoreCounts {
    let difference = ModelDifference(from: old, to: new)
    var counts = try counting.counts()
    try counting.count(for: difference, from: old, to: new, into: &counts)
    return counts
  }

  /// Everything that could be dropped.
  private func items(_ document: ModelDocument) -> [DroppedContent] {
    document.entities.flatMap { entity in
      [DroppedContent(entity: entity.name, property: nil, isRelationship: false)]
        + entity.attributes.map { .init(entity: entity.name, property: $0.name, isRelationship: false) }
        + entity.relationships.map { .init(entity: entity.name, property: $0.name, isRelationship: true) }
    }
  }

  private func compare(_ url: URL, _ server: URL, _ old: ModelDocument, _ new: ModelDocument) throws -> StoreCounts {
    let reader = try StoreReader(url: url, model: old)
    let expected = try counts(reader, from: old, to: new)
    let schema = try #require(reader.schema)
    let dropped = try StoreContents(reader.connection, schema: schema).counted(items(old))
    try PostgreSQLStore.reading(at: server) { contents in
      let counter = try ServerCounter(contents, of: reader)
      let found = try counts(counter, from: old, to: new)
      #expect(found == expected)
      #expect(found.breaks.mapValues(\.example) == expected.breaks.mapValues(\.example))
      #expect(try StoreContents(contents.database, schema: #require(counter.schema)).counted(items(old)) == dropped)
    }
    return expected
  }

  @Test("Rows, values, links and duplicates of random versions")
  func randomVersions() throws {
    var (values, duplicates, fits) = (0, 0, 0)
    for seed in 300..<330 as Range<UInt64> {
      var model = GeneratedModel(seed: seed)
      let old = model.document
      guard let next = model.next() else { continue }
      let file = try TemporaryStore()
      let server = TestServer.shared.schemaURL()
      var rows = GeneratedRows(old, seed: seed)
      try fill(old, file.url, server) { try rows.fill($0, atMost: 8) }
      let counts = try compare(file.url, server, old, next.document)
      values += counts.values.values.flatMap(\.values).reduce(0, +)
      duplicates += counts.duplicates.count
      fits += counts.fits.count
      try PostgreSQLStore.destroy(at: server)
    }
    print("Counted in both engines: \(values) values, \(duplicates) constraints, \(fits) changes of types")
    #expect(values > 1_000)
  }

  private static let numbers: [AttributeKind] = [.integer16, .integer32, .integer64, .double, .float, .decimal]

  private func model(_ kinds: [String: AttributeKind]) -> ModelDocument {
    var builder = ModelBuilder()
    builder.entity(
      "Odd",
      kinds.sorted { $0.key < $1.key }.map { name, kind in
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = NSAttributeType(rawValue: UInt(kind.rawValue)) ?? .undefinedAttributeType
        return attribute
      })
    return builder.model().document
  }

  @Test("Numbers that another type cannot hold, of every pair of types")
  func numberTypes() throws {
    let values: [AttributeKind: [Any]] = [
      .integer16: [0, 1, 2, -3, Int16.max, Int16.min].map { $0 as Int16 },
      .integer32: [0, 1, 2, 32_768, -32_769, 16_777_217, Int32.max, Int32.min].map { $0 as Int32 },
      .integer64: [0, 1, 2, 32_768, 1 << 31, 1 << 53, 1 << 53 + 1, Int64.max, Int64.max - 1, Int64.min].map {
        $0 as Int64
      },
      .double: [
        0, -0.0, 1, 0.5, -2.75, 32_767.5, 32_768, 1e20, -9_223_372_036_854_775_808, 3.4028235677973366e38,
        3.5e38, -3.5e38, 1e164, 1e300, .leastNonzeroMagnitude, 0.1, 16_777_217, .infinity, -.infinity,
      ].map { $0 as Double },
      .float: [0, 1, 0.5, -2.75, 40_000, 3e38, 0.1, 16_777_216, .infinity].map { $0 as Float },
      .decimal: ["0", "1", "0.5", "32767.5", "40000", "1e20", "1e40", "0.1", "16777217"].map {
        NSDecimalNumber(string: $0)
      },
    ]
    let all = Dictionary(uniqueKeysWithValues: Self.numbers.map { ("a\($0.rawValue)", $0) })
    let old = model(all)
    try fill(old, store.url, bench.url) { context in
      for index in 0..<20 {
        let object = context.make("Odd")
        for (name, kind) in all {
          if let list = values[kind], index < list.count { object[name] = list[index] }
        }
      }
    }
    var changes = 0
    for kind in Self.numbers + [.boolean] {
      let new = model(all.mapValues { _ in kind })
      changes += try compare(store.url, bench.url, old, new).fits.values.count { $0 != NumberFit() }
    }
    #expect(changes > 15)
  }

  @Test("Duplicates of dates that differ in a part of a microsecond are none, and those of texts are compared by bytes")
  func duplicates() throws {
    func model(_ constraints: [[String]]) -> ModelDocument {
      var builder = ModelBuilder()
      let note = builder.entity(
        "Note",
        [.make("day", .dateAttributeType), .make("title", .stringAttributeType), .make("flag", .booleanAttributeType)])
      note.uniquenessConstraints = constraints
      return builder.model().document
    }
    let old = model([])
    try fill(old, store.url, bench.url) { context in
      for (day, title, flag) in [
        (0.1, "a", true), (0.1, "A", false), (0.1 + 1e-12, "ä", true), (5, "a\u{308}", true), (5, "a", nil),
        (7, nil, nil),
      ] as [(Double, String?, Bool?)] {
        let note = context.make("Note", ["day": Date(timeIntervalSinceReferenceDate: day)])
        note["title"] = title
        note["flag"] = flag
      }
    }
    let counts = try compare(store.url, bench.url, old, model([["day"], ["title"], ["title", "flag"]]))
    #expect(counts.duplicates.values.map(\.rows).sorted() == [0, 2, 4])
  }

  @Test("Values that break a stricter rule, and the most frequent of them, of every type that has rules")
  func breaks() throws {
    func model(_ rules: [String: String]) -> ModelDocument {
      var builder = ModelBuilder()
      let types: [String: NSAttributeType] = [
        "count": .integer64AttributeType, "day": .dateAttributeType, "flag": .booleanAttributeType,
        "price": .decimalAttributeType, "size": .doubleAttributeType, "title": .stringAttributeType,
        "link": .URIAttributeType, "mark": .UUIDAttributeType,
      ]
      builder.entity(
        "Kept",
        types.sorted { $0.key < $1.key }.map { name, type in
          let attribute = NSAttributeDescription.make(name, type)
          if let rule = rules[name] {
            attribute.setValidationPredicates([NSPredicate(format: rule)], withValidationWarnings: ["1"])
          }
          return attribute
        })
      return builder.model().document
    }
    let old = model([:])
    let mark = try #require(UUID(uuidString: "6B29FC40-CA47-1067-B31D-00DD010662DA"))
    try fill(old, store.url, bench.url) { context in
      for index in 0..<6 {
        let object = context.make("Kept")
        object["count"] = Int64(index / 2)
        object["day"] = Date(timeIntervalSinceReferenceDate: 5 + Double(index / 2) * 1e-9)
        object["flag"] = index < 2
        object["price"] = NSDecimalNumber(string: index < 4 ? "0.10" : "12.50")
        object["size"] = Double(index / 3) / 8
        object["title"] = index < 4 ? "long" : "a"
        object["link"] = URL(string: "https://example.com/\(index / 3)")
        object["mark"] = index == 0 ? mark : UUID()
      }
      context.make("Kept")
    }
    let counts = try compare(
      store.url, bench.url, old,
      model([
        "count": "SELF < 2", "day": "SELF == CAST(5, 'NSDate')", "flag": "SELF == NO", "price": "SELF < 1",
        "size": "SELF > 0.1", "title": "length < 3", "link": "SELF != nil", "mark": "SELF != nil",
      ]))
    let found = Dictionary(
      uniqueKeysWithValues: counts.breaks.map { rules, breaks in
        (rules.origin.property, "\(breaks.count) \(breaks.example ?? "")")
      })
    #expect(found["count"] == "2 2 (2 rows)" && found["price"] == "2 12.5 (2 rows)", "\(found)")
    #expect(found["title"] == "4 'long' (4 rows)" && found["size"] == "3 0.0 (3 rows)", "\(found)")
    #expect(found["day"]?.hasPrefix("4 ") == true && found["flag"] == "2 1 (2 rows)", "\(found)")
    #expect(found["link"] == "0 " && found["mark"] == "0 ", "\(found)")
  }

  @Test("A plan over a copy without rows weighs its findings in the server, in one state of the store")
  func plan() throws {
    let old = model(["number": .integer64])
    try fill(old, store.url, bench.url) { context in
      for number in 0..<3 { context.make("Odd", ["number": number * 40_000]) }
    }
    let new = model(["number": .integer16])
    let metadata = try PostgreSQLStore.metadataForPersistentStore(with: bench.url)
    let copy = try ServerCopy(
      of: bench.url, metadata: metadata, NSManagedObjectModel(document: old), configuration: nil)
    defer { copy.remove() }
    let reader = try StoreReader(url: copy.url)
    let rows = ServerRows(of: bench.url, PostgreSQLStore.self)
    #expect(try rows.counts(old) == ["Odd": 3])
    let counted = try rows.reading(reader) { contents in
      // Others may write meanwhile.
      let other = bench.context(try bench.coordinator(nil, NSManagedObjectModel(document: old)))
      other.make("Odd", ["number": 90_000])
      try other.save()
      return try counts(ServerCounter(contents, of: reader), from: old, to: new)
    }
    #expect(counted.rows == ["Odd": 3] && counted.fits.values.map(\.refused) == [2])
    // Another process migrates the store.
    let migrated = try NSManagedObjectModel(document: model(["number": .double]))
    _ = try bench.coordinator(
      [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.allowsLoss: true,
      ], migrated)
    #expect(throws: ServerRows.Changed.self) { try rows.reading(reader) { _ in } }
  }
}
