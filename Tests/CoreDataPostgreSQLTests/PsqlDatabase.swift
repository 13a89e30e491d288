// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A database of PostgreSQL that is used by way of `psql`, so that shared SQL is tested without the client of the store.
final class PsqlDatabase: SQLDatabase {
  struct Failure: Error, CustomStringConvertible {
    let sql: String
    let message: String

    var description: String { "\(message)\n\(sql)" }
  }

  static let program = "/usr/bin/psql"

  private static let (field, record, end) = ("\u{1F}", "\u{1E}", "\u{1D}")

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var received = Data()
  private var depth = 0

  /// - Parameter socket: the directory of the server's socket.
  init(socket: String) throws {
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments = ["-X", "-q", "-A", "-t", "-h", socket, "-U", "postgres", "-F", Self.field, "-R", Self.record]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    send("\\pset null '\u{1}'")
    send("SET client_min_messages = error; SET extra_float_digits = 3; SET timezone = 'UTC';")
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  private func send(_ text: String) { input.fileHandleForWriting.write(Data((text + "\n").utf8)) }

  /// Runs a statement, and returns what it has written and the number of its rows.
  private func finish(_ sql: String) throws -> (text: String, count: Int) {
    send("\\echo '\(Self.end)' :ERROR :ROW_COUNT :LAST_ERROR_MESSAGE '\(Self.end)'")
    var ends: [String] = []
    while ends.count < 3 {
      let chunk = output.fileHandleForReading.availableData
      guard !chunk.isEmpty else { throw Failure(sql: sql, message: "psql has ended.") }
      received += chunk
      ends = String(decoding: received, as: UTF8.self).components(separatedBy: Self.end)
    }
    received = Data()
    let status = ends[1].split(separator: " ", maxSplits: 2)
    if status[0] == "true" { throw Failure(sql: sql, message: status.last.map(String.init) ?? "") }
    var text = ends[0]
    while text.first == "\n" { text.removeFirst() }
    if text.last == "\n" { text.removeLast() }
    return (text, Int(status[1]) ?? 0)
  }

  /// Prepares a statement with its parameters as the store would, and executes it with their values.
  private func executable(_ sql: String, _ values: [SQLiteValue]) throws -> String {
    let bound = BoundSQL(sql, values).postgreSQL
    send("DEALLOCATE ALL; PREPARE p AS \(bound.sql);")
    _ = try finish(bound.sql)
    let literals = bound.values.map { value -> String in
      switch value {
      case .real(let number): "'\(number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)")'"
      case .blob(let bytes): "'\\x\(bytes.map { String(format: "%02x", $0) }.joined())'"
      default: value.literal
      }
    }
    return "EXECUTE p" + (literals.isEmpty ? "" : "(\(literals.joined(separator: ", ")))")
  }

  var dialect: SQLDialect { .postgreSQL }

  func run(_ sql: String, _ values: [SQLiteValue]) throws { _ = try change(sql, values) }

  func change(_ sql: String, _ values: [SQLiteValue]) throws -> Int {
    if values.isEmpty {
      send("\(sql);")
    } else {
      send("\(try executable(sql, values));")
    }
    return try finish(sql).count
  }

  func rows(_ sql: String, _ values: [SQLiteValue]) throws -> [SQLiteRow] { try read(sql, values).map(\.row) }

  private func read(_ sql: String, _ values: [SQLiteValue]) throws -> [PsqlRow] {
    let statement = BoundSQL(sql, values).postgreSQL
    // The types of the columns, which psql says of a statement before it is prepared.
    send("\(statement.sql.replacing(/\$[0-9]+/, with: "NULL")) \\gdesc")
    let types = try finish(sql).text.components(separatedBy: Self.record)
      .map { $0.components(separatedBy: Self.field).last ?? "" }
    send("\(try executable(sql, values));")
    let (text, count) = try finish(sql)
    if count == 0 { return [] }
    return text.components(separatedBy: Self.record).map { line in
      PsqlRow(values: zip(types, line.components(separatedBy: Self.field)).map(Self.value))
    }
  }

  private static func value(_ type: String, _ text: String) -> SQLiteValue {
    if text == "\u{1}" { return .null }
    switch type {
    case "bigint", "integer", "smallint": return Int64(text).map { .integer($0) } ?? .null
    case "double precision", "real": return Double(text).map { .real($0) } ?? .null
    case "boolean": return .integer(text == "t" ? 1 : 0)
    case "bytea":
      let digits = Array(text.dropFirst(2).utf8)
      return .blob(
        Data(
          stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16) ?? 0
          }))
    default: return .text(text)
    }
  }

  func scalar(_ sql: String, _ values: [SQLiteValue]) throws -> SQLiteValue? { try rows(sql, values).first?[0] }

  func forEachRow(_ sql: String, _ values: [SQLiteValue], _ body: (any SQLRowValues) throws -> Void) throws {
    for row in try read(sql, values) { try body(row) }
  }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    depth += 1
    defer { depth -= 1 }
    let name = "nested\(depth)"
    try run(depth == 1 ? "BEGIN" : "SAVEPOINT \(name)")
    do {
      let result = try body()
      try run(depth == 1 ? "COMMIT" : "RELEASE \(name)")
      return result
    } catch {
      try run(depth == 1 ? "ROLLBACK" : "ROLLBACK TO \(name)")
      throw error
    }
  }

  func snapshot<Result>(_ body: () throws -> Result) throws -> Result { try transaction(body) }

  func hasTable(_ name: String) throws -> Bool {
    try scalar(
      "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?", [.text(name.lowercased())])
      != nil
  }

  func catalog(of tables: [String]) throws -> StoreCatalog {
    var found: [StoreCatalog.Table] = []
    for table in tables where try hasTable(table) {
      let columns = try rows(
        "SELECT CAST(column_name AS text), CAST(data_type AS text) FROM information_schema.columns "
          + "WHERE table_schema = current_schema() AND table_name = ?", [.text(table.lowercased())])
      found.append(
        StoreCatalog.Table(
          name: table.lowercased(),
          columns: columns.map { StoreCatalog.Column(name: $0[0].text ?? "", type: $0[1].text ?? "") }))
    }
    let indexes = try rows("SELECT CAST(indexname AS text) FROM pg_indexes WHERE schemaname = current_schema()", [])
    return StoreCatalog(dialect: .postgreSQL, tables: found, indexes: Set(indexes.compactMap { $0[0].text }))
  }
}

/// A row that `psql` has written.
private struct PsqlRow: SQLRowValues {
  let values: [SQLiteValue]

  var row: SQLiteRow { SQLiteRow(values) }

  func value(at index: Int) -> SQLiteValue { index < values.count ? values[index] : .null }
  func isNull(at index: Int) -> Bool { value(at: index).isNull }
  func int64(at index: Int) -> Int64 { value(at: index).integer ?? 0 }
  func double(at index: Int) -> Double { value(at: index).real ?? 0 }
  func text(at index: Int) -> String? { value(at: index).text }
  func blob(at index: Int) -> Data? { value(at: index).blob }
}
