// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation
import PostgreSQLTestServer

/// Two instances of two threads save while something goes wrong again and again; then every save is looked for.
struct FaultCheck {
  private let program: Options.Program
  private let seconds: Double
  private let server: TestServer
  private let url: URL

  init(_ options: Options) throws {
    program = options.program
    seconds = try options.number("minutes", default: 10) * 60
    server = try TestServer()
    url = server.schemaURL()
  }

  func run() throws -> Bool {
    let output = try OutputDirectory()
    let coordinator = try LedgerModel.open(url, [:])
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let proxy = program == .commits ? try CuttingProxy(server) : nil
    defer { proxy?.stop() }
    let instances = try (0..<2).map { number in
      try Instance(
        [
          "save", "--name", "i\(number)", "--url", (proxy?.url(url) ?? url).absoluteString, "--seconds", "\(seconds)",
          // Some of the cuts take longer than the store asks for an outcome.
          "--timeout", "3",
        ], output: output.file("\(number)"))
    }
    var faults: [String: Int] = [:]
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end, instances.allSatisfy(\.isRunning) {
      let fault: String? =
        switch program {
        case .commits: proxy.flatMap(cutCommit)
        case .restarts: try restart(faults.values.reduce(0, +))
        default: try endConnections()
        }
      if let fault { faults[fault, default: 0] += 1 }
    }
    proxy?.disarm()
    proxy?.refuse(0)
    proxy?.thaw()
    var ledger = Ledger()
    for instance in instances { ledger.add(try instance.finish()) }
    try ledger.compare(tenant: "t0", with: url)
    say(faults.sorted { $0.key < $1.key }.map { "\($0.value) times \($0.key)" }.joined(separator: ", "))
    ledger.print("\(program.rawValue), \(Int(seconds)) s")
    return ledger.isRight
  }

  /// Has the server end about half of its connections.
  private func endConnections() throws -> String? {
    Thread.sleep(forTimeInterval: .random(in: 0.05...0.4))
    let connection = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "ServerFaults")
    defer { connection.close() }
    let count = try connection.query(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        + "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < 0.5"
    ).int64(0, 0)
    return count > 0 ? "half of the connections ended" : nil
  }

  private func restart(_ number: Int) throws -> String? {
    Thread.sleep(forTimeInterval: .random(in: 1...4))
    let isImmediate = number % 2 == 1
    try server.stop(immediately: isImmediate)
    // Longer than a store asks for the outcome of a commit, at times.
    Thread.sleep(forTimeInterval: number % 5 == 4 ? 4 : .random(in: 0...1))
    try server.start()
    return isImmediate ? "an immediate stop" : "a restart"
  }

  /// Cuts the connection of the next commit.
  private func cutCommit(_ proxy: CuttingProxy) -> String? {
    Thread.sleep(forTimeInterval: .random(in: 0.02...0.2))
    let isSent = Bool.random()
    let fault: CuttingProxy.Fault = Int.random(in: 0..<3) == 0 ? .cutClient : .cut
    let isLong = Int.random(in: 0..<20) == 0
    proxy.arm(
      isSent ? .answerToCommit : .commit, fault, refusing: isLong ? 1_000_000 : Int.random(in: 0..<6))
    let limit = Date(timeIntervalSinceNow: 2)
    var isCut = false
    while !isCut, Date() < limit {
      Thread.sleep(forTimeInterval: 0.005)
      isCut = proxy.isTriggered
    }
    guard isCut else {
      proxy.disarm()
      return nil
    }
    if isLong {
      Thread.sleep(forTimeInterval: 5)
      proxy.refuse(0)
    }
    proxy.disarm()
    return (isSent ? "a commit carried out and not answered" : "a commit not passed on")
      + (isLong ? ", then no connection for 5 s" : "")
  }
}
