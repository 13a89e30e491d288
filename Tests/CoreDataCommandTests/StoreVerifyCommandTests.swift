// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata store verify")
struct StoreVerifyCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  /// A store with two orders.
  init() throws {
    workshop = try Workshop()
    try workshop.makeStore(at: store, ["Order": 2])
  }

  private func damage(_ sql: String) throws {
    try SQLiteConnection.execute(sql, at: URL(fileURLWithPath: store))
  }

  @Test("A sound store")
  func sound() throws {
    for arguments in [[store], [store, workshop.model]] {
      let run = CommandRun(["store", "verify"] + arguments)
      #expect(run.status == .done && run.error.isEmpty)
      #expect(run.output == "Shop.sqlite\n  Checked 2 entities, 2 rows.\n\nNo problems.\n")
    }
  }

  @Test("Problems are listed with their rows, and what can be done")
  func problems() throws {
    try damage("UPDATE ZORDER SET ZTOTAL = NULL; UPDATE Z_PRIMARYKEY SET Z_MAX = 0; CREATE TABLE ZGHOST (ZX)")
    let run = CommandRun("store", "verify", store, "--limit", "1")
    #expect(run.status == .no && run.error.isEmpty)
    #expect(
      run.output == """
        Shop.sqlite
          Checked 2 entities, 2 rows.

        problem  greatest-key  Order
          Z_MAX of Order in Z_PRIMARYKEY is 0, but the greatest key in ZORDER is 2: the
            next object would get a key that is taken.
          --repair: Z_MAX is set to 2.

        problem  required-value  Order.total, 2 rows
          The row 1 has no value, which is required.
          … and 1 more.
          To do: Give the objects a value, or delete them.

        note  unknown-content
          The table ZGHOST with 0 rows belongs to no entity of the model.
          To do: A migration in place does not carry it over.

        2 problems, 1 note.
        1 of them can be repaired:  coredata store verify \(store) --repair

        """)
    let json = try CommandRun("store", "verify", store, "--format", "json").json
    #expect(json["format"] as? String == "coredata.store-verify/1" && json["isSound"] as? Bool == false)
    let defects = try #require(json["defects"] as? [[String: Any]])
    #expect(defects.map { $0["kind"] as? String } == ["greatest-key", "required-value", "unknown-content"])
    #expect(defects.map { $0["count"] as? Int } == [1, 2, 1])
    #expect((defects[1]["examples"] as? [[String: Any]])?.map { $0["key"] as? Int } == [1, 2])
  }

  @Test("A repair makes a backup, repairs, and tells what is left")
  func repair() throws {
    try damage("UPDATE ZORDER SET ZTOTAL = NULL WHERE Z_PK = 1; UPDATE Z_PRIMARYKEY SET Z_MAX = 0")
    let run = CommandRun("store", "verify", store, "--repair", "--backup", workshop.path("Backups"))
    #expect(run.status == .no && run.error.isEmpty)
    let backup = workshop.path("Backups/Shop~.sqlite")
    #expect(
      run.output == """
        Shop.sqlite
          Checked 2 entities, 2 rows.

        Repaired
          greatest-key Order: Z_MAX is set to 2.
          Backup  \(backup)

        problem  required-value  Order.total, 1 row
          The row 1 has no value, which is required.
          To do: Give the objects a value, or delete them.

        1 problem.

        """)
    #expect(CommandRun("store", "verify", backup).output.contains("2 problems."))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: store))
    let again = CommandRun("store", "verify", store, "--repair", "--format", "json")
    #expect(again.status == .no)
    let json = try again.json
    #expect((json["repaired"] as? [Any])?.count == 0)
    #expect(json["backup"] is NSNull)
    #expect(CommandRun("store", "verify", store, "--repair").output.hasSuffix("The store was not changed.\n"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == bytes)
  }

  @Test("A sound store has nothing to repair")
  func soundRepair() {
    let run = CommandRun("store", "verify", store, "--repair")
    #expect(run.status == .done)
    #expect(run.output.hasSuffix("No problems.\nThere was nothing to repair. The store was not changed.\n"))
  }

  @Test("A store that cannot be verified or repaired is an error")
  func errors() throws {
    #expect(CommandRun("store", "verify", workshop.path("none.sqlite")).status == .unreadableStore)
    #expect(CommandRun("store", "verify", store, workshop.path("none.xcdatamodeld")).status == .invalidModel)
    #expect(CommandRun("store", "verify", store, "--backup", workshop.path("Backups")).status == .usage)
    try damage("UPDATE Z_PRIMARYKEY SET Z_MAX = 0")
    let lock = try StoreLock(store)
    let locked = CommandRun("store", "verify", store, "--repair")
    #expect(locked.status == .unreadableStore && locked.error.contains("locked"))
    try lock.end()
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: store)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: store) } }
    if getuid() != 0 { #expect(CommandRun("store", "verify", store, "--repair").status == .failed) }
    #expect(try workshop.files().filter { $0.contains("~") } == [])
  }
}
