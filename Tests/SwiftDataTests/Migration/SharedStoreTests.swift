// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import SwiftData

/// Stores that other processes use, and stores of other versions of an app.
@Suite("Migration by a plan beside other versions of an app", .serialized)
struct SharedStoreTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Library.store") }

  init() throws { directory = try TemporaryDirectory() }

  private func old() throws -> ModelContext {
    ModelContext(
      try ModelContainer(for: Schema(versionedSchema: LibraryV1.self), configurations: ModelConfiguration(url: url)))
  }

  private func checkMigrated(_ count: Int = 6) throws {
    let context = ModelContext(try Library.container(LibraryPlan.self, at: url))
    let books = try context.fetch(FetchDescriptor<LibraryV3.Book>())
    #expect(books.count == count)
    #expect(books.allSatisfy { $0.readings == 2 && $0.writer != nil && $0.shelf?.name == "first" })
    #expect(try Library.isFinished(url, LibraryV3.self))
  }

  // MARK: Two processes

  @Test("Two processes that open an old store at once run each stage once")
  func atOnce() async throws {
    try Library.make(at: url, books: 60)
    let path = url.path
    async let first: Void = open(path)
    async let second: Void = open(path)
    _ = await (first, second)
    try checkMigrated(60)
  }

  private func open(_ path: String) async {
    await #expect(processExitsWith: .success) { [path = path as String] in
      let container = try Library.container(LibraryPlan.self, at: URL(fileURLWithPath: path))
      let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV3.Book>())
      try #require(books.count == 60 && books.allSatisfy { $0.readings == 2 })
    }
  }

  @Test("An old app that has the store open keeps nothing from being migrated, and cannot save afterwards")
  func openElsewhere() throws {
    try Library.make(at: url)
    let old = try self.old()
    let before = try old.fetch(FetchDescriptor<LibraryV1.Book>(sortBy: [SortDescriptor(\.title)]))
    #expect(before.count == 6)
    try checkMigrated()

    before[0].pages = 99
    old.insert(LibraryV1.Book(title: "Late", author: "Nobody"))
    let error = #expect(throws: (any Error).self) { try old.save() } as NSError?
    let words =
      "\(error?.localizedDescription ?? "") \(error?.localizedFailureReason ?? "") "
      + (error?.localizedRecoverySuggestion ?? "")
    #expect(error?.domain == NSCocoaErrorDomain, "\(words)")
    #expect(words.contains("migrated") || words.contains("version"), "\(words)")
    #expect(old.hasChanges)
    // The old app's rows cannot be read any more either, and the store is of the new version, with its rows.
    #expect(throws: (any Error).self) { try old.fetch(FetchDescriptor<LibraryV1.Book>()) }
    try checkMigrated()
  }

  /// Migrates the store while an old app saves a book between `willMigrate` and the step.
  ///
  /// - Returns: what saving the book said; nil if it was saved.
  private func migrate(whileSaving old: ModelContext, fails: Bool = false) throws -> NSError? {
    nonisolated(unsafe) let old = old
    let result = Mutex<NSError?>(nil)
    let hasRun = Mutex(false)
    var configuration = ModelConfiguration(url: url)
    configuration.migration.progress = { progress in
      guard progress.stageNumber == 1, progress.phase == .step,
        !hasRun.withLock({ ran in
          defer { ran = true }; return ran
        })
      else { return }
      old.insert(LibraryV1.Book(title: "Late", author: "Nobody"))
      do { try old.save() } catch { result.withLock { $0 = error as NSError } }
    }
    _ = try ModelContainer(
      for: Schema(versionedSchema: LibraryV3.self), migrationPlan: LibraryPlan.self, configurations: configuration)
    return result.withLock { $0 }
  }

  @Test("An old app that has the store open cannot save what willMigrate would not see")
  func openDuringStage() throws {
    try Library.make(at: url)
    let old = try self.old()
    #expect(try old.fetchCount(FetchDescriptor<LibraryV1.Book>()) == 6)
    let error = try migrate(whileSaving: old)
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == NSPersistentStoreIncompatibleVersionHashError)
    #expect(error?.localizedFailureReason?.contains("began the stage 'LibraryV1 to LibraryV2'") == true)
    #expect(old.hasChanges)
    try checkMigrated()
  }

  @Test("An old app that has the store open can save again after willMigrate has failed")
  func openDuringFailure() throws {
    try Library.make(at: url)
    let old = try self.old()
    let books = try old.fetch(FetchDescriptor<LibraryV1.Book>())
    #expect(throws: SwiftDataError.self) { try Library.container(FailingPlan.self, at: url) }
    books[0].pages = 99
    try old.save()
    #expect(try Library.metadata(url)["OpenCoreDataSwiftDataStage"] == nil)
    try checkMigrated()
  }

  /// A plan whose first code throws.
  private enum FailingPlan: SchemaMigrationPlan {
    struct Problem: Error {}
    static var schemas: [any VersionedSchema.Type] { Array(LibraryPlan.schemas.prefix(2)) }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: LibraryV1.self, toVersion: LibraryV2.self, willMigrate: { _ in throw Problem() }, didMigrate: nil
        )
      ]
    }
  }

  @Test(
    "An app whose store was renamed or deleted while it was open cannot save, and keeps its changes",
    arguments: [true, false])
  func moved(isDeleted: Bool) throws {
    try Library.make(at: url)
    let old = try self.old()
    let books = try old.fetch(FetchDescriptor<LibraryV1.Book>())
    if isDeleted {
      try FileManager.default.removeItem(at: url)
    } else {
      try FileManager.default.moveItem(at: url, to: directory.file("Moved.store"))
    }
    books[0].pages = 99
    let error = #expect(throws: (any Error).self) { try old.save() } as NSError?
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == NSPersistentStoreOperationError)
    #expect(error?.localizedFailureReason?.contains("was moved, deleted or replaced while it was open") == true)
    #expect(old.hasChanges)
  }

  // MARK: Versions

  /// A plan that was written for a later store.
  private enum WithoutFirst: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [LibraryV2.self, LibraryV3.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: LibraryV2.self, toVersion: LibraryV3.self)] }
  }

  /// The version is listed, and no stage begins with it.
  private enum WithoutStage: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { LibraryPlan.schemas }
    static var stages: [MigrationStage] { WithoutFirst.stages }
  }

  @Test("A store whose version the plan does not lead from is left as it is, with the version that is missing")
  func noStage() throws {
    try Library.make(at: url)
    let unlisted = try #require(throws: SwiftDataError.self) { try Library.container(WithoutFirst.self, at: url) }
    #expect(SwiftDataError.unknownSchema ~= unlisted)
    let words = unlisted.localizedDescription
    #expect(words.contains("has a version that is none of the migration plan WithoutFirst (version identifier 1.0.0"))
    #expect(words.contains("The nearest schema is LibraryV2."))
    #expect(words.contains("'Book.title'") || words.contains("'Book.name'"), "\(words)")
    #expect(words.contains("or add the store's version to the plan. The store is unchanged."))
    let listed = try #require(throws: SwiftDataError.self) { try Library.container(WithoutStage.self, at: url) }
    #expect(listed.localizedDescription.contains("has no stage from LibraryV1"))
    #expect(try Library.isFinished(url, LibraryV1.self))
    try checkMigrated()
  }

  @Test("A store that was made without versions goes through the plan whose first version is what was shipped")
  func unversioned() throws {
    do {
      // What an app writes that lists its models alone: version 1.0.0.
      let context = ModelContext(
        try ModelContainer(for: LibraryV1.Book.self, configurations: ModelConfiguration(url: url)))
      let shelf = LibraryV1.Shelf(name: "first")
      context.insert(shelf)
      for number in 0..<6 {
        let book = LibraryV1.Book(title: "Book \(number)", author: "A")
        context.insert(book)
        book.shelf = shelf
      }
      try context.save()
    }
    #expect(try Library.metadata(url)[NSStoreModelVersionIdentifiersKey] as? [String] == ["1.0.0"])
    #expect(try LibraryPlan.pendingStages(forStoreAt: url).count == 2)
    try checkMigrated()
  }

  /// What an app has that was not what it shipped: the pages are missing.
  fileprivate enum NotShipped: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self, Shelf.self] }
    @Model final class Book {
      var title: String
      var author: String
      var shelf: Shelf?
      init(title: String, author: String) { (self.title, self.author) = (title, author) }
    }
    @Model final class Shelf {
      var name: String
      @Relationship(deleteRule: .cascade, inverse: \Book.shelf) var books: [Book] = []
      init(name: String) { self.name = name }
    }
  }

  fileprivate enum Adopting: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [NotShipped.self, LibraryV2.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: NotShipped.self, toVersion: LibraryV2.self)] }
  }

  @Test("An unversioned store that differs from the plan's first version is told where")
  func adopted() throws {
    try Library.make(at: url)
    let error = try #require(throws: SwiftDataError.self) { try Library.container(Adopting.self, at: url) }
    let words = error.localizedDescription
    #expect(words.contains("The nearest schema is NotShipped."))
    #expect(words.contains("The property 'Book.pages' is in the store, but not in NotShipped."))
    #expect(words.contains("Declare in NotShipped exactly what was shipped"))
    #expect((error.entity, error.property) == ("Book", "pages"))
    #expect(try Library.isFinished(url, LibraryV1.self))
  }

  private enum OldPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: LibraryV1.self, toVersion: LibraryV2.self)] }
  }

  @Test("A store that a newer app has migrated is not opened by an older one, with a plan or without, nor changed")
  func downgrade() throws {
    try Library.make(at: url)
    try checkMigrated()
    let errors = [
      try #require(throws: SwiftDataError.self) { try Library.container(OldPlan.self, at: url) },
      try #require(throws: SwiftDataError.self) { try self.old() },
    ]
    for error in errors {
      #expect(error == SwiftDataError.loadIssueModelContainer)
      #expect(SwiftDataError.backwardMigration ~= error)
      let words = error.localizedDescription
      #expect(words.contains("is of version 3.0.0, later than"))
      #expect(words.contains("Open it with that version, or restore a backup. The store is unchanged."))
    }
    try checkMigrated()
  }
}
