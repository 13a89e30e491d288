// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import SwiftData

@Suite("Migration by a plan")
struct PlannedMigrationTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Library.store") }

  init() throws { directory = try TemporaryDirectory() }

  @Test("A store goes through all stages, and keeps its rows and relationships")
  func stages() throws {
    try Library.make(at: url)
    let container = try Library.container(LibraryPlan.self, at: url)
    let context = ModelContext(container)
    let books = try context.fetch(FetchDescriptor<LibraryV3.Book>(sortBy: [SortDescriptor(\.name)]))
    #expect(books.map(\.name) == (0..<6).map { "Book \($0)" })
    #expect(books.allSatisfy { $0.readings == 2 && $0.shelf?.name == "first" })
    #expect(books.map { $0.writer?.name } == (0..<6).map { "Author \($0 % 3)." })
    #expect(try context.fetchCount(FetchDescriptor<LibraryV3.Writer>()) == 3)
    #expect(try Library.isFinished(url, LibraryV3.self))
    #expect(try directory.files().filter { $0.contains("stages") } == [])
  }

  @Test("A store of a version in between goes through the stages that remain")
  func between() throws {
    let old = try ModelContainer(
      for: Schema(versionedSchema: LibraryV2.self), configurations: ModelConfiguration(url: url))
    let context = ModelContext(old)
    context.insert(LibraryV2.Book(name: "One", author: "A"))
    try context.save()
    #expect(try LibraryPlan.pendingStages(forStoreAt: url) == ["LibraryV2 to LibraryV3"])
    let container = try Library.container(LibraryPlan.self, at: url)
    let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV3.Book>())
    #expect(books.map(\.name) == ["One"])
    #expect(books.map(\.readings) == [1])
    #expect(try LibraryPlan.pendingStages(forStoreAt: url) == [])
  }

  @Test("A new store runs no stage")
  func fresh() throws {
    let container = try Library.container(LibraryPlan.self, at: url)
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<LibraryV3.Book>()) == 0)
  }

  @Test("History names the stage and the author of what its code changed")
  func history() throws {
    try Library.make(at: url)
    let container = try Library.container(LibraryPlan.self, at: url)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = container.coordinator
    let result = try context.execute(request) as? NSPersistentHistoryResult
    let names = (result?.result as? [NSPersistentHistoryTransaction] ?? []).map(\.contextName)
    #expect(names.filter { $0 == "LibraryV1 to LibraryV2" }.count == 2)
  }

  // MARK: Errors of code

  private enum Failing: SchemaMigrationPlan {
    struct Problem: Error {}
    static let fails = Mutex<(before: Bool, after: Bool)>((false, false))
    static let calls = Mutex<(before: Int, after: Int)>((0, 0))
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: LibraryV1.self, toVersion: LibraryV2.self,
          willMigrate: { context in
            calls.withLock { $0.before += 1 }
            for book in try context.fetch(FetchDescriptor<LibraryV1.Book>()) { book.author += "!" }
            try context.save()
            if fails.withLock({ $0.before }) { throw Problem() }
          },
          didMigrate: { context in
            calls.withLock { $0.after += 1 }
            for book in try context.fetch(FetchDescriptor<LibraryV2.Book>()) { book.readings += 1 }
            try context.save()
            if fails.withLock({ $0.after }) { throw Problem() }
          })
      ]
    }
  }

  @Test("Code that fails after saving has changed nothing, and runs again")
  func failure() throws {
    try Library.make(at: url)
    Failing.fails.withLock { $0 = (true, true) }
    let first = #expect(throws: SwiftDataError.self) { try Library.container(Failing.self, at: url) }
    #expect(first?.underlyingError is Failing.Problem)
    #expect(first?.localizedDescription.contains("willMigrate of the stage LibraryV1 to LibraryV2") == true)
    #expect(try Library.isFinished(url, LibraryV1.self))
    Failing.fails.withLock { $0.before = false }
    let second = #expect(throws: SwiftDataError.self) { try Library.container(Failing.self, at: url) }
    #expect(second?.localizedDescription.contains("didMigrate of the stage LibraryV1 to LibraryV2") == true)
    // The next process finishes the stage, or says that it cannot.
    let withoutPlan = #expect(throws: SwiftDataError.self) {
      try ModelContainer(for: Schema(versionedSchema: LibraryV2.self), configurations: ModelConfiguration(url: url))
    }
    #expect(withoutPlan?.localizedDescription.contains("whose didMigrate has not finished") == true)
    Failing.fails.withLock { $0.after = false }
    let container = try Library.container(Failing.self, at: url)
    let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV2.Book>())
    #expect(books.map(\.readings) == Array(repeating: 2, count: 6))
    #expect(Set(books.map(\.author)) == ["Author 0!", "Author 1!", "Author 2!"])
    #expect(Failing.calls.withLock { $0 == (2, 2) })
    #expect(try Library.isFinished(url, LibraryV2.self))
  }

  // MARK: Contexts of stages

  private enum Inspecting: SchemaMigrationPlan {
    static let found = Mutex<[String]>([])
    static func note(_ text: String) { found.withLock { $0.append(text) } }
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: LibraryV1.self, toVersion: LibraryV2.self,
          willMigrate: { context in
            let book = LibraryV1.Book(title: "New", author: "Author 9")
            context.insert(book)
            try context.save()
            note("temporary \(book.persistentModelID.isTemporary) changes \(context.hasChanges)")
            let other = ModelContext(context.container)
            note("other context \(try other.fetchCount(FetchDescriptor<LibraryV1.Book>()))")
            let count = try context.fetchIdentifiers(FetchDescriptor<LibraryV1.Book>()).count
            note("identifiers \(count)")
            book.title = "Newer"
            context.rollback()
            note("after rollback \(book.title)")
            context.delete(book)
            try context.save()
            note("after deletion \(try other.fetchCount(FetchDescriptor<LibraryV1.Book>()))")
            context.insert(LibraryV1.Book(title: "Unsaved", author: "Author 9"))
          }, didMigrate: nil)
      ]
    }
  }

  @Test("The contexts of a stage see what its code has saved, and the rest is saved when it returns")
  func contexts() throws {
    try Library.make(at: url)
    let container = try Library.container(Inspecting.self, at: url)
    #expect(
      Inspecting.found.withLock { $0 } == [
        "temporary false changes false", "other context 7", "identifiers 7", "after rollback New", "after deletion 6",
      ])
    let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV2.Book>(sortBy: [SortDescriptor(\.name)]))
    #expect(books.map(\.name) == (0..<6).map { "Book \($0)" } + ["Unsaved"])
  }

  private enum Mistaken: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: LibraryV1.self, toVersion: LibraryV2.self,
          willMigrate: { _ = try $0.fetch(FetchDescriptor<LibraryV2.Book>()) }, didMigrate: nil)
      ]
    }
  }

  @Test("Code that uses the classes of the other version gets an error that says which to use")
  func otherVersion() throws {
    try Library.make(at: url)
    let error = #expect(throws: SwiftDataError.self) { try Library.container(Mistaken.self, at: url) }
    let words = error?.localizedDescription ?? ""
    #expect(words.contains("willMigrate and the source of didMigrate have the classes of the old version"))
    #expect(words.contains("LibraryV1.Book"))
    #expect(error?.entity == "Book")
  }

  @Test("Two containers that are made at once run each stage once")
  func atOnce() async throws {
    try Library.make(at: url, books: 300)
    let url = url
    let counts = try await withThrowingTaskGroup(of: [Int].self) { group in
      for _ in 0..<4 {
        group.addTask {
          let container = try Library.container(LibraryPlan.self, at: url)
          return try ModelContext(container).fetch(FetchDescriptor<LibraryV3.Book>()).map(\.readings)
        }
      }
      return try await group.reduce(into: []) { $0.append(Set($1)) }
    }
    #expect(counts == Array(repeating: [2], count: 4))
  }
}
