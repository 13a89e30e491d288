// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Findings about the files of a store, and the disk space that a migration needs")
struct StoreFindingsTests {
  private static func texts(_ findings: [Finding]) -> [String] {
    findings.map { "\($0.level.rawValue) \($0.code.rawValue) \($0.message)" }
  }

  /// A store with the entity Order and what its user info allows.
  private func store(allowing text: String? = nil) throws -> SmallStore { try SmallStore(allowing: text) }

  @Test("A store with its model and without a log has no findings")
  func clean() throws {
    let store = try store()
    #expect(try StoreReader(url: store.url).findings(isVersionKnown: false).isEmpty)
  }

  @Test(
    "A store without its model is a warning, and information where a version is known; one that cannot be read says so")
  func model() throws {
    let store = try store()
    try store.execute("DELETE FROM Z_MODELCACHE")
    let reader = try StoreReader(url: store.url)
    #expect(Self.texts(reader.findings(isVersionKnown: false)) == ["warn ST605 Data.sqlite carries no model"])
    #expect(Self.texts(reader.findings(isVersionKnown: true)) == ["info ST605 Data.sqlite carries no model"])
    try store.execute("INSERT INTO Z_MODELCACHE VALUES (x'00')")
    let broken = try StoreReader(url: store.url).findings(isVersionKnown: false)
    #expect(Self.texts(broken)[0].hasPrefix("warn ST605 the model that Data.sqlite carries cannot be read: "))
  }

  @Test("A carried model that lacks entities of the store is not used to read it, so that no row is left out")
  func otherModel() throws {
    let store = try store()
    try store.execute("INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT) VALUES (7, 1, 1)")
    let other = store.url.deletingLastPathComponent().appendingPathComponent("Other.sqlite")
    let model = ModelDocument(entities: [EntityDocument(name: "Invoice")])
    let cache = try StoreReader.create(at: other, model: model).connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE")
    try store.execute("UPDATE Z_MODELCACHE SET Z_CONTENT = \(try #require(cache).literal)")
    let reader = try StoreReader(url: store.url)
    #expect(reader.origin == .tables && reader.entityNames == ["Order"])
    let problem = "he model that Data.sqlite carries cannot be read: it lacks Order, which the store has"
    #expect(reader.remarks.first == "T" + problem)
    #expect(Self.texts(reader.findings(isVersionKnown: false)) == ["warn ST605 t" + problem])
    var keys: [Int64] = []
    try reader.forEachObject { keys.append($0.key) }
    #expect(keys.contains(7))
    // An entity of an earlier version, whose number was left, is none of the store.
    let earlier = try self.store()
    try earlier.execute("INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (9, 'Invoice', 0, 0)")
    #expect(try StoreReader(url: earlier.url).origin == .cache)
  }

  @Test("A log is a finding if it has pages; the model may allow it, with a reason")
  func log() throws {
    for (text, level) in [(nil, "warn"), ("ST604 the app merges it", "info"), ("ST604", "warn")] {
      let store = try store(allowing: text)
      try store.leaveLog()
      let size = try #require(
        try FileManager.default.attributesOfItem(atPath: store.url.path + "-wal")[.size] as? Int)
      let found = try StoreReader(url: store.url).findings(isVersionKnown: false)
      #expect(
        Self.texts(found) == [
          "\(level) ST604 Data.sqlite-wal has \(CountText.grouped(size)) bytes that may not be in Data.sqlite yet"
        ])
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: store.url.path + "-wal"))
      try handle.truncate(atOffset: 32)
      try handle.close()
      #expect(try StoreReader(url: store.url).findings(isVersionKnown: false).isEmpty)
    }
  }

  @Test("A store larger than the free disk is an error, which the model may allow", arguments: [nil, "ST602 is grown"])
  func fullDisk(text: String?) throws {
    let store = try store(allowing: text)
    #expect(try StoreReader(url: store.url).spaceFinding == nil)
    let free = try #require(try StoreReader(url: store.url).space.free)
    // A hole takes no space, but counts.
    let handle = try FileHandle(forUpdating: store.url)
    try handle.truncate(atOffset: UInt64(free) + 1 << 30)
    try handle.close()
    let finding = try #require(try StoreReader(url: store.url).spaceFinding)
    #expect(finding.code == .littleDiskSpace && finding.level == (text == nil ? .error : .information))
    #expect(finding.allowance?.words == text.map { "allowed by coredata.allow: \($0.dropFirst(6))" })
  }

  @Test(
    "Disk space: a warning where a backup fits and no migration, an error where not even that",
    arguments: [(200, nil), (199, "warn"), (100, "warn"), (99, "error"), (0, "error"), (nil, nil)] as [(Int?, String?)])
  func space(free: Int?, level: String?) {
    let finding = StoreSpace(database: 100, free: free).finding
    #expect(finding?.level.rawValue == level)
    #expect(finding.map { $0.code == .littleDiskSpace && !$0.isFailure } ?? true)
    if let free, let finding {
      #expect(finding.message.hasSuffix(", and \(free) are free"))
      #expect(finding.message.contains(free < 100 ? "it takes 100 bytes" : "up to 200 bytes are needed"))
    }
  }
}

/// A store of one entity, removed at the end of its life.
private final class SmallStore {
  private let directory: TemporaryDirectory
  let url: URL

  init(allowing text: String?) throws {
    directory = try TemporaryDirectory()
    url = directory.file("Data.sqlite")
    var order = EntityDocument(name: "Order")
    order.attributes = [AttributeDocument(name: "name", kind: .string)]
    if let text { order.userInfo = ["coredata.allow": .string(text)] }
    _ = try StoreReader.create(at: url, model: ModelDocument(entities: [order]))
  }

  func execute(_ sql: String) throws {
    try SQLiteConnection.execute(sql, at: url)
  }

  /// Writes a row into the log, and leaves the log as a process does that is killed.
  func leaveLog() throws {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    try connection.execute(
      "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1)"
    )
    let files = ["", "-wal"].map { (suffix: $0, data: FileManager.default.contents(atPath: url.path + $0)) }
    try connection.close()
    for (suffix, data) in files { try data?.write(to: URL(fileURLWithPath: url.path + suffix)) }
  }
}
