// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import SwiftData
import Testing

@Suite("New stores, compared with those of Apple's SwiftData", .enabled(if: Fixtures.isPresent, "no fixtures"))
struct NewStoreTests {
  /// Statements that differ from those of a store, by the names of what they create.
  private static let exceptions: [(path: String, differences: Int, reason: String)] = [
    (
      "/MyStereoviews.store", 4,
      "two join tables of one entity have a column for the same side, and are numbered the other way round"
    )
  ]

  @Test("Tables, columns in their order, indexes and triggers are the same", arguments: StoreFixture.all)
  func statements(_ fixture: StoreFixture) throws {
    let copy = try Fixtures.copy(ofStore: fixture.url)
    let new = try make(fixture)
    let (theirs, ours) = (try statements(copy.url), try statements(new.url))
    let different = Set(theirs.keys).union(ours.keys).filter { theirs[$0] != ours[$0] }.sorted()
    let allowed = Self.exceptions.first { fixture.testDescription.hasSuffix($0.path) }?.differences ?? 0
    let words = different.map { "\($0): \(theirs[$0] ?? "none") / \(ours[$0] ?? "none")" }
    #expect(different.count == allowed, "\(words.joined(separator: "\n"))")
  }

  @Test("Metadata has the same keys, and the model the same configurations", arguments: StoreFixture.all)
  func metadata(_ fixture: StoreFixture) throws {
    let copy = try Fixtures.copy(ofStore: fixture.url)
    let new = try make(fixture)
    func keys(_ url: URL) throws -> Set<String> {
      Set(try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url).keys)
    }
    // Frameworks before 1518 did not write it.
    let recent = ["NSPersistenceMaximumFrameworkVersion"]
    let (theirs, ours) = (try keys(copy.url), try keys(new.url))
    #expect(ours.symmetricDifference(theirs).subtracting(recent).sorted() == [])
    let (old, made) = (
      try NSManagedObjectModel.load(contentsOf: copy.url), try NSManagedObjectModel.load(contentsOf: new.url)
    )
    #expect(old.versionIdentifiers == made.versionIdentifiers)
    // Frameworks before 1345 wrote none; the rest have the name of the app's configuration too.
    #expect(Set(made.configurations).contains("default"))
  }

  private func make(_ fixture: StoreFixture) throws -> TemporaryStore {
    let new = try TemporaryStore("new.store")
    _ = try ModelContainer(for: Schema(fixture.project.models), configurations: ModelConfiguration(url: new.url))
    return new
  }

  private func statements(_ url: URL) throws -> [String: String] {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    let rows = try connection.rows("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    try connection.close()
    let pairs = rows.map { ("\($0[0].text ?? "") \($0[1].text ?? "")", $0[2].text ?? "") }
    return Dictionary(pairs.filter { !$0.0.contains(" sqlite_") }) { first, _ in first }
  }
}
