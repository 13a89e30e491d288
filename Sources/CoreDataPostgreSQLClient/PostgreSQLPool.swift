// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Connections to one database that several threads share, each by one thread at a time.
package final class PostgreSQLPool: Sendable {
  private struct State {
    var idle: [PostgreSQLConnection] = []
    /// Those in use, those being made, and the idle ones.
    var count = 0
    var isClosed = false
  }

  package let address: PostgreSQLAddress
  private let applicationName: String
  private let limit: Int
  private let timeout: TimeInterval
  private let configure: @Sendable (PostgreSQLConnection) throws -> Void
  private let condition = NSCondition()
  // Guarded by the condition.
  nonisolated(unsafe) private var state = State()

  /// - Parameters:
  ///   - limit: The greatest number of connections.
  ///   - timeout: How many seconds to wait for one when all are in use.
  ///   - configure: Called with each new connection.
  package init(
    _ address: PostgreSQLAddress, applicationName: String, limit: Int, timeout: TimeInterval = 30,
    configure: @escaping @Sendable (PostgreSQLConnection) throws -> Void = { _ in }
  ) {
    precondition(limit > 0, "a pool needs at least one connection")
    (self.address, self.applicationName, self.limit, self.timeout) = (address, applicationName, limit, timeout)
    self.configure = configure
  }

  deinit { close() }

  /// The number of connections, and how many of them nobody uses.
  package var counts: (all: Int, idle: Int) { condition.withLock { (state.count, state.idle.count) } }

  /// Runs a body with a connection.
  ///
  /// - Throws: `PostgreSQLError` (`isPoolExhausted`) if all are in use for too long; if no connection can be made; what the body
  ///   throws.
  package func withConnection<Result>(_ body: (PostgreSQLConnection) throws -> Result) throws -> Result {
    let connection = try take()
    defer { giveBack(connection) }
    return try body(connection)
  }

  /// Takes a connection for a longer time. It must be given back.
  package func take() throws -> PostgreSQLConnection {
    while let idle = try idleConnection() {
      // One that the server has closed meanwhile is replaced.
      if idle.isUsable { return idle }
      drop(idle)
    }
    do {
      let connection = try PostgreSQLConnection(address, applicationName: applicationName)
      try configure(connection)
      return connection
    } catch {
      release { $0.count -= 1 }
      throw error
    }
  }

  /// Returns an idle connection; nil if a new one may be made, which has been counted.
  private func idleConnection() throws -> PostgreSQLConnection? {
    let deadline = Date(timeIntervalSinceNow: timeout)
    return try condition.withLock {
      while true {
        if state.isClosed { throw PostgreSQLError("The pool of connections is closed.", isConnectionLost: true) }
        if let connection = state.idle.popLast() { return connection }
        if state.count < limit {
          state.count += 1
          return nil
        }
        guard condition.wait(until: deadline) else {
          // One may have become free at the last moment, which nobody else would be told of.
          if !state.idle.isEmpty || state.count < limit { continue }
          throw PostgreSQLError.poolExhausted(
            "All \(limit) connections to '\(address.redacted)' were in use for \(timeout) seconds.")
        }
      }
    }
  }

  /// Gives back a connection. Its transaction, if one is open, is rolled back.
  package func giveBack(_ connection: PostgreSQLConnection) {
    if connection.isInTransaction {
      // The connection is closed below if this does not succeed.
      try? connection.rollback()
    }
    guard connection.transactionStatus == .none else { return drop(connection) }
    let isKept = condition.withLock {
      if state.isClosed { return false }
      state.idle.append(connection)
      condition.signal()
      return true
    }
    if !isKept { drop(connection) }
  }

  private func drop(_ connection: PostgreSQLConnection) {
    connection.close()
    release { $0.count -= 1 }
  }

  private func release(_ change: (inout State) -> Void) {
    condition.withLock {
      change(&state)
      condition.signal()
    }
  }

  /// Closes the idle connections, and the others when they are given back.
  package func close() {
    let idle = condition.withLock {
      let idle = state.idle
      state.isClosed = true
      state.idle = []
      state.count -= idle.count
      condition.broadcast()
      return idle
    }
    for connection in idle { connection.close() }
  }
}
