// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import SwiftData

private enum Plan<Old: VersionedSchema, New: VersionedSchema>: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Old.self, New.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: Old.self, toVersion: New.self)] }
}

private enum Users: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [User.self] }
  @Model final class User {
    @Attribute(.unique) var mail: String
    var name: String
    var note: String?
    init(mail: String, name: String) { (self.mail, self.name) = (mail, name) }
  }
}

/// A class of the same name, as an app has before it moves its models into a version.
private enum Unversioned {
  @Model final class User {
    var mail: String
    init(mail: String) { self.mail = mail }
  }
}

/// The inverse is implied, since both ends are plain.
private enum Implied: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Rubric.self, Category.self] }
  @Model final class Rubric {
    var name: String
    var category: Category?
    init(name: String) { self.name = name }
  }
  @Model final class Category {
    var name: String
    var rubrics: [Rubric] = []
    init(name: String) { self.name = name }
  }
}

/// One end is annotated, so that no inverse is implied.
private enum Annotated: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Rubric.self, Category.self] }
  @Model final class Rubric {
    var name: String
    @Relationship(deleteRule: .nullify) var category: Category?
    init(name: String) { self.name = name }
  }
  @Model final class Category {
    var name: String
    var rubrics: [Rubric] = []
    init(name: String) { self.name = name }
  }
}

/// As `Implied`, after `Annotated`.
private enum Stated: VersionedSchema {
  static let versionIdentifier = Schema.Version(3, 0, 0)
  static var models: [any PersistentModel.Type] { [Rubric.self, Category.self] }
  @Model final class Rubric {
    var name: String
    @Relationship(inverse: \Category.rubrics) var category: Category?
    init(name: String) { self.name = name }
  }
  @Model final class Category {
    var name: String
    var rubrics: [Rubric] = []
    init(name: String) { self.name = name }
  }
}

/// What works with new stores and fails with old ones that have rows.
private enum Demanding: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [User.self] }
  @Model final class User {
    @Attribute(.unique) var mail: String
    var name: String
    var note: String
    var number: Int
    var token: UUID = UUID()
    @Attribute(.unique) var code: Int = 0
    init(mail: String) { (self.mail, self.name, self.note, self.number) = (mail, "", "", 0) }
  }
}

/// The migrations that fail because of what a schema or a program says, and what is said about them.
@Suite("Failures of migrations: schemas")
struct SchemaFailureTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Items.store") }

  init() throws { directory = try TemporaryDirectory() }

  private func context(_ version: any VersionedSchema.Type) throws -> ModelContext {
    ModelContext(
      try ModelContainer(for: Schema(versionedSchema: version), configurations: ModelConfiguration(url: url)))
  }

  private final class Reports: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ text: String) { list.withLock { $0.append(text) } }
  }

  // MARK: Failure 14

  @Test("A new model with the unique values of another one updates it, which can be reported, or refused")
  func unique() throws {
    let context = try self.context(Users.self)
    let first = Users.User(mail: "m", name: "first")
    first.note = "kept"
    context.insert(first)
    try context.save()
    func names() throws -> [String] {
      try ModelContext(context.container).fetch(FetchDescriptor<Users.User>())
        .map { "\($0.mail) \($0.name) \($0.note ?? "none")" }.sorted()
    }
    context.insert(Users.User(mail: "m", name: "second"))
    try context.save()
    #expect(try names() == ["m second kept"])

    let reports = Reports()
    context.uniqueValuePolicy = .updateReporting { reports.add($0) }
    let third = Users.User(mail: "m", name: "third")
    context.insert(third)
    try context.save()
    #expect(!third.isDeleted && third.persistentModelID == first.persistentModelID)
    #expect(try names() == ["m third kept"])
    #expect(reports.all.count == 1)
    #expect(reports.all.first?.contains("/User/p1 has too: 'User.mail' = m") == true, "\(reports.all)")

    context.uniqueValuePolicy = .refuse
    context.insert(Users.User(mail: "m", name: "fourth"))
    let error = #expect(throws: SwiftDataError.self) { try context.save() }
    #expect((error?.entity, error?.property) == ("User", "mail"))
    #expect((error?.underlyingError as NSError?)?.code == NSManagedObjectConstraintMergeError)
    #expect(context.insertedModelsArray.count == 1)
    context.rollback()
    #expect(try names() == ["m third kept"])
  }

  @Test("Two new models with equal unique values become one, or are refused")
  func pending() throws {
    let context = try self.context(Users.self)
    for name in ["one", "two"] { context.insert(Users.User(mail: "p", name: name)) }
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Users.User>()) == 1)
    context.uniqueValuePolicy = .refuse
    for name in ["one", "two"] { context.insert(Users.User(mail: "q", name: name)) }
    let error = #expect(throws: SwiftDataError.self) { try context.save() }
    #expect(error?.localizedDescription.contains("2 new models have too: 'User.mail' = q") == true, "\(error as Any)")
  }

  // MARK: Failure 16

  @Test("A fetch of a class outside the version says which class of that name to use")
  func namespace() throws {
    let context = try self.context(Users.self)
    context.insert(Users.User(mail: "m", name: "n"))
    try context.save()
    let errors = [
      #expect(throws: SwiftDataError.self) { try context.fetch(FetchDescriptor<Unversioned.User>()) },
      #expect(throws: SwiftDataError.self) { try context.fetchCount(FetchDescriptor<Unversioned.User>()) },
      #expect(throws: SwiftDataError.self) { try context.fetchIdentifiers(FetchDescriptor<Unversioned.User>()) },
      #expect(throws: SwiftDataError.self) { try context.delete(model: Unversioned.User.self) },
    ]
    for error in errors {
      #expect(error == SwiftDataError.unknownSchema)
      #expect(error?.entity == "User")
      #expect(error?.localizedDescription.contains("Users.User, the class of the same name in version 1.0.0") == true)
    }
    #expect(try context.fetchCount(FetchDescriptor<Users.User>()) == 1)
  }

  // MARK: Failure 17

  @Test("An inverse that is implied in one version alone is reported, and no link is lost or doubled either way")
  func inverses() throws {
    #expect(
      Schema(versionedSchema: Implied.self).debugDescription.contains("rubrics ->> Rubric (inverse category)"))
    #expect(
      Schema(versionedSchema: Annotated.self).debugDescription.contains("rubrics ->> Rubric (no inverse)"))
    let warnings = try Plan<Implied, Annotated>.validate()
    #expect(
      warnings.contains(
        "The inverse of 'Category.rubrics' is category in Implied and none in Annotated. State it with "
          + "@Relationship(inverse:)."))
    #expect(warnings.count == 2)
    do {
      let context = try self.context(Implied.self)
      let category = Implied.Category(name: "k")
      context.insert(category)
      for name in ["r", "s"] {
        let rubric = Implied.Rubric(name: name)
        context.insert(rubric)
        category.rubrics.append(rubric)
      }
      context.insert(Implied.Rubric(name: "free"))
      try context.save()
    }
    do {
      let context = ModelContext(try Library.container(Plan<Implied, Annotated>.self, at: url))
      let rubrics = try context.fetch(FetchDescriptor<Annotated.Rubric>(sortBy: [SortDescriptor(\.name)]))
      #expect(rubrics.map { $0.category?.name } == [nil, "k", "k"])
      let categories = try context.fetch(FetchDescriptor<Annotated.Category>())
      #expect(categories.map { $0.rubrics.map(\.name).sorted() } == [["r", "s"]])
    }
    let context = ModelContext(try Library.container(Plan<Annotated, Stated>.self, at: url))
    let rubrics = try context.fetch(FetchDescriptor<Stated.Rubric>(sortBy: [SortDescriptor(\.name)]))
    #expect(rubrics.map { $0.category?.name } == [nil, "k", "k"])
    let categories = try context.fetch(FetchDescriptor<Stated.Category>())
    #expect(categories.map { $0.rubrics.map(\.name).sorted() } == [["r", "s"]])
  }

  // MARK: Failure 20

  @Test("What only old stores with rows show is reported without a store")
  func demanding() throws {
    let warnings = try Plan<Users, Demanding>.validate()
    for text in [
      "adds 'User.number', which is required and has no initial value", "makes 'User.note' required",
      "adds 'User.code', which is unique, with one initial value for all old rows",
      "adds 'User.token', whose initial value is made once",
    ] {
      #expect(warnings.contains { $0.contains(text) }, "\(text) in \(warnings)")
    }
    // A new store shows nothing, and neither does an old one without rows.
    _ = try Library.container(Plan<Users, Demanding>.self, at: directory.file("New.store"))
    do {
      let context = try self.context(Users.self)
      context.insert(Users.User(mail: "m", name: "n"))
      try context.save()
    }
    // The first launch and the second fail in the same way, and leave the store as it was.
    let errors = try (1...2).map { _ in
      try #require(throws: SwiftDataError.self) { try Library.container(Plan<Users, Demanding>.self, at: url) }
    }
    #expect(errors[0].localizedDescription == errors[1].localizedDescription)
    #expect(errors[0].entity == "User")
    #expect(try Library.isFinished(url, Users.self))
    #expect(try self.context(Users.self).fetch(FetchDescriptor<Users.User>()).map(\.mail) == ["m"])
  }

  @Test("Copies of one old store are migrated to equal rows")
  func deterministic() throws {
    let old = directory.file("Old.store")
    try Library.make(at: old)
    let rows = try (1...2).map { number -> [String] in
      let copy = try StoreBackup.make(of: old, in: directory.file("\(number)"))
      let context = ModelContext(try Library.container(LibraryPlan.self, at: copy))
      return try context.fetch(FetchDescriptor<LibraryV3.Book>()).map {
        "\($0.persistentModelID.id) \($0.name) \($0.readings) \($0.writer?.name ?? "none")"
      }.sorted()
    }
    #expect(rows[0] == rows[1])
    #expect(rows[0].count == 6)
  }
}
