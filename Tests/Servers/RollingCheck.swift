// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import CoreDataPostgreSQLClient
import Foundation
import PostgreSQLTestServer

/// Four old instances read and write while a fifth one opens the store with a new version of the model, and migrates it.
struct RollingCheck {
  private static let instances = 5
  /// The number of saves of each instance before the migration, and after it.
  private static let saves = 20
  /// The seconds after which no further ones are awaited.
  private static let patience = 1_200.0

  private let rows: Int
  private let changes: [RollingChange]
  private let server: TestServer
  private let admin: PostgreSQLConnection

  init(_ options: Options) throws {
    rows = try options.count("rows", default: 1_000_000)
    if let name = options.text("change") {
      guard let change = RollingChange(rawValue: name) else {
        throw Options.Mistake("--change needs one of \(RollingChange.allCases.map(\.rawValue))")
      }
      changes = [change]
    } else {
      changes = RollingChange.allCases
    }
    server = try TestServer()
    admin = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "ServerFaults")
  }

  private func url(_ database: String) -> URL { server.url(database: database, "schema=rolling") }

  func run() throws -> Bool {
    try fill()
    var isRight = true
    for change in changes where try !run(change) { isRight = false }
    return isRight
  }

  /// Creates the database that the others are copies of.
  private func fill() throws {
    try admin.execute("CREATE DATABASE filled")
    let coordinator = try RollingChange.open(url("filled"), nil)
    let context = coordinator.context()
    var number = 0
    let request = NSBatchInsertRequest(entityName: "Item") { values in
      guard number < rows else { return true }
      values.addEntries(from: ["name": "row\(number)", "number": number, "count": number, "note": "n\(number)"])
      number += 1
      return false
    }
    _ = try context.performAndWait { try context.execute(request) }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let connection = try PostgreSQLConnection(PostgreSQLAddress(url("filled")), applicationName: "ServerFaults")
    try connection.execute("ANALYZE")
    connection.close()
  }

  private func run(_ change: RollingChange) throws -> Bool {
    let output = try OutputDirectory()
    let database = "r_\(change.rawValue.lowercased())"
    try admin.execute("CREATE DATABASE \(database) TEMPLATE filled")
    let url = url(database)
    let stop = output.file("stop")
    func instance(_ number: Int, _ more: [String] = []) throws -> Instance {
      try Instance(
        [
          "serve", "--name", "i\(number)", "--url", url.absoluteString, "--change", change.rawValue, "--stop",
          stop.path,
        ] + more, output: output.file("\(number)"))
    }
    var instances = try (1..<Self.instances).map { try instance($0) }
    try wait(for: instances, toWriteWith: "first")
    instances.append(try instance(0, ["--migrates", "yes"]))
    try wait(for: instances, toWriteWith: change.rawValue)
    try Data().write(to: stop)
    var ledger = RollingLedger(change: change, rows: rows)
    for (number, instance) in instances.enumerated() {
      ledger.add(try instance.finish(), isMigrating: number == instances.count - 1)
    }
    let connection = try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "ServerFaults")
    try ledger.compare(with: connection)
    connection.close()
    ledger.print()
    try admin.execute("DROP DATABASE \(database)")
    return ledger.isRight
  }

  /// Waits until each instance has saved with a version of the model, or has ended.
  private func wait(for instances: [Instance], toWriteWith version: String) throws {
    let end = Date(timeIntervalSinceNow: Self.patience)
    var left = instances
    while !left.isEmpty, Date() < end {
      Thread.sleep(forTimeInterval: 0.2)
      left = try left.filter { instance in
        let count = try instance.lines().filter { $0[0] == "wrote" && $0[2] == version }.count
        return instance.isRunning && count < Self.saves
      }
    }
  }
}
