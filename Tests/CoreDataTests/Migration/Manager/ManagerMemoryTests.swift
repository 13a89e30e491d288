// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// `COREDATA_ROWS=1000000` migrates more, and tells the peak of the process.
@Suite("Memory of a migration manager")
struct ManagerMemoryTests {
  /// Looks at what the manager keeps while objects are made.
  final class WatchingPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: manager.destinationContext)
      note.setValue(sInstance.value(forKey: "title"), forKey: "title")
      note.setValue(sInstance.value(forKey: "rank"), forKey: "rank")
      manager.associate(sourceInstance: sInstance, withDestinationInstance: note, for: mapping)
    }

    override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      let log = manager.log
      log?.calls.append("\(manager.associations.tables.map(\.storedCount).reduce(0, +)) stored")
    }

    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
      let alive = manager.destinationContext.registry.objects.count + manager.sourceContext.registry.objects.count
      if alive > manager.batchSize * 8 { manager.log?.calls.append("\(alive) alive") }
    }
  }

  @Test("Does not grow with the number of objects")
  func flat() throws {
    let rows = ProcessInfo.processInfo.environment["COREDATA_ROWS"].flatMap(Int.init) ?? 4_000
    let sample = try ManagerSample(folders: 50, notes: 0)
    let connection = try SQLiteConnection(url: sample.store.url, mode: .readWrite)
    try connection.transaction {
      for number in 1...rows {
        try connection.run(
          "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZBODY, ZRANK, ZFOLDER) VALUES (?, 2, 1, ?, ?, ?, ?)",
          [
            .integer(Int64(number * 2)), .text("Note \(number)"), .text(String(repeating: "text ", count: 40)),
            .integer(Int64(number)), .integer(Int64(number % 50 + 1)),
          ])
      }
      try connection.run("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_NAME = 'Note'", [.integer(Int64(rows * 2))])
    }
    try connection.close()
    MigrationPolicyClasses.register(WatchingPolicy.self, as: "MemoryWatchingPolicy")
    sample["NoteToNote"].entityMigrationPolicyClassName = "MemoryWatchingPolicy"
    sample["FolderToBox"].relationshipMappings = []
    sample.mapping.entityMappings.removeLast()
    sample["NoteToNote"].relationshipMappings = ManagerSample.properties([
      "box": ManagerSample.of("FolderToBox", "folder")
    ])
    let log = CallLog()
    sample.manager.userInfo = ["log": log]
    let start = Date()
    try sample.manager.migrateStore(
      from: sample.store.url, type: .sqlite, mapping: sample.mapping, to: sample.destination, type: .sqlite)
    // One run for the folders, one for the notes, whose keys have gaps; and never more than some batches alive.
    #expect(log.calls == ["2 stored"])
    try sample.result { context in
      let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
      let related = NSFetchRequest<NSManagedObject>(entityName: "Note")
      related.predicate = NSPredicate(format: "box.label == %@", "F7")
      let inOne = try context.count(for: related)
      #expect(count == rows)
      #expect(inOne == rows / 50)
    }
    if rows > 4_000 {
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") } ?? ""
      print("\(rows) rows: \(Date().timeIntervalSince(start)) s, \(peak)")
    }
  }
}
