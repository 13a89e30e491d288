// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import SwiftData

@Suite("Migration by a plan in PostgreSQL", .serialized, .needsPostgreSQL)
struct ServerPlanTests {
  private let url: URL

  init() throws {
    PostgreSQLStores.register()
    url = TestServer.shared.schemaURL()
  }

  private func books() throws -> [String] {
    let context = ModelContext(try Library.container(LibraryPlan.self, at: url))
    return try context.fetch(FetchDescriptor<LibraryV3.Book>()).map {
      "\($0.name): \($0.readings), \($0.writer?.name ?? "none"), \($0.shelf?.name ?? "none")"
    }.sorted()
  }

  private func books(of version: any VersionedSchema.Type) throws -> Int {
    let context = ModelContext(
      try ModelContainer(for: Schema(versionedSchema: version), configurations: ModelConfiguration(url: url)))
    return version == LibraryV1.self
      ? try context.fetchCount(FetchDescriptor<LibraryV1.Book>())
      : try context.fetchCount(FetchDescriptor<LibraryV2.Book>())
  }

  @Test("A store goes through a custom stage and a lightweight one, and keeps its rows and relationships")
  func stages() throws {
    try Library.make(at: url)
    let expected = (0..<6).map { "Book \($0): 2, Author \($0 % 3)., first" }
    #expect(try books() == expected)
    // Opened again, it runs no stage.
    #expect(try books() == expected)
  }

  @Test("didMigrate reads the rows of the old version")
  func source() throws {
    try Library.make(at: url)
    _ = try Library.container(LibraryReadingPlan.self, at: url)
    #expect(try books() == (0..<6).map { "Book \($0): \(2 + $0), Author \($0 % 3)., first" })
    let temporary = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
    #expect(temporary.filter { $0.hasPrefix("SwiftData-source-") } == [])
  }

  @Test("A new store runs no stage, and one of a version in between those that remain")
  func between() throws {
    do {
      let context = ModelContext(
        try ModelContainer(for: Schema(versionedSchema: LibraryV2.self), configurations: ModelConfiguration(url: url)))
      context.insert(LibraryV2.Book(name: "One", author: "A"))
      try context.save()
    }
    #expect(try books() == ["One: 1, none, none"])
    let context = ModelContext(try Library.container(LibraryPlan.self, at: TestServer.shared.schemaURL()))
    #expect(try context.fetchCount(FetchDescriptor<LibraryV3.Book>()) == 0)
  }

  @Test("Erasing a container deletes the rows in the server, and the container keeps what is saved afterwards")
  func erasing() throws {
    let container = try Library.container(LibraryPlan.self, at: url)
    let context = ModelContext(container)
    for name in ["One", "Two"] {
      context.insert(LibraryV3.Book(name: name))
      try context.save()
      if name == "One" { try container.erase() }
    }
    #expect(try books() == ["Two: 1, none, none"])
  }

  // MARK: Errors

  private enum Failing: SchemaMigrationPlan {
    struct Problem: Error {}
    static let fails = Mutex(true)
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: LibraryV1.self, toVersion: LibraryV2.self, willMigrate: LibraryPlan.dotAuthors,
          didMigrate: { context in
            try LibraryPlan.addWriters(context)
            if fails.withLock({ $0 }) { throw Problem() }
          })
      ]
    }
  }

  @Test("A stage whose code fails leaves the store as it was, and runs again")
  func failure() throws {
    try Library.make(at: url)
    Failing.fails.withLock { $0 = true }
    let error = #expect(throws: SwiftDataError.self) { try Library.container(Failing.self, at: url) }
    let words = error?.localizedDescription ?? ""
    #expect(words.contains("LibraryV1 to LibraryV2"), "\(words)")
    #expect(words.contains("is unchanged"), "\(words)")
    #expect(words.contains("Problem"), "\(words)")
    #expect(!words.contains("coredata-pg") || words.contains("postgresql:"), "\(words)")
    #expect(try books(of: LibraryV1.self) == 6)
    Failing.fails.withLock { $0 = false }
    let context = ModelContext(try Library.container(Failing.self, at: url))
    #expect(try context.fetch(FetchDescriptor<LibraryV2.Book>()).allSatisfy { $0.readings == 2 })
    #expect(
      try Set(context.fetch(FetchDescriptor<LibraryV2.Writer>()).map(\.name)) == [
        "Author 0.", "Author 1.", "Author 2.",
      ])
  }

  fileprivate enum Other: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Shelf.self] }
    @Model final class Shelf {
      var name: String
      var height: Int = 1
      init(name: String) { self.name = name }
    }
  }

  @Test("A store whose version the plan lacks is compared with the nearest one, and a later one is not migrated back")
  func unknown() throws {
    do {
      let context = ModelContext(
        try ModelContainer(for: Schema(versionedSchema: Other.self), configurations: ModelConfiguration(url: url)))
      context.insert(Other.Shelf(name: "a"))
      try context.save()
    }
    let error = #expect(throws: SwiftDataError.self) { try Library.container(LibraryPlan.self, at: url) }
    #expect(error.map { SwiftDataError.unknownSchema ~= $0 } == true)
    let words = error?.localizedDescription ?? ""
    #expect(words.contains("The nearest schema is LibraryV1"), "\(words)")
    #expect(words.contains("'Book'"), "\(words)")
    #expect(words.contains("The store is unchanged"), "\(words)")

    let later = TestServer.shared.schemaURL()
    try Library.make(at: later)
    _ = try Library.container(LibraryPlan.self, at: later)
    let backward = #expect(throws: SwiftDataError.self) { try Library.container(Failing.self, at: later) }
    #expect(backward.map { SwiftDataError.backwardMigration ~= $0 } == true)
    #expect(backward?.localizedDescription.contains("is of version 3.0.0, later than the last schema") == true)
  }

  @Test("A backup is refused with the reason")
  func backup() throws {
    try Library.make(at: url)
    let error = #expect(throws: SwiftDataError.self) {
      try Library.container(LibraryPlan.self, at: url) { $0.backup = .besideStore }
    }
    #expect(error?.localizedDescription.contains("leave MigrationOptions.backup unset") == true)
    #expect(try books(of: LibraryV1.self) == 6)
  }

  @Test("A directory gets a SQLite store with the rows of the old version")
  func copy() throws {
    try Library.make(at: url)
    let directory = try TemporaryDirectory()
    _ = try Library.container(LibraryPlan.self, at: url) { $0.backup = .directory(directory.url) }
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(names.count == 1)
    let copy = directory.url.appendingPathComponent(try #require(names.first))
    let context = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: LibraryV1.self), configurations: ModelConfiguration(url: copy)))
    let authors = try context.fetch(FetchDescriptor<LibraryV1.Book>()).map(\.author)
    #expect(authors.count == 6 && authors.allSatisfy { !$0.hasSuffix(".") })
    #expect(try Library.isFinished(copy, LibraryV1.self))
  }

  @Test("Progress is reported for each stage, and an error that it throws leaves the store as it was")
  func progress() throws {
    struct Stop: Error {}
    try Library.make(at: url)
    let error = #expect(throws: SwiftDataError.self) {
      try Library.container(LibraryPlan.self, at: url) {
        $0.progress = { if $0.stageNumber == 2 { throw Stop() } }
      }
    }
    let words = error?.localizedDescription ?? ""
    #expect((error?.underlyingError as NSError?)?.code == NSMigrationCancelledError, "\(words)")
    #expect(words.contains("was cancelled. It is unchanged."), "\(words)")
    #expect(!words.contains("coredata-pg") || words.contains("postgresql:"), "\(words)")
    #expect(try books(of: LibraryV1.self) == 6)
    let reports = Mutex<[SchemaMigrationProgress]>([])
    _ = try Library.container(LibraryPlan.self, at: url) {
      $0.progress = { report in reports.withLock { $0.append(report) } }
    }
    let found = reports.withLock { $0 }
    #expect(found.map(\.stageNumber) == found.map(\.stageNumber).sorted())
    #expect(Set(found.map(\.stage)) == ["LibraryV1 to LibraryV2", "LibraryV2 to LibraryV3"])
    #expect(Set(found.map(\.phase)).isSuperset(of: [.willMigrate, .step, .didMigrate]))
    #expect(try books() == (0..<6).map { "Book \($0): 2, Author \($0 % 3)., first" })
  }

  @Test("A process that is killed in a stage leaves the store as it was, and the next one runs each stage once")
  func killed() async throws {
    try Library.make(at: url)
    let place = url.absoluteString
    await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as String] in
      PostgreSQLStores.register()
      let url = try #require(URL(string: place))
      Library.observe { if $0 == "didMigrate" { kill(getpid(), SIGKILL) } }
      _ = try Library.container(LibraryPlan.self, at: url)
    }
    #expect(try books(of: LibraryV1.self) == 6)
    #expect(try books() == (0..<6).map { "Book \($0): 2, Author \($0 % 3)., first" })
    // No mark of a stage is left.
    #expect(StageMark(try Library.metadata(url)) == nil)
  }

  @Test("App servers that start at once run each stage once")
  func atOnce() async throws {
    try Library.make(at: url, books: 60)
    let url = url
    let counts = try await withThrowingTaskGroup(of: [Int].self) { group in
      for _ in 0..<3 {
        group.addTask {
          let container = try Library.container(LibraryPlan.self, at: url)
          return try ModelContext(container).fetch(FetchDescriptor<LibraryV3.Book>()).map(\.readings)
        }
      }
      return try await group.reduce(into: []) { $0.append(Set($1)) }
    }
    #expect(counts == Array(repeating: [2], count: 3))
  }
}
