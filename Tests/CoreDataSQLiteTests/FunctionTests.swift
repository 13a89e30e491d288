// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation
import Testing

@Suite("Functions, collations and hooks")
struct FunctionTests {
  struct Odd: Error, CustomStringConvertible {
    var description: String { "the number is odd" }
  }

  let connection: SQLiteConnection

  init() throws {
    connection = try SQLiteConnection.inMemory()
  }

  @Test("A function gets its arguments and gives every kind of value back", arguments: StatementTests.values)
  func echo(value: SQLiteValue) throws {
    var received: [SQLiteValue] = []
    try connection.register(function: "echo", argumentCount: 2) { arguments in
      received = arguments
      return arguments[1]
    }
    #expect(try connection.scalar("SELECT echo(5, ?1)", [value]) == value)
    #expect(received == [5, value])
  }

  @Test("A function without a fixed count takes any number of arguments")
  func variadic() throws {
    try connection.register(function: "counted") { .integer(Int64($0.count)) }
    #expect(try connection.scalar("SELECT counted()") == 0)
    #expect(try connection.scalar("SELECT counted(1, 2, 3)") == 3)
  }

  @Test("A wrong number of arguments is an error of SQL")
  func wrongCount() throws {
    try connection.register(function: "one", argumentCount: 1) { $0[0] }
    let error = sqliteError { _ = try connection.scalar("SELECT one(1, 2)") }
    #expect(error?.message == "wrong number of arguments to function one()")
  }

  @Test("An error of a function ends the statement with its description")
  func failing() throws {
    try connection.register(function: "half", argumentCount: 1) { arguments in
      guard let number = arguments[0].integer, number % 2 == 0 else { throw Odd() }
      return .integer(number / 2)
    }
    #expect(try connection.scalar("SELECT half(8)") == 4)
    let error = sqliteError { _ = try connection.scalar("SELECT half(7)") }
    #expect(error?.message == "the number is odd")
    #expect(error?.code == 1)
  }

  @Test("An SQLite error of a function keeps its code")
  func failingWithCode() throws {
    try connection.register(function: "fill", argumentCount: 0) { _ in
      throw SQLiteError(extendedCode: 13, message: "no room", sql: nil, path: "x")
    }
    #expect(sqliteError { _ = try connection.scalar("SELECT fill()") }?.isFull == true)
  }

  @Test("A deterministic function of constants is called once, another one for every row")
  func deterministic() throws {
    try connection.execute("CREATE TABLE T (a); INSERT INTO T VALUES ('A'), ('b')")
    var calls: [String: Int] = [:]
    for (name, isDeterministic) in [("loose", false), ("strict", true)] {
      try connection.register(function: name, argumentCount: 1, deterministic: isDeterministic) { arguments in
        calls[name, default: 0] += 1
        return arguments[0]
      }
      #expect(try connection.rows("SELECT a FROM T WHERE \(name)(1) = 1").count == 2)
    }
    #expect(calls == ["loose": 2, "strict": 1])
  }

  @Test("A function is released when it is replaced, taken away, or its connection closed")
  func release() throws {
    final class Witness {}
    func register(_ connection: SQLiteConnection) throws -> () -> Bool {
      let witness = Witness()
      try connection.register(function: "held", argumentCount: 0) { _ in withExtendedLifetime(witness) { .null } }
      return { [weak witness] in witness == nil }
    }
    let replaced = try register(connection)
    #expect(!replaced())
    let unregistered = try register(connection)
    #expect(replaced())
    try connection.unregister(function: "held", argumentCount: 0)
    #expect(unregistered())
    #expect(sqliteError { _ = try connection.scalar("SELECT held()") }?.message == "no such function: held")
    let closed = try register(connection)
    try connection.close()
    #expect(closed())
  }

  @Test("A collation orders and compares")
  func collation() throws {
    try connection.register(collation: "BY_LENGTH") { first, second in
      first.count < second.count ? .orderedAscending : first.count == second.count ? .orderedSame : .orderedDescending
    }
    try connection.execute("CREATE TABLE T (a); INSERT INTO T VALUES ('ccc'), ('ää'), ('b'), ('')")
    let rows = try connection.rows("SELECT a FROM T ORDER BY a COLLATE BY_LENGTH")
    #expect(rows.map { $0[0] } == ["", "b", "ää", "ccc"])
    #expect(try connection.scalar("SELECT a FROM T WHERE a = 'xy' COLLATE BY_LENGTH") == "ää")
  }

  static let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"

  @Test("A progress handler ends a statement, and the connection goes on")
  func progress() throws {
    var questions = 0
    connection.setProgressHandler(every: 100) {
      questions += 1
      return questions < 5
    }
    let error = sqliteError { _ = try connection.scalar(Self.endless) }
    #expect(error?.isInterrupted == true)
    #expect(questions == 5)
    connection.setProgressHandler(nil)
    let counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) SELECT COUNT(*) FROM n"
    #expect(try connection.scalar(counted) == 10000)
    #expect(questions == 5)
  }

  @Test("Interrupting from another thread ends a statement")
  func interrupt() throws {
    let connection = connection
    let thread = Thread {
      // An interruption before the statement has begun has no effect, so that it is repeated until it had one.
      while !Thread.current.isCancelled {
        connection.interrupt()
        Thread.sleep(forTimeInterval: 0.005)
      }
    }
    thread.start()
    #expect(sqliteError { _ = try connection.scalar(Self.endless) }?.isInterrupted == true)
    thread.cancel()
  }

  @Test("A trace sees every statement that runs, once each time")
  func trace() throws {
    try connection.execute("CREATE TABLE T (a); CREATE TABLE U (a)")
    var seen: [String] = []
    connection.setTrace { seen.append($0) }
    try connection.run("INSERT INTO T VALUES (?1)", [1])
    try connection.transaction { try connection.run("INSERT INTO T VALUES (?1)", [2]) }
    connection.setTrace(nil)
    try connection.run("DELETE FROM T")
    #expect(
      seen == [
        "INSERT INTO T VALUES (?1)", "BEGIN IMMEDIATE", "INSERT INTO T VALUES (?1)", "COMMIT",
      ])
  }

  @Test("An expanded trace shows the bound values")
  func expandedTrace() throws {
    var seen: [String] = []
    connection.setTrace(expanded: true) { seen.append($0) }
    _ = try connection.scalar("SELECT ?1, ?2", ["O'Hara", 3])
    #expect(seen == ["SELECT 'O''Hara', 3"])
  }
}
