// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article on failed migrations, between `guide:` and `end`: properties and their values.

import CoreData
import Foundation
import SwiftData
import Testing

/// A version with one class.
protocol GuideVersion: VersionedSchema { associatedtype Item: PersistentModel }
extension GuideVersion {
  static var models: [any PersistentModel.Type] { [Item.self] }
}

extension GuideItems {
  enum Unique: GuideVersion {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    @Model final class Item {
      @Attribute(.unique) var title: String
      var note: String?
      init(title: String) { self.title = title }
    }
  }

  enum Required: GuideVersion {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    @Model final class Item {
      var title: String
      var note: String?
      var price: Int
      init(title: String, price: Int) { (self.title, self.price) = (title, price) }
    }
  }

  enum Renamed: GuideVersion {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    @Model final class Item {
      var title: String
      var remark: String?
      init(title: String) { self.title = title }
    }
  }

  struct Size: Codable, Equatable {
    var width: Int
    var height: Int
  }

  enum Structured: GuideVersion {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    @Model final class Item {
      var title: String
      var note: String?
      var size = Size(width: 1, height: 2)
      init(title: String) { self.title = title }
    }
  }

  enum Owned: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Owner.self] }
    @Model final class Item {
      var title: String
      var note: String?
      var owner: Owner = Owner()
      init(title: String) { self.title = title }
    }
    @Model final class Owner {
      var name = "nobody"
      @Relationship(inverse: \Item.owner) var items: [Item] = []
      init() {}
    }
  }

  enum Color: String, Codable { case red, green }
  enum Painted: GuideVersion {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    @Model final class Item {
      var title: String
      var color = Color.red
      init(title: String) { self.title = title }
    }
  }
  enum Bleached: GuideVersion {
    enum Color: String, Codable { case green, blue }
    static let versionIdentifier = Schema.Version(1, 0, 0)
    @Model final class Item {
      var title: String
      var color = Color.green
      init(title: String) { self.title = title }
    }
  }

  // guide: failure-shape
  struct Memo: Codable, Equatable {
    var text: String?
    var author: String?
  }

  /// A day that encodes itself as a number.
  struct Day: Codable, Equatable {
    var number: Int
    init(number: Int) { self.number = number }
    init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(number)
    }
  }
  // end

  @Model final class Noted {
    var memo: Memo?
    init() {}
  }
  @Model final class Dated {
    var day = Day(number: 1)
    init() {}
  }
  @Model final class Kept {
    // guide: failure-codable
    @Attribute(.codable) var day = Day(number: 1)
    // end
    init() {}
  }
}

extension GuideItems {
  @Suite("The guide on failed migrations: properties and values")
  struct ValueFailuresTests {
    private let directory: GuideDirectory
    private var url: URL { directory.file("Shop.store") }

    init() throws { directory = try GuideDirectory() }

    private func make(_ titles: [String] = ["Tea"]) throws {
      let context = ModelContext(try directory.container(ShopV1.self, at: url))
      for title in titles { context.insert(ShopV1.Item(title: title, note: "green")) }
      try context.save()
    }

    private func failure(_ version: any VersionedSchema.Type) throws -> SwiftDataError {
      try #require(throws: SwiftDataError.self) { try directory.container(version, at: url) }
    }

    private func failure<P: SchemaMigrationPlan>(_ plan: P.Type) throws -> SwiftDataError {
      let last = try #require(P.schemas.last)
      return try #require(throws: SwiftDataError.self) {
        try ModelContainer(
          for: Schema(versionedSchema: last), migrationPlan: plan, configurations: ModelConfiguration(url: url))
      }
    }

    @Test("7: a required property without an initial value")
    func required() throws {
      try make()
      directory.check(
        try failure(Plan<ShopV1, Required>.self),
        """
        loadIssueModelContainer: The stage ShopV1 to Required of the migration
        plan ShopPlan has failed. The store /data/Shop.store is of ShopV1. An
        error occurred during persistent store migration. Cannot migrate store
        in-place: Validation error missing attribute values on mandatory
        destination attribute: 'price' of entity 'Item' is required and has no
        default value in the destination, and Item/p1 is without a value. The
        store is '/data/Shop.store'. Give 'Item.price' an initial value, or make
        it optional. If the old version has the property, the willMigrate of a
        custom stage can set the values. (NSCocoaErrorDomain 134110)
        """)
    }

    @Test("8: a required relationship")
    func owner() throws {
      try make()
      directory.check(
        try failure(Plan<ShopV1, Owned>.self),
        """
        loadIssueModelContainer: The stage ShopV1 to Owned of the migration plan
        ShopPlan cannot be inferred. An initial value is for new models alone.
        Make 'Item.owner' optional in Owned, connect the old rows in the
        didMigrate of a custom stage, and require it in the version after that.
        The store /data/Shop.store is unchanged. A mapping model could not be
        inferred. The relationship 'owner' of entity 'Item' is new and required,
        but existing objects have no value for it. (NSCocoaErrorDomain 134190)
        """)
    }

    @Test("9: a struct is added with an initial value")
    func structure() throws {
      try make()
      let container = try ModelContainer(
        for: Schema(versionedSchema: Structured.self), migrationPlan: Plan<ShopV1, Structured>.self,
        configurations: ModelConfiguration(url: url))
      let sizes = try ModelContext(container).fetch(FetchDescriptor<Structured.Item>()).map(\.size)
      #expect(sizes == [Size(width: 1, height: 2)])
    }

    @Test("10: a case is gone that rows have")
    func cases() async throws {
      let context = ModelContext(try directory.container(Painted.self, at: url))
      context.insert(Painted.Item(title: "Tea"))
      try context.save()
      let other = ModelContext(try directory.container(Bleached.self, at: url))
      let items = try other.fetch(FetchDescriptor<Bleached.Item>())
      #expect(items.map(\.title) == ["Tea"])
      // Properties cannot throw, so that reading one traps.
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let directory = try GuideDirectory()
        let url = directory.file("Shop.store")
        let context = ModelContext(try directory.container(Painted.self, at: url))
        context.insert(Painted.Item(title: "Tea"))
        try context.save()
        let other = ModelContext(try directory.container(Bleached.self, at: url))
        for item in try other.fetch(FetchDescriptor<Bleached.Item>()) { _ = item.color }
      }
      let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      directory.check(
        [words],
        """
        … Item.color of x-coredata://… has the raw value red, which Color does
        not have.…
        """)
    }

    @Test("11: a struct without values is nil")
    func missing() throws {
      let container = try ModelContainer(
        for: Noted.self, Kept.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      let context = ModelContext(container)
      let noted = Noted()
      noted.memo = Memo()
      context.insert(noted)
      context.insert(Kept())
      try context.save()
      let other = ModelContext(container)
      #expect(try other.fetch(FetchDescriptor<Noted>()).map(\.memo) == [nil])
      #expect(try other.fetch(FetchDescriptor<Kept>()).map(\.day) == [Day(number: 1)])
    }

    @Test("12: a type that does not encode itself by keys")
    func shape() throws {
      let error = try #require(throws: SwiftDataError.self) {
        try ModelContainer(for: Dated.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      }
      directory.check(
        error,
        """
        loadIssueModelContainer: The model container could not be made.
        Dated.day cannot be stored: its type is Shop.Day, which does not decode
        itself by keys; @Attribute(.codable) stores it as a whole.
        """)
    }

    @Test("13: duplicates of a property that becomes unique")
    func duplicates() throws {
      try make(["Tea", "Rice", "Tea"])
      directory.check(
        try failure(Plan<ShopV1, Unique>.self),
        """
        loadIssueModelContainer: The stage ShopV1 to Unique of the migration
        plan ShopPlan has failed. The store /data/Shop.store is of ShopV1. Make
        the stage a custom one whose willMigrate removes the duplicates.
        Persistent store migration failed, uniqueness constraint violated. Rows
        of entity 'Item' have the same value of 'title', which must be unique in
        the new model: 'Tea' (2 rows). The store is '/data/Shop.store'.
        (NSCocoaErrorDomain 134111)
        """)
    }

    @Test("15: a property is renamed without its original name")
    func renamed() throws {
      try make()
      directory.check(
        try failure(Renamed.self),
        """
        loadIssueModelContainer: The store /data/Shop.store could not be
        migrated to the container's schema. It is unchanged. Write a migration
        plan whose schemas say what is removed, or allow the loss with
        ModelConfiguration.migration.allowedLosses. If 'Item.note' was renamed
        to 'remark', give it originalName: "note". … would drop 1 value of
        'Item.note'. … (NSCocoaErrorDomain 134130)
        """)
      // guide: failure-renamed
      let warnings = try Plan<ShopV1, Renamed>.validate()
      // end
      directory.check(
        warnings,
        """
        The stage ShopV1 to Renamed drops 'Item.note' and adds 'remark', of the
        same type. If it was renamed, give it originalName: "note".
        """)
    }

    @Test("17: the inverses of a schema")
    func inverses() {
      // guide: failure-inverses
      let text = String(reflecting: Schema([GuideTrips.Trip.self]))
      // end
      #expect(
        text == """
          Schema 1.0.0
          Stop
            title
            trip? -> Trip (inverse stops)
          Trip
            days
            name
            start
            stops ->> Stop (inverse trip)
          """)
    }
  }
}
