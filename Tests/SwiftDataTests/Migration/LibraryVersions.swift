// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Synchronization
import Testing

@testable import SwiftData

/// The first version of a library: books, without authors of their own.
enum LibraryV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Book.self, Shelf.self] }

  @Model final class Book {
    var title: String
    var author: String
    var pages: Int = 0
    var shelf: Shelf?

    init(title: String, author: String, pages: Int = 0) {
      (self.title, self.author, self.pages) = (title, author, pages)
    }
  }

  @Model final class Shelf {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.shelf) var books: [Book] = []

    init(name: String) { self.name = name }
  }
}

/// Titles are called names, pages are gone, a count of readings is new, and so are authors.
enum LibraryV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Book.self, Shelf.self, Writer.self] }

  @Model final class Book {
    @Attribute(originalName: "title") var name: String
    var author: String
    var readings: Int = 1
    var shelf: Shelf?
    var writer: Writer?

    init(name: String, author: String) { (self.name, self.author) = (name, author) }
  }

  @Model final class Shelf {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.shelf) var books: [Book] = []

    init(name: String) { self.name = name }
  }

  @Model final class Writer {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Book.writer) var books: [Book] = []

    init(name: String) { self.name = name }
  }
}

/// The author's name is with the writer alone.
enum LibraryV3: VersionedSchema {
  static let versionIdentifier = Schema.Version(3, 0, 0)
  static var models: [any PersistentModel.Type] { [Book.self, Shelf.self, Writer.self] }

  @Model final class Book {
    var name: String
    var readings: Int = 1
    var shelf: Shelf?
    var writer: Writer?

    init(name: String) { self.name = name }
  }

  @Model final class Shelf {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.shelf) var books: [Book] = []

    init(name: String) { self.name = name }
  }

  @Model final class Writer {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Book.writer) var books: [Book] = []

    init(name: String) { self.name = name }
  }
}

/// Copies the authors of books to writers in the first stage.
enum LibraryPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self, LibraryV3.self] }
  static var stages: [MigrationStage] {
    [
      .custom(fromVersion: LibraryV1.self, toVersion: LibraryV2.self, willMigrate: dotAuthors, didMigrate: addWriters),
      .lightweight(fromVersion: LibraryV2.self, toVersion: LibraryV3.self),
    ]
  }

  static func dotAuthors(_ context: ModelContext) throws {
    for book in try context.fetch(FetchDescriptor<LibraryV1.Book>()) { book.author += "." }
    try context.save()
    Library.note("willMigrate")
  }

  static func addWriters(_ context: ModelContext) throws {
    var writers: [String: LibraryV2.Writer] = [:]
    for book in try context.fetch(FetchDescriptor<LibraryV2.Book>()) {
      let writer = writers[book.author] ?? LibraryV2.Writer(name: book.author)
      writers[book.author] = writer
      context.insert(writer)
      book.writer = writer
      book.readings += 1
    }
    try context.save()
    Library.note("didMigrate")
  }
}

/// As `LibraryPlan`, and adds the number of pages, which only the first version has, to that of readings.
enum LibraryReadingPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { LibraryPlan.schemas }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: LibraryV1.self, toVersion: LibraryV2.self, willMigrate: LibraryPlan.dotAuthors,
        didMigrate: { source, destination in
          for old in try source.fetch(FetchDescriptor<LibraryV1.Book>()) {
            let new = try #require(destination.model(for: old.persistentModelID) as? LibraryV2.Book)
            new.readings += old.pages
          }
          try LibraryPlan.addWriters(destination)
        }),
      .lightweight(fromVersion: LibraryV2.self, toVersion: LibraryV3.self),
    ]
  }
}

/// A store of the first version.
enum Library {
  private static let observer = Mutex<(@Sendable (String) -> Void)?>(nil)

  /// Has a function called when the code of a stage has saved.
  static func observe(_ function: (@Sendable (String) -> Void)?) { observer.withLock { $0 = function } }

  static func note(_ phase: String) { observer.withLock { $0 }?(phase) }

  /// Creates a store with books by three authors on one shelf.
  static func make(at url: URL, books: Int = 6) throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: LibraryV1.self), configurations: ModelConfiguration(url: url))
    let context = ModelContext(container)
    let shelf = LibraryV1.Shelf(name: "first")
    context.insert(shelf)
    for number in 0..<books {
      let book = LibraryV1.Book(title: "Book \(number)", author: "Author \(number % 3)", pages: number)
      context.insert(book)
      book.shelf = shelf
    }
    try context.save()
  }

  static func container<Plan: SchemaMigrationPlan>(
    _ plan: Plan.Type, at url: URL, _ change: (inout MigrationOptions) -> Void = { _ in }
  ) throws -> ModelContainer {
    var configuration = ModelConfiguration(url: url)
    change(&configuration.migration)
    guard let last = Plan.schemas.last else { throw SwiftDataError.unknownSchema }
    return try ModelContainer(
      for: Schema(versionedSchema: last), migrationPlan: Plan.self, configurations: configuration)
  }

  static func metadata(_ url: URL) throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  }

  /// Whether a store has a version, and no stage of it is unfinished.
  static func isFinished(_ url: URL, _ version: any VersionedSchema.Type) throws -> Bool {
    let metadata = try metadata(url)
    return try PlannedVersion(version, plan: "").wrote(metadata, nil) && StageMark(metadata) == nil
  }
}
