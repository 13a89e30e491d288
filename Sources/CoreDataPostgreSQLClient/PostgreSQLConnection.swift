// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// A connection to a database, whose search path is one schema.
///
/// One thread at a time uses it, but for `cancel()`.
package final class PostgreSQLConnection: @unchecked Sendable {
  /// The oldest server with all that is used here.
  private static let oldestServer = 130_000

  private let address: PostgreSQLAddress
  private var handle: OpaquePointer?
  private let canceller: OpaquePointer?
  private var prepared = PreparedStatements()
  private var savepoints = 0

  /// Connects.
  ///
  /// - Throws: `PostgreSQLError`.
  package init(_ address: PostgreSQLAddress, applicationName: String) throws {
    self.address = address
    if let reason = cpq_load() {
      throw PostgreSQLError(
        "libpq, PostgreSQL's library, cannot be loaded: \(String(cString: reason)). Install it: apt-get install libpq5, or "
          + "brew install libpq", isConnectionLost: true)
    }
    let settings = [
      ("dbname", address.connection), ("fallback_application_name", applicationName), ("client_encoding", "UTF8"),
    ]
    handle = Self.withStrings(settings.map(\.0)) { names in
      Self.withStrings(settings.map(\.1)) { values in cpq_PQconnectdbParams(names, values, 1) }
    }
    guard let handle, cpq_PQstatus(handle) == CPQ_CONNECTION_OK else {
      let message = handle.map { String(libpq: cpq_PQerrorMessage($0)) } ?? "out of memory"
      cpq_PQfinish(handle)
      canceller = nil
      self.handle = nil
      throw PostgreSQLError(address.masked(message), isConnectionLost: true)
    }
    canceller = cpq_PQgetCancel(handle)
    cpq_ignore_notices(handle)
    do {
      try prepare(handle)
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
    cpq_PQfreeCancel(canceller)
  }

  private static func withStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return (copies.map { $0.map { UnsafePointer($0) } } + [nil]).withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  private func prepare(_ handle: OpaquePointer) throws {
    guard Int(cpq_PQserverVersion(handle)) >= Self.oldestServer else {
      throw PostgreSQLError("The server is older than PostgreSQL 13, which is needed.")
    }
    let encoding = cpq_PQparameterStatus(handle, "server_encoding").map { String(cString: $0) } ?? ""
    guard encoding == "UTF8" else {
      throw PostgreSQLError("The database has the encoding \(encoding); a store needs one with UTF8.")
    }
    try execute(
      "SET search_path = \(Self.quoted(address.schema)); SET timezone = 'UTC'; SET standard_conforming_strings = on; "
        + "SET client_min_messages = warning")
  }

  private static func quoted(_ name: String) -> String {
    "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
  }

  /// Ends the connection; the server rolls back its transaction.
  package func close() {
    cpq_PQfinish(handle)
    handle = nil
  }

  /// Whether the connection cannot be used any more.
  package var isLost: Bool { handle.map { cpq_PQstatus($0) != CPQ_CONNECTION_OK } ?? true }

  package var isInTransaction: Bool {
    handle.map { ![CPQ_TRANSACTION_IDLE, CPQ_TRANSACTION_UNKNOWN].contains(cpq_PQtransactionStatus($0)) } ?? false
  }

  /// The process of the server.
  package var processID: Int { handle.map { Int(cpq_PQbackendPID($0)) } ?? 0 }

  /// Asks the server to cancel the statement that is running. May be called on any thread.
  package func cancel() {
    var buffer = [CChar](repeating: 0, count: 256)
    // If it fails, the statement ends by itself.
    if let canceller { _ = cpq_PQcancel(canceller, &buffer, Int32(buffer.count)) }
  }

  private func open() throws -> OpaquePointer {
    guard let handle else { throw PostgreSQLError("The connection is closed.", isConnectionLost: true) }
    return handle
  }

  private func failure(_ statement: String?) -> PostgreSQLError {
    let message = handle.map { String(libpq: cpq_PQerrorMessage($0)) } ?? "The connection is closed."
    return PostgreSQLError(address.masked(message), isConnectionLost: isLost, statement: statement)
  }

  /// Returns a result that is no error, and frees one that is.
  private func checked(_ result: OpaquePointer?, _ statement: String?) throws -> OpaquePointer {
    guard let result else { throw failure(statement) }
    switch cpq_PQresultStatus(result) {
    case CPQ_COMMAND_OK, CPQ_TUPLES_OK, CPQ_EMPTY_QUERY, CPQ_COPY_IN: return result
    default:
      let error = PostgreSQLError(result, statement: statement, isConnectionLost: isLost, masked: address.masked)
      cpq_PQclear(result)
      throw error
    }
  }

  // MARK: Statements

  /// Runs one statement, which is kept prepared.
  ///
  /// - Parameter values: the values of `$1` and so on.
  /// - Throws: `PostgreSQLError`.
  package func query(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    do {
      return try queryOnce(sql, values)
    } catch let error as PostgreSQLError where error.isOutdatedPlan {
      // The tables have been changed since it was prepared.
      prepared.forget(sql)
      if isInTransaction { throw error }
      return try queryOnce(sql, values)
    }
  }

  private func queryOnce(_ sql: String, _ values: [PostgreSQLValue]) throws -> PostgreSQLRows {
    let handle = try open()
    let statement = try prepared.statement(sql, values) ?? prepare(sql, values)
    let result = StatementParameters(values).withPointers { pointers in
      cpq_PQexecPrepared(
        handle, statement.name, pointers.count, pointers.values, pointers.lengths, pointers.formats, 1)
    }
    return PostgreSQLRows(try checked(result, sql))
  }

  private func prepare(_ sql: String, _ values: [PostgreSQLValue]) throws -> PreparedStatements.Statement {
    let handle = try open()
    if prepared.count >= PreparedStatements.limit, !isInTransaction {
      try execute("DEALLOCATE ALL")
      prepared.removeAll()
    }
    let statement = prepared.new(values)
    let types = statement.types.map { $0?.rawValue ?? 0 }
    cpq_PQclear(
      try checked(cpq_PQprepare(handle, statement.name, sql, Int32(types.count), types), sql))
    prepared.keep(statement, sql)
    return statement
  }

  /// Runs a statement.
  ///
  /// - Returns: the number of rows that it has inserted, updated or deleted.
  @discardableResult
  package func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> Int { try query(sql, values).affected }

  /// Runs statements without parameters, separated by semicolons.
  package func execute(_ script: String) throws { cpq_PQclear(try checked(cpq_PQexec(open(), script), script)) }

  /// Forgets all prepared statements, whose tables have been changed.
  package func forgetStatements() throws {
    try execute("DEALLOCATE ALL")
    prepared.removeAll()
  }

  // MARK: Transactions

  /// - Parameter mode: what follows BEGIN, such as `READ ONLY`.
  package func begin(_ mode: String = "") throws { try execute(mode.isEmpty ? "BEGIN" : "BEGIN \(mode)") }

  /// - Throws: `PostgreSQLError`, with `isCommitUnknown` if the connection was lost meanwhile.
  package func commit() throws {
    let result: OpaquePointer
    do {
      result = try checked(cpq_PQexec(open(), "COMMIT"), "COMMIT")
    } catch let error as PostgreSQLError where error.isConnectionLost {
      throw error.withUnknownCommit
    }
    defer { cpq_PQclear(result) }
    guard String(libpq: cpq_PQcmdStatus(result)) == "COMMIT" else {
      throw PostgreSQLError("The transaction was rolled back, since one of its statements had failed.")
    }
  }

  package func rollback() throws {
    if isLost { return }
    try execute("ROLLBACK")
  }

  /// Runs a body in a transaction, or within one in a part that can be rolled back alone.
  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    guard !isInTransaction else { return try savepoint(body) }
    try begin()
    let result: Result
    do {
      result = try body()
    } catch {
      // The caller needs the first error. The server rolls back what is left of a lost connection.
      try? rollback()
      throw error
    }
    try commit()
    return result
  }

  private func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    savepoints += 1
    let name = "c\(savepoints)"
    defer { savepoints -= 1 }
    try execute("SAVEPOINT \(name)")
    do {
      let result = try body()
      try execute("RELEASE SAVEPOINT \(name)")
      return result
    } catch {
      // As above.
      try? execute("ROLLBACK TO SAVEPOINT \(name); RELEASE SAVEPOINT \(name)")
      throw error
    }
  }

  // MARK: Pipelines

  /// Statements that are sent without waiting for the results of those before.
  package final class Pipeline {
    fileprivate enum Expected {
      case preparation(sql: String)
      case result(sql: String, (PostgreSQLRows) throws -> Void)
    }

    /// So many statements, or bytes, are sent before their results are read.
    fileprivate static let (greatestCount, greatestSize) = (2_000, 4 << 20)

    fileprivate let connection: PostgreSQLConnection
    fileprivate var expected: [Expected] = []
    fileprivate var size = 0

    fileprivate init(_ connection: PostgreSQLConnection) { self.connection = connection }

    /// Sends a statement.
    ///
    /// - Parameter check: called with its result, before the pipeline ends.
    /// - Throws: the first error of an earlier statement; what its `check` has thrown.
    package func send(
      _ sql: String, _ values: [PostgreSQLValue] = [], check: @escaping (PostgreSQLRows) throws -> Void
    ) throws {
      try connection.send(sql, values, check, self)
      if expected.count >= Self.greatestCount || size >= Self.greatestSize { try synchronize() }
    }

    /// Waits for the results of all statements so far.
    package func synchronize() throws { try connection.synchronize(self) }
  }

  /// Runs statements in a pipeline.
  ///
  /// - Throws: the first error of a statement, of its check, or of the body. The statements after it have not been carried out
  ///   then, if they are in one transaction.
  package func pipeline<Result>(_ body: (Pipeline) throws -> Result) throws -> Result {
    let handle = try open()
    guard cpq_PQenterPipelineMode(handle) == 1 else { throw failure(nil) }
    cpq_PQsetnonblocking(handle, 1)
    let pipeline = Pipeline(self)
    func end() {
      cpq_PQsetnonblocking(handle, 0)
      if !isLost { cpq_PQexitPipelineMode(handle) }
    }
    do {
      let result = try body(pipeline)
      try pipeline.synchronize()
      end()
      return result
    } catch {
      // What is under way must be read before the connection can be used again.
      if !pipeline.expected.isEmpty { try? pipeline.synchronize() }
      end()
      throw error
    }
  }

  private func send(
    _ sql: String, _ values: [PostgreSQLValue], _ check: @escaping (PostgreSQLRows) throws -> Void,
    _ pipeline: Pipeline
  ) throws {
    let handle = try open()
    let statement: PreparedStatements.Statement
    if let known = prepared.statement(sql, values) {
      statement = known
    } else {
      statement = prepared.new(values)
      let types = statement.types.map { $0?.rawValue ?? 0 }
      guard cpq_PQsendPrepare(handle, statement.name, sql, Int32(types.count), types) == 1 else { throw failure(sql) }
      pipeline.expected.append(.preparation(sql: sql))
      prepared.keep(statement, sql)
    }
    let parameters = StatementParameters(values)
    let isSent = parameters.withPointers { pointers in
      cpq_PQsendQueryPrepared(
        handle, statement.name, pointers.count, pointers.values, pointers.lengths, pointers.formats, 1)
    }
    guard isSent == 1 else { throw failure(sql) }
    pipeline.expected.append(.result(sql: sql, check))
    pipeline.size += parameters.size
  }

  private func synchronize(_ pipeline: Pipeline) throws {
    let handle = try open()
    let expected = pipeline.expected
    (pipeline.expected, pipeline.size) = ([], 0)
    guard cpq_PQpipelineSync(handle) == 1 else { throw failure(nil) }
    try flush(handle)
    var first: (any Error)?
    for entry in expected {
      let result = try next(handle)
      do {
        switch entry {
        case .preparation(let sql):
          do {
            cpq_PQclear(try checked(result, sql))
          } catch {
            prepared.forget(sql)
            throw error
          }
        case .result(let sql, let check):
          if let result, cpq_PQresultStatus(result) == CPQ_PIPELINE_ABORTED {
            // The first error is the one that counts.
            cpq_PQclear(result)
            break
          }
          do {
            let rows = PostgreSQLRows(try checked(result, sql))
            if first == nil { try check(rows) }
          } catch let error as PostgreSQLError {
            if error.isOutdatedPlan { prepared.forget(sql) }
            throw error
          }
        }
      } catch {
        first = first ?? error
        if isLost { throw error }
      }
      // A null pointer ends the results of a statement.
      if let more = try next(handle) { cpq_PQclear(more) }
    }
    let end = try next(handle)
    cpq_PQclear(end)
    if let first { throw first }
  }

  /// Sends what libpq has in its buffer, and reads what the server sends meanwhile, which might not read on otherwise.
  private func flush(_ handle: OpaquePointer) throws {
    while true {
      switch cpq_PQflush(handle) {
      case 0: return
      case 1:
        try wait(handle, for: Int16(POLLIN | POLLOUT))
        guard cpq_PQconsumeInput(handle) == 1 else { throw failure(nil) }
      default: throw failure(nil)
      }
    }
  }

  /// Returns the next result of a pipeline.
  private func next(_ handle: OpaquePointer) throws -> OpaquePointer? {
    while cpq_PQisBusy(handle) == 1 {
      try wait(handle, for: Int16(POLLIN))
      guard cpq_PQconsumeInput(handle) == 1 else { throw failure(nil) }
    }
    return cpq_PQgetResult(handle)
  }

  /// - Parameter milliseconds: how long to wait; negative for as long as it takes.
  /// - Returns: whether there is anything.
  @discardableResult
  private func wait(_ handle: OpaquePointer, for events: Int16, milliseconds: Int32 = -1) throws -> Bool {
    var descriptor = pollfd(fd: cpq_PQsocket(handle), events: events, revents: 0)
    guard descriptor.fd >= 0 else { throw failure(nil) }
    while true {
      let count = poll(&descriptor, 1, milliseconds)
      if count >= 0 { return count > 0 }
      guard errno == EINTR else { throw PostgreSQLError("poll: \(String(cString: strerror(errno)))") }
    }
  }

  // MARK: COPY

  /// Inserts rows by COPY.
  ///
  /// - Throws: `PostgreSQLError`; what the body throws, which ends the COPY. No row has been inserted then.
  package func copyIn(_ table: String, columns: [String], _ body: (CopyWriter) throws -> Void) throws {
    let handle = try open()
    let list = columns.map(Self.quoted).joined(separator: ", ")
    let sql = "COPY \(Self.quoted(table)) (\(list)) FROM STDIN (FORMAT binary)"
    cpq_PQclear(try checked(cpq_PQexec(handle, sql), sql))
    let writer = CopyWriter { bytes in
      // A failure is reported at the end of the COPY.
      if let start = bytes.baseAddress {
        _ = cpq_PQputCopyData(handle, start.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
      }
    }
    var cause: (any Error)?
    do {
      try body(writer)
      writer.finish()
    } catch {
      cause = error
    }
    let isEnded = cpq_PQputCopyEnd(handle, cause == nil ? nil : "the program has stopped") == 1
    var failure: (any Error)? = isEnded ? nil : self.failure(sql)
    while let result = cpq_PQgetResult(handle) {
      do {
        cpq_PQclear(try checked(result, sql))
      } catch {
        failure = failure ?? error
      }
    }
    if let error = cause ?? failure { throw error }
  }

  // MARK: Notifications

  package func listen(_ channel: String) throws { try execute("LISTEN \(Self.quoted(channel))") }

  /// Waits for notifications.
  ///
  /// - Parameter seconds: how long.
  /// - Returns: the payloads of those that have come; empty for none.
  package func notifications(waitingUpTo seconds: Double) throws -> [String] {
    let handle = try open()
    if try wait(handle, for: Int16(POLLIN), milliseconds: Int32(seconds * 1_000)) {
      guard cpq_PQconsumeInput(handle) == 1 else { throw failure(nil) }
    }
    var found: [String] = []
    while let notification = cpq_next_notification(handle) {
      found.append(String(cString: notification.pointee.payload))
      cpq_PQfreemem(notification)
    }
    return found
  }
}
