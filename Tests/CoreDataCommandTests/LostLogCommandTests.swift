// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("The command over stores whose log is missing, or is another store's")
struct LostLogCommandTests {
  private let shop: PictureShop
  private var store: String { shop.store }

  init() throws { shop = try PictureShop() }

  private func run(_ sql: String, on path: String) throws {
    try SQLiteConnection.execute(sql, at: URL(fileURLWithPath: path))
  }

  /// Makes a store as it is when only its main file is copied: all rows are in the log, and their large values are there.
  private func loseLog() throws {
    try shop.fill(store, pictures: 0)
    let empty = try Data(contentsOf: URL(fileURLWithPath: store))
    try shop.fill(store, pictures: 4)
    for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: store + suffix) {
      try FileManager.default.removeItem(atPath: store + suffix)
    }
    try empty.write(to: URL(fileURLWithPath: store))
  }

  private func items(_ subject: String) throws -> [[String: Any]] {
    let json = try CommandRun("doctor", store, shop.model, "--format", "json").json
    let items = (json["parts"] as? [[String: Any]])?.last?["items"] as? [[String: Any]] ?? []
    return items.filter { $0["subject"] as? String == subject }
  }

  @Test("A lost log is the first problem that is told, and its files are to be kept")
  func lost() throws {
    try loseLog()
    let doctor = CommandRun("doctor", store, shop.model)
    #expect(doctor.status == .no, "\(doctor.output)")
    let item = try #require(try items("write-ahead log").first)
    let finding = try #require(item["finding"] as? String)
    #expect(item["level"] as? String == "problem")
    #expect(
      finding.contains("Pictures.sqlite has no rows") && finding.contains("2 files of large values"), "\(finding)")
    #expect(finding.contains("The -wal is probably missing"), "\(finding)")
    let cure = try #require(item["cure"] as? String)
    #expect(cure.contains("Look for a file Pictures.sqlite-wal") && cure.contains("do not repair"), "\(cure)")
    #expect(CommandRun("explain", "missing-log").status == .done)

    let verify = try CommandRun("store", "verify", store, "--format", "json").json
    let defects = try #require(verify["defects"] as? [[String: Any]])
    #expect(defects.map { $0["kind"] as? String } == ["missing-log", "orphaned-file"])
    #expect(defects.allSatisfy { ($0["cure"] as? String)?.contains("Move the files away") == false })
    #expect((defects.last?["cure"] as? String)?.hasPrefix("Keep the files") == true)
  }

  @Test("A store whose log is probably missing is repaired only if that is asked for, and keeps its files")
  func repair() throws {
    try loseLog()
    try run("UPDATE Z_METADATA SET Z_PLIST = NULL", on: store)
    let (bytes, files) = (try Data(contentsOf: URL(fileURLWithPath: store)), try shop.files())
    let refused = CommandRun("store", "verify", store, "--repair")
    #expect(
      refused.status == .failed && refused.error.contains("Pictures.sqlite was not repaired."), "\(refused.error)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == bytes)
    #expect(try shop.files() == files)
    #expect(CommandRun("store", "verify", store, "--without-log").status == .usage)
    let forced = CommandRun("store", "verify", store, "--repair", "--without-log")
    #expect(forced.output.contains("Repaired") && forced.error.contains("not repaired") == false, "\(forced.output)")
    #expect(try shop.values(of: "Pictures").count == 2)
  }

  @Test("Without files of values, an empty table that had rows is a note, and deleted objects are named as a cause")
  func uncertain() throws {
    try shop.fill(store, pictures: 0)
    try run("UPDATE Z_PRIMARYKEY SET Z_MAX = 500 WHERE Z_NAME = 'Picture'", on: store)
    let run = CommandRun("store", "verify", store)
    #expect(run.status == .done && run.output.contains("note  uncertain-log"), "\(run.output)")
    #expect(run.output.contains("Picture 500") && run.output.contains("Deleted objects can"), "\(run.output)")
    #expect(try items("write-ahead log").map { $0["level"] as? String } == ["note"])
    // An index without a log makes it probable.
    try Data(count: 32_768).write(to: URL(fileURLWithPath: store + "-shm"))
    #expect(CommandRun("store", "verify", store).output.contains("problem  missing-log"))
  }

  @Test("Stores without a sign of loss have no finding: new ones, full ones, and such with some objects deleted")
  func sound() throws {
    try shop.fill(store, pictures: 0)
    #expect(CommandRun("store", "verify", store).output.hasSuffix("\n\nNo problems.\n"))
    try shop.fill(store, pictures: 4)
    #expect(CommandRun("store", "verify", store).output.hasSuffix("\n\nNo problems.\n"))
    try run("DELETE FROM ZPICTURE WHERE ZNAME = 'Picture 3'", on: store)
    #expect(CommandRun("store", "verify", store).output.hasSuffix("\n\nNo problems.\n"))
    #expect(CommandRun("doctor", store).status == .done)
  }

  @Test("A main file without a store whose log is missing says where to look; another database does not")
  func youngStore() throws {
    let connection = try SQLiteConnection(path: store, mode: .create)
    try connection.execute("CREATE TABLE T (X)")
    try connection.close()
    #expect(!CommandRun("store", "info", store).error.contains("All of a new store"))
    try run("PRAGMA journal_mode = WAL", on: store)
    let info = CommandRun("store", "info", store)
    #expect(info.status == .unreadableStore && info.error.contains("it has no table Z_METADATA"), "\(info.error)")
    #expect(info.error.contains("look for Pictures.sqlite-wal where the file came from"), "\(info.error)")
  }

  /// Changes a store in WAL mode, and returns its log as it is before it is checkpointed.
  private func log(of path: String, _ sql: String) throws -> Data {
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \(sql)")
    let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
    try connection.close()
    return log
  }

  @Test("The log of another store is the first problem, and nothing is written")
  func foreign() throws {
    try shop.fill(store, pictures: 4)
    let other = shop.path("Other.sqlite")
    try shop.fill(other, pictures: 2)
    try log(of: other, "UPDATE Z_METADATA SET Z_VERSION = 1").write(to: URL(fileURLWithPath: store + "-wal"))
    let (bytes, files) = (try Data(contentsOf: URL(fileURLWithPath: store)), try shop.files())
    let item = try #require(try items("write-ahead log").first)
    #expect(item["level"] as? String == "problem")
    #expect((item["finding"] as? String)?.contains("is not that of Pictures.sqlite: ") == true, "\(item)")
    let verify = CommandRun("store", "verify", store)
    #expect(verify.status == .no && verify.output.contains("problem  foreign-log"), "\(verify.output)")
    let repair = CommandRun("store", "verify", store, "--repair", "--without-log")
    #expect(repair.status == .failed && repair.error.contains("is not that of"), "\(repair.error)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == bytes)
    #expect(try shop.files() == files)
  }

  @Test("A log from before the last change of the store is told as such; that of a running program is not")
  func older() throws {
    try shop.fill(store, pictures: 4)
    let own = try log(of: store, "CREATE TABLE EXTRA (X)")
    try own.write(to: URL(fileURLWithPath: store + "-wal"))
    #expect(try items("write-ahead log").contains { $0["level"] as? String == "problem" } == false)
    try FileManager.default.removeItem(atPath: store + "-wal")
    _ = try log(of: store, "CREATE TABLE MORE (X)")
    _ = try log(of: store, "DROP TABLE MORE")
    try own.write(to: URL(fileURLWithPath: store + "-wal"))
    let finding = try #require(try items("write-ahead log").first?["finding"] as? String)
    #expect(finding.contains("it ends before the last change that Pictures.sqlite has itself"), "\(finding)")
  }

  @Test("A damaged page is the first problem, in SQLite's words, and no missing mapping model is told")
  func damagedPage() throws {
    try shop.fill(store, pictures: 4)
    let connection = try SQLiteConnection(path: store, mode: .readWrite)
    try connection.execute("PRAGMA journal_mode = DELETE")
    let page = try #require(
      try connection.scalar("SELECT rootpage FROM sqlite_master WHERE name = 'ZPICTURE'")?.integer)
    let size = try #require(try connection.pragma("page_size")?.integer)
    try connection.close()
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: store))
    try handle.seek(toOffset: UInt64((page - 1) * size))
    try handle.write(contentsOf: Data(repeating: 0xA5, count: Int(size)))
    try handle.close()
    let run = CommandRun("doctor", store, shop.model)
    #expect(run.status == .no)
    let first = try #require(run.output.range(of: "problem  "))
    #expect(run.output[first.lowerBound...].hasPrefix("problem  pages: The database is damaged. SQLite says:"))
    #expect(!run.output.contains("explain 1") && !run.output.contains("mapping model"), "\(run.output)")
    #expect(run.output.contains("coredata store verify \(store)"))
  }
}
