// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Not `raise`, which would be a matter of one thread.
private func killProcess() { kill(getpid(), SIGKILL) }

/// Processes that are killed while they migrate. `COREDATA_KILLS=1000` kills more.
@Suite("Killed migrations", .serialized)
struct MigrationKillTests {
  private static let kills = TortureSize.number("COREDATA_KILLS", 30)

  @Test("A store whose migration was killed is as it was, or migrated; no row is lost")
  func killed() async throws {
    let prepared = try #require(try PreparedMigration.some(1, from: 10_000, rows: 60).first)
    var migrated = 0
    for number in 0..<Self.kills where try await isMigrated(prepared, killedAt: number) { migrated += 1 }
    #expect(migrated < Self.kills)
  }

  /// Whether the store has the new version after a process that migrated it was killed at some moment.
  private func isMigrated(_ prepared: PreparedMigration, killedAt number: Int) async throws -> Bool {
    let folder = prepared.store.folder.appendingPathComponent("kill-\(number)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let url = folder.appendingPathComponent("Store.sqlite")
    try StoreFiles.copy(from: prepared.store.url, to: url)
    // The new version stands in a store of its own, from which the child reads it.
    let version = folder.appendingPathComponent("Version.sqlite")
    try StoreFile.create(at: version, document: prepared.new)
    let (path, versionPath) = (url.path, version.path)
    // Spread over the statements, and then over the time that the commit takes.
    let instructions = number % 3 == 2 ? 0 : 1 + number * number * 37
    let microseconds = 200 + number * 400
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [
        path = path as String, versionPath = versionPath as String, instructions = instructions as Int,
        microseconds = microseconds as Int
      ] in
      let url = URL(fileURLWithPath: path)
      let model = try #require(try SQLiteStore.carriedModel(at: URL(fileURLWithPath: versionPath)))
      let migration = try StoreMigration(
        storeAt: url, metadata: SQLiteStore.metadataForPersistentStore(with: url), known: ModelVersions(around: model),
        destination: .init(name: "new", model: model), configuration: nil, allowsLoss: true)
      let file = try StoreFile.open(url, isReadOnly: false)
      if instructions > 0 {
        var count = 0
        file.connection.setProgressHandler(every: 1) {
          count += 1
          if count == instructions { killProcess() }
          return true
        }
      } else {
        Thread.detachNewThread {
          usleep(UInt32(microseconds))
          killProcess()
        }
      }
      _ = try InPlaceMigration(migration: migration, file: file).run { _ in }
      // Done before its end was to come; then it ends here.
      killProcess()
    }
    let metadata = try SQLiteStore.metadataForPersistentStore(with: url)
    let new = try NSManagedObjectModel(document: prepared.new)
    let isMigrated = new.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    let document = isMigrated ? prepared.new : prepared.old
    let image = try Self.image(url, document)
    if isMigrated { #expect(prepared.differences(image) == []) } else { #expect(image == prepared.before) }
    try StoreChecks.check(url, try NSManagedObjectModel(document: document))
    return isMigrated
  }

  private static func image(_ url: URL, _ document: ModelDocument) throws -> StoreImage {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try NSManagedObjectModel(document: document))
    try coordinator.addPersistentStore(type: .sqlite, at: url, options: nil)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let image = try StoreImage(context, document)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    return image
  }
}
