// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles

extension OpenedSchema: SQLRowSource {
  var files: ExternalData? { nil }

  func row(_ primaryKey: Int64, _ reader: RowReader) throws -> RowSnapshot? {
    let rows = try connection.query(reader.rowSelect, [.integer(primaryKey)])
    return rows.count == 0 ? nil : try reader.snapshot { try reader.pack(rows, 0, into: $0) }
  }

  func readRows<Result>(
    of statement: BoundSQL, _ reader: RowReader, _ body: (RowCursor) throws -> Result
  ) throws -> Result {
    let rendered = statement.postgreSQL
    return try connection.readRows(rendered.sql, rendered.values.map(PostgreSQLValue.init)) { next in
      try body(
        RowCursor { packer in
          guard let row = try next() else { return false }
          try reader.pack(row, 0, into: packer)
          return true
        })
    }
  }

  func forEachRow(
    of statement: BoundSQL, _ reader: RowReader,
    _ body: (any SQLRowValues, _ pack: (RowPacker) throws -> Void) throws -> Void
  ) throws {
    let rendered = statement.postgreSQL
    try connection.forEachRow(rendered.sql, rendered.values.map(PostgreSQLValue.init)) { row in
      try body(DatabaseRow(row, 0)) { try reader.pack(row, 0, into: $0) }
    }
  }

  /// Uses a savepoint within a transaction, so that a failing statement does not end the transaction.
  func calculating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try connection.isInTransaction ? connection.transaction(body) : body()
    } catch let error as PostgreSQLError where error.isOfValues {
      throw NotExpressibleInSQL()
    }
  }
}

extension PostgreSQLError {
  /// Whether the server refused a value that can be computed in memory: a number out of range, a division by zero, the
  /// root of a negative number, a statement that is too complex.
  var isOfValues: Bool {
    sqlState.map { $0.hasPrefix("22") || ["54000", "54001", "42803"].contains($0) } ?? false
  }
}

extension PostgreSQLValue {
  init(_ value: SQLiteValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text)
    case .blob(let data): self = .bytes(data)
    }
  }
}
