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

/// One way to make or restore a backup, which is killed and made to fail at every call.
enum BackupTortureCase: String, CaseIterable, Sendable {
  case making
  case makingWithRollbackJournal
  case makingOverLink
  case restoring
  case restoringWithRollbackJournal
  case restoringOverLink

  private var isRestoring: Bool { rawValue.hasPrefix("restoring") }
  private var isLinked: Bool { rawValue.hasSuffix("OverLink") }

  /// The store as users name it.
  func store(in folder: URL) -> URL { folder.appendingPathComponent(isLinked ? "links/Data.sqlite" : "Data.sqlite") }

  /// Makes what each run begins with a copy of: a store with values, and for restoring a backup of another version.
  func prepare(in folder: URL) throws {
    let url = folder.appendingPathComponent("Data.sqlite")
    try RecoverySample.fill(url, rows: 12, photos: 2)
    if rawValue.hasSuffix("RollbackJournal") {
      let connection = try SQLiteConnection(url: url, mode: .readWrite)
      try connection.setJournalMode(.delete)
      try connection.close()
    }
    if isLinked {
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("links"), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(atPath: store(in: folder).path, withDestinationPath: "../Data.sqlite")
    }
    guard isRestoring else { return }
    _ = try StoreBackup.make(of: store(in: folder))
    var migration = try RecoverySample.migration(url, [(2, .mapping)])
    migration.keepsReplacedStore = false
    try migration.run()
  }

  func run(in folder: URL) throws {
    let store = store(in: folder)
    guard isRestoring else {
      _ = try StoreBackup.make(of: store)
      return
    }
    try StoreBackup.restore(store.deletingLastPathComponent().appendingPathComponent("Data~.sqlite"), to: store)
  }

  /// The versions of the backups, and of the store, when a run is done and the next one has cleared up.
  private func isRight(backups: [Int], version: Int) -> Bool {
    isRestoring ? (version == 2 && backups == [1]) || (version == 1 && backups == [1, 2]) : version == 1
  }

  /// Checks what a run has left: every backup is whole, and the store is.
  ///
  /// - Returns: how many backups there are.
  func check(_ folder: URL, _ expected: [String], _ place: Comment) throws -> Int {
    let store = store(in: folder)
    for backup in try backups(in: folder) { try Self.checkPlainly(backup, place) }
    let version = try RecoverySample.version(store)
    if isRestoring {
      // Opening the store finishes what was committed.
      let model = RecoverySample.model(version ?? 0)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.remove(coordinator.addPersistentStore(type: .sqlite, at: store))
    }
    let found = try backups(in: folder)
    for backup in found {
      try Self.checkPlainly(backup, place)
      #expect(try RecoverySample.content(backup) == expected, place)
    }
    #expect(try RecoverySample.content(store) == expected, place)
    let versions = try found.compactMap { try RecoverySample.version($0) }.sorted()
    #expect(isRight(backups: versions, version: version ?? 0), "\(place): store \(version ?? 0), backups \(versions)")
    // The next run clears up, and is not in the way of itself.
    let last = try StoreBackup.make(of: store)
    #expect(try RecoverySample.content(last) == expected, place)
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    #expect(names.filter { $0.hasSuffix("-backup") || $0.hasSuffix("-migration") || $0.contains("part") } == [], place)
    try FileManager.default.removeItem(at: folder)
    return found.count
  }

  private func backups(in folder: URL) throws -> [URL] {
    try [folder, store(in: folder).deletingLastPathComponent()].flatMap { place in
      try FileCalls.names(in: place).filter { $0.hasPrefix("Data~") && $0.hasSuffix(".sqlite") }
        .map { place.appendingPathComponent($0).standardizedFileURL }
    }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// Whoever comes upon a backup without knowing of us finds it sound, and every file of a value in its place.
  private static func checkPlainly(_ url: URL, _ place: Comment) throws {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    #expect(try connection.integrityCheck() == [], place)
    let names = try ExternalReferences.names(in: connection)
    #expect(names.count == 2, place)
    for name in names {
      #expect(FileCalls.isRegular(StoreLocation.externalData(of: url).appendingPathComponent(name)), place)
    }
    try connection.close()
  }
}

@Suite("Torture: backups that are made and restored, and do not get to the end", .serialized)
struct BackupTortureTests {
  #if os(Linux)
  /// Every how many calls there is a trial.
  private static let distance = TortureSize.isFull ? 1 : 11

  private final class Bench {
    let store: TemporaryStore
    let expected: [String]
    let calls: Int
    private let template: URL

    init(_ torture: BackupTortureCase) throws {
      store = try TemporaryStore()
      template = store.folder.resolvingSymlinksInPath().appendingPathComponent("template")
      try FileManager.default.createDirectory(at: template, withIntermediateDirectories: true)
      try torture.prepare(in: template)
      let untouched = store.folder.appendingPathComponent("untouched")
      try FileManager.default.copyItem(at: template, to: untouched)
      expected = try RecoverySample.content(torture.store(in: untouched))
      let done = store.folder.resolvingSymlinksInPath().appendingPathComponent("done")
      try FileManager.default.copyItem(at: template, to: done)
      let outcome = Faults.run(below: done) { try torture.run(in: done) }
      if let failure = outcome.failure { throw failure }
      calls = outcome.calls
    }

    func folder(_ name: String) throws -> URL {
      let folder = store.folder.resolvingSymlinksInPath().appendingPathComponent(name)
      try FileManager.default.copyItem(at: template, to: folder)
      return folder
    }
  }

  @Test("Whatever call fails, every backup is whole, and so is the store", arguments: BackupTortureCase.allCases)
  func faults(_ torture: BackupTortureCase) throws {
    let bench = try Bench(torture)
    #expect(bench.expected.count == 12 && bench.calls > 20)
    var refused = 0
    for (position, fault) in [(FaultKindOnce, ENOSPC), (FaultKindOnce, EIO), (FaultKindLasting, EACCES)].enumerated() {
      for number in stride(from: 1 + position, through: bench.calls, by: Self.distance) {
        let folder = try bench.folder("fault")
        let outcome = Faults.run(below: folder, call: number, fault.0, error: fault.1) { try torture.run(in: folder) }
        let place: Comment = "\(torture), call \(number) of \(bench.calls), \(outcome.call), error \(fault.1)"
        if let failure = outcome.failure.map({ $0 as NSError }) {
          refused += 1
          #expect(failure.domain == NSCocoaErrorDomain, "\(place): \(failure)")
          #expect(failure.localizedFailureReason?.isEmpty == false, "\(place): \(failure)")
        }
        _ = try torture.check(folder, bench.expected, place)
      }
    }
    #expect(refused > 0)
    print("torture: \(torture.rawValue): \(bench.calls) calls, \(refused) refused")
  }

  @Test(
    "Whenever the process is killed, every backup is whole, and so is the store", arguments: BackupTortureCase.allCases)
  func kills(_ torture: BackupTortureCase) async throws {
    let bench = try Bench(torture)
    var counts: Set<Int> = []
    for number in stride(from: 1, through: bench.calls, by: Self.distance * 2) {
      let folder = try bench.folder("kill")
      let (path, name) = (folder.path, torture.rawValue)
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, name = name as String, number = number as Int] in
        faultInjectionArm(path, number, Int32(FaultKindKill.rawValue), 0)
        try BackupTortureCase(rawValue: name)?.run(in: URL(fileURLWithPath: path))
        // Fewer calls than before; then it ends here.
        kill(getpid(), SIGKILL)
      }
      counts.insert(try torture.check(folder, bench.expected, "\(torture), killed at call \(number) of \(bench.calls)"))
    }
    print("torture: \(torture.rawValue): \(bench.calls) calls, numbers of backups \(counts.sorted())")
  }

  @Test("The database, the values and the directories are on the disk before a backup gets its name")
  func durability() throws {
    let bench = try Bench(.making)
    let folder = try bench.folder("trace")
    let outcome = Faults.run(below: folder) { try BackupTortureCase.making.run(in: folder) }
    let calls = outcome.trace.split(separator: "\n").map(String.init)
    let naming = try #require(calls.lastIndex { $0 == "link /.Data~-backup/Data~.sqlite" })
    for path in ["/part.sqlite", "/.part_SUPPORT/_EXTERNAL_DATA", "/.part_SUPPORT", ""] {
      let synced = try #require(calls.lastIndex(of: "sync /.Data~-backup" + path), "\(path)")
      let written = calls[..<naming].lastIndex { $0.hasPrefix("write /.Data~-backup\(path)") && path == "/part.sqlite" }
      #expect(synced < naming && written ?? 0 < synced, "\(path)")
    }
    let values = calls.filter { $0.hasPrefix("sync /.Data~-backup/.part_SUPPORT/_EXTERNAL_DATA/") }
    #expect(values.count == 2, "\(values)")
    #expect(calls.lastIndex(of: values.last ?? "") ?? naming < naming)
    #expect(calls[naming...].contains("sync "))
  }
  #endif
}
