// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import SwiftData

/// A version with one type.
private protocol Items: VersionedSchema { associatedtype Item: PersistentModel }
extension Items {
  static var models: [any PersistentModel.Type] { [Item.self] }
}

private enum Kind: String, Codable { case small, large, huge }
private struct Viewpoint: Codable, Equatable {
  var x: Int
  var label: String?
}
private struct Loose: Codable, Equatable {
  var first: Int?
  var second: String?
}

private enum Before: Items {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  @Model final class Item {
    var title: String
    var kind: Kind = Kind.small
    var spot: Viewpoint?
    var loose: Loose?
    var kept: Loose = Loose()
    var spots: [Viewpoint] = []
    init(title: String) { self.title = title }
  }
}

/// A required relationship with an initial value.
private enum Owned: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Item.self, Owner.self] }
  @Model final class Item {
    var title: String
    var owner: Owner = Owner(name: "nobody")
    init(title: String) { self.title = title }
  }
  @Model final class Owner {
    var name: String
    init(name: String) { self.name = name }
  }
}

/// The raw values are numbers.
private enum Numbered: Items {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  enum Kind: Int, Codable { case small, large }
  @Model final class Item {
    var title: String
    var kind: Kind = Kind.small
    init(title: String) { self.title = title }
  }
}

/// A case is gone, and an element of an array has a new property: equal version hashes.
private enum Reduced: Items {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  enum Kind: String, Codable { case small, large }
  struct Point: Codable, Equatable {
    var x: Int
    var z: Double
  }
  @Model final class Item {
    var title: String
    var kind: Kind = Kind.small
    var spot: Viewpoint?
    var loose: Loose?
    var kept: Loose = Loose()
    var spots: [Point] = []
    init(title: String) { self.title = title }
  }
}

/// The struct of an optional property has other parts.
private enum Reshaped: Items {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  struct Point: Codable, Equatable {
    var x: Int
    var z: Double
  }
  @Model final class Item {
    var title: String
    var kind: Kind = Kind.small
    var spot: Point?
    var loose: Loose?
    var kept: Loose = Loose()
    var spots: [Viewpoint] = []
    init(title: String) { self.title = title }
  }
}

/// The optional relationship before a required one.
private enum OwnedSome: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 5, 0)
  static var models: [any PersistentModel.Type] { [Item.self, Owner.self] }
  @Model final class Item {
    var title: String
    var owner: Owner?
    init(title: String) { self.title = title }
  }
  @Model final class Owner {
    var name: String
    init(name: String) { self.name = name }
  }
}

private enum Plan<Old: VersionedSchema, New: VersionedSchema>: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Old.self, New.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: Old.self, toVersion: New.self)] }
}

/// Connects the rows while the relationship is optional.
private enum OwningPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Before.self, OwnedSome.self, Owned.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: Before.self, toVersion: OwnedSome.self, willMigrate: nil,
        didMigrate: { context in
          let owner = OwnedSome.Owner(name: "all")
          context.insert(owner)
          for item in try context.fetch(FetchDescriptor<OwnedSome.Item>()) { item.owner = owner }
        }),
      .lightweight(fromVersion: OwnedSome.self, toVersion: Owned.self),
    ]
  }
}

/// The migrations that fail because of values, and what is said about them.
@Suite("Failures of migrations: values")
struct ValueFailureTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Items.store") }

  init() throws {
    directory = try TemporaryDirectory()
    let context = try self.context(Before.self)
    let first = Before.Item(title: "a")
    first.kind = .huge
    first.spot = Viewpoint(x: 1, label: "here")
    first.loose = Loose()
    first.spots = [Viewpoint(x: 2)]
    context.insert(first)
    let second = Before.Item(title: "b")
    second.loose = Loose(first: 0)
    context.insert(second)
    try context.save()
  }

  private func context(
    _ version: any VersionedSchema.Type, _ losses: AllowedLosses = .none
  ) throws -> ModelContext {
    var configuration = ModelConfiguration(url: url)
    configuration.migration.allowedLosses = losses
    return ModelContext(
      try ModelContainer(for: Schema(versionedSchema: version), configurations: configuration))
  }

  private func failure<P: SchemaMigrationPlan>(_ plan: P.Type) throws -> SwiftDataError {
    try #require(throws: SwiftDataError.self) { try Library.container(plan, at: url) }
  }

  // MARK: Failure 8

  @Test("A required relationship whose initial value is a model is named, with the way to add it")
  func madeObject() throws {
    let error = try failure(Plan<Before, Owned>.self)
    #expect((error.entity, error.property) == ("Item", "owner"))
    let words = error.localizedDescription
    #expect(words.contains("'owner' of entity 'Item' is new and required"))
    #expect(words.contains("An initial value is for new models alone. Make 'Item.owner' optional in Owned"))
    #expect(words.contains("is unchanged"))
    #expect(throws: SwiftDataError.self) { try Plan<Before, Owned>.validate() }
    #expect(try Library.isFinished(url, Before.self))
    let context = ModelContext(try Library.container(OwningPlan.self, at: url))
    #expect(try context.fetch(FetchDescriptor<Owned.Item>()).map(\.owner.name) == ["all", "all"])
  }

  // MARK: Failure 10

  @Test("An enum whose raw values get another type is named, with the way to convert them")
  func rawType() throws {
    let error = try failure(Plan<Before, Numbered>.self)
    #expect((error.entity, error.property) == ("Item", "kind"))
    let words = error.localizedDescription
    #expect(words.contains("'kind' of entity 'Item' is String in the source, Integer 64 in the destination"))
    #expect(words.contains("in a custom stage whose didMigrate has two contexts"))
    #expect(try Library.isFinished(url, Before.self))
  }

  @Test("Values that a changed type cannot read are listed by row before they are read")
  func unreadable() throws {
    let context = try self.context(Reduced.self)
    let found = try context.unreadableValues()
    #expect(found.map { "\($0.entity).\($0.property)" }.sorted() == ["Item.kind", "Item.spots"])
    let kind = try #require(found.first { $0.property == "kind" })
    #expect(kind.reason == "has the raw value huge, which Kind does not have")
    #expect(kind.description.contains("/Item/p1 has the raw value huge"))
    #expect(try context.unreadableValues(limit: 1).count == 1)

    let items = try context.fetch(FetchDescriptor<Reduced.Item>(sortBy: [SortDescriptor(\.title)]))
    #expect(items[0].persistentModelID == kind.persistentModelID)
    let error = #expect(throws: SwiftDataError.self) { try items[0].readValue(forKey: \.kind) }
    #expect((error?.entity, error?.property) == ("Item", "kind"))
    #expect(error?.localizedDescription.contains("has the raw value huge, which Kind does not have") == true)
    #expect(try items[1].readValue(forKey: \.kind) == .small)
    // Setting a value mends the row.
    items[0].kind = .large
    items[0].spots = []
    try context.save()
    #expect(try context.unreadableValues() == [])
  }

  @Test("A struct that gets a required part, and one that loses a part with values, are reported before they are read")
  func reshaped() throws {
    let warnings = try Plan<Before, Reshaped>.validate()
    #expect(warnings.contains { $0.contains("adds the part 'z' to 'Item.spot', which old values do not have") })
    #expect(warnings.contains { $0.contains("drops the part 'label' of 'Item.spot'") })
    let error = #expect(throws: SwiftDataError.self) { try self.context(Reshaped.self) }
    #expect((error?.entity, error?.property) == ("Item", "spot"))
    #expect(error?.localizedDescription.contains("'label' of 'Item.spot', which 1 row has") == true)
    #expect(error?.localizedDescription.contains("allowedLosses = [\"Item.spot\"]") == true)
    #expect(try Library.isFinished(url, Before.self))

    let context = try self.context(Reshaped.self, ["Item.spot"])
    let found = try context.unreadableValues()
    #expect(found.map(\.reason) == ["lacks the part 'z' of Point"])
    #expect(found.map(\.property) == ["spot"])
  }

  // MARK: Failure 11

  @Test("An optional struct without any value comes back as nil, a required one as itself, also after a migration")
  func empty() throws {
    for version in [Before.self, Reshaped.self] as [any VersionedSchema.Type] {
      let context = try self.context(version, ["Item.spot"])
      if version == Before.self {
        let items = try context.fetch(FetchDescriptor<Before.Item>(sortBy: [SortDescriptor(\.title)]))
        #expect(items.map(\.loose) == [nil, Loose(first: 0)])
        #expect(items.map(\.kept) == [Loose(), Loose()])
      } else {
        let items = try context.fetch(FetchDescriptor<Reshaped.Item>(sortBy: [SortDescriptor(\.title)]))
        #expect(items.map(\.loose) == [nil, Loose(first: 0)])
        #expect(items.map(\.kept) == [Loose(), Loose()])
        #expect(items[1].spot == nil)
      }
    }
  }

  // MARK: Failure 12

  fileprivate struct Single: Codable {
    var text = ""
    init() {}
    init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }

  fileprivate struct Listed: Codable {
    var number = 0
    init() {}
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      number = try container.decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      try container.encode(number)
    }
  }

  /// Encodes another part than it decodes.
  fileprivate struct Uneven: Codable {
    var number = 0
    private enum Keys: String, CodingKey { case number, total }
    init() {}
    init(from decoder: any Decoder) throws {
      number = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .number)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(number, forKey: .number)
      try container.encode(number * 2, forKey: .total)
    }
  }

  @Model final class HasSingle {
    private var value: Single
    init() { value = Single() }
  }
  @Model final class HasListed {
    private var value: Listed
    init() { value = Listed() }
  }
  @Model final class HasUneven {
    private var value: Uneven
    init() { value = Uneven() }
  }
  @Model final class HasWhole {
    @Attribute(.codable) private var value: Single
    @Attribute(.codable) private var list: Listed
    @Attribute(.codable) private var uneven: Uneven
    init() { (value, list, uneven) = (Single(), Listed(), Uneven()) }
    var texts: String { "\(value.text) \(list.number) \(uneven.number)" }
  }

  @Test("A type with coding of its own that has no parts by name is refused when the schema is built, with the way out")
  func ownCoding() throws {
    func failure(_ type: any PersistentModel.Type) throws -> SwiftDataError {
      let url = directory.file("\(type).store")
      let error = try #require(throws: SwiftDataError.self) {
        try ModelContainer(for: Schema([type]), configurations: ModelConfiguration(url: url))
      }
      #expect(!FileManager.default.fileExists(atPath: url.path))
      return error
    }
    for type in [HasSingle.self, HasListed.self, HasUneven.self] as [any PersistentModel.Type] {
      let error = try failure(type)
      #expect((error.entity, error.property) == ("\(type)", "value"))
      #expect(error.localizedDescription.contains("@Attribute(.codable) stores it"), "\(error)")
    }
    #expect(try failure(HasSingle.self).localizedDescription.contains("does not decode itself by keys"))
    let uneven = try failure(HasUneven.self).localizedDescription
    #expect(uneven.contains("has no part named 'total'; the parts that its type decodes are number"))

    let context = ModelContext(
      try ModelContainer(
        for: Schema([HasWhole.self]), configurations: ModelConfiguration(url: directory.file("Whole.store"))))
    context.insert(HasWhole())
    try context.save()
    #expect(try ModelContext(context.container).fetch(FetchDescriptor<HasWhole>()).map(\.texts) == [" 0 0"])
  }
}
