// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation
import PostgreSQLTestServer

/// Two instances of two threads save while the primary server dies and its synchronous standby takes its place; then every
/// save is looked for in the new primary. This is repeated with new servers.
struct FailoverCheck {
  /// The seconds of a round.
  private static let roundLength = 20.0

  private let seconds: Double

  init(_ options: Options) throws { seconds = try options.number("minutes", default: 10) * 60 }

  func run() throws -> Bool {
    let end = Date(timeIntervalSinceNow: seconds)
    var ledgers: [Ledger] = []
    while Date() < end {
      let ledger = try round(ledgers.count)
      ledgers.append(ledger)
      if !ledger.isRight { ledger.print("failover \(ledgers.count)") }
    }
    func sum(_ count: (Ledger) -> Int) -> Int { ledgers.map(count).reduce(0, +) }
    say(
      "\(ledgers.count) failovers: \(sum { $0.saved.count }) saves, \(sum { $0.failures }) failed attempts, "
        + "longest save \(ledgers.map(\.longestSave).max() ?? 0) ms")
    say(
      "failover, \(Int(seconds)) s: \(sum { $0.lost + $0.misplaced }) lost, \(sum { $0.doubled }) doubled, "
        + "\(sum { $0.wronglyReported }) reported wrongly")
    return ledgers.allSatisfy(\.isRight)
  }

  /// - Returns: what the instances have reported, compared with the tables of the new primary.
  private func round(_ number: Int) throws -> Ledger {
    let output = try OutputDirectory()
    let primary = try TestServer()
    let url = primary.schemaURL()
    let coordinator = try LedgerModel.open(url, [:])
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let standby = try TestServer(standbyOf: primary)
    try waitForCommits(primary)
    let schema = try PostgreSQLAddress(url).schema
    let both =
      "postgresql://tester@/postgres?host=\(primary.socketFolder),\(standby.socketFolder)&schema=\(schema)"
      + "&target_session_attrs=read-write"
    let instances = try (0..<2).map { instance in
      try Instance(
        ["save", "--name", "r\(number)i\(instance)", "--url", both, "--seconds", "\(Self.roundLength)"],
        output: output.file("\(instance)"))
    }
    Thread.sleep(forTimeInterval: .random(in: 5...10))
    try primary.stop(immediately: true)
    // Longer than a store asks for the outcome of a commit, at times.
    Thread.sleep(forTimeInterval: number % 4 == 3 ? 6 : .random(in: 0...2))
    try standby.promote()
    var ledger = Ledger()
    for instance in instances { ledger.add(try instance.finish()) }
    try ledger.compare(tenant: "t0", with: standby.url("schema=\(schema)"))
    return ledger
  }

  /// Has the primary acknowledge only what the standby has, and waits until the standby follows.
  private func waitForCommits(_ primary: TestServer) throws {
    let connection = try PostgreSQLConnection(PostgreSQLAddress(primary.url()), applicationName: "ServerFaults")
    defer { connection.close() }
    try connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    try connection.execute("SELECT pg_reload_conf()")
    for _ in 0..<600 {
      let count = try connection.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").int64(0, 0)
      if count > 0 { return }
      Thread.sleep(forTimeInterval: 0.1)
    }
    throw Options.Mistake("The standby does not follow the primary.")
  }
}
