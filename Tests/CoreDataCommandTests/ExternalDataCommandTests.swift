// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("The command over stores with files of large values")
struct ExternalDataCommandTests {
  private let shop: PictureShop

  init() throws {
    shop = try PictureShop()
    try shop.fill(shop.store, pictures: 4)
    try #require(try shop.values(of: "Pictures").count == 2)
  }

  /// Whether two stores hold the same. Objects get other numbers in a file that numbers those of all entities together.
  private func areEqual(_ one: String, _ other: String) -> Bool {
    let run = CommandRun("store", "diff", one, other, "--exit-code", "--match", "values")
    return run.status == .done && run.output.contains("No differences.")
  }

  @Test("A copy of a SQLite store has files of its own, and stays whole when the store is removed")
  func copy() throws {
    let (copy, before) = (shop.path("Copy.sqlite"), try shop.export(shop.store))
    let run = CommandRun("store", "copy", shop.store, copy)
    #expect(run.status == .done, "\(run.error)")
    #expect(run.output.contains("Checked: the copy has the objects of Pictures.sqlite, with the same values"))
    #expect(try shop.values(of: "Copy").count == 2)
    let files = FileManager.default
    for name in ["Pictures.sqlite", "Pictures.sqlite-wal", "Pictures.sqlite-shm", ".Pictures_SUPPORT"]
    where files.fileExists(atPath: shop.path(name)) {
      try files.removeItem(atPath: shop.path(name))
    }
    #expect(try shop.export(copy) == before)
    #expect(CommandRun("store", "verify", copy, shop.model).output.hasSuffix("No problems.\n"))
    #expect(try !shop.files().contains { $0.contains("-copy-") || $0.hasSuffix(".part") })
  }

  @Test("A store goes to an XML or binary file and back with all values", arguments: ["xml", "binary"])
  func thereAndBack(type: String) throws {
    let (file, back) = (shop.path("Copy.\(type)"), shop.path("Back.sqlite"))
    #expect(CommandRun("store", "copy", shop.store, file, "--type", type).status == .done)
    let bare = CommandRun("store", "copy", file, back)
    #expect(bare.status == .unreadableStore && bare.error.contains("contains no model. Name the one"), "\(bare.error)")
    let run = CommandRun("store", "copy", file, back, "--model", shop.model)
    #expect(run.status == .done, "\(run.error)")
    #expect(try shop.values(of: "Back").count == 2)
    let again = shop.path("Again.xml")
    #expect(CommandRun("store", "copy", file, again, "--type", "xml", "--model", shop.model).status == .done)
    #expect(areEqual(shop.store, back))
    let workshop = try Workshop()
    let other = CommandRun("store", "copy", file, shop.path("None.sqlite"), "--model", workshop.model)
    #expect(other.status == .unreadableStore && other.error.contains("No version of Shop"), "\(other.error)")
  }

  @Test("A store of a configuration is copied", arguments: ["sqlite", "xml", "binary"])
  func configuration(type: String) throws {
    let media = shop.path("Media.sqlite")
    try shop.fill(media, pictures: 2, configuration: "Media")
    let (copy, back) = (shop.path("Copy.\(type)"), shop.path("Back.sqlite"))
    let run = CommandRun("store", "copy", media, copy, "--type", type)
    #expect(run.status == .done, "\(run.error)")
    guard type != "sqlite" else {
      #expect(try shop.export(copy) == shop.export(media))
      return
    }
    let second = CommandRun("store", "copy", copy, back, "--model", shop.model)
    #expect(second.status == .done, "\(second.error)")
    #expect(areEqual(media, back))
  }

  @Test("A missing file is an error that names it and its object, and nothing is left", arguments: ["sqlite", "xml"])
  func missingFile(type: String) throws {
    let name = try #require(try shop.values(of: "Pictures").first)
    try FileManager.default.removeItem(atPath: shop.path(".Pictures_SUPPORT/_EXTERNAL_DATA/\(name)"))
    let before = try shop.files()
    let run = CommandRun("store", "copy", shop.store, shop.path("Copy.\(type)"), "--type", type)
    #expect(run.status == .unreadableStore)
    #expect(run.error.contains("Picture.data of the row ") && run.error.contains(name), "\(run.error)")
    #expect(run.error.contains("which is missing. Copy the store together with its directory .Pictures_SUPPORT"))
    #expect(try shop.files() == before)
  }

  @Test("A copy that would share the directory of values with its store is refused")
  func sharedDirectory() throws {
    let before = try shop.files()
    let run = CommandRun("store", "copy", shop.store, shop.path("Pictures.store"))
    #expect(run.status == .usage && run.error.contains("would share the directory .Pictures_SUPPORT"), "\(run.error)")
    #expect(try shop.files() == before)
  }

  @Test("A log or a journal with the name of the copy is not taken for a part of it", arguments: ["-wal", "-journal"])
  func leftLog(suffix: String) throws {
    try Data("log".utf8).write(to: URL(fileURLWithPath: shop.path("Copy.sqlite\(suffix)")))
    let run = CommandRun("store", "copy", shop.store, shop.path("Copy.sqlite"))
    #expect(run.status == .failed && run.error.contains("Copy.sqlite\(suffix) already exists"), "\(run.error)")
    #expect(!FileManager.default.fileExists(atPath: shop.path("Copy.sqlite")))
  }

  @Test("What a migration needs on the disk includes the files that a backup copies")
  func space() throws {
    let plan = try CommandRun("migrate", "plan", shop.store, shop.model, "--format", "json").json
    let needed = try #require(plan["bytesNeeded"] as? Int)
    let database = try Data(contentsOf: URL(fileURLWithPath: shop.store)).count
    let values = 2 * PictureShop.large + 2
    #expect(needed == 2 * database + values)
    #expect(CommandRun("migrate", "run", shop.store, shop.model, "-q").status == .done)
    #expect(try shop.values(of: "Pictures~").count == 2)
  }

  @Test("An export and a comparison show progress only where it is wanted")
  func progress() throws {
    let copy = shop.path("Copy.sqlite")
    #expect(CommandRun("store", "copy", shop.store, copy, "-q").status == .done)
    for (arguments, total) in [(["export", shop.store], 5), (["diff", shop.store, copy], 10)] {
      #expect(CommandRun(["store"] + arguments).error.isEmpty)
      let run = CommandRun(["store"] + arguments + ["--progress", "json"])
      #expect(run.error.hasSuffix("\"done\":\(total),\"total\":\(total)}\n"), "\(run.error)")
      let bar = CommandRun(["store"] + arguments + ["--output", shop.path("out")], terminalWidth: 80)
      #expect(bar.error.contains("\(total) of \(total)"), "\(bar.error)")
      #expect(CommandRun(["store"] + arguments + ["-q", "-o", shop.path("out")], terminalWidth: 80).error.isEmpty)
    }
  }
}

@Suite(
  "Copies of stores with files of large values that are stopped", .serialized,
  .enabled(if: ProgramRun.isPresent, "The program was not built beside the tests"))
struct StoppedCopyTests {
  @Test("Ctrl-C ends a copy at once with status 130, and leaves nothing", arguments: ["sqlite", "xml"])
  func stop(type: String) throws {
    let shop = try PictureShop()
    try shop.fill(shop.store, pictures: 2)
    let connection = try SQLiteConnection(path: shop.store, mode: .readWrite)
    try connection.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
        + "INSERT INTO ZPICTURE (Z_ENT, Z_OPT, ZNAME) SELECT Z_ENT, 1, 'Picture ' || i FROM n, ZPICTURE WHERE Z_PK = 1")
    try connection.execute(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = (SELECT MAX(Z_PK) FROM ZPICTURE) WHERE Z_NAME = 'Picture'")
    try connection.close()
    let before = try shop.files()
    var stopped = 0
    for more in [0, 0, 5, 20, 60] {
      let run = try ProgramRun("store", "copy", shop.store, shop.path("Copy.\(type)"), "--type", type)
      // It runs for some milliseconds at a time, so that a busy machine does not let it end unseen.
      func step() {
        run.send(SIGCONT)
        usleep(5_000)
        run.send(SIGSTOP)
      }
      func hasBegun() throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: shop.url.path).contains { $0.contains("-copy-") }
      }
      while try run.isRunning && !hasBegun() { step() }
      for _ in 0..<more where run.isRunning { step() }
      run.send(SIGINT)
      run.send(SIGCONT)
      let end = try run.end()
      if end.status == 0 {
        // Done before the signal came.
        try FileManager.default.removeItem(atPath: shop.path("Copy.\(type)"))
        if type == "sqlite" { try FileManager.default.removeItem(atPath: shop.path(".Copy_SUPPORT")) }
        continue
      }
      #expect(end.status == 130, "\(end)")
      stopped += 1
      #expect(try shop.files() == before, "after \(more) steps")
    }
    #expect(stopped > 0)
  }
}
