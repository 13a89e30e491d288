// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("coredata doctor")
struct DoctorCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop()
    try #require(CommandRun("store", "create", store, workshop.model, "--version", "Shop").status == .done)
  }

  private func damage(_ sql: String) throws {
    try SQLiteConnection.execute(sql, at: URL(fileURLWithPath: store))
  }

  /// The items of the last part with a subject.
  private func items(_ arguments: [String], _ subject: String) throws -> [[String: Any]] {
    let parts = try CommandRun(["doctor"] + arguments + ["--format", "json"]).json["parts"] as? [[String: Any]]
    let items = parts?.last?["items"] as? [[String: Any]] ?? []
    return items.filter { $0["subject"] as? String == subject }
  }

  @Test("A healthy system and store")
  func healthy() throws {
    let run = CommandRun("doctor", store, workshop.model)
    #expect(run.status == .done && run.error.isEmpty)
    #expect(run.output.hasPrefix("System\n  ok       SQLite: Version 3."))
    #expect(run.output.contains("ok       version: The store has the version Shop; the current one is Shop 2.\n"))
    #expect(run.output.contains("ok       migration: There is a way: Shop -> Shop 2.\n"))
    #expect(run.output.contains("             coredata migrate run \(store) \(workshop.model)\n"))
    #expect(run.output.hasSuffix("\nNo problems.\n"))
    #expect(CommandRun("doctor").status == .done)
  }

  @Test("What is wrong is told, with the command that helps")
  func problems() throws {
    try damage(
      "INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT, ZTOTAL) VALUES (5, 1, 1, 'x'); UPDATE Z_PRIMARYKEY SET Z_MAX = 0")
    let run = CommandRun("doctor", store)
    #expect(run.status == .no)
    #expect(run.output.contains("problem  content: greatest-key (Order): Z_MAX of Order in Z_PRIMARYKEY is 0,"))
    #expect(run.output.contains("coredata store verify \(store) --repair\n"))
    #expect(run.output.hasSuffix("\n2 problems. Begin with the first.\n"))
  }

  @Test("A store that carries no model is examined by the version that wrote it")
  func withoutModel() throws {
    try damage("DELETE FROM Z_MODELCACHE; INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT, ZTOTAL) VALUES (5, 1, 1, 'x')")
    #expect(CommandRun("doctor", store).output.contains("content: type") == false)
    let run = CommandRun("doctor", store, workshop.model)
    #expect(run.status == .no && run.output.contains("content: type (Order.total)"))
    #expect(run.output.contains("coredata store verify \(store) \(workshop.model)\n"))
  }

  @Test("Rows that a new uniqueness constraint forbids are told before a migration fails over them")
  func doubles() throws {
    let file = URL(fileURLWithPath: workshop.model + "/Shop 2.xcdatamodel/contents")
    let text = try String(contentsOf: file, encoding: .utf8)
    let end = try #require(text.range(of: "</entity>", options: .backwards))
    let constraint =
      "<uniquenessConstraints><uniquenessConstraint><constraint value=\"title\"/></uniquenessConstraint>"
      + "</uniquenessConstraints></entity>"
    try Data(text.replacingCharacters(in: end, with: constraint).utf8).write(to: file)
    try damage("INSERT INTO ZORDER (Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 'a'), (1, 1, 'b')")
    let fine = CommandRun("migrate", "plan", store, workshop.model, "-v")
    #expect(fine.output.contains("info  DD203  Order: title must be unique now, and is among 2 rows"), "\(fine.output)")
    try damage("INSERT INTO ZORDER (Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 'a'), (1, 1, NULL), (1, 1, NULL)")
    let plan = CommandRun("migrate", "plan", store, workshop.model)
    #expect(plan.status == .no)
    #expect(plan.output.contains("DD203  Order: title must be unique now; 2 rows with equal values stop the migration"))
    #expect(CommandRun("doctor", store, workshop.model).status == .no)
    #expect(CommandRun("migrate", "run", store, workshop.model).status == .migrationImpossible)
  }

  @Test("Values that break a stricter rule are counted, with the most frequent one")
  func breaks() throws {
    let file = URL(fileURLWithPath: workshop.model + "/Shop 2.xcdatamodel/contents")
    let text = try String(contentsOf: file, encoding: .utf8)
    let changed = text.replacing("name=\"title\"", with: "name=\"title\" maxValueString=\"3\"")
    #expect(changed != text)
    try Data(changed.utf8).write(to: file)
    try damage("INSERT INTO ZORDER (Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 'abc'), (1, 1, 'd'), (1, 1, NULL)")
    let fine = CommandRun("migrate", "plan", store, workshop.model, "-v").output
    #expect(fine.contains("info  DD204") && fine.contains("all 2 values keep it"), "\(fine)")
    try damage("INSERT INTO ZORDER (Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 'long'), (1, 1, 'longer'), (1, 1, 'longer')")
    let plan = CommandRun("migrate", "plan", store, workshop.model, "--format", "json")
    #expect(plan.output.contains("3 values break it, such as 'longer' (2 rows), and are not checked"), "\(plan.output)")
  }

  @Test("A store of another app is told to be refused, and why there is no way")
  func otherVersion() throws {
    let other = workshop.path("Other.xcdatamodel")
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    try Data(
      """
      <?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="Order"><attribute name="name" optional="YES" attributeType="Date"/></entity></model>
      """.utf8
    ).write(to: URL(fileURLWithPath: other + "/contents"))
    let version = try #require(try items([store, other], "version").first)
    #expect(version["level"] as? String == "problem")
    #expect((version["finding"] as? String)?.contains("error 134100") == true)
    #expect(version["command"] as? String == "coredata store match \(store) \(other)")
    let way = try #require(try items([store, other], "migration").first)
    #expect(
      way["level"] as? String == "problem" && (way["command"] as? String)?.hasPrefix("coredata explain 1341") == true)
  }

  @Test("A disk without room for a backup and a new store is told")
  func diskSpace() throws {
    #expect(try items([store], "disk space").first?["level"] as? String == "ok")
    // A file with a hole takes no space, but counts with its length.
    let space = try FileManager.default.attributesOfFileSystem(forPath: workshop.url.path)[.systemFreeSize] as? Int
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: store))
    try handle.truncate(atOffset: UInt64(try #require(space)) + 1 << 30)
    try handle.close()
    let item = try #require(try items([store], "disk space").first)
    #expect(item["level"] as? String == "problem")
    #expect((item["finding"] as? String)?.hasPrefix("Not even a backup fits beside the store") == true)
    #expect(item["code"] as? String == "ST602")
  }

  @Test("A log and a missing model are notes with their codes; where a version is known, the model is not missed")
  func codes() throws {
    let connection = try SQLiteConnection(path: store, mode: .readWrite)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; DELETE FROM Z_MODELCACHE")
    let run = CommandRun("doctor", store)
    #expect(run.status == .done, "\(run.output)")
    #expect(run.output.contains("  note     write-ahead log (ST604): Shop.sqlite-wal has "), "\(run.output)")
    #expect(run.output.contains("  note     model in the store (ST605): Shop.sqlite carries no model. Name its"))
    #expect(try items([store], "model in the store").first?["code"] as? String == "ST605")
    let known = try #require(try items([store, workshop.model], "model in the store").first)
    #expect(known["level"] as? String == "ok" && known["cure"] is NSNull && known["command"] is NSNull)
    try connection.close()
    #expect(try items([store], "write-ahead log").isEmpty)
  }

  @Test("Files that are no stores, and interrupted work")
  func files() throws {
    #expect(try items([workshop.path("none.sqlite")], "file").first?["level"] as? String == "problem")
    try Data("no store".utf8).write(to: URL(fileURLWithPath: workshop.path("text.sqlite")))
    #expect(try items([workshop.path("text.sqlite")], "file").first?["level"] as? String == "problem")
    #expect(try items([store], "unfinished work").isEmpty)
    // What a process leaves that ends right after it has begun.
    let folder = workshop.path(".Shop.sqlite-migration")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("half".utf8).write(to: URL(fileURLWithPath: folder + "/step1.sqlite"))
    let work = try items([store], "unfinished work")
    #expect(work.first?["command"] as? String == "coredata migrate recover \(store)", "\(work)")
    #expect(CommandRun("doctor", store, workshop.path("none.xcdatamodeld")).status == .invalidModel)
  }

  @Test("File systems over a network are known by their mounts")
  func networks() {
    let mounts =
      "/dev/sda / ext4 rw 0 0\nserver:/data /data nfs4 rw 0 0\nx /data/local ext4 rw 0 0\n//s /mnt cifs rw 0 0\n"
    #expect(NetworkFileSystem.name(of: "/data/ann", mounts: mounts) == "nfs4")
    #expect(NetworkFileSystem.name(of: "/data", mounts: mounts) == "nfs4")
    #expect(NetworkFileSystem.name(of: "/datas", mounts: mounts) == nil)
    #expect(NetworkFileSystem.name(of: "/data/local/x", mounts: mounts) == nil)
    #expect(NetworkFileSystem.name(of: "/mnt/x", mounts: mounts) == "cifs")
    #expect(NetworkFileSystem.name(of: "/mnt/x", mounts: "") == nil)
  }
}
