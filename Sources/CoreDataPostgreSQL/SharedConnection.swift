// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

/// A connection that is reused for inspecting, migrating and opening a store, one after the other.
///
/// Connecting takes longer than any of these, and a new connection has to read the server's catalog again.
final class SharedConnection: Sendable {
  @TaskLocal private static var current: SharedConnection?

  /// The connection while it is not in use.
  private let idle = Guarded<Idle?>(nil)

  private struct Idle {
    let address: PostgreSQLAddress
    let connection: PostgreSQLConnection
  }

  /// Runs a body in which `acquire(_:)` reuses connections that were given back.
  static func sharing<Result>(_ body: () throws -> Result) rethrows -> Result {
    try $current.withValue(SharedConnection(), operation: body)
  }

  /// Returns an idle connection to the address, or a new one.
  static func acquire(_ address: PostgreSQLAddress) throws -> PostgreSQLConnection {
    let idle = current?.idle.update { idle in
      defer { idle = nil }
      return idle
    }
    if let idle, idle.address == address, idle.connection.answers() { return idle.connection }
    return try PostgreSQLConnection(address, applicationName: ProcessInfo.processInfo.processName)
  }

  /// Keeps a connection for the next call of `acquire(_:)`, or closes it.
  static func release(_ connection: PostgreSQLConnection, to address: PostgreSQLAddress) {
    guard let current, connection.transactionStatus == .none else { return connection.close() }
    current.idle.value = Idle(address: address, connection: connection)
  }
}
