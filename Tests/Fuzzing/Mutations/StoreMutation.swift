// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage to stores.
enum StoreMutation {
  static let extremes = [
    "NULL", "0", "1", "-1", "2", "3", "32767", "32768", "65536", "2147483647", "2147483648", "-2147483649",
    "4294967296",
    "9007199254740993", "4611686018427387904", "9223372036854775806", "9223372036854775807", "-9223372036854775808",
    "0.5", "-0.0", "1e308", "9e999", "-9e999", "1e19", "''", "'x'", "'12abc'", "'9223372036854775808'", "x''", "x'00'",
    "x'FFFFFFFF'", "x'0102030405060708090A0B0C0D0E0F10'", "zeroblob(100)", "zeroblob(1000000)", "char(0,65,0)",
    "'../../etc'", "randomblob(37)",
  ]

  /// Damages pages: their headers, cell pointers, cells, the file's header and its free list.
  static func pages(_ data: Data, _ random: inout FuzzRandom) -> Data {
    var bytes = [UInt8](data)
    guard bytes.count > 512 else { return ByteMutation.damage(data, &random) }
    let size = max(512, Int(bytes[16]) << 8 | Int(bytes[17]))
    for _ in 0..<random.small(5) {
      let page = random.below(bytes.count / size)
      let start = page * size
      switch random.below(8) {
      case 0: bytes[random.below(100)] = UInt8(random.below(256))
      case 1: bytes[start + (page == 0 ? 100 : 0) + random.below(12)] = UInt8(random.below(256))
      case 2: bytes[start + 8 + random.below(60)] ^= 1 << UInt8(random.below(8))
      case 3: freePage(&bytes, size, &random)
      case 4:
        let other = random.below(bytes.count / size) * size
        guard page > 0 else { continue }
        for index in 0..<size { bytes[start + index] = bytes[other + index] }
      case 5: bytes.removeSubrange((bytes.count - random.small(4) * size / 2)...)
      default: bytes[random.below(bytes.count)] = UInt8(random.below(256))
      }
      guard bytes.count > 2 * size else { break }
    }
    return Data(bytes)
  }

  /// Makes the free list name a page that is in use.
  private static func freePage(_ bytes: inout [UInt8], _ size: Int, _ random: inout FuzzRandom) {
    func write(_ number: Int, at place: Int) {
      for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: number >> (8 * (3 - index))) }
    }
    let count = bytes.count / size
    let live = 2 + random.below(count - 1)
    let trunk = bytes.count
    bytes += Array(repeating: 0, count: size)
    write(1, at: trunk + 4)
    write(live, at: trunk + 8)
    write(count + 1, at: 28)
    write(count + 1, at: 32)
    write(2, at: 36)
  }

  /// Writes extreme values to cells.
  static func cells(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    var notes: [String] = []
    let tables = try store.texts(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    for _ in 0..<random.small(3) {
      let table =
        random.oneIn(3) ? random.pick(["Z_PRIMARYKEY", "Z_METADATA"].filter(tables.contains)) : random.pick(tables)
      let columns = try store.rows("SELECT name FROM pragma_table_info('\(table)')").compactMap(\.first).compactMap {
        $0
      }
      guard !columns.isEmpty else { continue }
      let house = columns.filter { $0.hasPrefix("Z_") }
      let column = random.oneIn(2) && !house.isEmpty ? random.pick(house) : random.pick(columns)
      let count = Int(try store.texts("SELECT COUNT(*) FROM \"\(table)\"").first ?? "") ?? 0
      let place =
        random.oneIn(6) ? "" : " WHERE rowid IN (SELECT rowid FROM \"\(table)\" LIMIT 1 OFFSET \(random.below(count)))"
      let sql = "UPDATE OR IGNORE \"\(table)\" SET \"\(column)\" = \(random.pick(extremes))\(place)"
      notes.append(sql)
      do {
        try store.run(sql)
      } catch {
        notes.append("(\(error))")
      }
    }
    return notes
  }

  /// Changes the schema: triggers, views in place of tables, generated columns, indexes that call functions, other
  /// texts in `sqlite_schema`.
  static func schema(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    var notes: [String] = []
    for _ in 0..<random.small(3) {
      let tables = try store.objectTables()
      guard !tables.isEmpty else { return notes }
      let sql = random.pick(statements(random.pick(tables), random.pick(tables), &random))
      notes.append(sql)
      do {
        try store.run(sql)
      } catch {
        notes.append("(\(error))")
      }
    }
    return notes
  }

  private static func statements(_ table: String, _ other: String, _ random: inout FuzzRandom) -> [String] {
    let events = ["INSERT", "UPDATE", "DELETE"]
    return [
      "CREATE TRIGGER t1 AFTER \(random.pick(events)) ON \(table) BEGIN DELETE FROM \(other) WHERE Z_PK % 2; END",
      "CREATE TRIGGER t2 AFTER \(random.pick(events)) ON Z_METADATA BEGIN DELETE FROM \(other); END",
      "CREATE TRIGGER t3 AFTER \(random.pick(events)) ON Z_PRIMARYKEY BEGIN UPDATE \(other) SET Z_ENT = 99; END",
      "CREATE TRIGGER t4 BEFORE INSERT ON \(table) BEGIN SELECT RAISE(IGNORE); END",
      "ALTER TABLE \(table) RENAME TO old_t; CREATE VIEW \(table) AS SELECT * FROM old_t",
      "ALTER TABLE \(table) RENAME TO old_t; CREATE VIEW \(table) AS SELECT * FROM old_t WHERE Z_PK % 2",
      "ALTER TABLE \(table) RENAME TO old_t; CREATE VIEW \(table) AS WITH RECURSIVE c(x) AS "
        + "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT old_t.* FROM old_t, c",
      "ALTER TABLE Z_PRIMARYKEY RENAME TO old_p; CREATE VIEW Z_PRIMARYKEY AS WITH RECURSIVE c(x) AS "
        + "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT old_p.* FROM old_p, c",
      "DROP TABLE \(table)",
      "ALTER TABLE \(table) ADD COLUMN extra GENERATED ALWAYS AS (Z_PK || 'x') VIRTUAL",
      "CREATE UNIQUE INDEX u1 ON \(table) (Z_OPT)",
      "CREATE INDEX i1 ON \(table) (abs(Z_PK)) WHERE Z_PK > 1",
      "CREATE TABLE child (x REFERENCES \(table) (Z_PK) ON DELETE CASCADE); INSERT INTO child SELECT Z_PK FROM \(table)",
      "INSERT INTO Z_PRIMARYKEY SELECT * FROM Z_PRIMARYKEY LIMIT 1",
      "INSERT INTO Z_METADATA SELECT 2, Z_UUID, Z_PLIST FROM Z_METADATA",
      "DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = \(random.below(5) + 1)",
      "DELETE FROM Z_METADATA", "DELETE FROM Z_MODELCACHE",
      "PRAGMA user_version = 2147483647", "PRAGMA application_id = -1",
      "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES "
        + "('index', 'ix', '\(table)', 3, 'CREATE INDEX ix ON \(table) (Z_OPT COLLATE Unknown)')",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'TEXT') WHERE name = '\(table)'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = \(random.below(20)) WHERE name = '\(table)'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'Z_PK INTEGER PRIMARY KEY', "
        + "'Z_PK INTEGER') WHERE name = '\(table)'",
      "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = '\(table)'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE \(table) (Z_PK INTEGER PRIMARY KEY, "
        + "Z_ENT INTEGER, Z_OPT INTEGER, CHECK (Z_PK < 3))' WHERE name = '\(table)'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE \(table) USING fts5(a)' "
        + "WHERE name = '\(table)'",
    ]
  }

  /// Damages values in formats of their own: metadata, model cache, archives.
  static func archives(_ store: RawStore, _ random: inout FuzzRandom) throws -> [String] {
    let places: [(select: String, update: String, isDeflated: Bool)] = [
      ("SELECT Z_PLIST FROM Z_METADATA", "UPDATE Z_METADATA SET Z_PLIST = ?1", false),
      ("SELECT Z_CONTENT FROM Z_MODELCACHE", "UPDATE Z_MODELCACHE SET Z_CONTENT = ?1", true),
      (
        "SELECT ZTAGS FROM ZEMPLOYEE WHERE ZTAGS NOT NULL", "UPDATE ZEMPLOYEE SET ZTAGS = ?1", false
      ),
    ]
    let place = random.pick(places)
    let old: Data
    do {
      guard let found = try store.blob(place.select) else { return ["nothing at \(place.select)"] }
      old = found
    } catch {
      // The sample has no such table or column.
      return ["(\(error))"]
    }
    let new: Data
    switch random.below(12) {
    case 0: new = PropertyListMutation.hostile(&random)
    case 1: new = BundleRunner.nestedXML(&random)
    case 2: new = Data()
    default:
      new =
        place.isDeflated || random.oneIn(4)
        ? ByteMutation.damage(old, &random) : PropertyListMutation.damage(old, &random)
    }
    try store.run(place.update, blob: new)
    return ["\(place.update), \(new.count) bytes"]
  }
}
