// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL

/// What the statements of a transaction rely on.
///
/// A server connection of this process has them as settings of its session. Behind a pooler, where sessions belong to
/// many clients, every transaction sets them for itself.
package struct TransactionSettings {
  private let schema: String
  /// The maximum time to wait for a lock, in milliseconds; nil for the server's.
  package var lockTimeout: Int? { didSet { makeTexts() } }
  /// Whether transactions may only read.
  package var isReadOnly = false { didSet { makeTexts() } }
  /// The name of the connection in the server's views, as a literal; nil for the one it has connected with.
  var applicationName: String? { didSet { makeTexts() } }
  /// The statement that sets them for a transaction.
  private(set) var statement = ""
  /// The same as statements to be sent before others. They take no snapshot, so that BEGIN can follow with any mode.
  private(set) var script = ""

  init(schema: String) {
    self.schema = schema
    makeTexts()
  }

  /// The schema, and behind it temporary tables, which otherwise come first.
  private var searchPath: String { "\(PostgreSQLConnection.quoted(schema)), pg_temp" }

  private mutating func makeTexts() {
    // Only what changes the meaning of statements: values are sent in binary form, which does not depend on the others.
    var settings = [("search_path", searchPath), ("row_security", "off"), ("extra_float_digits", "1")]
    if let lockTimeout { settings.append(("lock_timeout", String(lockTimeout))) }
    if isReadOnly { settings.append(("transaction_read_only", "on")) }
    var literals = settings.map { ($0, PostgreSQLConnection.literal($1)) }
    if let applicationName {
      literals.append(("application_name", applicationName))
      settings.append(("application_name", applicationName))
    }
    let calls = literals.map { "pg_catalog.set_config('\($0)', \($1), true)" }
    statement = "SELECT \(calls.joined(separator: ", "))"
    script = settings.map { "SET LOCAL \($0) = \($1); " }.joined()
  }

  /// The statement that sets them for a session, and returns a row, if the session belongs to a server process.
  func sessionStatement(process: Int) -> String {
    let settings = [
      ("search_path", searchPath), ("timezone", "UTC"), ("intervalstyle", "iso_8601"), ("datestyle", "ISO, YMD"),
      ("extra_float_digits", "1"), ("standard_conforming_strings", "on"), ("client_min_messages", "warning"),
      ("row_security", "off"),
    ]
    let calls = settings.map { "pg_catalog.set_config('\($0)', \(PostgreSQLConnection.literal($1)), false)" }
    return "SELECT \(calls.joined(separator: ", ")) WHERE pg_catalog.pg_backend_pid() = \(process)"
  }
}

extension PostgreSQLConnection {
  /// Returns a text as a literal, whatever `standard_conforming_strings` is.
  package static func literal(_ text: String) -> String {
    let quoted = "'\(text.replacingOccurrences(of: "'", with: "''"))'"
    return text.contains("\\") ? " E\(quoted.replacingOccurrences(of: "\\", with: "\\\\"))" : quoted
  }

  /// Finds out whether a pooler is between this process and the server, and prepares the session if there is none.
  ///
  /// A pooler gives its clients process IDs of its own, by which they can cancel statements.
  ///
  /// - Throws: `PostgreSQLError`, also if the pooler does not support transactions.
  func detectPooler(_ handle: OpaquePointer) throws {
    let rows = try textRows(of: settings.sessionStatement(process: Int(cpq_PQbackendPID(handle))))
    if rows.count == 1 { return }
    isPooled = true
    do {
      try begin()
      try rollback()
    } catch let error as PostgreSQLError {
      // The error may be the end of the connection, before which the pooler has given the reason.
      let text = error.message + String(libpq: cpq_PQerrorMessage(handle))
      guard text.contains("statement pooling") else { throw error }
      throw PostgreSQLError(
        "The connection pooler does not allow transactions (pool_mode = statement). A store needs a pooler with "
          + "pool_mode = session or transaction, or a connection to the server itself.")
    }
  }

  /// Has each transaction set what it relies on, since another one has run on another server process.
  func becomePooled() {
    isPooled = true
    prepared.forgetAll()
    prepared.obsoleteForgotten()
  }

  /// Advice to append to the message of a pooler that has refused the connection.
  static func advice(after message: String) -> String {
    guard message.contains("unsupported startup parameter") else { return "" }
    return " Remove the parameter from the URL and from the environment (PGOPTIONS), or add it to "
      + "ignore_startup_parameters of the pooler."
  }

  /// Returns a script that sets what it relies on if it begins a transaction behind a pooler.
  func settled(_ script: String) -> String {
    isPooled && transactionStatus == .none ? settings.script + script : script
  }

  /// Runs statements without parameters, separated by semicolons, and returns the rows of the last one as text.
  package func textRows(of script: String) throws -> PostgreSQLRows {
    try measuring(script) { run in
      let result = try checked(cpq_PQexec(open(), settled(script)), script)
      run?.noteRows(of: result)
      return PostgreSQLRows(result)
    }
  }

  /// Sends the statement that makes the settings of a transaction, in a pipeline.
  func sendSettings(_ handle: OpaquePointer) -> Bool {
    cpq_PQsendQueryParams(handle, settings.statement, 0, nil, nil, nil, nil, 1) == 1
  }

  /// Runs a statement outside a transaction, together with the settings it relies on, in one round trip.
  func runAfterSettings<Result>(
    _ sql: String, _ values: [PostgreSQLValue], rowByRow: Bool,
    _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Result
  ) throws -> Result {
    let handle = try open()
    let statement = try statement(sql, values, handle)
    guard cpq_PQenterPipelineMode(handle) == 1 else { throw failure(sql) }
    let isSent =
      sendSettings(handle)
      && parameters.withPointers { pointers in
        cpq_PQsendQueryParams(
          handle, sql, pointers.count, statement.types, pointers.values, pointers.lengths, pointers.formats, 1)
      } == 1 && cpq_PQpipelineSync(handle) == 1
    guard isSent else {
      let error = failure(sql)
      // There is no other way to leave the pipeline.
      close()
      throw error
    }
    // Consume the remaining results even after an error: the next statement cannot start before.
    defer { leaveStatement(handle, mayCancel: rowByRow) }
    cpq_PQclear(try checked(cpq_PQgetResult(handle), settings.statement))
    // A null pointer ends the results of a statement.
    while let more = cpq_PQgetResult(handle) { cpq_PQclear(more) }
    if rowByRow { cpq_PQsetSingleRowMode(handle) }
    var rows: PostgreSQLRows?
    var isAtEnd = false
    return try body { [self] in
      while !isAtEnd, let result = cpq_PQgetResult(handle) {
        let result = try checked(result, sql)
        if let rows { rows.replace(by: result) } else { rows = PostgreSQLRows(result) }
        // The last row is followed by a result without rows.
        if let rows, !rowByRow || rows.count > 0 { return rows }
      }
      isAtEnd = true
      return nil
    }
  }

  /// Reads the rest of a pipeline with one synchronization, and leaves it. Ends the statement early if it has many rows left.
  private func leaveStatement(_ handle: OpaquePointer, mayCancel: Bool) {
    var count = 0
    // Two null pointers in a row mean that the server sends nothing any more.
    var isAtEnd = false
    while !isLost {
      guard let rest = cpq_PQgetResult(handle) else {
        if isAtEnd { break }
        isAtEnd = true
        continue
      }
      let status = cpq_PQresultStatus(rest)
      cpq_PQclear(rest)
      isAtEnd = false
      count += 1
      // If the server cannot be reached, the statement runs to its end.
      if mayCancel, count == Self.longestRest { cancel() }
      if status == CPQ_PIPELINE_SYNC {
        if cpq_PQexitPipelineMode(handle) == 1 { return }
        break
      }
    }
    // The statement's own error or result counts. The next one reports that the connection is closed.
    close()
  }
}
