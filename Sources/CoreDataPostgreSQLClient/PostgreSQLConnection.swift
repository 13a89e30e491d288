// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import CoreDataTracing
import Foundation

/// A connection to a database whose search path is a single schema.
///
/// A connection through a pooler (`isPooled`) may get another server process for each transaction, so that nothing of a
/// session can be relied on: each transaction sets what it needs, and statements have no names.
///
/// Only one thread at a time may use a connection and its pipelines, except for `cancel()` and `wake()`, which may be
/// called on any thread. Rows may be read on any thread, even after the connection was closed.
package final class PostgreSQLConnection: @unchecked Sendable {
  /// The oldest server version that supports everything used here.
  private static let oldestServer = 130_000

  let address: PostgreSQLAddress
  private(set) var handle: OpaquePointer?
  private let canceller: OpaquePointer?
  let prepared: PreparedStatements
  /// The check that follows each statement outside a transaction; nil for none.
  package var check: Check?
  let parameters = StatementParameters()
  let waker = Waker()
  var savepoints = 0
  var name = ContextName()
  /// Whether a connection pooler is between this process and the server.
  package internal(set) var isPooled = false
  /// What a transaction on a server process sets before its own statements if `isPooled`.
  package var settings: TransactionSettings

  /// Connects.
  ///
  /// - Parameters:
  ///   - applicationName: The name in the server's views and logs, unless the URL or the environment gives another one.
  ///   - statementLimit: The maximum number of texts whose prepared statements are kept.
  /// - Throws: `PostgreSQLError`.
  package init(_ address: PostgreSQLAddress, applicationName: String, statementLimit: Int = 500) throws {
    prepared = PreparedStatements(limit: statementLimit)
    settings = TransactionSettings(schema: address.schema)
    StatementTracing.prepare()
    StatementTracing.requireOrigins()
    if let reason = cpq_load() {
      throw PostgreSQLError(
        "libpq, PostgreSQL's library, cannot be loaded: \(String(cString: reason)). Install it: apt-get install libpq5, or "
          + "brew install libpq")
    }
    let settings =
      [("fallback_application_name", applicationName)] + address.parameters.map { ($0.keyword, $0.value) }
      + [("client_encoding", "UTF8")]
    let made = try Self.connect(to: address, settings)
    var address = address
    // The password may also come from a password file or the environment.
    address.hide(String(libpq: cpq_PQpass(made)))
    guard let made, cpq_PQstatus(made) == CPQ_CONNECTION_OK else {
      let message = made == nil ? "out of memory" : String(libpq: cpq_PQerrorMessage(made))
      cpq_PQfinish(made)
      throw PostgreSQLError(address.masked(message) + Self.advice(after: message), isConnectionLost: true)
    }
    self.address = address
    handle = made
    canceller = cpq_PQgetCancel(made)
    do {
      try prepare(made)
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
    cpq_PQfreeCancel(canceller)
  }

  /// Connects, and asks for the password if the server requires one that was not found anywhere.
  ///
  /// - Throws: `PostgreSQLError` if there is no answer.
  private static func connect(to address: PostgreSQLAddress, _ settings: [(String, String)]) throws -> OpaquePointer? {
    let made = connect(settings)
    guard cpq_PQconnectionNeedsPassword(made) == 1 else { return made }
    let message = String(libpq: cpq_PQerrorMessage(made))
    cpq_PQfinish(made)
    guard let answer = PasswordQuestion.password(for: address) else {
      throw PostgreSQLError(address.masked(message), isConnectionLost: true).withPasswordNeed
    }
    let second = connect(settings + [("password", answer)])
    if cpq_PQstatus(second) != CPQ_CONNECTION_OK { PasswordQuestion.forget(address) }
    return second
  }

  private static func connect(_ settings: [(String, String)]) -> OpaquePointer? {
    // Do not let libpq expand a database name as a connection string, whose password would not be redacted.
    withStrings(settings.map(\.0)) { names in
      withStrings(settings.map(\.1)) { values in cpq_connect(names, values) }
    }
  }

  private static func withStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return (copies.map { $0.map { UnsafePointer($0) } } + [nil]).withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  private func prepare(_ handle: OpaquePointer) throws {
    let version = Int(cpq_PQserverVersion(handle))
    guard version >= Self.oldestServer else {
      throw PostgreSQLError(
        "The server has the version \(version / 10_000); a store needs PostgreSQL \(Self.oldestServer / 10_000) or later."
      )
    }
    let encoding = String(libpq: cpq_PQparameterStatus(handle, "server_encoding"))
    guard encoding == "UTF8" else {
      throw PostgreSQLError("The database has the encoding \(encoding); a store needs one with UTF8.")
    }
    name.base = String(libpq: cpq_PQparameterStatus(handle, "application_name"))
    try detectPooler(handle)
  }

  /// Returns a name in double quotes.
  package static func quoted(_ name: String) -> String {
    "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
  }

  /// Closes the connection. The server rolls back its transaction.
  package func close() {
    cpq_PQfinish(handle)
    handle = nil
  }

  /// Returns whether the server answers. A connection that fails this test is unusable, whatever the error.
  package func answers() -> Bool { (try? execute("SELECT 1")) != nil }

  /// Whether the connection is closed or broken.
  package var isLost: Bool { handle.map { cpq_PQstatus($0) != CPQ_CONNECTION_OK } ?? true }

  package var isInTransaction: Bool {
    switch transactionStatus {
    case .none, .unknown: false
    case .active, .open, .failed: true
    }
  }

  /// The state of the connection's transaction.
  package enum TransactionStatus: Hashable, Sendable {
    case none
    /// A statement is running.
    case active
    case open
    /// A statement has failed, and the transaction can only be rolled back.
    case failed
    /// The connection is lost.
    case unknown
  }

  package var transactionStatus: TransactionStatus {
    guard let handle, !isLost else { return .unknown }
    return switch cpq_PQtransactionStatus(handle) {
    case CPQ_TRANSACTION_IDLE: .none
    case CPQ_TRANSACTION_ACTIVE: .active
    case CPQ_TRANSACTION_OPEN: .open
    case CPQ_TRANSACTION_FAILED: .failed
    default: .unknown
    }
  }

  /// The ID of the server process for the connection, or the one that a pooler has made up; 0 if the connection is
  /// closed.
  package var processID: Int { handle.map { Int(cpq_PQbackendPID($0)) } ?? 0 }

  /// The version of the server, such as 150004 for 15.4; 0 if the connection is closed.
  package var serverVersion: Int { handle.map { Int(cpq_PQserverVersion($0)) } ?? 0 }

  /// Asks the server to cancel the running statement. May be called on any thread.
  ///
  /// - Returns: Whether the server was reached. If not, the statement runs to its end.
  @discardableResult
  package func cancel() -> Bool {
    guard let canceller else { return false }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      cpq_PQcancel(canceller, buffer.baseAddress!, Int32(buffer.count)) == 1
    }
  }

  // MARK: Results

  func open() throws -> OpaquePointer {
    guard let handle else { throw PostgreSQLError("The connection is closed.", isConnectionLost: true) }
    return handle
  }

  /// Returns the last error that libpq has recorded for the connection.
  func failure(_ statement: String?) -> PostgreSQLError {
    let message = handle.map { String(libpq: cpq_PQerrorMessage($0)) } ?? "The connection is closed."
    connectionDidEnd()
    return PostgreSQLError(
      message.isEmpty ? "libpq has failed without a message." : address.masked(message), isConnectionLost: isLost,
      statement: statement)
  }

  /// Returns a successful result. Frees any other result and throws its error.
  func checked(_ result: OpaquePointer?, _ statement: String?) throws -> OpaquePointer {
    guard let result else { throw failure(statement) }
    switch cpq_PQresultStatus(result) {
    case CPQ_COMMAND_OK, CPQ_TUPLES_OK, CPQ_SINGLE_TUPLE, CPQ_EMPTY_QUERY, CPQ_COPY_IN: return result
    default:
      // An error without an SQLSTATE comes from libpq rather than the server.
      if cpq_PQresultErrorField(result, CPQ_FIELD_SQLSTATE) == nil { connectionDidEnd() }
      var error = PostgreSQLError(result, statement: statement, isConnectionLost: isLost, masked: address.masked)
      if !address.showsValues { error = error.withoutValues }
      cpq_PQclear(result)
      throw error
    }
  }

  /// Makes libpq detect whether the server has closed the connection. After a failed write it does not know yet.
  private func connectionDidEnd() {
    if let handle, cpq_PQstatus(handle) == CPQ_CONNECTION_OK { _ = cpq_PQconsumeInput(handle) }
  }

  /// Waits for events on the connection's socket.
  ///
  /// - Parameter deadline: The time at which to stop waiting; nil to wait indefinitely.
  /// - Returns: Whether an event occurred; false if the deadline has passed or `wake()` was called.
  @discardableResult
  func wait(_ handle: OpaquePointer, for events: Int16, until deadline: Date? = nil, wakeable: Bool = false) throws
    -> Bool
  {
    let socket = cpq_PQsocket(handle)
    guard socket >= 0 else { throw failure(nil) }
    var descriptors = [pollfd(fd: socket, events: events, revents: 0)]
    if wakeable { descriptors.append(pollfd(fd: try waker.reading(), events: Int16(POLLIN), revents: 0)) }
    while true {
      let milliseconds =
        deadline.map { Int32(clamping: Int(max(0, min($0.timeIntervalSinceNow, 86_400)) * 1_000)) } ?? -1
      let count = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
      if count > 0 {
        if wakeable, descriptors[1].revents != 0 { waker.drain() }
        return descriptors[0].revents != 0
      }
      if count == 0 { return false }
      guard errno == EINTR else { throw PostgreSQLError("poll: \(String(cString: strerror(errno)))") }
    }
  }
}

/// A pipe that wakes a waiting thread.
final class Waker: @unchecked Sendable {
  private let lock = NSLock()
  private var ends: (reading: Int32, writing: Int32)?

  deinit {
    guard let ends else { return }
    close(ends.reading)
    close(ends.writing)
  }

  private func opened() throws -> (reading: Int32, writing: Int32) {
    try lock.withLock {
      if let ends { return ends }
      var pair: (Int32, Int32) = (-1, -1)
      let result = withUnsafeMutablePointer(to: &pair) { pointer in
        pointer.withMemoryRebound(to: Int32.self, capacity: 2) { pipe($0) }
      }
      guard result == 0 else { throw PostgreSQLError("pipe: \(String(cString: strerror(errno)))") }
      for end in [pair.0, pair.1] {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      ends = pair
      return pair
    }
  }

  func reading() throws -> Int32 { try opened().reading }

  func wake() throws {
    // If the pipe is full, the thread wakes up anyway.
    _ = write(try opened().writing, "w", 1)
  }

  func drain() {
    var buffer: [UInt8] = Array(repeating: 0, count: 64)
    guard let end = lock.withLock({ ends?.reading }) else { return }
    while read(end, &buffer, buffer.count) == buffer.count {}
  }
}
