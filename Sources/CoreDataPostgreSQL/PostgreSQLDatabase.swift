// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The database of a store, for the SQL that both engines share.
///
/// Statements without a result are queued. They are sent together when there are many, or before the next statement
/// with a result.
final class PostgreSQLDatabase: SQLDatabase {
  /// The maximum number of queued statements.
  private static let maxQueueLength = 1_000

  let connection: PostgreSQLConnection
  private let schema: String
  /// Detects that the open store was migrated; nil for a store that is not open.
  var identity: SchemaIdentity?
  private var waiting: [(sql: String, values: [PostgreSQLValue])] = []

  init(_ connection: PostgreSQLConnection, schema: String) {
    self.connection = connection
    self.schema = schema
  }

  var dialect: SQLDialect { .postgreSQL }

  /// Sends the queued statements.
  func flush() throws {
    if waiting.isEmpty { return }
    let statements = waiting
    waiting = []
    if statements.count == 1 {
      _ = try connection.query(statements[0].sql, statements[0].values)
      return
    }
    try connection.pipeline { pipeline in
      for (sql, values) in statements { try pipeline.send(sql, values) { _ in } }
    }
  }

  /// Discards the queued statements, after their transaction was rolled back.
  func forget() { waiting = [] }

  private func rendered(_ statement: BoundSQL) -> (sql: String, values: [PostgreSQLValue]) {
    let statement = statement.postgreSQL
    return (statement.sql, statement.values.map(PostgreSQLValue.init))
  }

  private func query(_ statement: BoundSQL) throws -> PostgreSQLRows {
    try flush()
    let (sql, values) = rendered(statement)
    return try connection.query(sql, values)
  }

  private func query(_ sql: String, _ values: [SQLiteValue]) throws -> PostgreSQLRows {
    try query(BoundSQL(sql, values))
  }

  func run(_ sql: String, _ values: [SQLiteValue]) throws {
    waiting.append(rendered(BoundSQL(sql, values)))
    if waiting.count >= Self.maxQueueLength { try flush() }
  }

  func change(_ sql: String, _ values: [SQLiteValue]) throws -> Int { try query(sql, values).affected }

  func rows(_ sql: String, _ values: [SQLiteValue]) throws -> [SQLiteRow] {
    let rows = try query(sql, values)
    return (0..<rows.count).map { row in
      SQLiteRow((0..<rows.columnCount).map { DatabaseRow(rows, row).value(at: $0) })
    }
  }

  func scalar(_ sql: String, _ values: [SQLiteValue]) throws -> SQLiteValue? {
    let rows = try query(sql, values)
    return rows.count == 0 ? nil : DatabaseRow(rows, 0).value(at: 0)
  }

  func forEachRow(_ statement: BoundSQL, _ body: (any SQLRowValues) throws -> Void) throws {
    let rows = try query(statement)
    for row in 0..<rows.count { try body(DatabaseRow(rows, row)) }
  }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try flush()
    return try connection.transaction {
      do {
        let result = try body()
        try flush()
        return result
      } catch {
        forget()
        throw error
      }
    }
  }

  func calculating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try transaction(body)
    } catch let error as PostgreSQLError where error.isOfValues {
      throw NotExpressibleInSQL()
    }
  }

  func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try flush()
    if connection.isInTransaction { return try connection.transaction(body) }
    if let identity {
      try identity.beginSnapshot(on: connection)
    } else {
      try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }
    do {
      let result = try body()
      try connection.commit()
      return result
    } catch {
      // Report the error of the query. If the connection is lost, so is its transaction.
      try? connection.rollback()
      throw error
    }
  }

  func hasTable(_ name: String) throws -> Bool {
    try query(
      "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = ? AND c.relname = ? AND c.relkind IN ('r', 'p')",
      [.text(schema), .text(SQLDialect.postgreSQL.spelling(of: name))]
    ).count > 0
  }

  func catalog(of tables: [String]) throws -> StoreCatalog { try catalog() }

  /// Returns all tables and indexes of the schema.
  func catalog() throws -> StoreCatalog {
    let columns = try query(
      "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL), "
        + "EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnatts = 1 "
        + "AND i.indkey[0] = a.attnum) "
        + "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        + "WHERE n.nspname = ? AND c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum", [.text(schema)])
    var tables: [(name: String, columns: [StoreCatalog.Column], hasNumericKey: Bool)] = []
    for row in 0..<columns.count {
      let name = columns.string(row, 0)
      if tables.last?.name != name { tables.append((name, [], true)) }
      let column = StoreCatalog.Column(name: columns.string(row, 1), type: columns.string(row, 2))
      tables[tables.count - 1].columns.append(column)
      if column.name == "z_pk" {
        tables[tables.count - 1].hasNumericKey = column.type == "bigint" && columns.bool(row, 3)
      }
    }
    let indexes = try query(
      "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = ? AND c.relkind IN ('i', 'I')", [.text(schema)])
    return StoreCatalog(
      dialect: .postgreSQL,
      tables: tables.map { StoreCatalog.Table(name: $0.name, columns: $0.columns, hasNumericKey: $0.hasNumericKey) },
      indexes: Set((0..<indexes.count).map { indexes.string($0, 0) }))
  }
}

/// A row of a result, for the SQL that both engines share.
struct DatabaseRow: SQLRowValues {
  private let rows: PostgreSQLRows
  private let row: Int

  init(_ rows: PostgreSQLRows, _ row: Int) { (self.rows, self.row) = (rows, row) }

  func isNull(at index: Int) -> Bool { index >= rows.columnCount || rows.isNull(row, index) }

  func int64(at index: Int) -> Int64 {
    switch value(at: index) {
    case .integer(let number): number
    case .real(let number): Int64(exactly: number.rounded(.towardZero)) ?? 0
    default: 0
    }
  }

  func double(at index: Int) -> Double { value(at: index).real ?? 0 }

  func text(at index: Int) -> String? { value(at: index).text }

  func blob(at index: Int) -> Data? { value(at: index).blob }

  func value(at index: Int) -> SQLiteValue {
    if isNull(at: index) { return .null }
    switch rows.value(row, index) {
    case .null: return .null
    case .integer(let number): return .integer(number)
    case .real(let number): return .real(number)
    case .boolean(let flag): return .integer(flag ? 1 : 0)
    case .text(let text): return .text(text)
    case .bytes(let data): return .blob(data)
    case .integers, .texts: return .null
    case .uuid(let uuid): return .blob(withUnsafeBytes(of: uuid.uuid) { Data($0) })
    case .numeric(let text): return Int64(text).map { .integer($0) } ?? .text(text)
    case .timestamp(let microseconds):
      return .real(StoredDate(timestamp: microseconds, remainder: nil).seconds)
    }
  }
}
