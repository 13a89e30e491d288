// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Stores that are only looked at")
struct StoreAccessTests {
  private let store: TemporaryStore
  /// Has the store open, with two rows of which one is in the log alone.
  private let owner: SQLiteConnection

  init() throws {
    store = try TemporaryStore()
    owner = try SQLiteConnection(url: store.url, mode: .create)
    try owner.setJournalMode(.wal)
    try owner.execute("CREATE TABLE T (a); INSERT INTO T VALUES (1)")
    try owner.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try owner.execute("INSERT INTO T VALUES (2)")
  }

  private func rows(_ file: StoreFile) throws -> Int64? {
    try file.connection.scalar("SELECT COUNT(*) FROM T")?.integer
  }

  @Test("Reading a store takes no locks from those of this process who have it open")
  func locks() async throws {
    do {
      let file = try StoreFile.openUntouched(store.url)
      #expect(file.isCopy)
      #expect(try rows(file) == 2)
    }
    let path = store.url.path
    // The last one who leaves removes the log; this one must see that it is not the last.
    await #expect(processExitsWith: .success) { [path = path as String] in
      let other = try SQLiteConnection(path: path, mode: .readWrite)
      _ = try other.scalar("SELECT COUNT(*) FROM T")
      try other.close()
    }
    #expect(FileManager.default.fileExists(atPath: path + "-wal"))
    try owner.execute("INSERT INTO T VALUES (3)")
    #expect(try rows(StoreFile.openUntouched(store.url)) == 3)
    #expect(try owner.integrityCheck() == [])
  }

  @Test("A log that is none leaves nothing beside a store that is looked at", arguments: ["WAL", "DELETE"])
  func invalidLog(mode: String) throws {
    let other = try TemporaryStore()
    let connection = try SQLiteConnection(url: other.url, mode: .create)
    try connection.setPragma("journal_mode", to: .text(mode))
    try connection.execute(
      "CREATE TABLE Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST); CREATE TABLE Z_PRIMARYKEY (Z_ENT); CREATE TABLE T (a)")
    try connection.close()
    let garbage = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) })
    try garbage.write(to: URL(fileURLWithPath: other.url.path + "-wal"))
    let files = try FileManager.default.contentsOfDirectory(atPath: other.folder.path).sorted()
    for open in [StoreFile.openUntouched, StoreFile.peek] {
      let file = try open(other.url)
      #expect(try rows(file) == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: other.folder.path).sorted() == files)
      try file.close()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.folder.path).sorted() == files)
    #expect(try Data(contentsOf: URL(fileURLWithPath: other.url.path + "-wal")) == garbage)
  }

  @Test("Behind a symbolic link the log is found where the store is")
  func symbolicLink() throws {
    let folder = store.folder.appendingPathComponent("elsewhere")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let link = folder.appendingPathComponent("Link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    let file = try StoreFile.openUntouched(link)
    #expect(file.isCopy)
    #expect(try rows(file) == 2)
    #expect(file.sizes.store > 100 && file.sizes.log > 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Link.sqlite"])
  }

  @Test("What is read while another program writes to a store without a log is an error, not a mixture")
  func writtenMeanwhile() throws {
    let company = try TemporaryStore()
    let context = try company.context(CompanyModel.make())
    _ = context.make("Department", ["name": "Research"])
    try context.save()
    try company.close()
    let reader = try StoreReader(url: company.url)
    #expect(!reader.file.isCopy)
    #expect(try reader.rowCounts().isEmpty == false)
    try SQLiteConnection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 1", at: company.url)
    #expect { try reader.rowCounts() } throws: { ($0 as? StoreProblem)?.kind == .locked }
    #expect { try reader.forEachObject { _ in } } throws: { ($0 as? StoreProblem)?.kind == .locked }
  }
}
