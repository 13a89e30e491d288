// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A store of `v1` is opened with `v3`; only `v1` to `v2`, and `v2` to later versions, can be inferred.
///
/// The first column is what was observed of Apple's framework, as developers have reported it. Where that fails because a
/// lightweight stage is one hop there, the versions are walked here.
@Suite("Staged migration: which stages lead from the first version to the third")
struct StagedMigrationMatrixTests {
  enum Stage: Sendable {
    case light([Int])
    case custom(Int, Int)
  }

  struct Row: CustomStringConvertible, Sendable {
    let apple: String
    let stages: [Stage]
    /// Nil for success.
    let code: Int?

    var description: String { "\(stages): \(code.map(String.init) ?? "ok"), Apple: \(apple)" }
  }

  static let rows: [Row] = [
    Row(apple: "fails", stages: [.light([1, 2, 3])], code: nil),
    Row(apple: "fails, missing mapping model", stages: [.light([1]), .light([2]), .light([3])], code: nil),
    Row(apple: "ok", stages: [.custom(1, 2), .light([3])], code: nil),
    Row(apple: "ok", stages: [.light([1]), .custom(2, 3)], code: nil),
    Row(apple: "ok", stages: [.custom(1, 2), .custom(2, 3)], code: nil),
    Row(apple: "ok", stages: [.custom(1, 2), .light([3, 4])], code: nil),
    Row(
      apple: "backwards", stages: [.light([3, 4]), .custom(1, 2)], code: NSStagedMigrationBackwardMigrationError),
    Row(apple: "fails", stages: [.light([1, 2]), .light([3, 4])], code: nil),
    Row(apple: "ok", stages: [.light([1]), .custom(2, 3), .light([4])], code: nil),
    Row(apple: "ok", stages: [.light([1, 4]), .custom(2, 3)], code: nil),
    Row(
      apple: "fails", stages: [.custom(2, 3), .light([1, 4])], code: NSStagedMigrationBackwardMigrationError),
    // No version in between is named, and one hop cannot be inferred: as with Apple.
    Row(apple: "fails", stages: [.light([1, 3])], code: NSMigrationMissingMappingModelError),
    Row(apple: "fails", stages: [.custom(1, 3)], code: NSMigrationMissingMappingModelError),
    Row(apple: "unknown version", stages: [.light([2, 3])], code: NSManagedObjectModelReferenceNotFoundError),
    Row(apple: "hashes didn't migrate", stages: [.light([1, 2])], code: NSMigrationError),
  ]

  @Test("Each row comes out as the table says; what fails leaves the store as it was", arguments: rows)
  func row(_ row: Row) throws {
    let notes = try NoteVersions()
    try notes.fill("v1")
    var ran: [String] = []
    let manager = NSStagedMigrationManager(
      try row.stages.map { stage in
        switch stage {
        case .light(let versions): return NSLightweightMigrationStage(try versions.map { try notes.checksum("v\($0)") })
        case .custom(let from, let to):
          let custom = NSCustomMigrationStage(
            migratingFrom: try notes.reference("v\(from)"), to: try notes.reference("v\(to)"))
          custom.willMigrateHandler = { _, _ in ran.append("will \(from)") }
          custom.didMigrateHandler = { _, _ in ran.append("did \(to)") }
          return custom
        }
      })
    let options = [NSPersistentStoreStagedMigrationManagerOptionKey: manager]
    if let code = row.code {
      let bytes = try Data(contentsOf: notes.store.url)
      let error = try #require(throws: NSError.self) { try notes.open("v3", options) }
      #expect(error.code == code)
      #expect(error.localizedRecoverySuggestion?.isEmpty == false)
      #expect(ran == [])
      #expect(try notes.version() == "v1")
      #expect(try Data(contentsOf: notes.store.url) == bytes)
    } else {
      #expect(try notes.open("v3", options) == ["one", "two"])
      let expected = row.stages.flatMap { stage -> [String] in
        if case .custom(let from, let to) = stage { ["will \(from)", "did \(to)"] } else { [] }
      }
      #expect(ran == expected)
      #expect(manager.container == nil)
      try StoreChecks.check(notes.store.url, try notes.model("v3"))
    }
    #expect(try notes.store.files().filter { !$0.hasPrefix("Store.sqlite") } == ["Mappings", "Notes.momd"])
  }
}
