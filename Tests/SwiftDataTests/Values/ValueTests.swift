// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import SwiftData
import Testing

@Model
private final class Account {
  var name: String
  var balance: Decimal = 0
  var tags: [String] = []
  var limits: Limits?

  init(name: String) { self.name = name }
}

private struct Limits: Codable, Equatable {
  var daily: Decimal
  var countries: [String]
}

private struct Bounds: Codable, Equatable {
  var low: Int?
  var high: Int?
}

private struct Filter: Codable, Equatable {
  var text: String
  var price = Bounds()
}

/// A type that asks for an optional value as for any other.
private struct Label: Codable, Equatable {
  var text: String?

  init(_ text: String?) { self.text = text }

  enum CodingKeys: CodingKey { case text }

  init(from decoder: any Decoder) throws {
    text = try decoder.container(keyedBy: CodingKeys.self).decode(String?.self, forKey: .text)
  }
}

/// A type that looks whether there is a value before it asks for it.
private struct Memo: Codable, Equatable {
  var text: String?
  var count: Int?

  init(_ text: String?) { self.text = text }

  enum CodingKeys: CodingKey { case text, count }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    text = try container.decodeNil(forKey: .text) ? nil : container.decode(String.self, forKey: .text)
    count = container.contains(.count) ? try container.decode(Int.self, forKey: .count) : nil
  }
}

@Model
private final class Search {
  var filter: Filter
  var last: Filter?
  var label: Label
  var memo: Memo

  init(_ filter: Filter, label: String?) {
    (self.filter, self.label, memo) = (filter, Label(label), Memo(label))
  }
}

@Model
private final class Gauge {
  var name: String
  var exact: Double
  var rough: Float
  var maybe: Double?

  init(_ name: String, _ number: Double) { (self.name, exact, rough, maybe) = (name, number, Float(number), number) }
}

@Suite("Values of attributes")
struct ValueTests {
  private func context() throws -> ModelContext {
    ModelContext(
      try ModelContainer(for: Account.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
  }

  @Test(
    "A decimal keeps what the number of a column can hold: fifteen digits, and all of an integer of 64 bits",
    arguments: [
      ("0.1", "0.1"), ("1234567890.12345", "1234567890.12345"), ("-99999999999999.9", "-99999999999999.9"),
      ("9223372036854775807", "9223372036854775807"), ("12345678.123456789", "12345678.12345679"),
      ("123456789012.123456789012", "123456789012.12346"),
    ])
  func decimals(written: String, read: String) throws {
    let context = try context()
    let account = Account(name: "a")
    account.balance = try #require(Decimal(string: written))
    account.limits = Limits(daily: account.balance, countries: ["it"])
    context.insert(account)
    #expect(account.balance == Decimal(string: written))
    try context.save()
    let found = try #require(try ModelContext(context.container).fetch(FetchDescriptor<Account>()).first)
    #expect(found.balance == Decimal(string: read))
    #expect(found.limits == Limits(daily: found.balance, countries: ["it"]))
  }

  @Test("A struct whose properties are all nil is read within another as it was set")
  func emptyParts() throws {
    let configuration = ModelConfiguration(isStoredInMemoryOnly: true)
    let container = try ModelContainer(for: Search.self, configurations: configuration)
    let context = ModelContext(container)
    let searches = [
      Search(Filter(text: "a"), label: "x"), Search(Filter(text: "b", price: Bounds(low: 1)), label: nil),
    ]
    for search in searches {
      context.insert(search)
      #expect(search.filter.text.count == 1)
    }
    searches[0].last = Filter(text: "c")
    try context.save()
    let found = try ModelContext(container).fetch(FetchDescriptor<Search>()).sorted { $0.filter.text < $1.filter.text }
    #expect(found.map(\.filter) == [Filter(text: "a"), Filter(text: "b", price: Bounds(low: 1))])
    #expect(found.map(\.last) == [Filter(text: "c"), nil])
    #expect(found.map(\.label.text) == ["x", nil] && found.map(\.memo) == [Memo("x"), Memo(nil)])
  }

  @Test("NaN, which a file has as NULL, is read again where there must be a number, and is nil elsewhere")
  func notANumber() throws {
    let directory = try TemporaryDirectory()
    func context() throws -> ModelContext {
      ModelContext(
        try ModelContainer(for: Gauge.self, configurations: ModelConfiguration(url: directory.file("samples.store"))))
    }
    let first = try context()
    first.insert(Gauge("a", .nan))
    first.insert(Gauge("b", 1))
    try first.save()
    let second = try context()
    let found = try second.fetch(FetchDescriptor<Gauge>(sortBy: [SortDescriptor(\.name)]))
    #expect(found[0].exact.isNaN && found[0].rough.isNaN && found[0].maybe == nil)
    #expect(found[1].exact == 1 && found[1].rough == 1 && found[1].maybe == 1)
    found[0].name = "c"
    found[1].exact = .nan
    try second.save()
    let names = try context().fetch(FetchDescriptor<Gauge>()).filter(\.exact.isNaN).map(\.name)
    #expect(Set(names) == ["b", "c"])
    // A row that is gone has no values, and none is made up.
    let third = try context()
    let gone = try #require(third.model(for: found[0].persistentModelID) as? Gauge)
    second.delete(found[0])
    try second.save()
    #expect(throws: (any Error).self) { try gone.readValue(forKey: \.exact) }
  }

  @Test(
    "Arrays are stored in the form of the framework that wrote the store",
    .enabled(if: Fixtures.isPresent, "no fixtures"))
  func arrays() throws {
    let fixture = try #require(StoreFixture.all.first { $0.project.path == "atomicguy__Retroview/" })
    let copy = try Fixtures.copy(ofStore: fixture.url)
    let container = try ModelContainer(
      for: Schema(fixture.project.models), configurations: [ModelConfiguration(url: copy.url)])
    let context = ModelContext(container)
    _ = fixture.project.insert(context, 0)
    try context.save()
    #expect(try storedClasses(of: "cardOrder", in: "Collection", copy.url, fixture.project.models) == ["text"])
    let order = try ModelContext(container).fetch(FetchDescriptor<RetroviewDecember.Collection>()).map(\.cardOrder)
    #expect(order.contains { $0.count == 1 })

    let url = copy.url.deletingLastPathComponent().appendingPathComponent("new.store")
    let new = ModelContext(
      try ModelContainer(for: Schema(fixture.project.models), configurations: [ModelConfiguration(url: url)]))
    _ = fixture.project.insert(new, 0)
    try new.save()
    #expect(try storedClasses(of: "cardOrder", in: "Collection", url, fixture.project.models) == ["array"])
  }

  /// Returns what Core Data finds in an attribute: `text` for JSON, `array` for an array.
  private func storedClasses(
    of attribute: String, in entity: String, _ url: URL, _ models: [any PersistentModel.Type]
  ) throws -> Set<String> {
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: models))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options: [AnyHashable: Any] = [NSReadOnlyPersistentStoreOption: true, NSPersistentHistoryTrackingKey: true]
    try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait {
      let objects = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity))
      return Set(
        objects.compactMap { object in
          object.value(forKey: attribute).map { $0 is Data ? "text" : $0 is NSArray ? "array" : "other" }
        })
    }
  }
}

/// A version whose decoder accepts only numbers with dots.
private struct Release: Codable {
  var number: String
  var link: URL
  var date: String

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    number = try container.decode(String.self, forKey: .number)
    guard number.split(separator: ".").count == 3 else {
      throw DecodingError.dataCorruptedError(forKey: .number, in: container, debugDescription: "no version")
    }
    link = try container.decode(URL.self, forKey: .link)
    guard link.scheme == "https" else {
      throw DecodingError.dataCorruptedError(forKey: .link, in: container, debugDescription: "no link")
    }
    date = try container.decode(String.self, forKey: .date)
    // Whether it is a date is all that counts.
    guard (try? Date(date, strategy: .iso8601)) != nil else {
      throw DecodingError.dataCorruptedError(forKey: .date, in: container, debugDescription: "no date")
    }
  }
}

/// A value that is checked by a type of its own.
private struct Contact: Codable {
  struct Address: RawRepresentable, Codable {
    let rawValue: String
    init?(rawValue: String) {
      guard rawValue.contains("@") else { return nil }
      self.rawValue = rawValue
    }
  }

  var address: Address
  var age: Int

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    address = try container.decode(Address.self, forKey: .address)
    age = try container.decode(Int.self, forKey: .age)
    if age < 18 {
      throw DecodingError.dataCorruptedError(forKey: .age, in: container, debugDescription: "a child")
    }
  }
}

/// A value that accepts no sample.
private struct Secret: Codable {
  var word: String

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    word = try container.decode(String.self, forKey: .word)
    guard word == "open sesame" else {
      throw DecodingError.dataCorruptedError(forKey: .word, in: container, debugDescription: "wrong word")
    }
  }
}

@Model
private final class Checked {
  var release: Release?
  var contact: Contact?
  var zone: TimeZone?
  init() {}
}

@Model
private final class Hidden {
  var secret: Secret?
  init() {}
}

@Suite("Schemas with types that check what they decode")
struct CheckedValueTests {
  @Test("Parts are found with samples that the decoders accept")
  func accepted() throws {
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: Checked.self))
    func names(_ attribute: String) -> [String]? {
      (model.entitiesByName["Checked"]?.attributesByName[attribute] as? NSCompositeAttributeDescription)?.elements
        .map(\.name)
    }
    #expect(names("release") == ["number", "link", "date"])
    #expect(names("contact") == ["address", "age"])
    #expect(names("zone")?.contains("identifier") == true)
  }

  @Test("A time zone is read from the store as it was set")
  func timeZones() throws {
    let container = try ModelContainer(
      for: Checked.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let new = Checked()
    new.zone = TimeZone(identifier: "Europe/Rome")
    context.insert(new)
    try context.save()
    let read = try ModelContext(container).fetch(FetchDescriptor<Checked>())
    #expect(read.map(\.zone?.identifier) == ["Europe/Rome"])
  }

  @Test("The error for a type that accepts no sample names the property, the type and the part")
  func refused() {
    #expect {
      try ModelContainer(for: Hidden.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    } throws: {
      let words = "\($0)"
      return words.contains("secret") && words.contains("Secret") && words.contains("'word'")
        && words.contains("@Attribute(.codable)")
    }
  }
}
