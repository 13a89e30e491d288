// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage to what connects rows: foreign keys, join tables, order keys, entity numbers, greatest keys and indexes.
enum RelationshipMutation {
  static func damage(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    var notes: [String] = []
    for _ in 0..<random.small(5) {
      let sql = try statement(store, &random)
      notes.append(sql)
      do {
        try store.run(sql)
      } catch {
        notes.append("(\(error))")
      }
    }
    return notes
  }

  private static func statement(_ store: RawStore, _ random: inout FuzzRandom) throws -> String {
    let tables = try store.objectTables()
    let joins = try store.texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'Z_[0-9]*'").sorted()
    let indexes = try store.texts("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL ORDER BY name")
    guard !tables.isEmpty else { return "SELECT 1" }
    let table = random.pick(tables)
    let key = random.pick([
      "1", "2", "3", "5", "12", "99", "0", "-1", "NULL", "Z_PK", "Z_PK + 1", "7 - Z_PK", "'x'", "1.5",
    ])
    switch random.below(12) {
    case 0, 1, 2:
      let columns = try columns(of: table, store)
      guard !columns.isEmpty else { return "SELECT 1" }
      return "UPDATE OR IGNORE \(table) SET \(random.pick(columns)) = \(key)\(condition(&random))"
    case 3: return "UPDATE \(table) SET Z_ENT = \(random.pick(["1", "2", "3", "4", "99", "NULL"]))\(condition(&random))"
    case 4:
      let greatest = random.pick(["0", "1", "NULL", "1000", "9223372036854775807", "'x'"])
      return "UPDATE Z_PRIMARYKEY SET Z_MAX = \(greatest)\(random.oneIn(2) ? "" : " WHERE Z_ENT = 1")"
    case 5: return "DELETE FROM \(table)\(condition(&random))"
    case 6, 7:
      guard !joins.isEmpty else { return "SELECT 1" }
      let join = random.pick(joins)
      let columns = try columns(of: join, store)
      if random.oneIn(2), columns.count > 1 {
        let values = columns.map { _ in random.pick(["1", "2", "5", "99", "-3", "NULL"]) }.joined(separator: ", ")
        return "INSERT OR IGNORE INTO \(join) (\(columns.joined(separator: ", "))) VALUES (\(values))"
      }
      let value = random.pick(["1", "4", "98", "NULL", "2048", "0", "'a'"])
      return "UPDATE OR IGNORE \(join) SET \(random.pick(columns)) = \(value) WHERE rowid % \(random.small(4)) = 0"
    case 8:
      return random.pick([
        "UPDATE Z_METADATA SET Z_PLIST = NULL", "UPDATE Z_METADATA SET Z_PLIST = x'00'", "DELETE FROM Z_MODELCACHE",
        "UPDATE Z_MODELCACHE SET Z_CONTENT = x'0102'",
      ])
    case 9: return indexes.isEmpty ? "SELECT 1" : "DROP INDEX \"\(random.pick(indexes))\""
    default:
      guard !indexes.isEmpty else { return "SELECT 1" }
      return try stale(random.pick(indexes), store, &random)
    }
  }

  private static func columns(of table: String, _ store: RawStore) throws -> [String] {
    try store.texts("SELECT name FROM pragma_table_info('\(table)') WHERE name NOT IN ('Z_PK', 'Z_ENT', 'Z_OPT')")
  }

  private static func condition(_ random: inout FuzzRandom) -> String {
    random.pick(["", " WHERE Z_PK = 1", " WHERE Z_PK % 2 = 0", " WHERE Z_PK > 2", " WHERE Z_PK IN (2, 3)"])
  }

  /// Returns statements that change rows behind the back of an index.
  private static func stale(_ index: String, _ store: RawStore, _ random: inout FuzzRandom) throws -> String {
    let table = try store.texts("SELECT tbl_name FROM sqlite_schema WHERE name = '\(index)'").first ?? ""
    let columns = try store.texts("SELECT name FROM pragma_index_info('\(index)')").filter { !$0.isEmpty }
    guard let column = columns.first else { return "SELECT 1" }
    let change = random.pick([
      "UPDATE \(table) SET \"\(column)\" = 2", "UPDATE \(table) SET \"\(column)\" = NULL WHERE rowid % 2",
      "DELETE FROM \(table) WHERE rowid = 2", "UPDATE \(table) SET \"\(column)\" = \"\(column)\" || '1'",
    ])
    return
      "PRAGMA writable_schema = ON; CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = '\(index)'; "
      + "DELETE FROM sqlite_schema WHERE name = '\(index)'; PRAGMA writable_schema = RESET; \(change); "
      + "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept; PRAGMA writable_schema = RESET; "
      + "DROP TABLE temp.kept"
  }
}
