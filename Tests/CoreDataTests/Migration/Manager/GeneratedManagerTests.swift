// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Inferred mapping models over random models and rows, carried out object by object and as SQL, against the slow
/// reference. `COREDATA_MANAGER_SEEDS` in the environment asks for more.
@Suite("A migration manager over generated models")
struct GeneratedManagerTests {
  @Test(
    "Carries inferred mapping models out with every object and value", arguments: [1, 400, 800, 1200], [false, true])
  func results(_ first: UInt64, usesSQL: Bool) throws {
    for prepared in try PreparedMigration.some(TortureSize.number("COREDATA_MANAGER_SEEDS", 4, full: 10), from: first) {
      let destination = prepared.store.folder.appendingPathComponent("Destination.sqlite")
      let (old, new) = (
        try NSManagedObjectModel(document: prepared.old), try NSManagedObjectModel(document: prepared.new)
      )
      let content = try FileContent(prepared.store.url)
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
      let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
      manager.batchSize = 2
      manager.usesStoreSpecificMigrationManager = usesSQL
      var progress: [Float] = []
      manager.progressHandler = { progress.append($0.migrationProgress) }
      try manager.migrateStore(
        from: prepared.store.url, type: .sqlite, mapping: mapping, to: destination, type: .sqlite)
      #expect(progress == progress.sorted())
      #expect(progress.last == 1)
      #expect(try FileContent(prepared.store.url) == content)
      let checked = try NSManagedObjectModel(document: prepared.new)
      try StoreChecks.check(destination, checked)
      try StoreChecks.checkJoins(destination, checked)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: checked)
      let store = try coordinator.addPersistentStore(type: .sqlite, at: destination)
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      let image = try StoreImage(context, prepared.new)
      #expect(prepared.differences(image) == [])
      try coordinator.remove(store)
    }
  }
}
