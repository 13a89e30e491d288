// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreDataStoreFiles
@testable import SwiftData

@Suite("Stages that read the old version", .serialized)
struct SourceReadingTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Library.store") }

  init() throws { directory = try TemporaryDirectory() }

  @Test("didMigrate has the rows of both versions, by the same identifiers, and the copy is removed")
  func both() throws {
    try Library.make(at: url)
    let context = ModelContext(try Library.container(LibraryReadingPlan.self, at: url))
    let books = try context.fetch(FetchDescriptor<LibraryV3.Book>(sortBy: [SortDescriptor(\.name)]))
    #expect(books.map(\.readings) == (0..<6).map { $0 + 2 })
    #expect(books.map { $0.writer?.name } == (0..<6).map { "Author \($0 % 3)." })
    #expect(books.allSatisfy { $0.shelf?.name == "first" })
    #expect(try directory.files().filter { !$0.hasPrefix("Library.store") } == [])
    #expect(try Library.isFinished(url, LibraryV3.self))
  }

  // MARK: The two contexts

  private enum Inspecting: SchemaMigrationPlan {
    struct Problem: Error {}
    static let found = Mutex<[String]>([])
    static let fails = Mutex(true)
    static func note(_ text: String) { found.withLock { $0.append(text) } }
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
    static var stages: [MigrationStage] {
      [
        .custom(fromVersion: LibraryV1.self, toVersion: LibraryV2.self, willMigrate: nil) { source, destination in
          let old = try source.fetch(FetchDescriptor<LibraryV1.Book>(sortBy: [SortDescriptor(\.title)]))
          note("old \(old.map(\.pages)) on \(old.first?.shelf?.name ?? "none")")
          for context in [source, destination] {
            do {
              _ =
                try context === source
                ? source.fetchCount(FetchDescriptor<LibraryV2.Book>())
                : destination.fetchCount(FetchDescriptor<LibraryV1.Book>())
              note("no error")
            } catch {
              note(error.localizedDescription)
            }
          }
          source.insert(LibraryV1.Book(title: "New", author: "A"))
          do {
            try source.save()
            note("saved")
          } catch {
            note(error.localizedDescription)
          }
          source.rollback()
          for book in try destination.fetch(FetchDescriptor<LibraryV2.Book>()) { book.readings = 50 }
          if fails.withLock({ $0 }) { throw Problem() }
        }
      ]
    }
  }

  @Test("The classes of the two versions are not mixed up, and the old version cannot be changed")
  func contexts() throws {
    try Library.make(at: url, books: 3)
    let error = #expect(throws: SwiftDataError.self) { try Library.container(Inspecting.self, at: url) }
    #expect(error?.underlyingError is Inspecting.Problem)
    let first = Inspecting.found.withLock { $0 }
    try #require(first.count == 4)
    #expect(first[0] == "old [0, 1, 2] on first")
    #expect(first[1].contains("LibraryV1.Book, the class of the same name in version 1.0.0"))
    #expect(first[1].contains("the source of didMigrate have the classes of the old version"))
    #expect(first[2].contains("LibraryV2.Book, the class of the same name in version 2.0.0"))
    #expect(first[3].contains("cannot be written"), "\(first[3])")
    // The code runs again with the old rows, although the store is of the new version.
    Inspecting.fails.withLock { $0 = false }
    let context = ModelContext(try Library.container(Inspecting.self, at: url))
    #expect(Inspecting.found.withLock { $0 } == first + first)
    #expect(try context.fetch(FetchDescriptor<LibraryV2.Book>()).map(\.readings) == [50, 50, 50])
    #expect(try directory.files().filter { !$0.hasPrefix("Library.store") } == [])
  }

  @Test("A missing copy of the old version is reported, and nothing is lost")
  func missing() throws {
    try Library.make(at: url)
    Inspecting.fails.withLock { $0 = true }
    #expect(throws: SwiftDataError.self) { try Library.container(Inspecting.self, at: url) }
    let copy = directory.file(".Library.store-source")
    let aside = directory.file("aside")
    try FileManager.default.moveItem(at: copy, to: aside)
    Inspecting.fails.withLock { $0 = false }
    let error = #expect(throws: SwiftDataError.self) { try Library.container(Inspecting.self, at: url) }
    #expect(error?.localizedDescription.contains("needs the copy of the rows of LibraryV1") == true)
    try FileManager.default.moveItem(at: aside, to: copy)
    let context = ModelContext(try Library.container(Inspecting.self, at: url))
    #expect(try context.fetchCount(FetchDescriptor<LibraryV2.Book>()) == 6)
  }

  @Test("A stage that began under a symbolic link is finished under the store's own name, and locked under both")
  func symbolicLink() throws {
    try Library.make(at: url)
    let folder = directory.file("links")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let link = folder.appendingPathComponent("Link.store")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
    Inspecting.fails.withLock { $0 = true }
    #expect(throws: SwiftDataError.self) { try Library.container(Inspecting.self, at: link) }
    Inspecting.fails.withLock { $0 = false }
    do {
      let lock = try StageLock(link, timeout: 0)
      withExtendedLifetime(lock) { _ = #expect(throws: StageLock.Held.self) { try StageLock(url, timeout: 0) } }
    }
    let context = ModelContext(try Library.container(Inspecting.self, at: url))
    #expect(try context.fetch(FetchDescriptor<LibraryV2.Book>()).map(\.readings) == Array(repeating: 50, count: 6))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Link.store"])
  }

  @Test("What a process has left that was killed after the last write of a stage is removed", arguments: [false, true])
  func leftovers(isFinished: Bool) throws {
    try Library.make(at: url)
    _ = try isFinished ? Library.container(LibraryPlan.self, at: url) : Library.container(FirstStage.self, at: url)
    try directory.write("", to: ".Library.store-source/Library~.store")
    try directory.write("", to: ".Library.store-stages")
    let context = ModelContext(try Library.container(LibraryPlan.self, at: url))
    #expect(try context.fetch(FetchDescriptor<LibraryV3.Book>()).map(\.readings) == Array(repeating: 2, count: 6))
    #expect(try directory.files().filter { !$0.hasPrefix("Library.store") } == [])
  }

  private enum FirstStage: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { Array(LibraryPlan.schemas.prefix(2)) }
    static var stages: [MigrationStage] { Array(LibraryPlan.stages.prefix(1)) }
  }

  // MARK: Types that change

  fileprivate enum Texts: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    enum Kind: String, Codable { case small, large }
    @Model final class Item {
      var title: String
      var price: String
      var kind: Kind = Kind.small
      init(title: String, price: String, kind: Kind) { (self.title, self.price, self.kind) = (title, price, kind) }
    }
  }

  /// The price is a number, and so is the kind, under the old names.
  fileprivate enum Numbers: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    enum Kind: Int, Codable { case small, large }
    @Model final class Item {
      var title: String
      @Attribute(originalName: "priceNumber") var price: Double = 0
      @Attribute(originalName: "kindNumber") var kind: Kind = Kind.small
      init(title: String) { self.title = title }
    }
  }

  fileprivate enum Converting: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Texts.self, Numbers.self] }
    static var stages: [MigrationStage] {
      [
        .custom(fromVersion: Texts.self, toVersion: Numbers.self, willMigrate: nil) { source, destination in
          for old in try source.fetch(FetchDescriptor<Texts.Item>()) {
            guard let new = destination.model(for: old.persistentModelID) as? Numbers.Item else { continue }
            new.price = Double(old.price) ?? 0
            new.kind = old.kind == .large ? .large : .small
          }
        }
      ]
    }
  }

  @Test("A property gets another type under its old name in one stage")
  func types() throws {
    do {
      let context = ModelContext(
        try ModelContainer(for: Schema(versionedSchema: Texts.self), configurations: ModelConfiguration(url: url)))
      context.insert(Texts.Item(title: "a", price: "2.5", kind: .large))
      context.insert(Texts.Item(title: "b", price: "7", kind: .small))
      try context.save()
    }
    let context = ModelContext(try Library.container(Converting.self, at: url))
    let items = try context.fetch(FetchDescriptor<Numbers.Item>(sortBy: [SortDescriptor(\.title)]))
    #expect(items.map(\.price) == [2.5, 7])
    #expect(items.map(\.kind) == [.large, .small])
  }
}
