// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation

/// What instances have reported of their saves, compared with the tables.
struct Ledger {
  /// Codes that no save here may end with: conflicts, since nobody else changes the rows, and violated constraints.
  private static let wrongCodes: Set<String> = ["133020", "133021", "1550", "1551", "1560", "1570"]

  private(set) var saved: Set<String> = []
  private(set) var failed: [String: String] = [:]
  private(set) var unknown: Set<String> = []
  private(set) var errors: [String: (count: Int, text: String)] = [:]
  private(set) var failures = 0
  private(set) var longestSave = 0
  private(set) var refusedOpenings = 0
  private(set) var notifications: [(tenant: String, count: Int, seen: Int)] = []
  /// The number of saves of each instance.
  private(set) var savesOfInstances: [Int] = []

  // What is wrong.
  private(set) var lost = 0
  private(set) var doubled = 0
  private(set) var wronglyReported = 0
  private(set) var misplaced = 0
  private(set) var examples: [String] = []

  var isRight: Bool { lost + doubled + wronglyReported + misplaced == 0 }

  /// Adds the lines of an instance.
  mutating func add(_ lines: [[Substring]]) {
    var ownSaves = 0
    for words in lines where words.count > 1 {
      let key = String(words[1])
      switch words[0] {
      case "saved":
        saved.insert(key)
        ownSaves += 1
        longestSave = max(longestSave, Int(words[2]) ?? 0)
      case "failed": failed[key] = String(words[2])
      case "unknown": unknown.insert(key)
      case "error":
        failures += 1
        note(String(words[2]), String(words[3]))
        if Self.wrongCodes.contains(String(words[2])) { report(\.wronglyReported, "\(key): \(words[2]) \(words[3])") }
      case "missing": report(\.lost, "\(key): a read has found \(words[2]) entries")
      case "not opened":
        refusedOpenings += 1
        note("opening: \(words[1])", String(words[2]))
      case "notified":
        if let count = Int(words[2]), let seen = Int(words[3]) { notifications.append((key, count, seen)) }
      default: break
      }
    }
    savesOfInstances.append(ownSaves)
  }

  private mutating func note(_ code: String, _ text: String) {
    errors[code] = ((errors[code]?.count ?? 0) + 1, errors[code]?.text ?? text)
  }

  private mutating func report(_ kind: WritableKeyPath<Ledger, Int>, _ text: String) {
    self[keyPath: kind] += 1
    if examples.count < 20 { examples.append(text) }
  }

  /// Compares the reports about one tenant with its tables.
  mutating func compare(tenant: String, with url: URL) throws {
    let connection = try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "ServerFaults")
    defer { connection.close() }
    let rows = try connection.query(
      "SELECT zkey, count(*), min(ztenant), max(ztenant), count(DISTINCT zpart) FROM zentry GROUP BY zkey")
    var found: [String: Int] = [:]
    var savesOfThreads: [String: Int64] = [:]
    for row in 0..<rows.count {
      let key = rows.string(row, 0)
      let count = Int(rows.int64(row, 1))
      found[key] = count
      savesOfThreads[Self.thread(of: key), default: 0] += 1
      if rows.string(row, 2) != tenant || rows.string(row, 3) != tenant || !key.hasPrefix("\(tenant)-") {
        report(\.misplaced, "\(key) is in the schema of \(tenant)")
      }
      if count > LedgerModel.entries || rows.int64(row, 4) < count { report(\.doubled, "\(key): \(count) rows") }
      if count < LedgerModel.entries { report(\.lost, "\(key): \(count) rows, a part of a save") }
      if let code = failed[key] { report(\.wronglyReported, "\(key): failed with \(code), and is in the store") }
      if failed[key] == nil, !saved.contains(key), !unknown.contains(key) {
        report(\.wronglyReported, "\(key): in the store, and not reported")
      }
    }
    for key in saved where key.hasPrefix("\(tenant)-") && found[key] == nil { report(\.lost, "\(key): saved") }
    let counters = try connection.query("SELECT zname, sum(zvalue)::bigint FROM zcounter GROUP BY zname")
    var values: [String: Int64] = [:]
    for row in 0..<counters.count { values[counters.string(row, 0)] = counters.int64(row, 1) }
    for (thread, count) in savesOfThreads where values[thread] != count {
      let kind = (values[thread] ?? 0) < count ? \Ledger.lost : \Ledger.doubled
      report(kind, "the counter of \(thread) is \(values[thread] ?? 0) after \(count) saves")
    }
  }

  /// The name of the thread that has made a save.
  private static func thread(of key: String) -> String {
    key.split(separator: "-").dropLast().joined(separator: "-")
  }

  /// Prints the figures, and what is wrong.
  func print(_ title: String) {
    var parts = ["\(saved.count) saves"]
    if failures > 0 { parts.append("\(failures) failed attempts") }
    if !failed.isEmpty { parts.append("\(failed.count) saves given up") }
    if !unknown.isEmpty { parts.append("\(unknown.count) with an unknown outcome given up") }
    if refusedOpenings > 0 { parts.append("\(refusedOpenings) refused openings") }
    parts.append("longest save \(longestSave) ms")
    say("\(title): \(parts.joined(separator: ", "))")
    for (code, error) in errors.sorted(by: { $0.key < $1.key }) {
      say("  \(error.count) times \(code), such as: \(error.text.prefix(400))")
    }
    for example in examples { say("  WRONG: \(example.prefix(600))") }
    let place = misplaced > 0 ? "\(misplaced) in the wrong place, " : ""
    say("\(title): \(place)\(lost) lost, \(doubled) doubled, \(wronglyReported) reported wrongly")
  }
}
