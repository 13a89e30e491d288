// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTestSupport
import CoreDataTesting
import Foundation
import SwiftData
import SwiftDataTesting
import Testing

@Suite("Expecting that a plan migrates stores")
struct MigrationExpectationTests {
  @Test("Each stage is a case with made stores, and one that comes from the first version")
  func cases() {
    let names = MigrationCase.all(of: LibraryPlan.self).map(\.description)
    #expect(
      names == [
        "LibraryV1 to LibraryV2, LibraryV1 plain", "LibraryV1 to LibraryV2, LibraryV1 single",
        "LibraryV2 to LibraryV3, LibraryV2 plain", "LibraryV2 to LibraryV3, LibraryV2 single",
        "LibraryV2 to LibraryV3, LibraryV2 extreme", "LibraryV2 to LibraryV3, LibraryV1 plain",
      ])
    #expect(Set(names).count == names.count)
  }

  @Test("Each case of a good plan passes", arguments: MigrationCase.all(of: LibraryPlan.self))
  func good(_ item: MigrationCase) throws {
    try expectMigration(item)
  }

  @Test("Stores of a directory go through the stages from their version on, and stay as they are")
  func stores() throws {
    let folder = try TemporaryDirectory()
    let url = folder.url.appendingPathComponent("shipped.store")
    try Library.make(at: url)
    let before = try Library.metadata(url) as NSDictionary
    let cases = try expectMigration(of: LibraryPlan.self, from: .stores(in: folder.url))
    #expect(
      cases.map(\.description) == [
        "LibraryV1 to LibraryV2, shipped.store", "LibraryV2 to LibraryV3, shipped.store",
      ])
    #expect(try Library.metadata(url) as NSDictionary == before)
  }

  @Test("A directory without stores, and a store of no version, are cases that fail")
  func nothing() throws {
    let folder = try TemporaryDirectory()
    let empty = try #require(throws: MigrationFailure.self) {
      try expectMigration(of: LibraryPlan.self, from: .stores(in: folder.url))
    }
    #expect(empty.description.contains("There is no store at \(folder.url.path)"))
    let url = folder.url.appendingPathComponent("other.store")
    _ = try ModelContainer(
      for: Schema(versionedSchema: MomentsV1.self), configurations: ModelConfiguration(url: url))
    let failure = try #require(throws: MigrationFailure.self) {
      try expectMigration(of: LibraryPlan.self, from: .stores(in: folder.url))
    }
    #expect(failure.description.contains("none of the migration plan LibraryPlan"))
  }

  @Test("A row that code deletes is an issue with its stage and entity, unless its loss is allowed")
  func lost() throws {
    let failure = try #require(throws: MigrationFailure.self) { try expectMigration(of: LosingPlan.self) }
    let issue = try #require(failure.issues.first)
    #expect(issue.stage == "ParcelV1 to ParcelV2")
    #expect(issue.entity == "Parcel")
    #expect(issue.text.contains("is lost"))
    let kept = try #require(failure.kept.first)
    #expect(FileManager.default.fileExists(atPath: kept.path))
    try FileManager.default.removeItem(at: kept)
    try expectMigration(of: LosingPlan.self, allowingLossOf: ["Parcel"])
  }

  @Test("A value that the new types cannot read is an issue with its entity and property")
  func unreadable() throws {
    let failure = try #require(throws: MigrationFailure.self) { try expectMigration(of: NarrowingPlan.self) }
    let issue = try #require(failure.issues.first { $0.property != nil })
    #expect(issue.entity == "Parcel")
    #expect(issue.property == "state")
    #expect(issue.text.contains("which"))
    for kept in failure.kept { try FileManager.default.removeItem(at: kept) }
  }

  @Test("An error of a stage's code is an issue with the stage")
  func thrown() throws {
    let failure = try #require(throws: MigrationFailure.self) { try expectMigration(of: ThrowingPlan.self) }
    #expect(failure.issues.allSatisfy { $0.stage == "ParcelV1 to ParcelV2" })
    #expect(failure.description.contains("The didMigrate of the stage"))
    for kept in failure.kept { try FileManager.default.removeItem(at: kept) }
  }

  @Test("Sample rows have values that the types of composites, lists and narrow numbers can read")
  func samples() throws {
    try expectMigration(of: SamplesPlan.self)
  }

  @Test("A plan is judged as the tool judges its files")
  func findings() throws {
    let failure = try #require(throws: PlanFailure.self) { try expectPlan(LibraryPlan.self) }
    #expect(failure.findings.contains { $0.contains("DS102") && $0.contains("Book.author") })
    let allowed = FindingAllowances([FindingAllowance(.attributeRemoved, entity: "Book")])
    let rest = try expectPlan(LibraryPlan.self, allowing: allowed)
    #expect(!rest.isEmpty)
  }

  @Test("An original name of nothing is noted where no code of the stage can give the property its values")
  func newNames() throws {
    let allowed = FindingAllowances([FindingAllowance(.attributeRemoved, entity: "Price")])
    let noted = try expectPlan(PricePlan.self, allowing: allowed)
    #expect(noted.contains { $0.contains("CM302") }, "\(noted)")
    let rest = try expectPlan(PriceCodePlan.self, allowing: allowed)
    #expect(!rest.contains { $0.contains("CM302") }, "\(rest)")
  }

  @Test("A shipped version that was edited is an error of the lock")
  func edited() throws {
    let folder = try TemporaryDirectory()
    let model = folder.url.appendingPathComponent("Library.xcdatamodeld")
    let lock = folder.url.appendingPathComponent("coredata.lock")
    let allowed = FindingAllowances([FindingAllowance(.attributeRemoved, entity: "Book")])
    func write() throws {
      _ = try VersionLock.lock(
        ModelVersions(contentsOf: model), in: lock, model: "Library.xcdatamodeld", replacesEdited: true)
    }
    try writeSchemas(of: LibraryPlan.self, to: model)
    try write()
    try expectPlan(LibraryPlan.self, lock: lock.path, allowing: allowed)
    let edited = model.appendingPathComponent("1.0.0.xcdatamodel/contents")
    let text = try String(contentsOf: edited, encoding: .utf8)
    try text.replacingOccurrences(of: "name=\"author\"", with: "name=\"author\" optional=\"YES\"")
      .write(to: edited, atomically: true, encoding: .utf8)
    try write()
    let failure = try #require(throws: PlanFailure.self) {
      try expectPlan(LibraryPlan.self, lock: lock.path, allowing: allowed)
    }
    #expect(failure.description.contains("Book.author"))
  }
}

// MARK: Plans

enum PriceV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Price.self] }

  @Model final class Price {
    var amount: String
    init(amount: String) { self.amount = amount }
  }
}

enum PriceV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Price.self] }

  @Model final class Price {
    @Attribute(originalName: "amountNumber") var amount: Double = 0
    init() {}
  }
}

/// Two versions, with and without the code of a stage.
enum PricePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [PriceV1.self, PriceV2.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: PriceV1.self, toVersion: PriceV2.self)] }
}

enum PriceCodePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { PricePlan.schemas }
  static var stages: [MigrationStage] {
    [.custom(fromVersion: PriceV1.self, toVersion: PriceV2.self, willMigrate: nil, didMigrate: { _ in })]
  }
}

enum ParcelV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Parcel.self] }

  enum State: String, Codable { case packed, sent, lost }

  @Model final class Parcel {
    var label: String
    var state: State

    init(label: String, state: State) { (self.label, self.state) = (label, state) }
  }
}

/// One state less, and a note more.
enum ParcelV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Parcel.self] }

  enum State: String, Codable { case packed, sent }

  @Model final class Parcel {
    var label: String
    var state: State
    var note: String?

    init(label: String, state: State) { (self.label, self.state) = (label, state) }
  }
}

private func stage(_ before: ((ModelContext) throws -> Void)?, _ after: ((ModelContext) throws -> Void)?)
  -> MigrationStage
{
  .custom(fromVersion: ParcelV1.self, toVersion: ParcelV2.self, willMigrate: before, didMigrate: after)
}

/// Deletes what the new version has no state for.
enum LosingPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [ParcelV1.self, ParcelV2.self] }
  static var stages: [MigrationStage] {
    [
      stage(
        { context in
          for parcel in try context.fetch(FetchDescriptor<ParcelV1.Parcel>()) where parcel.state == .lost {
            context.delete(parcel)
          }
        }, nil)
    ]
  }
}

/// Leaves rows with a state that the new version lacks.
enum NarrowingPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [ParcelV1.self, ParcelV2.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: ParcelV1.self, toVersion: ParcelV2.self)] }
}

enum ThrowingPlan: SchemaMigrationPlan {
  struct Problem: Error {}

  static var schemas: [any VersionedSchema.Type] { [ParcelV1.self, ParcelV2.self] }
  static var stages: [MigrationStage] { [stage(nil) { _ in throw Problem() }] }
}

enum SamplesV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Sample.self] }

  enum Kind: Int, Codable { case one = 1, two }
  enum Plain: Codable { case up, down }
  struct Place: Codable {
    var name: String
    var size: UInt8
    var kind: Kind
    var altitude: Double?
  }

  @Model final class Sample {
    var place: Place
    var other: Place?
    var plain: Plain
    var kind: Kind?
    var tags: [String] = []
    var numbers: [Int]?
    var counts: [String: Int] = [:]
    var byte: UInt8
    var small: Int8?

    init(place: Place, plain: Plain, byte: UInt8) { (self.place, self.plain, self.byte) = (place, plain, byte) }
  }
}

enum SamplesV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Sample.self] }

  @Model final class Sample {
    var place: SamplesV1.Place
    var other: SamplesV1.Place?
    var plain: SamplesV1.Plain
    var kind: SamplesV1.Kind?
    var tags: [String] = []
    var numbers: [Int]?
    var counts: [String: Int] = [:]
    var byte: UInt8
    var small: Int8?
    var note: String?

    init(place: SamplesV1.Place, plain: SamplesV1.Plain, byte: UInt8) {
      (self.place, self.plain, self.byte) = (place, plain, byte)
    }
  }
}

enum SamplesPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [SamplesV1.self, SamplesV2.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: SamplesV1.self, toVersion: SamplesV2.self)] }
}
