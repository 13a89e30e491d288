// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A connection to a server by way of its program `psql`, so that the tests of statements do not depend on our client.
///
/// Values come as texts. What looks like a number is one, and what begins with `\x` is bytes.
final class PsqlDatabase: SQLDatabase {
  /// An error of the server.
  struct Failure: Error, CustomStringConvertible {
    let state: String
    let message: String
    let sql: String

    var description: String { "\(state): \(message) in: \(sql)" }
  }

  private static let (field, record, null, end) = ("\u{1f}", "\u{1e}", "\u{1}null", "\u{2}end")

  let dialect = SQLDialect.postgreSQL
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var savepoints = 0
  private var isInTransaction = false

  /// - Parameter socket: the directory of the server's socket.
  init(socket: String, user: String = "postgres") throws {
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "exec psql -h \"$0\" -U \"$1\" -d postgres -qAtX -F \"$2\" -R \"$3\" -P null=\"$4\" 2>&1", socket, user,
      Self.field, Self.record, Self.null,
    ]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try run("SET client_min_messages = warning")
  }

  func close() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Executes a statement, and returns its rows and how many there are, or how many it has changed.
  private func execute(_ sql: String, _ values: [SQLiteValue]) throws -> (rows: [[String?]], count: Int) {
    let text = BoundSQL(sql, values).postgreSQLLiterals
    let end = "\n;\n\\echo \(Self.end) :ERROR :SQLSTATE :ROW_COUNT\n"
    try input.fileHandleForWriting.write(contentsOf: Data((text + end).utf8))
    var bytes = Data()
    let mark = Data(Self.end.utf8)
    var place: Range<Data.Index>?
    while place == nil || bytes.last != UInt8(ascii: "\n") {
      let part = output.fileHandleForReading.availableData
      if part.isEmpty { throw Failure(state: "08006", message: "psql has ended", sql: text) }
      bytes += part
      place = bytes.range(of: mark)
    }
    let found = place?.lowerBound ?? bytes.endIndex
    let body = String(decoding: bytes[..<found], as: UTF8.self)
    let words = String(decoding: bytes[found...], as: UTF8.self).split { $0 == " " || $0 == "\n" }.map(String.init)
    guard words[1] == "false" else { throw Failure(state: words[2], message: body, sql: text) }
    let lines = body.isEmpty ? [] : body.dropLast(body.hasSuffix("\n") ? 1 : 0).components(separatedBy: Self.record)
    let rows = lines.map { $0.components(separatedBy: Self.field).map { $0 == Self.null ? nil : $0 } }
    return (rows, Int(words[3]) ?? 0)
  }

  private static func value(_ text: String?) -> SQLiteValue {
    guard let text else { return .null }
    if let number = Int64(text) { return .integer(number) }
    if let number = Double(text) { return .real(number) }
    guard text.hasPrefix("\\x") else { return .text(text) }
    let digits = Array(text.dropFirst(2))
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(String(digits[$0...($0 + 1)]), radix: 16) ?? 0 }
    return .blob(Data(bytes))
  }

  func run(_ sql: String, _ values: [SQLiteValue]) throws { _ = try execute(sql, values) }

  func change(_ sql: String, _ values: [SQLiteValue]) throws -> Int { try execute(sql, values).count }

  func rows(_ sql: String, _ values: [SQLiteValue]) throws -> [SQLiteRow] {
    try execute(sql, values).rows.map { SQLiteRow(columns: [], values: $0.map(Self.value)) }
  }

  /// Returns the rows of a query as texts.
  func texts(_ sql: String) throws -> [[String?]] { try execute(sql, []).rows }

  func scalar(_ sql: String, _ values: [SQLiteValue]) throws -> SQLiteValue? { try rows(sql, values).first?[0] }

  func forEachRow(_ sql: String, _ values: [SQLiteValue], _ body: (any SQLRowValues) throws -> Void) throws {
    for row in try rows(sql, values) { try body(ReadRow(row: row)) }
  }

  private struct ReadRow: SQLRowValues {
    let row: SQLiteRow

    func isNull(at index: Int) -> Bool { row[index].isNull }
    func int64(at index: Int) -> Int64 { row[index].integer ?? 0 }
    func double(at index: Int) -> Double { row[index].real ?? 0 }
    func text(at index: Int) -> String? { row[index].text }
    func blob(at index: Int) -> Data? { row[index].blob }
    func value(at index: Int) -> SQLiteValue { row[index] }
  }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    if !isInTransaction {
      try run("BEGIN")
      isInTransaction = true
      defer { isInTransaction = false }
      return try ending(commit: "COMMIT", rollBack: "ROLLBACK", body)
    }
    savepoints += 1
    let name = "s\(savepoints)"
    try run("SAVEPOINT \(name)")
    return try ending(commit: "RELEASE \(name)", rollBack: "ROLLBACK TO \(name)", body)
  }

  private func ending<Result>(commit: String, rollBack: String, _ body: () throws -> Result) throws -> Result {
    let result: Result
    do {
      result = try body()
    } catch {
      try run(rollBack)
      throw error
    }
    try run(commit)
    return result
  }

  func snapshot<Result>(_ body: () throws -> Result) throws -> Result { try transaction(body) }

  func hasTable(_ name: String) throws -> Bool {
    try scalar("SELECT to_regclass(?)", [.text(SQLName.quoted(dialect.spelling(of: name)))])?.isNull == false
  }

  func catalog(of tables: [String]) throws -> StoreCatalog { try catalog() }

  /// The catalog of the current schema.
  func catalog() throws -> StoreCatalog {
    let columns = try texts(
      """
      SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c \
      JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace \
      AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum
      """)
    var found: [StoreCatalog.Table] = []
    for row in columns {
      let (table, column) = (row[0] ?? "", StoreCatalog.Column(name: row[1] ?? "", type: row[2] ?? ""))
      if found.last?.name == table {
        found[found.count - 1].columns.append(column)
      } else {
        found.append(StoreCatalog.Table(name: table, columns: [column]))
      }
    }
    let indexes = try texts(
      "SELECT relname FROM pg_class WHERE relkind = 'i' AND relnamespace = current_schema()::regnamespace")
    return StoreCatalog(dialect: .postgreSQL, tables: found, indexes: Set(indexes.compactMap { $0[0] }))
  }
}
