// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataSQLite

@Suite("Rows of parameters")
struct ParameterRowTests {
  private static let values: [SQLiteValue] = [
    .null, .integer(.min), .integer(0), .real(0.1), .real(-.infinity), .real(.nan), .text(""), .text("Zoë 🐘"),
    .text("a\u{0}b"),
    .text(String(repeating: "long ", count: 100)), .blob(Data()), .blob(Data([0, 255])),
    .blob(Data(repeating: 7, count: 5_000)),
  ]

  private func table() throws -> (SQLiteConnection, SQLiteStatement) {
    let connection = try SQLiteConnection.inMemory()
    try connection.run("CREATE TABLE t (a, b, c, how)")
    return (connection, try connection.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4)"))
  }

  private func bind(_ number: Int, _ how: Int64, to parameters: some SQLiteParameters) throws {
    let value = Self.values[number % Self.values.count]
    try parameters.bind(value, at: 1)
    // The second parameter is left unbound in every other row, and must not keep the value of the row before.
    if number % 2 == 0 { try parameters.bind(Double(number) / 4, at: 2) }
    try parameters.bind(Int64(number), at: 3)
    try parameters.bind(how, at: 4)
  }

  @Test("They write what binding each row writes, and are used again")
  func same() throws {
    let (connection, statement) = try table()
    let rows = SQLiteParameterRows()
    for round in 0..<3 {
      rows.removeAll()
      for number in 0..<Self.values.count * 2 {
        try bind(number + round, 0, to: rows)
        rows.endRow()
        try bind(number + round, 1, to: statement)
        while try statement.step() {}
        statement.reset()
        statement.clearBindings()
      }
      #expect(rows.count == Self.values.count * 2)
      try statement.run(rows)
    }
    func written(_ how: Int64) throws -> [SQLiteRow] {
      try connection.rows("SELECT a, b, c, typeof(a), typeof(b) FROM t WHERE how = ? ORDER BY rowid", [.integer(how)])
    }
    #expect(try written(0) == written(1) && written(0).count == Self.values.count * 6)
  }

  @Test("A row that fails ends the run with its error, after those before, and the statement works again")
  func failure() throws {
    let (connection, statement) = try table()
    try connection.run("CREATE UNIQUE INDEX u ON t (c)")
    try connection.run("INSERT INTO t (c) VALUES (13)")
    let rows = SQLiteParameterRows()
    for number in 10..<20 as Range<Int64> {
      rows.bind("text \(number)", at: 1)
      rows.bind(number, at: 3)
      rows.endRow()
    }
    #expect {
      try statement.run(rows)
    } throws: { ($0 as? SQLiteError)?.isUniqueConstraint == true }
    #expect(try connection.rows("SELECT c FROM t").map(\.values) == [[10], [11], [12], [13]])
    rows.removeAll()
    try statement.run(rows)
    #expect(try connection.scalar("SELECT COUNT(*) FROM t") == 4)
  }
}
