// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article on failed migrations, between `guide:` and `end`: versions and plans.

import CoreData
import Foundation
import SwiftData
import Testing

/// The shipped version of the article's model, and what becomes of it.
enum GuideItems {
  enum ShopV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item {
      var title: String
      var note: String?
      init(title: String, note: String? = nil) { (self.title, self.note) = (title, note) }
    }
  }

  /// `note` was made required after the version was shipped.
  enum EditedV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item {
      var title: String
      var note: String
      init(title: String, note: String) { (self.title, self.note) = (title, note) }
    }
  }

  enum ShopV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item {
      var title: String
      var note: String?
      var price = 0
      init(title: String) { self.title = title }
    }
  }

  /// Only an initial value differs from the first version.
  enum SameV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item {
      var title = "New"
      var note: String?
      init(title: String) { self.title = title }
    }
  }

  enum ShopV3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item {
      var title: String
      var note: String?
      var price = 0
      var stock = 0
      init(title: String) { self.title = title }
    }
  }

  enum Plan<Old: VersionedSchema, New: VersionedSchema>: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Old.self, New.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Old.self, toVersion: New.self)] }
  }

  enum GapPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [ShopV1.self, ShopV2.self, ShopV3.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: ShopV1.self, toVersion: ShopV3.self)] }
  }

  enum MixedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [ShopV1.self, ShopV2.self] }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: ShopV1.self, toVersion: ShopV2.self,
          willMigrate: { context in _ = try context.fetch(FetchDescriptor<ShopV2.Item>()) }, didMigrate: nil)
      ]
    }
  }

  /// A class that the app goes on changing, in a version that was shipped.
  @Model final class Tag {
    var name = ""
    init() {}
  }

  enum LooseV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Tag.self] }
  }

  enum LooseV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Tag.self, ShopV2.Item.self] }
  }
}

extension GuideItems {
  @Suite("The guide on failed migrations: versions and plans")
  struct PlanFailuresTests {
    private let directory: GuideDirectory
    private var url: URL { directory.file("Shop.store") }

    init() throws { directory = try GuideDirectory() }

    private func make(_ titles: [String] = ["Tea"]) throws {
      let context = ModelContext(try directory.container(ShopV1.self, at: url))
      for title in titles { context.insert(ShopV1.Item(title: title, note: "green")) }
      try context.save()
    }

    private func open<P: SchemaMigrationPlan>(_ plan: P.Type) throws -> ModelContainer {
      let last = try #require(P.schemas.last)
      return try ModelContainer(
        for: Schema(versionedSchema: last), migrationPlan: plan, configurations: ModelConfiguration(url: url))
    }

    private func failure<P: SchemaMigrationPlan>(_ plan: P.Type) throws -> SwiftDataError {
      try #require(throws: SwiftDataError.self) { try open(plan) }
    }

    @Test("1, 4: a version that was edited after it was shipped")
    func edited() throws {
      try make()
      let error = try failure(Plan<EditedV1, ShopV3>.self)
      directory.check(
        error,
        """
        loadIssueModelContainer: The store /data/Shop.store has a version that
        is none of the migration plan ShopPlan (version identifier 1.0.0,
        checksum …, entity hashes Item 02fd3645). The nearest schema is
        EditedV1. The property 'Item.note': isOptional is true in the store,
        false in EditedV1. Declare in EditedV1 exactly what was shipped, or add
        the store's version to the plan. The store is unchanged. Cannot use
        staged migration with an unknown model version. (NSCocoaErrorDomain
        134504)
        """)
    }

    @Test("2: the cause of an error")
    func cause() throws {
      try make()
      let storeURL = url
      var found: [String] = []
      // guide: failure-cause
      do {
        _ = try ModelContainer(
          for: Schema(versionedSchema: ShopV3.self), migrationPlan: Plan<EditedV1, ShopV3>.self,
          configurations: ModelConfiguration(url: storeURL))
      } catch SwiftDataError.unknownSchema {
        found.append("no version of the plan has written the store")
      } catch SwiftDataError.backwardMigration {
        found.append("a newer version of the app has written the store")
      } catch let error as SwiftDataError {
        found.append("\(error.entity ?? "-").\(error.property ?? "-"): \(error.localizedDescription)")
      }
      // end
      #expect(found == ["no version of the plan has written the store"])
    }

    @Test("3: two equal schemas")
    func equal() throws {
      directory.check(
        try failure(Plan<ShopV1, SameV2>.self),
        """
        loadIssueModelContainer: The migration plan ShopPlan has two equal
        schemas, ShopV1 and SameV2: initial values, delete rules, indexes and
        the names of types do not distinguish versions. Remove SameV2, or give
        one of its properties a hashModifier if its stage has code to run.
        """)
    }

    @Test("5: a shipped version contains a class from outside")
    func outside() throws {
      // guide: failure-validate
      let warnings = try Plan<LooseV1, LooseV2>.validate()
      // end
      directory.check(
        warnings,
        """
        LooseV1 contains Shop.Tag, which is declared outside of it. A change of
        the class changes a schema that was shipped: declare a copy inside
        LooseV1.
        """)
    }

    @Test("6: the code of a stage uses the classes of the other version")
    func otherSide() throws {
      try make()
      directory.check(
        try failure(MixedPlan.self),
        """
        loadIssueModelContainer: The willMigrate of the stage ShopV1 to ShopV2
        of the migration plan MixedPlan has failed. Nothing that it changed is
        in the store. The store /data/Shop.store is of ShopV1. It runs again
        when the store is next opened. The schema of the context does not
        contain Shop.ShopV2.Item. In a migration stage, willMigrate and the
        source of didMigrate have the classes of the old version, and the
        context that didMigrate changes has those of the new one. Use
        Shop.ShopV1.Item, the class of the same name in version 1.0.0.
        """)
    }

    @Test("16: two classes with one name")
    func twoClasses() throws {
      try make()
      let context = ModelContext(try directory.container(ShopV1.self, at: url))
      let error = try #require(throws: SwiftDataError.self) { try context.fetch(FetchDescriptor<ShopV2.Item>()) }
      directory.check(
        error,
        """
        unknownSchema: The schema of the context does not contain
        Shop.ShopV2.Item. Use Shop.ShopV1.Item, the class of the same name in
        version 1.0.0.
        """)
    }

    @Test("18: stages that a store will go through")
    func pending() throws {
      try make()
      let storeURL = url
      // guide: failure-pending
      let stages = try Plan<ShopV1, ShopV2>.pendingStages(forStoreAt: storeURL)
      // end
      #expect(stages == ["ShopV1 to ShopV2"])
    }

    @Test("19: a stage passes over a version, and a plan that does not end with the container's schema")
    func chain() throws {
      directory.check(
        try failure(GapPlan.self),
        """
        loadIssueModelContainer: The migration plan GapPlan has no stage from
        ShopV2, because the stage ShopV1 to ShopV3 passes over it: a store of
        that version could not be migrated.
        """)
      let other = try #require(throws: SwiftDataError.self) {
        try ModelContainer(
          for: Schema(versionedSchema: ShopV3.self), migrationPlan: Plan<ShopV1, ShopV2>.self,
          configurations: ModelConfiguration(url: url))
      }
      directory.check(
        other,
        """
        loadIssueModelContainer: The migration plan ShopPlan ends with ShopV2,
        but the container has another schema. The property 'Item.stock' is in
        the container's schema, but not in ShopV2. Add a schema and a stage for
        the container's version, or make the container with ShopV2.
        """)
    }

    @Test("A store of a newer version")
    func newer() throws {
      _ = try directory.container(ShopV3.self, at: url)
      directory.check(
        try failure(Plan<ShopV1, ShopV2>.self),
        """
        loadIssueModelContainer: The store /data/Shop.store is of version 3.0.0,
        later than the last schema of the migration plan ShopPlan, ShopV2 2.0.0:
        a newer version of the app has migrated it (version identifier 3.0.0,
        checksum …, entity hashes Item d1c5c25d). Open it with that version, or
        restore a backup. The store is unchanged. Staged migration would go
        backwards. (NSCocoaErrorDomain 134506)
        """)
    }
  }
}
