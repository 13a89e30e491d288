// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage to the tables of persistent history.
enum HistoryMutation {
  private static let tables = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

  /// Changes cells, rows and tables.
  static func damage(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    var notes: [String] = []
    for _ in 0..<random.small(4) {
      do {
        notes += try change(store, &random)
      } catch {
        // SQLite refuses some changes, and the store may lack a table.
        notes.append("(\(error))")
      }
    }
    return notes
  }

  private static func change(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    // A change before may have put an endless view in the place of a table.
    let present = try store.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    let tables = tables.filter(present.contains)
    guard !tables.isEmpty else { return ["no history"] }
    let table = random.pick(tables)
    let columns = try store.texts("SELECT name FROM pragma_table_info('\(table)')")
    guard !columns.isEmpty else { return ["no \(table)"] }
    let count = Int(try store.texts("SELECT COUNT(*) FROM \(table)").first ?? "") ?? 0
    let row = "rowid IN (SELECT rowid FROM \(table) LIMIT 1 OFFSET \(random.below(count)))"
    let sql: String
    switch random.below(8) {
    case 0, 1, 2:
      let place = random.oneIn(5) ? "" : " WHERE \(row)"
      sql = "UPDATE OR IGNORE \(table) SET \(random.pick(columns)) = \(random.pick(StoreMutation.extremes))\(place)"
    case 3: return try damageValue(store, &random)
    case 4 where tables.contains("ACHANGE"):
      let values = (0..<4).map { _ in random.pick(StoreMutation.extremes + ["Z_PK", "ZENTITYPK", "ZENTITY", "16001"]) }
      sql =
        "INSERT OR IGNORE INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) "
        + "SELECT Z_PK + \(random.pick([1, 50, 1 << 40])), Z_ENT, Z_OPT, \(values.joined(separator: ", ")) FROM ACHANGE"
    case 5:
      sql = random.pick([
        "DELETE FROM \(table) WHERE Z_PK % \(random.small(5)) = 0", "DELETE FROM Z_PRIMARYKEY WHERE Z_ENT > 16000",
        "UPDATE Z_PRIMARYKEY SET Z_MAX = \(random.pick(StoreMutation.extremes)) WHERE Z_ENT = 1600\(1 + random.below(3))",
        "UPDATE Z_PRIMARYKEY SET Z_ENT = \(random.pick(StoreMutation.extremes)) WHERE Z_ENT > 16000",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = 'CHANGE' WHERE Z_ENT > 16000",
        "INSERT INTO Z_PRIMARYKEY SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 16000",
      ])
    default: sql = random.pick(structures(table, random.pick(columns), &random))
    }
    try store.run(sql)
    return [sql]
  }

  private static func structures(_ table: String, _ column: String, _ random: inout FuzzRandom) -> [String] {
    [
      "DROP TABLE \(table)", "ALTER TABLE \(table) RENAME TO old_t",
      "ALTER TABLE \(table) RENAME TO old_t; CREATE VIEW \(table) AS SELECT * FROM old_t",
      "ALTER TABLE \(table) RENAME TO old_t; CREATE VIEW \(table) AS WITH RECURSIVE c(x) AS "
        + "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT old_t.* FROM old_t, c",
      "ALTER TABLE \(table) RENAME COLUMN \(column) TO ZOTHER", "ALTER TABLE \(table) DROP COLUMN \(column)",
      "ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE\(random.pick([0, 3, 7, 999, 100_000])) BLOB",
      "CREATE TRIGGER h1 AFTER INSERT ON \(table) BEGIN DELETE FROM \(table); END",
      "CREATE TRIGGER h2 BEFORE INSERT ON \(table) BEGIN SELECT RAISE(IGNORE); END",
      "CREATE UNIQUE INDEX h3 ON \(table) (Z_ENT)",
      "CREATE TABLE again AS SELECT * FROM \(table); DROP TABLE \(table); ALTER TABLE again RENAME TO \(table)",
    ]
  }

  /// Damages the bytes of a value: the updated columns, the values of a deleted object, a query generation.
  private static func damageValue(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    let (table, column) = random.pick([
      ("ACHANGE", "ZCOLUMNS"), ("ACHANGE", "ZTOMBSTONE0"), ("ACHANGE", "ZTOMBSTONE1"), ("ACHANGE", "ZTOMBSTONE2"),
      ("ATRANSACTION", "ZQUERYGEN"),
    ])
    guard try !store.texts("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '\(table)'").isEmpty else {
      return ["no \(table)"]
    }
    let keys = try store.texts("SELECT Z_PK FROM \(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK")
    guard !keys.isEmpty else { return ["no \(column)"] }
    let key = random.pick(keys)
    let old = try store.blob("SELECT \(column) FROM \(table) WHERE Z_PK = \(key)") ?? Data()
    let new: Data
    switch random.below(6) {
    case 0: new = PropertyListMutation.hostile(&random)
    case 1: new = Data(repeating: 0xFF, count: random.pick([1, 9, 70_000]))
    case 2: new = PropertyListMutation.damage(old, &random)
    default: new = ByteMutation.damage(old.isEmpty ? Data([1, 2]) : old, &random)
    }
    try store.run("UPDATE \(table) SET \(column) = ?1 WHERE Z_PK = \(key)", blob: new)
    return ["\(table).\(column) of \(key), \(new.count) bytes"]
  }
}
