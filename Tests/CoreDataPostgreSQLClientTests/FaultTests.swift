// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("Lost connections", .needsPostgreSQL)
struct FaultTests {
  /// What is known of a transaction after it.
  private enum Outcome: Hashable { case committed, failed, unknown }

  /// Writes three rows in one transaction, in each of the ways that a connection has.
  private func write(_ connection: PostgreSQLConnection, _ number: Int) -> (Outcome, (any Error)?) {
    do {
      try connection.transaction {
        let key = PostgreSQLValue.integer(Int64(number))
        try connection.run("INSERT INTO t VALUES ($1, 'query')", [key])
        try connection.pipeline { pipeline in
          try pipeline.send("INSERT INTO t VALUES ($1, 'pipeline')", [key]) { try #require($0.affected == 1) }
          try pipeline.send("SELECT count(*) FROM t")
        }
        try connection.copyIn("t", columns: ["n", "way"]) { writer in
          writer.beginRow(fieldCount: 2)
          writer.field(int64: Int64(number))
          #expect(writer.field(text: "copy"))
        }
      }
      return (.committed, nil)
    } catch let error as PostgreSQLError where error.isCommitUnknown {
      return (.unknown, error)
    } catch {
      return (.failed, error)
    }
  }

  @Test(
    "A transaction whose connection is cut at any message is committed or not, and never reported wrongly",
    arguments: [true, false])
  func everyMessage(fromClient: Bool) throws {
    let schema = try TestSchema()
    let observer = try schema.connect()
    try observer.execute("CREATE TABLE t (n bigint, way text)")
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    var found: [Outcome: Int] = [:]
    var (number, isCut) = (0, true)
    while isCut {
      let connection = try TestSchema.connect(proxy.url(schema.url))
      proxy.arm(fromClient ? .clientMessages(number) : .serverMessages(number))
      let (outcome, error) = write(connection, number)
      isCut = proxy.disarm()
      found[outcome, default: 0] += 1
      if let error {
        let lost = try #require(error as? PostgreSQLError, "message \(number): \(error)")
        #expect(lost.isConnectionLost && connection.isLost, "message \(number): \(lost)")
      }
      let rows = try settledRows(observer, connection, number)
      switch outcome {
      case .committed: #expect(rows == 3, "message \(number)")
      case .failed: #expect(rows == 0, "message \(number): \(error.map { "\($0)" } ?? "")")
      case .unknown: #expect(rows == 0 || rows == 3, "message \(number)")
      }
      number += 1
      try #require(number < 200)
    }
    // The last one was not cut. One that lost the answer to COMMIT could not know.
    #expect(found[.committed, default: 0] >= 1 && found[.failed, default: 0] > 5 && found[.unknown, default: 0] >= 1)
  }

  /// The number of rows of a transaction, once the server has noticed the end of its connection.
  private func settledRows(_ observer: PostgreSQLConnection, _ lost: PostgreSQLConnection, _ number: Int) throws
    -> Int64
  {
    let process = PostgreSQLValue.integer(Int64(lost.processID))
    lost.close()
    for _ in 0..<2_000 {
      if try observer.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1", [process]).count == 0 { break }
      Thread.sleep(forTimeInterval: 0.005)
    }
    return try observer.query("SELECT count(*) FROM t WHERE n = $1", [.integer(Int64(number))]).int64(0, 0)
  }

  @Test("The answer to COMMIT is lost: the error says so, and the rows are there")
  func lostCommit() throws {
    let schema = try TestSchema()
    let observer = try schema.connect()
    try observer.execute("CREATE TABLE t (n bigint)")
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    let connection = try TestSchema.connect(proxy.url(schema.url))
    try connection.begin()
    try connection.run("INSERT INTO t VALUES (1)")
    proxy.arm(.serverMessages(0))
    let error = try postgreSQLError { try connection.commit() }
    #expect(proxy.disarm() && error.isCommitUnknown && error.isConnectionLost)
    #expect(try observer.count("t") == .integer(1))
    // What was lost before the COMMIT is no question.
    let second = try TestSchema.connect(proxy.url(schema.url))
    try second.begin()
    try second.run("INSERT INTO t VALUES (2)")
    proxy.cutAll()
    let lost = try postgreSQLError { try second.run("INSERT INTO t VALUES (3)") }
    #expect(lost.isConnectionLost && !lost.isCommitUnknown)
    let refused = try postgreSQLError { try second.commit() }
    #expect(refused.isConnectionLost && !refused.isCommitUnknown)
    try second.rollback()
    #expect(try observer.count("t") == .integer(1))
  }

  @Test("A connection that is cut within a message is lost", arguments: [1, 7, 100, 5_000, 1_000_000])
  func bytes(_ count: Int) throws {
    let schema = try TestSchema()
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    let connection = try TestSchema.connect(proxy.url(schema.url))
    proxy.arm(.serverBytes(count))
    let error = try postgreSQLError { _ = try connection.query("SELECT repeat('x', 2000000)") }
    #expect(proxy.disarm() && error.isConnectionLost && connection.isLost)
    let again = try postgreSQLError { _ = try connection.query("SELECT 1") }
    #expect(again.isConnectionLost)
    let sending = try TestSchema.connect(proxy.url(schema.url))
    proxy.arm(.clientBytes(count))
    let text = String(repeating: "x", count: 2_000_000)
    let unsent = try postgreSQLError { _ = try sending.query("SELECT length($1)", [.text(text)]) }
    #expect(proxy.disarm() && unsent.isConnectionLost && sending.isLost)
  }

  @Test("A frozen network holds a statement up, and does not break it")
  func freeze() throws {
    let schema = try TestSchema()
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    let connection = try TestSchema.connect(proxy.url(schema.url))
    proxy.arm(.serverMessages(0), .freeze)
    let thread = Thread {
      Thread.sleep(forTimeInterval: 0.3)
      proxy.thaw()
    }
    let start = Date()
    thread.start()
    #expect(try connection.value("SELECT 7::int8") == .integer(7))
    #expect(proxy.disarm() && Date().timeIntervalSince(start) > 0.25)
  }

  @Test(
    "A server that restarts ends its connections; new ones work, and what was committed is there",
    arguments: [false, true])
  func restart(immediately: Bool) throws {
    let server = try TestServer()
    let schema = try TestSchema(server)
    let connection = try schema.connect()
    let listener = try schema.connect()
    try connection.execute("CREATE TABLE t (n bigint); INSERT INTO t VALUES (1)")
    try listener.listen("news")
    try connection.begin()
    try connection.run("INSERT INTO t VALUES (2)")
    try server.stop(immediately: immediately)
    let error = try postgreSQLError { try connection.run("INSERT INTO t VALUES (3)") }
    #expect(error.isConnectionLost && !error.isCommitUnknown && connection.isLost, "\(error)")
    let missed = try postgreSQLError { while true { _ = try listener.notifications(waitingUpTo: 5) } }
    #expect(missed.isConnectionLost)
    let refused = try postgreSQLError { _ = try schema.connect() }
    #expect(refused.isConnectionLost && refused.sqlState == nil)
    try server.start()
    #expect(try schema.connect().count("t") == .integer(1))
    try server.stop()
  }

  @Test("A transaction whose statement has failed is not reported as committed")
  func failedTransaction() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n bigint PRIMARY KEY)")
    try connection.begin()
    try connection.run("INSERT INTO t VALUES (1)")
    #expect(try postgreSQLError { try connection.run("INSERT INTO t VALUES (1)") }.isUniqueViolation)
    #expect(connection.transactionStatus == .failed)
    let error = try postgreSQLError { try connection.commit() }
    #expect(!error.isConnectionLost && !error.isCommitUnknown && connection.transactionStatus == .none)
    #expect(try connection.count("t") == .integer(0))
  }

  @Test("A deferred constraint fails at COMMIT, with its name")
  func deferred() throws {
    let connection = try TestSchema.connection(
      "CREATE TABLE t (n bigint CONSTRAINT only_once UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    let error = try postgreSQLError {
      try connection.transaction {
        try connection.run("INSERT INTO t VALUES (1), (1)")
        #expect(try connection.count("t") == .integer(2))
      }
    }
    #expect(error.isUniqueViolation && error.constraint == "only_once" && error.table == "t")
    #expect(error.detail == nil && error.hidesValues && connection.transactionStatus == .none)
    #expect(try connection.count("t") == .integer(0))
  }

  @Test("Messages about connections have no password")
  func passwords() throws {
    let folder = TestServer.shared.socketFolder
    for text in [
      "postgresql://tester:hidden-word@/nowhere?host=\(folder)", "postgresql://tester:hidden-word@/x?host=/nowhere",
      "postgresql://tester:hidden-word@/x?sslmode=hidden-word",
      "postgresql://tester@/x?password=hidden-word&bad=hidden-word",
    ] {
      let address = try PostgreSQLAddress(text)
      let error = try postgreSQLError { _ = try PostgreSQLConnection(address, applicationName: "tests") }
      #expect(!"\(error)".contains("hidden") && !error.message.isEmpty, "\(error)")
    }
  }

  @Test("A database with another encoding is refused")
  func encoding() throws {
    let observer = try TestSchema.connection()
    let name = "latin_\(UInt32.random(in: 0...UInt32.max))"
    try observer.execute("CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    let error = try postgreSQLError { _ = try TestSchema.connect(TestServer.shared.url(database: name)) }
    #expect(error.message.contains("LATIN1") && error.message.contains("UTF8"))
    try observer.execute("DROP DATABASE \(name)")
  }
}
