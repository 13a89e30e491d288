// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata store diff")
struct StoreDiffCommandTests {
  private let workshop: Workshop
  private let (old, new): (String, String)

  /// A store of the first version with three orders, and its migration to the second, of which one has changed, one is
  /// missing, and one is new.
  init() throws {
    workshop = try Workshop()
    (old, new) = (workshop.path("Old.sqlite"), workshop.path("New.sqlite"))
    try #require(CommandRun("store", "create", old, workshop.model, "--version", "Shop").status == .done)
    try Self.run(
      "INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZTOTAL) VALUES (1, 1, 1, 'a', 1), (2, 1, 1, 'b', 2), (3, 1, 1, 'c', 3)",
      old)
    try FileManager.default.copyItem(atPath: old, toPath: new)
    try #require(CommandRun("migrate", "run", new, workshop.model, "--no-backup", "-q").status == .done)
    try Self.run(
      """
      UPDATE ZORDER SET ZTITLE = 'A' WHERE Z_PK = 1;
      DELETE FROM ZORDER WHERE Z_PK = 2;
      INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZTOTAL) SELECT 4, Z_ENT, 1, 'd', 4 FROM ZORDER WHERE Z_PK = 1
      """, new)
  }

  private static func run(_ sql: String, _ store: String) throws {
    try SQLiteConnection.execute(sql, at: URL(fileURLWithPath: store))
  }

  @Test("Rows and values are listed by entity")
  func text() throws {
    let run = CommandRun("store", "diff", old, new, "--exit-code")
    #expect(run.status == .no && run.error.isEmpty)
    #expect(
      run.output == """
        A  Old.sqlite
        B  New.sqlite
        Objects are matched by their keys.

          Entity    A  B  Same  Changed  Only A  Only B
          Customer  0  0     0        0       0       0
          Order     3  3     1        1       1       1

        Customer
          Only B has this entity.

        Order
          ~ p1
            title: "a" -> "A"
          - p2  only in A
          + p4  only in B

        1 row changed, 1 only in A, 1 only in B.

        """)
    #expect(CommandRun("store", "diff", old, new).status == .done)
    #expect(CommandRun("store", "diff", old, new, "--limit", "1").output.contains("\n  … and 2 more.\n"))
    let named = CommandRun("store", "diff", old, new, "--model", workshop.model, "--match", "values")
    #expect(
      named.output.hasPrefix("A  Old.sqlite  Shop\nB  New.sqlite  Shop 2\nObjects are matched by their values.\n"))
    #expect(named.output.hasSuffix("0 rows changed, 2 only in A, 2 only in B.\n"))
    #expect(CommandRun("store", "diff", old, old, "--exit-code").output.hasSuffix("\nNo differences.\n"))
    #expect(CommandRun("store", "diff", old, old, "--exit-code").status == .done)
  }

  @Test("As JSON, with all values")
  func json() throws {
    let json = try CommandRun("store", "diff", old, new, "--format", "json").json
    #expect(json["format"] as? String == "coredata.store-diff/1" && json["matching"] as? String == "key")
    let order = try #require((json["entities"] as? [[String: Any]])?.last)
    #expect(["same", "changed", "onlyA", "onlyB"].map { order[$0] as? Int } == [1, 1, 1, 1])
    let changed = try #require((order["examples"] as? [[String: Any]])?.first)
    let value = try #require((changed["values"] as? [[String: Any]])?.first)
    #expect(value["property"] as? String == "title" && value["a"] as? String == "a" && value["b"] as? String == "A")
  }

  @Test("Stores that cannot be read are errors")
  func errors() {
    #expect(CommandRun("store", "diff", old, workshop.path("none.sqlite")).status == .unreadableStore)
    #expect(CommandRun("store", "diff", old).status == .usage)
    #expect(CommandRun("store", "diff", old, new, "--match", "names").status == .usage)
  }
}
