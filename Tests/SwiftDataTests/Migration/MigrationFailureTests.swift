// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import SwiftData

/// A version with one type.
private protocol OneType: VersionedSchema { associatedtype Item: PersistentModel }
extension OneType {
  static var models: [any PersistentModel.Type] { [Item.self] }
}

private enum Before: OneType {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  @Model final class Item {
    var title: String
    var note: String?
    init(title: String, note: String? = nil) { (self.title, self.note) = (title, note) }
  }
}

/// The property has another name, and no originalName.
private enum Renamed: OneType {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  @Model final class Item {
    var title: String
    var remark: String?
    init(title: String) { self.title = title }
  }
}

/// The new property has no initial value.
private enum Required: OneType {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  @Model final class Item {
    var title: String
    var note: String?
    var number: Int
    init(title: String, number: Int) { (self.title, self.number) = (title, number) }
  }
}

private enum Unique: OneType {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  @Model final class Item {
    @Attribute(.unique) var title: String
    var note: String?
    init(title: String) { self.title = title }
  }
}

private struct Landmark: Codable, Equatable {
  var x: Int
  var label: String
}

/// The new property is a required struct.
private enum Structured: OneType {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  @Model final class Item {
    var title: String
    var note: String?
    var spot: Landmark = Landmark(x: 7, label: "here")
    init(title: String) { self.title = title }
  }
}

/// Equal to `Before` but for an initial value.
private enum Equal: OneType {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  @Model final class Item {
    var title: String = "none"
    var note: String?
    init(title: String) { self.title = title }
  }
}

/// A relationship leads to the class of another version.
private enum Crossing: VersionedSchema {
  static let versionIdentifier = Schema.Version(3, 0, 0)
  static var models: [any PersistentModel.Type] { [Owner.self] }
  @Model final class Owner {
    var name: String
    var item: Before.Item?
    init(name: String) { self.name = name }
  }
}

private enum Plan<Old: VersionedSchema, New: VersionedSchema>: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Old.self, New.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: Old.self, toVersion: New.self)] }
}

private enum WithoutStage: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Before.self, Required.self] }
  static var stages: [MigrationStage] { [] }
}

private enum Backwards: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Renamed.self, Before.self] }
  static var stages: [MigrationStage] { [] }
}

private enum PassingOver: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self, LibraryV3.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: LibraryV1.self, toVersion: LibraryV3.self)] }
}

/// The migrations that fail most often in public reports, and what is said about them.
@Suite("Failures of migrations")
struct MigrationFailureTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Items.store") }

  init() throws { directory = try TemporaryDirectory() }

  private func make(_ titles: [String], note: String? = nil) throws {
    let context = ModelContext(
      try ModelContainer(for: Schema(versionedSchema: Before.self), configurations: ModelConfiguration(url: url)))
    for title in titles { context.insert(Before.Item(title: title, note: note)) }
    try context.save()
  }

  private func failure<P: SchemaMigrationPlan>(_ plan: P.Type) throws -> SwiftDataError {
    try #require(throws: SwiftDataError.self) { try Library.container(plan, at: url) }
  }

  private func failure(
    _ version: any VersionedSchema.Type, _ change: (inout MigrationOptions) -> Void = { _ in }
  ) throws -> SwiftDataError {
    var configuration = ModelConfiguration(url: url)
    change(&configuration.migration)
    return try #require(throws: SwiftDataError.self) {
      try ModelContainer(for: Schema(versionedSchema: version), configurations: configuration)
    }
  }

  // MARK: The store's version (failures 1, 2, 4)

  @Test("A store that is none of the plan's versions is compared with the nearest one")
  func unknown() throws {
    try make(["a"])
    let error = try failure(Plan<Required, LibraryV3>.self)
    #expect(error == SwiftDataError.loadIssueModelContainer)
    #expect(SwiftDataError.unknownSchema ~= error)
    let words = error.localizedDescription
    #expect(words.contains("The nearest schema is Required."))
    #expect(words.contains("The property 'Item.number' is in Required, but not in the store."))
    #expect(words.contains("version identifier 1.0.0"))
    #expect(words.contains("entity hashes Item "))
    #expect((error.entity, error.property) == ("Item", "number"))
    #expect(try Library.isFinished(url, Before.self))
  }

  @Test("A store that is later than the plan or the schema is not migrated back")
  func backward() throws {
    let newer = ModelContext(
      try ModelContainer(for: Schema(versionedSchema: Required.self), configurations: ModelConfiguration(url: url)))
    newer.insert(Required.Item(title: "a", number: 1))
    try newer.save()
    for error in [try failure(OnlyBefore.self), try failure(Before.self)] {
      #expect(error == SwiftDataError.loadIssueModelContainer)
      #expect(SwiftDataError.backwardMigration ~= error)
      #expect(error.localizedDescription.contains("is of version 2.0.0, later than"))
    }
    #expect(try Library.isFinished(url, Required.self))
  }

  private enum OnlyBefore: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Before.self] }
    static var stages: [MigrationStage] { [] }
  }

  // MARK: The plan (failures 3, 5, 16, 19)

  @Test("A plan with equal schemas, a gap, another end or another order is refused before the store is read")
  func plans() throws {
    try make(["a"])
    #expect(try failure(Plan<Before, Equal>.self).localizedDescription.contains("two equal schemas, Before and Equal"))
    #expect(try failure(WithoutStage.self).localizedDescription.contains("no stage from Before to its last schema"))
    #expect(try failure(Backwards.self).localizedDescription.contains("lists Renamed (2.0.0) before Before (1.0.0)"))
    #expect(try failure(PassingOver.self).localizedDescription.contains("has no stage from LibraryV2"))
    let other = #expect(throws: SwiftDataError.self) {
      try ModelContainer(
        for: Schema(versionedSchema: Required.self), migrationPlan: Plan<Before, Renamed>.self,
        configurations: ModelConfiguration(url: url))
    }
    #expect(other?.localizedDescription.contains("ends with Renamed, but the container has another schema") == true)
    #expect(try Library.isFinished(url, Before.self))
  }

  @Test("A version that refers to the class of another one is refused")
  func crossing() throws {
    let words = try failure(Plan<Before, Crossing>.self).localizedDescription
    #expect(words.contains("Crossing"))
    #expect(words.contains("Before.Item by the relationship 'Owner.item', which belongs to Before"))
  }

  // MARK: Properties (failures 7, 9, 13, 15)

  @Test("A required property without an initial value is named, and the store is unchanged")
  func required() throws {
    try make(["a"])
    let error = try failure(Plan<Before, Required>.self)
    #expect((error.underlyingError as NSError?)?.code == NSMigrationError)
    #expect((error.entity, error.property) == ("Item", "number"))
    #expect(error.localizedDescription.contains("Give 'Item.number' an initial value, or make it optional"))
    #expect(try Library.isFinished(url, Before.self))
    // Without a plan.
    let inferred = try failure(Required.self).localizedDescription
    #expect(inferred.contains("Give 'Item.number' an initial value, or make it optional"), "\(inferred)")
    #expect(!inferred.contains("by a mapping model"), "\(inferred)")
  }

  @Test("A required struct that is added has its initial value in old rows")
  func structure() throws {
    try make(["a"])
    let container = try Library.container(Plan<Before, Structured>.self, at: url)
    let spots = try ModelContext(container).fetch(FetchDescriptor<Structured.Item>()).map(\.spot)
    #expect(spots == [Landmark(x: 7, label: "here")])
  }

  @Test("Duplicates of a property that becomes unique are listed")
  func duplicates() throws {
    try make(["a", "b", "a"])
    let error = try failure(Plan<Before, Unique>.self)
    #expect((error.underlyingError as NSError?)?.code == NSMigrationConstraintViolationError)
    #expect((error.entity, error.property) == ("Item", "title"))
    #expect(error.localizedDescription.contains("willMigrate"))
    #expect(try Library.isFinished(url, Before.self))
    // Without a plan.
    let inferred = try failure(Unique.self).localizedDescription
    #expect(inferred.contains("Remove the duplicates in the willMigrate of a custom stage"), "\(inferred)")
  }

  @Test("A property that seems to be renamed is asked about, and its values are dropped only with permission")
  func renamed() throws {
    try make(["a"], note: "keep")
    #expect(try Plan<Before, Renamed>.validate().contains { $0.contains("originalName: \"note\"") })
    let error = try failure(Renamed.self)
    #expect(error.localizedDescription.contains("1 value of 'Item.note'"))
    #expect(error.localizedDescription.contains("originalName: \"note\""))
    #expect(error.localizedDescription.contains("allowedLosses"))
    #expect(!error.localizedDescription.contains("--allow"))
    #expect(!error.localizedDescription.contains("MigrationOption.allowsLoss"))
    #expect(try Library.isFinished(url, Before.self))
    var configuration = ModelConfiguration(url: url)
    configuration.migration.allowedLosses = ["Item.note"]
    let container = try ModelContainer(for: Schema(versionedSchema: Renamed.self), configurations: configuration)
    #expect(try ModelContext(container).fetch(FetchDescriptor<Renamed.Item>()).map(\.title) == ["a"])
  }

  @Test("A property without values is dropped without permission")
  func empty() throws {
    try make(["a"])
    let container = try ModelContainer(
      for: Schema(versionedSchema: Renamed.self), configurations: ModelConfiguration(url: url))
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Renamed.Item>()) == 1)
  }

  // MARK: Options

  @Test("A backup is made before the first stage, and progress ends at 1 or cancels")
  func options() throws {
    struct Stop: Error {}
    try Library.make(at: url)
    let cancelled = #expect(throws: SwiftDataError.self) {
      try Library.container(LibraryPlan.self, at: url) { $0.progress = { _ in throw Stop() } }
    }
    #expect((cancelled?.underlyingError as NSError?)?.code == NSMigrationCancelledError)
    #expect(try Library.isFinished(url, LibraryV1.self))
    let seen = Seen()
    _ = try Library.container(LibraryPlan.self, at: url) {
      $0.backup = .besideStore
      $0.progress = { progress in seen.add(progress) }
    }
    let all = seen.all
    #expect(Set(all.map(\.stage)) == ["LibraryV1 to LibraryV2", "LibraryV2 to LibraryV3"])
    #expect(all.map(\.fractionCompleted) == all.map(\.fractionCompleted).sorted())
    let backup = try #require(all.last?.backup)
    #expect(backup.lastPathComponent == "Items~.store")
    #expect(try Library.isFinished(backup, LibraryV1.self))
  }

  @Test("willMigrate does not run again after its step was cancelled")
  func cancelledStep() throws {
    struct Stop: Error {}
    try Library.make(at: url)
    let seen = Seen()
    let error = #expect(throws: SwiftDataError.self) {
      try Library.container(LibraryPlan.self, at: url) {
        $0.progress = { progress in
          seen.add(progress)
          // The first report precedes the step.
          if seen.all.filter({ $0.phase == .step }).count > 1 { throw Stop() }
        }
      }
    }
    #expect((error?.underlyingError as NSError?)?.code == NSMigrationCancelledError)
    #expect(error?.localizedDescription.contains("The store is of LibraryV1. Opening it again continues.") == true)
    let context = ModelContext(try Library.container(LibraryPlan.self, at: url))
    let writers = try context.fetch(FetchDescriptor<LibraryV3.Writer>()).map(\.name)
    #expect(writers.sorted() == ["Author 0.", "Author 1.", "Author 2."])
  }

  @Test("A store that must be migrated and may not be written is left without files beside it")
  func unwritable() throws {
    // The superuser may write every file.
    guard geteuid() != 0 else { return }
    try Library.make(at: url)
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: url.path)
    let error = #expect(throws: SwiftDataError.self) { try Library.container(LibraryPlan.self, at: url) }
    #expect(error?.localizedDescription.contains("this program may not write the file") == true)
    #expect(try directory.files() == [url.lastPathComponent])
  }

  @Test("An error of Foundation is told with its file")
  func fileError() {
    let error = CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: "/a/b"])
    let words = SwiftDataError(.loadIssueModelContainer, "Not copied.", cause: error).localizedDescription
    #expect(words.contains("The file is /a/b.") && words.hasSuffix("(NSCocoaErrorDomain 513)"), "\(words)")
    #expect(!words.contains("Error Domain="), "\(words)")
  }

  private final class Seen: Sendable {
    private let list = Mutex<[SchemaMigrationProgress]>([])
    var all: [SchemaMigrationProgress] { list.withLock { $0 } }
    func add(_ progress: SchemaMigrationProgress) { list.withLock { $0.append(progress) } }
  }

  @Test("A store that must be migrated is not opened for reading alone")
  func readOnly() throws {
    try make(["a"])
    let configuration = ModelConfiguration(url: url, allowsSave: false)
    let error = #expect(throws: SwiftDataError.self) {
      try ModelContainer(for: Schema(versionedSchema: Renamed.self), configurations: configuration)
    }
    #expect(error?.localizedDescription.contains("allowsSave: true once") == true)
  }
}
