// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Transactions")
struct TransactionTests {
  struct Stop: Error {}

  let directory: TemporaryDirectory

  private func open(_ mode: SQLiteConnection.Mode = .readWrite, timeout: TimeInterval = 0) throws -> SQLiteConnection {
    try SQLiteConnection(path: directory.path("Orders.sqlite"), mode: mode, busyTimeout: timeout)
  }

  private func names(_ connection: SQLiteConnection) throws -> [String] {
    try connection.rows("SELECT name FROM T ORDER BY id").compactMap { $0[0].text }
  }

  init() throws {
    directory = try TemporaryDirectory()
    _ = try directory.makeDatabase("Orders.sqlite", rows: 1)
  }

  @Test("A body that ends well is committed", arguments: ["DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
  func commit(mode: String) throws {
    let connection = try open()
    let mode = try #require(SQLiteConnection.TransactionMode(rawValue: mode))
    let result = try connection.transaction(mode) {
      #expect(connection.inTransaction)
      try connection.run("INSERT INTO T (name) VALUES ('new')")
      return 7
    }
    #expect(result == 7)
    #expect(!connection.inTransaction)
    #expect(try names(open()) == ["row 1", "new"])
  }

  @Test("A body that throws leaves no change, and its error comes out")
  func rollback() throws {
    let connection = try open()
    #expect(throws: Stop.self) {
      try connection.transaction {
        try connection.run("DELETE FROM T")
        throw Stop()
      }
    }
    #expect(!connection.inTransaction)
    #expect(try names(connection) == ["row 1"])
  }

  @Test("A nested transaction that throws undoes itself alone")
  func nested() throws {
    let connection = try open()
    try connection.transaction {
      try connection.run("INSERT INTO T (name) VALUES ('outer')")
      #expect(throws: Stop.self) {
        try connection.transaction {
          try connection.run("INSERT INTO T (name) VALUES ('inner')")
          try connection.transaction { try connection.run("INSERT INTO T (name) VALUES ('innermost')") }
          throw Stop()
        }
      }
      try connection.transaction { try connection.run("INSERT INTO T (name) VALUES ('second')") }
      #expect(connection.inTransaction)
    }
    #expect(try names(connection) == ["row 1", "outer", "second"])
  }

  @Test("An outer failure undoes nested transactions that had ended well")
  func outerFailure() throws {
    let connection = try open()
    #expect(throws: Stop.self) {
      try connection.transaction {
        try connection.transaction { try connection.run("INSERT INTO T (name) VALUES ('inner')") }
        throw Stop()
      }
    }
    #expect(try names(connection) == ["row 1"])
  }

  @Test("Begin, commit and rollback work by themselves")
  func byHand() throws {
    let connection = try open()
    try connection.rollback()
    try connection.begin(.immediate)
    try connection.run("DELETE FROM T")
    try connection.rollback()
    try connection.begin()
    try connection.run("INSERT INTO T (name) VALUES ('new')")
    try connection.commit()
    #expect(try names(connection) == ["row 1", "new"])
    #expect(sqliteError { try connection.commit() }?.message == "cannot commit - no transaction is active")
  }

  @Test("When undoing fails, both errors come out")
  func rollbackFailure() throws {
    let connection = try open()
    let failure = #expect(throws: SQLiteRollbackFailure.self) {
      try connection.transaction {
        try connection.transaction {
          try connection.execute("ROLLBACK; BEGIN")
          throw Stop()
        }
      }
    }
    #expect(failure?.cause is Stop)
    #expect((failure?.rollback as? SQLiteError)?.message == "no such savepoint: nested1")
    #expect(failure?.description.contains("could not be rolled back") == true)
    #expect(!connection.inTransaction)
  }

  @Test("A connection closed by the body is as good as rolled back")
  func closedInside() throws {
    let connection = try open()
    #expect(throws: Stop.self) {
      try connection.transaction {
        try connection.run("DELETE FROM T")
        try connection.close()
        throw Stop()
      }
    }
    #expect(try names(open()) == ["row 1"])
  }

  @Test("A locked database is busy, for writers at once and for readers of an exclusive lock")
  func busy() throws {
    let first = try open()
    let second = try open()
    try first.transaction(.exclusive) {
      let writing = sqliteError { try second.transaction { try second.run("DELETE FROM T") } }
      #expect(writing?.isBusy == true)
      #expect(writing?.sql == "BEGIN IMMEDIATE")
      #expect(writing?.description.contains("is locked by another connection") == true)
      #expect(sqliteError { _ = try names(second) }?.isBusy == true)
      #expect(!second.inTransaction)
    }
    #expect(try names(second) == ["row 1"])
  }

  @Test("A commit that a reader blocks is rolled back and reported as busy")
  func busyCommit() throws {
    let reader = try open(.readOnly)
    let writer = try open()
    let statement = try reader.prepare("SELECT name FROM T")
    #expect(try statement.step())
    let error = sqliteError { try writer.transaction { try writer.run("DELETE FROM T") } }
    #expect(error?.isBusy == true)
    #expect(error?.sql == "COMMIT")
    #expect(!writer.inTransaction)
    statement.reset()
    #expect(try names(writer) == ["row 1"])
  }

  @Test("A connection waits for a lock as long as it was told")
  func waiting() throws {
    let first = try open()
    let second = try open(timeout: 30)
    try first.begin(.exclusive)
    try first.run("INSERT INTO T (name) VALUES ('new')")
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: 0.05)
      #expect(throws: Never.self) { try first.commit() }
    }
    #expect(try names(second) == ["row 1", "new"])
  }

  @Test("A timeout ends the waiting")
  func timeout() throws {
    let first = try open()
    let second = try open(timeout: 60)
    second.setBusyTimeout(0.05)
    try first.transaction(.exclusive) {
      let start = Date()
      #expect(sqliteError { _ = try names(second) }?.isBusy == true)
      #expect(Date().timeIntervalSince(start) < 30)
    }
  }

  @Test("A full database undoes the statement, keeps its rows and tells so")
  func full() throws {
    let connection = try open()
    let pages = try #require(try connection.pragma("page_count")?.integer)
    #expect(try connection.setPragma("max_page_count", to: .integer(pages + 2)) == .integer(pages + 2))
    let error = sqliteError {
      try connection.transaction {
        try connection.run("INSERT INTO T (name) VALUES (?1)", [.text(String(repeating: "x", count: 100_000))])
      }
    }
    #expect(error?.isFull == true)
    #expect(error?.systemError == nil)
    #expect(error?.description.contains("Free space on the disk") == true)
    #expect(!connection.inTransaction)
    #expect(try names(connection) == ["row 1"])
    #expect(try connection.integrityCheck().isEmpty)
  }
}
