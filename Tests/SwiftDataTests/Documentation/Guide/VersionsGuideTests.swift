// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the articles on schema versions and custom stages, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import SwiftData
import Synchronization
import Testing

enum GuideLibrary {
  // guide: versions-first
  enum LibraryV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self] }

    @Model
    final class Book {
      var title: String
      var author: String
      var read: Bool = false

      init(title: String, author: String) {
        self.title = title
        self.author = author
      }
    }
  }
  // end

  // guide: versions-second
  enum LibraryV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self] }

    @Model
    final class Book {
      @Attribute(originalName: "title") var name: String
      var author: String
      var read: Bool = false
      var rating: Int = 3

      init(name: String, author: String) {
        self.name = name
        self.author = author
      }
    }
  }
  // end

  // guide: stages-third
  enum LibraryV3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self, Writer.self] }

    @Model
    final class Book {
      var name: String
      var author: String
      var read: Bool = false
      var rating: Int = 3
      var writer: Writer?

      init(name: String, author: String) {
        self.name = name
        self.author = author
      }
    }

    @Model
    final class Writer {
      @Attribute(.unique) var name: String
      @Relationship(inverse: \Book.writer) var books: [Book] = []

      init(name: String) {
        self.name = name
      }
    }
  }
  // end

  // guide: stages-fourth
  enum LibraryV4: VersionedSchema {
    static let versionIdentifier = Schema.Version(4, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self, Writer.self] }

    @Model
    final class Book {
      var name: String
      var read: Bool = false
      var rating: Int = 3
      var writer: Writer?

      init(name: String) {
        self.name = name
      }
    }

    @Model
    final class Writer {
      @Attribute(.unique) var name: String
      @Relationship(inverse: \Book.writer) var books: [Book] = []

      init(name: String) {
        self.name = name
      }
    }
  }
  // end

  // guide: versions-plan
  enum FirstPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: LibraryV1.self, toVersion: LibraryV2.self)] }
  }
  // end

  // guide: stages-plan
  enum LibraryPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] {
      [LibraryV1.self, LibraryV2.self, LibraryV3.self, LibraryV4.self]
    }

    static var stages: [MigrationStage] {
      [
        .lightweight(fromVersion: LibraryV1.self, toVersion: LibraryV2.self),
        .custom(
          fromVersion: LibraryV2.self, toVersion: LibraryV3.self,
          willMigrate: { context in
            for book in try context.fetch(FetchDescriptor<LibraryV2.Book>()) {
              book.author = book.author.trimmingCharacters(in: .whitespaces)
            }
            try context.save()
          },
          didMigrate: { context in
            var writers: [String: LibraryV3.Writer] = [:]
            for book in try context.fetch(FetchDescriptor<LibraryV3.Book>()) {
              let writer = writers[book.author] ?? LibraryV3.Writer(name: book.author)
              writers[book.author] = writer
              context.insert(writer)
              book.writer = writer
            }
            try context.save()
          }),
        .lightweight(fromVersion: LibraryV3.self, toVersion: LibraryV4.self),
      ]
    }
  }
  // end
}

extension GuideLibrary {
  @Suite("The guide on schema versions and custom stages")
  struct VersionsTests {
    private let directory: GuideDirectory
    private var url: URL { directory.file("Library.store") }

    init() throws { directory = try GuideDirectory() }

    private func make() throws {
      let context = ModelContext(try directory.container(LibraryV1.self, at: url))
      for (title, author) in [
        ("Emma", "Jane Austen "), ("Persuasion", "Jane Austen"), ("Silas Marner", "George Eliot"),
      ] {
        context.insert(LibraryV1.Book(title: title, author: author))
      }
      try context.save()
    }

    @Test("A store of the first version becomes one of the second")
    func versions() throws {
      try make()
      let storeURL = url
      // guide: versions-open
      let container = try ModelContainer(
        for: LibraryV2.Book.self, migrationPlan: FirstPlan.self, configurations: ModelConfiguration(url: storeURL))
      let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV2.Book>(sortBy: [SortDescriptor(\.name)]))
      let lines = books.map { "\($0.name), rating \($0.rating)" }
      // end
      #expect(lines == ["Emma, rating 3", "Persuasion, rating 3", "Silas Marner, rating 3"])
    }

    @Test("A plan is checked without a store")
    func check() throws {
      // guide: versions-check
      let warnings = try LibraryPlan.validate()
      // end
      #expect(warnings == [])
    }

    @Test("A store goes through all stages")
    func stages() throws {
      try make()
      let storeURL = url
      // guide: stages-open
      let container = try ModelContainer(
        for: LibraryV4.Book.self, LibraryV4.Writer.self, migrationPlan: LibraryPlan.self,
        configurations: ModelConfiguration(url: storeURL))
      let writers = FetchDescriptor<LibraryV4.Writer>(sortBy: [SortDescriptor(\.name)])
      let lines = try ModelContext(container).fetch(writers).map { writer in
        "\(writer.name): \(writer.books.map(\.name).sorted().joined(separator: ", "))"
      }
      // end
      #expect(lines == ["George Eliot: Silas Marner", "Jane Austen: Emma, Persuasion"])
    }

    @Test("The options of a migration: a backup, progress, losses")
    func options() throws {
      try make()
      let storeURL = url
      let seen = Mutex<[String]>([])
      @Sendable func show(_ text: String) { seen.withLock { $0.append(text) } }
      // guide: stages-options
      var configuration = ModelConfiguration(url: storeURL)
      configuration.migration.backup = .besideStore
      configuration.migration.progress = { progress in
        show("\(progress.stageNumber)/\(progress.stageCount) \(progress.stage): \(progress.phase.rawValue)")
      }
      let container = try ModelContainer(
        for: Schema(versionedSchema: LibraryV4.self), migrationPlan: LibraryPlan.self, configurations: configuration)
      // end
      #expect(container.configurations.count == 1)
      var phases = seen.withLock { $0 }
      for index in phases.indices.dropFirst().reversed() where phases[index] == phases[index - 1] {
        phases.remove(at: index)
      }
      #expect(
        phases.joined(separator: "\n") == """
          1/3 LibraryV1 to LibraryV2: backup
          1/3 LibraryV1 to LibraryV2: step
          2/3 LibraryV2 to LibraryV3: willMigrate
          2/3 LibraryV2 to LibraryV3: step
          2/3 LibraryV2 to LibraryV3: didMigrate
          3/3 LibraryV3 to LibraryV4: step
          """)
      #expect(FileManager.default.fileExists(atPath: directory.file("Library~.store").path))
    }

    @Test("Stores of shipped versions are migrated in a test")
    func committed() throws {
      try make()
      let folder = url.deletingLastPathComponent()
      // guide: versions-stores
      let stores = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "store" }
      for store in stores {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
        let copy = try StoreBackup.make(of: store, in: directory)
        let container = try ModelContainer(
          for: Schema(versionedSchema: LibraryV4.self), migrationPlan: LibraryPlan.self,
          configurations: ModelConfiguration(url: copy))
        let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV4.Book>())
        #expect(!books.isEmpty && books.allSatisfy { $0.writer != nil })
        try FileManager.default.removeItem(at: directory)
      }
      // end
      #expect(stores.count == 1)
    }
  }
}
