// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation

/// What the instances of a deployment have reported, compared with the tables of the migrated store.
struct RollingLedger {
  let change: RollingChange
  /// The number of rows before the deployment.
  let rows: Int

  private struct Written {
    let version: String
    let start, end: Int
  }

  /// A thread's longest time without a success, and the longest call.
  private struct Stall {
    var gap = 0
    var call = 0
    var count = 0
  }

  private var written: [String: Written] = [:]
  private var unwritten: Set<String> = []
  private var stalls: [String: Stall] = [:]
  private var told: [String: (count: Int, text: String)] = [:]
  private var migrationEnd = Int.max
  private var migrationTime = 0
  private var reopened = 0
  private var wrong = 0
  private var lost = 0
  private var doubled = 0
  private var examples: [String] = []

  init(change: RollingChange, rows: Int) { (self.change, self.rows) = (change, rows) }

  var isRight: Bool { wrong + lost + doubled == 0 && reopened == 4 && migrationEnd < Int.max }

  mutating func add(_ lines: [[Substring]], isMigrating: Bool) {
    for words in lines {
      switch words[0] {
      case "opened" where isMigrating: (migrationEnd, migrationTime) = (Int(words[1]) ?? 0, Int(words[2]) ?? 0)
      case "wrote":
        written[String(words[1])] = Written(
          version: String(words[2]), start: Int(words[3]) ?? 0, end: Int(words[4]) ?? 0)
      case "unwritten": unwritten.insert(String(words[1]))
      case "refused":
        let kind = "\(words[2]) with \(words[4]): \(words[3])"
        told[kind] = ((told[kind]?.count ?? 0) + 1, told[kind]?.text ?? String(words[7]))
      case "misread": report(\.wrong, "misread by \(words[1]): \(words[2]) rows, \(words[3])")
      case "reopened": reopened += 1
      case "longest":
        var stall = stalls[String(words[1])] ?? Stall()
        // The one that migrates has nothing to read before.
        if !isMigrating {
          stall.call = max(stall.call, Int(words[2]) ?? 0)
          stall.gap = max(stall.gap, Int(words[3]) ?? 0)
        }
        stall.count += Int(words[5]) ?? 0
        stalls[String(words[1])] = stall
      default: break
      }
    }
  }

  private mutating func report(_ kind: WritableKeyPath<RollingLedger, Int>, _ text: String) {
    self[keyPath: kind] += 1
    if examples.count < 20 { examples.append(text) }
  }

  mutating func compare(with connection: PostgreSQLConnection) throws {
    let note = change.noteKey.map { "z\($0)" } ?? "NULL::text"
    let hasExtra = change == .addedOptional || change == .addedRequired
    let extra = hasExtra ? "zextra" : "NULL::bigint"
    let rest = "zname, zcount::bigint, \(note), \(extra)"
    try compareLive(try connection.query("SELECT \(rest) FROM zitem WHERE znumber = -1"), hasExtra: hasExtra)
    try compareCursors(
      try connection.query("SELECT zname, zcount::bigint FROM zitem WHERE znumber = -2"))
    let expectedNote = change == .removed ? "TRUE" : "\(note) = 'n' || znumber"
    let expectedExtra = change == .addedRequired ? "zextra = 7" : change == .addedOptional ? "zextra IS NULL" : "TRUE"
    let old = try connection.query(
      "SELECT count(*), count(*) FILTER (WHERE zname = 'row' || znumber AND zcount = znumber AND \(expectedNote) "
        + "AND \(expectedExtra)), count(DISTINCT z_ent) FROM zitem WHERE znumber >= 0")
    if old.int64(0, 0) != Int64(rows) { report(\.lost, "\(old.int64(0, 0)) of \(rows) rows") }
    if old.int64(0, 1) != Int64(rows) { report(\.wrong, "only \(old.int64(0, 1)) of \(rows) rows are right") }
    let entities = try connection.query(
      "SELECT count(*) FROM zitem WHERE z_ent <> (SELECT z_ent FROM z_primarykey WHERE z_name = 'Item')")
    if entities.int64(0, 0) > 0 { report(\.wrong, "\(entities.int64(0, 0)) rows have the number of another entity") }
    if change == .newEntity {
      let parts = try connection.query(
        "SELECT count(*) FROM zpart p LEFT JOIN zitem i ON i.z_pk = p.zitem WHERE i.zname IS DISTINCT FROM p.ztitle")
      if parts.int64(0, 0) > 0 { report(\.wrong, "\(parts.int64(0, 0)) parts lead elsewhere") }
    }
  }

  private mutating func compareLive(_ found: PostgreSQLRows, hasExtra: Bool) throws {
    var keys: Set<String> = []
    for row in 0..<found.count {
      let key = found.string(row, 0)
      if !keys.insert(key).inserted { report(\.doubled, key) }
      guard let written = written[key] else {
        report(\.wrong, "\(key) is in the store, and was \(unwritten.contains(key) ? "refused" : "not reported")")
        continue
      }
      let number = key.split(separator: "-").last.flatMap { Int64($0) }
      let isOld = written.version == "first"
      let expectedExtra: Int64? = hasExtra ? isOld ? change == .addedRequired ? 7 : nil : 8 : nil
      let extra = found.isNull(row, 3) ? nil : found.int64(row, 3)
      let hasNote = change == .removed || !found.isNull(row, 2) && found.string(row, 2) == "old-\(key)"
      if found.int64(row, 1) != number || !hasNote || extra != expectedExtra {
        report(\.wrong, "\(key), written with '\(written.version)', has other values")
      }
    }
    for (key, written) in written {
      if !keys.contains(key) { report(\.lost, key) }
      if written.version == "first", written.start > migrationEnd {
        report(\.wrong, "\(key) was written with the old model after the migration")
      }
    }
  }

  /// The item of each instance that counts has the number of its last item.
  private mutating func compareCursors(_ found: PostgreSQLRows) throws {
    var last: [String: Int64] = [:]
    for key in written.keys {
      let parts = key.split(separator: "-")
      guard parts.count == 2, let number = Int64(parts[1]) else { continue }
      last[String(parts[0])] = max(last[String(parts[0])] ?? 0, number)
    }
    for row in 0..<found.count {
      let name = String(found.string(row, 0).dropFirst("cursor-".count))
      if found.int64(row, 1) != last.removeValue(forKey: name) { report(\.wrong, "the count of \(name)") }
    }
    for name in last.keys { report(\.lost, "the count of \(name)") }
  }

  func print() {
    let oldWrites = written.values.filter { $0.version == "first" }.count
    let (reader, writer) = (stalls["reader"] ?? Stall(), stalls["writer"] ?? Stall())
    say(
      "rolling, \(change.rawValue), \(rows) rows: migrated in \(migrationTime) ms; \(oldWrites) saves with the old "
        + "model, \(written.count - oldWrites) with the new one, \(reader.count) reads; longest time without a read "
        + "\(reader.gap) ms (call \(reader.call) ms), without a save \(writer.gap) ms (call \(writer.call) ms); "
        + "\(reopened) instances reopened")
    for (kind, answer) in told.sorted(by: { $0.key < $1.key }) {
      say("  \(answer.count) times \(kind) \(answer.text.prefix(500))")
    }
    for example in examples { say("  WRONG: \(example)") }
    say("rolling, \(change.rawValue): \(wrong) written wrongly, \(lost) lost, \(doubled) doubled")
  }
}
