// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

/// The connection by which a store is looked at, migrated and opened, one after the other.
///
/// Connecting takes longer than any of these, and a new connection reads the server's catalogue again.
final class SharedConnection: Sendable {
  @TaskLocal private static var current: SharedConnection?

  /// The connection while nobody uses it.
  private let idle = Guarded<Idle?>(nil)

  private struct Idle {
    let address: PostgreSQLAddress
    let connection: PostgreSQLConnection
  }

  /// Runs a body that connects several times.
  static func sharing<Result>(_ body: () throws -> Result) rethrows -> Result {
    try $current.withValue(SharedConnection(), operation: body)
  }

  /// Connects, unless there is a connection to the address that is not used any more.
  static func take(_ address: PostgreSQLAddress) throws -> PostgreSQLConnection {
    let idle = current?.idle.update { idle in
      defer { idle = nil }
      return idle
    }
    if let idle, idle.address == address, idle.connection.answers() { return idle.connection }
    return try PostgreSQLConnection(address, applicationName: ProcessInfo.processInfo.processName)
  }

  /// Keeps a connection for the next who needs one, or closes it.
  static func giveBack(_ connection: PostgreSQLConnection, to address: PostgreSQLAddress) {
    guard let current, connection.transactionStatus == .none else { return connection.close() }
    current.idle.value = Idle(address: address, connection: connection)
  }
}
