// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Power failures cannot be had in a test. What protects from them is an order of calls, which can be looked at.
@Suite("The order in which files get to the disk", .serialized)
struct DurabilityTests {
  #if os(Linux)
  private static let work = "/.Data.sqlite-migration"

  /// The calls of the file system below a folder.
  private struct Trace {
    let calls: [(name: String, path: String)]

    init(_ folder: URL, _ body: () throws -> Void) throws {
      let outcome = Faults.run(below: folder) { try body() }
      if let failure = outcome.failure { throw failure }
      calls = outcome.trace.split(separator: "\n").map { line in
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
      }
    }

    func first(_ name: String, from start: Int = 0, _ isMeant: (String) -> Bool) -> Int? {
      calls.indices.first { $0 >= start && calls[$0].name == name && isMeant(calls[$0].path) }
    }

    func last(_ name: String, before end: Int, _ isMeant: (String) -> Bool) -> Int? {
      calls.indices.last { $0 < end && calls[$0].name == name && isMeant(calls[$0].path) }
    }

    func isSynced(_ path: String, after start: Int, before end: Int) -> Bool {
      first("sync", from: start) { $0 == path }.map { $0 < end } ?? false
    }
  }

  @Test(
    "The new store, its values, the journal and the folders are on the disk before the store gets its name",
    arguments: [TortureCase.externalData, .byPolicy, .threeSteps, .hotLog, .replacing, .restoring])
  func exchange(_ torture: TortureCase) throws {
    let store = try TemporaryStore()
    let folder = store.folder.resolvingSymlinksInPath()
    try torture.prepare(in: folder)
    let trace = try Trace(folder) { try torture.run(in: folder) }
    let values = { (path: String) in path.contains("/_EXTERNAL_DATA/") }
    let isNew = { (path: String) in path == "\(Self.work)/new.sqlite" }
    let isJournal = { (path: String) in path == "\(Self.work)/.journal.json.part" }
    let exchange = try #require(trace.last("rename", before: trace.calls.count, isNew))
    // The store itself.
    let written = ["write", "truncate"].compactMap { trace.last($0, before: exchange, isNew) }.max() ?? 0
    #expect(trace.isSynced("\(Self.work)/new.sqlite", after: written, before: exchange))
    // The journal, before anything is put beside the store.
    let journal = try #require(trace.last("rename", before: exchange, isJournal))
    let journalWritten = try #require(trace.last("write", before: journal, isJournal))
    #expect(trace.isSynced("\(Self.work)/.journal.json.part", after: journalWritten, before: journal))
    let added = trace.calls.indices.filter {
      trace.calls[$0].name == "link" && values(trace.calls[$0].path)
        && trace.calls[$0].path.hasPrefix("\(Self.work)/.new_SUPPORT/") && $0 < exchange && $0 > journal
    }
    #expect(trace.isSynced(Self.work, after: journal, before: added.first ?? exchange))
    // Its values, and the names that they get.
    #expect(torture == .externalData ? added.count == 3 : true)
    for link in added {
      let path = trace.calls[link].path
      #expect(trace.last("sync", before: link) { $0 == path } != nil, "\(path)")
    }
    if let last = added.last {
      for folder in ["/.Data_SUPPORT/_EXTERNAL_DATA", "/.Data_SUPPORT"] {
        #expect(trace.isSynced(folder, after: last, before: exchange), "\(folder)")
      }
    }
    // All names, those of the old store included.
    let old = trace.last("link", before: exchange) { $0 == "/Data.sqlite" } ?? journal
    for folder in [Self.work, ""] { #expect(trace.isSynced(folder, after: old, before: exchange), "\(folder)") }
    // Nothing of the old store goes before the new name is certain to last; the journal goes when all else is done.
    let lasting = try #require(trace.first("sync", from: exchange) { $0.isEmpty })
    let removed = trace.calls.indices.filter { $0 > exchange && trace.calls[$0].name == "unlink" }
    let gone = try #require(trace.first("unlink") { $0 == "\(Self.work)/journal.json" })
    #expect(removed.allSatisfy { $0 > lasting })
    #expect(gone > exchange)
    #expect(removed.filter { $0 > gone }.map { trace.calls[$0].path } == ["\(Self.work)/lock"])
  }

  @Test("A store that could not be exchanged at the last moment is as it was, its way of journaling included")
  func lastMoment() throws {
    let store = try TemporaryStore()
    let folders = try ["first", "second"].map { name in
      let folder = store.folder.resolvingSymlinksInPath().appendingPathComponent(name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try TortureCase.byMapping.prepare(in: folder)
      return folder
    }
    // Who reads a store leaves an empty log, for which both are the same then.
    let contents = try folders.map { try FileContent($0.appendingPathComponent("Data.sqlite")) }
    let trace = try Trace(folders[0]) { try TortureCase.byMapping.run(in: folders[0]) }
    let exchange = try #require(trace.last("rename", before: trace.calls.count) { $0 == "\(Self.work)/new.sqlite" })
    let url = folders[1].appendingPathComponent("Data.sqlite")
    let outcome = Faults.run(below: folders[1], call: exchange + 1, FaultKindOnce, error: EIO) {
      try TortureCase.byMapping.run(in: folders[1])
    }
    #expect(outcome.call == "rename new.sqlite" && outcome.failure != nil, "\(outcome)")
    #expect(try SQLiteFileHeader.read(path: url.path)?.usesWriteAheadLog == true)
    #expect(try FileContent(url) == contents[1])
    #expect(try RecoverySample.files(folders[1]) == ["Data.sqlite"])
  }

  @Test("What a migration manager makes is on the disk before it gets its name", arguments: [false, true])
  func manager(usesSQL: Bool) throws {
    let store = try TemporaryStore("Data.sqlite")
    let folder = store.folder.resolvingSymlinksInPath()
    let url = folder.appendingPathComponent("Data.sqlite")
    try RecoverySample.fill(url, rows: 30, photos: 2)
    let step = try RecoverySample.migration(url, [(2, .mapping)]).steps[0]
    let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
    manager.usesStoreSpecificMigrationManager = usesSQL
    let target = folder.appendingPathComponent("New.sqlite")
    let trace = try Trace(folder) {
      try manager.migrateStore(from: url, type: .sqlite, mapping: step.mappingModel, to: target, type: .sqlite)
    }
    let isDraft = { (path: String) in path.contains("New.sqlite") && !path.hasSuffix("-wal") && !path.hasSuffix("-shm")
    }
    let naming = try #require(trace.last("rename", before: trace.calls.count, isDraft))
    let draft = trace.calls[naming].path
    let written = try #require(trace.last("write", before: naming) { $0 == draft })
    #expect(trace.isSynced(draft, after: written, before: naming), "\(draft)")
    #expect(try RecoverySample.content(target) == RecoverySample.content(url))
  }

  private static func notes(hasPhoto: Bool) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let photo: NSAttributeDescription = .make("photo", .binaryDataAttributeType, external: true)
    builder.entity("Note", [.make("name", .stringAttributeType)] + (hasPhoto ? [photo] : []))
    return builder.model()
  }

  /// Makes a store in a folder, with three files of values and a rollback journal.
  private func makeNotes(_ folder: URL) throws -> URL {
    let url = folder.appendingPathComponent("Data.sqlite")
    let (coordinator, context) = try open(url, Self.notes(hasPhoto: true))
    for number in 0..<3 {
      context.make("Note", ["name": "\(number)", "photo": Data(repeating: UInt8(number), count: 120_000)])
    }
    try context.save()
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    return url
  }

  private func open(
    _ url: URL, _ model: NSManagedObjectModel
  ) throws -> (NSPersistentStoreCoordinator, NSManagedObjectContext) {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      type: .sqlite, at: url,
      options: [
        NSSQLitePragmasOption: ["journal_mode": "DELETE"], NSMigratePersistentStoresAutomaticallyOption: true,
        NSInferMappingModelAutomaticallyOption: true, MigrationOption.allowsLoss: true,
      ])
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return (coordinator, context)
  }

  /// A change by which files of values go.
  private func drop(_ url: URL, byMigrating: Bool) throws {
    let (coordinator, context) = try open(url, Self.notes(hasPhoto: !byMigrating))
    if !byMigrating {
      for note in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")) { note["photo"] = nil }
      try context.save()
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func values(_ folder: URL) throws -> Int {
    try FileCalls.names(in: StoreLocation.externalData(of: folder.appendingPathComponent("Data.sqlite"))).count
  }

  @Test(
    "Files of values that a transaction drops go when the end of its journal is on the disk, or stay",
    arguments: [false, true])
  func droppedValues(byMigrating: Bool) throws {
    let store = try TemporaryStore()
    let folders = try ["first", "second"].map { name in
      let folder = store.folder.resolvingSymlinksInPath().appendingPathComponent(name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return (folder: folder, url: try makeNotes(folder))
    }
    let trace = try Trace(folders[0].folder) { try drop(folders[0].url, byMigrating: byMigrating) }
    let removed = try #require(trace.first("unlink") { $0.contains("/_EXTERNAL_DATA/") })
    let committed = try #require(trace.last("unlink", before: removed) { $0 == "/Data.sqlite-journal" })
    let synced = try #require(trace.first("sync", from: committed) { $0.isEmpty })
    #expect(synced < removed)
    #expect(try values(folders[0].folder) == 0)
    let outcome = Faults.run(below: folders[1].folder, call: synced + 1, FaultKindOnce, error: EIO) {
      try drop(folders[1].url, byMigrating: byMigrating)
    }
    #expect(outcome.call.hasPrefix("sync"), "\(outcome.call)")
    #expect(outcome.failure == nil)
    #expect(try values(folders[1].folder) == 3)
  }
  #endif
}
