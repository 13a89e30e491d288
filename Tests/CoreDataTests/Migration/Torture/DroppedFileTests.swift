// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Files of values that a migration in place drops", .serialized)
struct DroppedFileTests {
  #if os(Linux)
  private let store: TemporaryStore
  private let folder: URL
  private let url: URL

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    folder = store.folder.resolvingSymlinksInPath()
    url = folder.appendingPathComponent("Data.sqlite")
    try TortureCase.droppingFiles.prepare(in: folder)
  }

  /// The numbers of the calls of a whole run on a copy that have a name and are about a path.
  private func calls(_ isMeant: (String) -> Bool) throws -> [Int] {
    let copy = folder.deletingLastPathComponent().appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: copy) }
    try FileManager.default.copyItem(at: folder, to: copy)
    let outcome = Faults.run(below: copy) { try TortureCase.droppingFiles.run(in: copy) }
    if let failure = outcome.failure { throw failure }
    let lines = outcome.trace.split(separator: "\n").map(String.init)
    return lines.indices.filter { isMeant(lines[$0]) }.map { $0 + 1 }
  }

  private func run(killedAt call: Int) async {
    let path = folder.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, call = call as Int] in
      faultInjectionArm(path, call, Int32(FaultKindKill.rawValue), 0)
      try TortureCase.droppingFiles.run(in: URL(fileURLWithPath: path))
    }
  }

  private func open() throws -> StoreRecovery.Outcome? {
    let model = try #require(try SQLiteStore.carriedModel(at: url))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let opened = try coordinator.addPersistentStore(type: .sqlite, at: url)
    try coordinator.remove(opened)
    return opened.recoveryOutcome
  }

  @Test("Where the process is killed after the commit, opening the store removes them, and says so")
  func afterCommit() async throws {
    let removals = try calls { $0.hasPrefix("unlink ") && $0.contains("_EXTERNAL_DATA/") }
    #expect(removals.count == 3)
    await run(killedAt: try #require(removals.dropFirst().first))
    #expect(try RecoverySample.version(url) == 5)
    #expect(try RecoverySample.files(folder).contains("2 values"))
    #expect(try StoreRecovery.inspect(storeAt: url)?.isCommitted == true)
    #expect(try open() == .finished)
    #expect(try RecoverySample.files(folder) == ["Data.sqlite"])
    #expect(try open() == nil)
  }

  @Test("Where the process is killed before the commit, all of them stay")
  func beforeCommit() async throws {
    let content = try RecoverySample.content(url)
    let journal = try #require(try calls { $0.hasPrefix("rename ") && $0.hasSuffix(".journal.json.part") }.first)
    await run(killedAt: journal + 2)
    #expect(FileCalls.exists(StoreLocation(url).journalFile))
    #expect(try RecoverySample.version(url) == 1)
    #expect(try StoreRecovery.inspect(storeAt: url)?.isCommitted == false)
    #expect(try open() == .undone)
    #expect(try RecoverySample.content(url) == content)
    #expect(try RecoverySample.files(folder) == ["Data.sqlite", "3 values"])
  }
  #endif
}
