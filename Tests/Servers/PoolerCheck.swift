// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation
import PostgreSQLTestServer

/// Four instances save to the stores of two tenants through PgBouncer, which lends its connections to all of them.
struct PoolerCheck {
  private static let instances = 4

  private let saves: Int
  private let server: TestServer

  init(_ options: Options) throws {
    guard TestPooler.isAvailable else { throw Options.Mistake("There is no PgBouncer, or no PostgreSQL server.") }
    saves = try options.count("saves", default: 10_000)
    server = try TestServer()
  }

  func run() throws -> Bool {
    var isRight = true
    for (mode, listens) in [(TestPooler.Mode.session, false), (.transaction, false), (.transaction, true)] {
      if try !run(mode, listensDirectly: listens) { isRight = false }
    }
    return isRight
  }

  private func run(_ mode: TestPooler.Mode, listensDirectly: Bool) throws -> Bool {
    let output = try OutputDirectory()
    // In transaction pooling there are fewer connections than threads.
    let pooler = try TestPooler(mode, before: server, size: mode == .session ? 100 : 5)
    let direct = [server.schemaURL(), server.schemaURL()]
    for url in direct {
      let coordinator = try LedgerModel.open(url, [:])
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    let start = Date()
    let instances = try (0..<Self.instances).map { number in
      var arguments = [
        // Each has a thread for each tenant.
        "save", "--name", "i\(number)", "--threads", "1", "--saves", "\(saves / (Self.instances * 2))", "--url",
        pooler.url(direct[0]).absoluteString, "--url2", pooler.url(direct[1]).absoluteString, "--timeout", "60",
        "--notified", "yes",
      ]
      if listensDirectly {
        arguments += ["--listen", direct[0].absoluteString, "--listen2", direct[1].absoluteString]
      }
      return try Instance(arguments, output: output.file("\(number)"))
    }
    var ledger = Ledger()
    for instance in instances { ledger.add(try instance.finish()) }
    let seconds = Date().timeIntervalSince(start)
    let title =
      "pooler, \(mode.rawValue) pooling, notified \(listensDirectly ? "by NOTIFY" : "by looking")"
    var unseen = 0
    for (tenant, url) in direct.enumerated() {
      try ledger.compare(tenant: "t\(tenant)", with: url)
      let entries = ledger.saved.filter { $0.hasPrefix("t\(tenant)-") }.count * LedgerModel.entries
      unseen += ledger.notifications.filter { $0.tenant == "t\(tenant)" && $0.seen != entries }.count
    }
    ledger.print(title)
    let counts = ledger.notifications.map { "\($0.count)" }.joined(separator: ", ")
    say(
      "\(title): \(ledger.misplaced) in the wrong place; notifications of each store: \(counts); "
        + "\(unseen) stores whose last one came before the last save; \(Int(seconds)) s")
    let expected = Self.instances * 2
    let isComplete =
      ledger.notifications.count == expected && unseen == 0 && ledger.notifications.allSatisfy { $0.count > 0 }
    return ledger.isRight && ledger.failed.isEmpty && isComplete
      && ledger.saved.count == saves / expected * expected
  }
}
