// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Random models, rows and changes: inferred mapping models run as SQL into a new file, against a reference that knows
/// nothing of tables.
///
/// `COREDATA_SEEDS=2000` runs more; `COREDATA_SEED=17` runs one.
@Suite("Generated copies")
struct GeneratedCopyTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seeds: [UInt64] =
    environment["COREDATA_SEED"].flatMap(UInt64.init).map { [$0] }
    ?? Array(1...UInt64(TortureSize.number("COREDATA_SEEDS", 15, full: 40)))

  @Test("What a copy leaves is what the two models say")
  func inferred() throws {
    var count = 0
    for seed in Self.seeds {
      guard let prepared = try PreparedMigration(seed: seed) else { continue }
      let (old, new) = (
        try NSManagedObjectModel(document: prepared.old), try NSManagedObjectModel(document: prepared.new)
      )
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
      let target = prepared.store.folder.appendingPathComponent("Copy.sqlite")
      let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
      do {
        try manager.migrateStore(
          from: prepared.store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
        if manager.executions.allSatisfy({ $0.reason == nil }) { count += 1 }
        #expect(manager.executions.allSatisfy { $0.sqlFailure == nil }, "COREDATA_SEED=\(seed)")
        try StoreChecks.check(target, new)
        let result = try image(target, prepared.new)
        var expected = prepared.expected
        let movesKeys = manager.associations.tables.contains { $0.runs.contains { $0.offset != 0 } }
        if movesKeys || hasNewOrder(prepared) {
          // Keys in hierarchies that become one, and places in a new order, follow the order of mappings, which the
          // reference knows nothing of.
          expected = try imageByObjects(prepared, old, new, mapping)
        }
        #expect(result.differences(from: expected) == [], "COREDATA_SEED=\(seed)")
      } catch {
        Issue.record("COREDATA_SEED=\(seed): \(error)")
      }
    }
    #expect(count > Self.seeds.count / 4)
  }

  /// Whether a relationship is ordered that was not.
  private func hasNewOrder(_ prepared: PreparedMigration) -> Bool {
    let before = prepared.old.entities.flatMap(\.relationships).filter(\.isOrdered).map(\.name)
    return prepared.new.entities.flatMap(\.relationships).contains {
      $0.isOrdered && !before.contains($0.renamingIdentifier ?? $0.name)
    }
  }

  private func imageByObjects(
    _ prepared: PreparedMigration, _ old: NSManagedObjectModel, _ new: NSManagedObjectModel, _ mapping: NSMappingModel
  ) throws -> StoreImage {
    let target = prepared.store.folder.appendingPathComponent("Objects.sqlite")
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = false
    try manager.migrateStore(
      from: prepared.store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    return try image(target, prepared.new)
  }

  private func image(_ url: URL, _ document: ModelDocument) throws -> StoreImage {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try NSManagedObjectModel(document: document))
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    defer { try? coordinator.remove(store) }  // Only read from.
    return try StoreImage(context, document)
  }
}
