// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation
import PostgreSQLTestServer

/// Ten instances want more connections than the server has; each shall get to save.
struct FairnessCheck {
  private static let instances = 10
  /// How many times more saves than another one an instance may have.
  private static let factor = 3

  private let seconds: Double
  private let connections: Int
  private let server: TestServer
  private let url: URL

  init(_ options: Options) throws {
    seconds = try options.number("seconds", default: 60)
    connections = try options.count("connections", default: Self.instances + 1)
    server = try TestServer()
    url = server.url(user: "app", "schema=fair")
  }

  func run() throws -> Bool {
    let output = try OutputDirectory()
    let connection = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "ServerFaults")
    // The server answers as it does when `max_connections` is reached.
    try connection.execute("CREATE ROLE app LOGIN CONNECTION LIMIT \(connections)")
    try connection.execute("CREATE SCHEMA fair AUTHORIZATION app")
    let coordinator = try LedgerModel.open(url, [:])
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let end = Date(timeIntervalSinceNow: seconds)
    let instances = try (0..<Self.instances).map { number in
      try Instance(
        [
          "save", "--name", "i\(number)", "--threads", "4", "--seconds", "\(seconds)", "--url", url.absoluteString,
          "--timeout", "5", "--saves-per-read", "1",
        ], output: output.file("\(number)"))
    }
    var most: Int64 = 0
    while Date() < end {
      Thread.sleep(forTimeInterval: 0.5)
      let count = try connection.query("SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'").int64(0, 0)
      most = max(most, count)
    }
    var ledger = Ledger()
    for instance in instances { ledger.add(try instance.finish()) }
    try ledger.compare(tenant: "t0", with: url)
    ledger.print("fairness, \(connections) connections, \(Int(seconds)) s")
    let saves = ledger.savesOfInstances.sorted()
    say("saves of each instance: \(saves.map(String.init).joined(separator: ", ")); at most \(most) connections")
    let isFair = (saves.first ?? 0) * Self.factor >= saves.last ?? 0
    if !isFair { say("NOT FAIR: more than \(Self.factor) times as many as another one") }
    return ledger.isRight && isFair
  }
}
