// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreDataPostgreSQLClient

/// A schema of its own on the shared server.
struct TestSchema {
  let url: URL

  init(_ server: TestServer = .shared) throws {
    url = server.schemaURL()
    let address = try PostgreSQLAddress(url)
    try Self.connect(url).execute("CREATE SCHEMA \(PostgreSQLConnection.quoted(address.schema))")
  }

  func connect(statementLimit: Int = 500) throws -> PostgreSQLConnection {
    try Self.connect(url, statementLimit: statementLimit)
  }

  /// Opens a connection after running a script, usually for tables.
  static func connection(_ script: String = "") throws -> PostgreSQLConnection {
    let connection = try TestSchema().connect()
    if !script.isEmpty { try connection.execute(script) }
    return connection
  }

  static func connect(_ url: URL, statementLimit: Int = 500) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "tests", statementLimit: statementLimit)
  }
}

extension PostgreSQLConnection {
  /// The first value of the first row.
  func value(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLValue {
    let rows = try query(sql, values)
    try #require(rows.count > 0)
    return rows.value(0, 0)
  }

  func count(_ table: String) throws -> PostgreSQLValue { try value("SELECT count(*) FROM \(table)") }
}

/// Returns the error that a body throws.
func postgreSQLError(
  _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) throws -> PostgreSQLError {
  try #require(throws: PostgreSQLError.self, sourceLocation: sourceLocation) { try body() }
}
