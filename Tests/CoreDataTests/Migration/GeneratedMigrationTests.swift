// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Random models, rows and changes, against a reference that knows nothing of tables.
///
/// `COREDATA_SEEDS=5000` runs more; `COREDATA_SEED=17` runs one, and tells what it did.
@Suite("Generated migrations")
struct GeneratedMigrationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seeds: [UInt64] =
    environment["COREDATA_SEED"].flatMap(UInt64.init).map { [$0] }
    ?? Array(1...UInt64(TortureSize.number("COREDATA_SEEDS", 40, full: 200)))

  @Test("What a migration leaves is what the two models say", arguments: seeds.chunks(of: 20))
  func generated(_ seeds: [UInt64]) throws {
    for seed in seeds {
      do {
        try GeneratedMigration(seed: seed).run()
      } catch {
        Issue.record("COREDATA_SEED=\(seed): \(error)")
      }
    }
  }
}

extension Array {
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}

/// One seed's way through two migrations.
private struct GeneratedMigration {
  let seed: UInt64

  func run() throws {
    let store = try TemporaryStore()
    var model = GeneratedModel(seed: seed)
    var rows = GeneratedRows(model.document, seed: seed)
    let writer = try store.context(try NSManagedObjectModel(document: model.document))
    try rows.fill(writer)
    try store.close()
    for step in 1...2 {
      guard let next = model.next() else { return }
      let place = "COREDATA_SEED=\(seed), step \(step): \(next.changes.joined(separator: "; "))"
      guard try migrate(store, from: model.document, to: next.document, place) else { return }
      model = next
      let context = try store.context(try NSManagedObjectModel(document: model.document))
      var stirring = GeneratedRows(model.document, seed: seed &+ UInt64(step) &* 1000)
      do {
        try stirring.stir(context)
      } catch let error as NSError where error.code == NSManagedObjectConstraintMergeError {
        // Rows that the generator made alike, which is not what this test is about.
      }
      try store.close()
    }
  }

  /// - Returns: whether the store has been migrated, rather than refused for a reason.
  private func migrate(
    _ store: TemporaryStore, from old: ModelDocument, to new: ModelDocument, _ place: String
  ) throws -> Bool {
    let reader = try store.context(try NSManagedObjectModel(document: old))
    let before = try StoreImage(reader, old)
    try store.close()
    let reference = MigrationReference(from: old, to: new)
    var (expected, obstacles) = reference.expected(after: before)
    let context: NSManagedObjectContext
    do {
      context = try store.context(
        try NSManagedObjectModel(document: new),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.allowsLoss: true,
        ])
    } catch let error as NSError {
      if obstacles.isEmpty {
        Issue.record("\(place)\n  refused: \(error.code) \(error.localizedFailureReason ?? "\(error)")")
      }
      let again = try StoreImage(try store.context(try NSManagedObjectModel(document: old)), old)
      #expect(again == before, "\(place): a refused migration has changed the store")
      return false
    }
    let after = try StoreImage(context, new)
    // Rows of tables that become one may have got new keys, which follow from nothing but the result.
    let distances = reference.distances(from: before, to: after)
    if !distances.isEmpty { (expected, obstacles) = reference.expected(after: before.moved(distances, in: old)) }
    let differences = after.differences(from: expected)
    if !differences.isEmpty || !obstacles.isEmpty {
      Issue.record("\(place)\n  expected obstacles: \(obstacles)\n  \(differences.joined(separator: "\n  "))")
    }
    try store.close()
    try StoreChecks.check(store.url, try NSManagedObjectModel(document: new))
    try StoreChecks.checkJoins(store.url, try NSManagedObjectModel(document: new))
    try StoreChecks.checkFiles(store.url, try NSManagedObjectModel(document: new))
    return differences.isEmpty
  }
}
