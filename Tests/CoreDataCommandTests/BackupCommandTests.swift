// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata: backups, and going back to them")
struct BackupCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 4)
  }

  @Test("restore: the store is the backup again, and the migrated one is kept")
  func restore() throws {
    let before = try CommandRun("store", "export", store).jsonLines.count
    #expect(CommandRun("migrate", "run", store, workshop.model, "-q").status == .done)
    let run = CommandRun("migrate", "restore", store, workshop.path("Shop~.sqlite"))
    #expect(run.status == .done, "\(run.error)")
    #expect(
      run.output == """
        Restored Shop.sqlite from Shop~.sqlite. The backup is unchanged.
        Kept    \(workshop.path("Shop~2.sqlite"))

        """)
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .no)
    #expect(CommandRun("migrate", "status", workshop.path("Shop~2.sqlite"), workshop.model, "--check").status == .done)
    #expect(try CommandRun("store", "export", store).jsonLines.count == before)
    let json = try CommandRun(
      "migrate", "restore", store, workshop.path("Shop~2.sqlite"), "--format", "json"
    ).json
    #expect(json["format"] as? String == "coredata.restore/1")
    #expect(json["kept"] as? String == workshop.path("Shop~3.sqlite"))
    #expect(
      try workshop.files() == [
        "Shop.sqlite", "Shop.xcdatamodeld", "Shop~.sqlite", "Shop~2.sqlite", "Shop~3.sqlite",
      ])
  }

  @Test("restore: a backup that is not there, or none, is an error that names those that are")
  func refused() throws {
    #expect(CommandRun("migrate", "run", store, workshop.model, "-q").status == .done)
    let missing = CommandRun("migrate", "restore", store, workshop.path("None.sqlite"))
    #expect(missing.status == .unreadableStore)
    #expect(missing.error.contains("None.sqlite.\n  Beside the store there are Shop~.sqlite."))
    try Data("hello".utf8).write(to: URL(fileURLWithPath: workshop.path("text")))
    #expect(CommandRun("migrate", "restore", store, workshop.path("text")).status == .unreadableStore)
    let itself = CommandRun("migrate", "restore", store, store)
    #expect(itself.status == .failed && itself.error.contains("is the store itself"))
    let lock = try StoreLock(store)
    #expect(CommandRun("migrate", "restore", store, workshop.path("Shop~.sqlite")).status == .unreadableStore)
    try lock.end()
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .done)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld", "Shop~.sqlite", "text"])
  }

  @Test("run: the backup of a migration that failed is removed, since the store is as it was")
  func needless() throws {
    // The totals of all orders become true, which a constraint of the next version forbids. No plan tells that.
    try SQLiteConnection.execute("UPDATE ZORDER SET ZTOTAL = Z_PK + 1", at: URL(fileURLWithPath: store))
    let entity = """
      <entity name="Order"><attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="total" optional="YES" attributeType="Boolean"/>
      <uniquenessConstraints><uniquenessConstraint><constraint value="total"/></uniquenessConstraint>
      </uniquenessConstraints></entity>
      """
    try workshop.write(version: "Shop unique", of: "Shop.xcdatamodeld", entity)
    let run = CommandRun("migrate", "run", store, workshop.model, "--to", "Shop unique", "--allow-loss", "-q")
    #expect(run.status == .failed, "\(run.error)")
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
    #expect(try CommandRun("store", "export", store, "-q").jsonLines.count == 4)
  }

  @Test("run: what killed runs have left of backups is cleared up, and told")
  func leftovers() throws {
    let torn = workshop.path(".Shop~-backup")
    try FileManager.default.createDirectory(
      atPath: torn, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data("half".utf8).write(to: URL(fileURLWithPath: torn + "/part.sqlite"))
    let run = CommandRun("migrate", "run", store, workshop.model, "--progress", "none")
    #expect(run.status == .done)
    #expect(run.error == "note: Removed 1 incomplete backup of Shop.sqlite, left by a stopped run.\n")
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld", "Shop~.sqlite"])
  }

  @Test("create: the log of a store that is gone is no part of the new one, and is kept")
  func deadLog() throws {
    let new = workshop.path("New.sqlite")
    try Data("a log".utf8).write(to: URL(fileURLWithPath: new + "-wal"))
    let run = CommandRun("store", "create", new, workshop.model)
    #expect(run.status == .done)
    #expect(
      run.error
        == "note: A removed store left its log behind. The log was renamed to New.sqlite-wal~. The new store ignores it.\n"
    )
    #expect(FileManager.default.contents(atPath: new + "-wal~") == Data("a log".utf8))
    #expect(CommandRun("store", "export", new).output.isEmpty)
  }

  @Test(
    "An entity whose table is missing, or is a view, is an error, and not an entity without rows",
    arguments: [
      "ALTER TABLE ZORDER RENAME TO real_table",
      "ALTER TABLE ZORDER RENAME TO real_table; CREATE VIEW ZORDER AS SELECT * FROM real_table",
    ])
  func missingTable(_ sql: String) throws {
    try SQLiteConnection.execute(sql, at: URL(fileURLWithPath: store))
    for arguments in [
      ["store", "export", store], ["store", "info", store], ["migrate", "plan", store, workshop.model],
      ["migrate", "run", store, workshop.model], ["store", "export", store, "--entity", "Order"],
    ] {
      let run = CommandRun(arguments + ["-q"])
      #expect(run.status == .unreadableStore, "\(arguments): \(run.error)")
      #expect(run.error.contains("ZORDER"), "\(arguments): \(run.error)")
      #expect(run.output.isEmpty)
    }
    let run = CommandRun("store", "export", store, "-q")
    #expect(
      run.error
        == "error: Shop.sqlite is damaged: the rows of Order should be in the table ZORDER, which is "
        + (sql.contains("VIEW") ? "a view" : "missing") + ". Restore it from a backup.\n")
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
  }

  @Test("plan --sql: the copy is made in a private directory, which is gone afterwards")
  func rehearsal() throws {
    // What a run has left that was killed.
    let dead = workshop.path(".Shop.sqlite-copy-dead")
    try FileManager.default.createDirectory(
      atPath: dead, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data("rows".utf8).write(to: URL(fileURLWithPath: dead + "/Shop.sqlite"))
    #expect(CommandRun("migrate", "plan", store, workshop.model, "--sql").status == .done)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
  }
}
