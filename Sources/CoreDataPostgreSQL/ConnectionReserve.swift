// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import Foundation

/// The connections of a server that stores leave to others.
///
/// A store works with a single connection, and reads faster with more. Stores that took all that the server has would
/// keep others from being opened, for as long as they read. So a connection that reads is opened, and kept, only while
/// some are free.
struct ConnectionReserve {
  /// The number of connections to leave free: a twentieth of what the server allows, and at least this many.
  private static let minimum: Int64 = 2
  private static let fraction: Int64 = 20
  /// The seconds for which an answer of the server is used.
  private static let patience: TimeInterval = 2

  /// Has a read use the connection that writes.
  struct NoneToSpare: Error, CustomStringConvertible {
    let free, limit: Int64

    var description: String { "Only \(free) of \(limit) connections are free, and left to others." }
  }

  private var lastCheck: TimeInterval = 0

  /// Throws if fewer connections are free than others may need. Asks the server only if that was long ago.
  mutating func check(_ connection: PostgreSQLConnection) throws {
    let now = ProcessInfo.processInfo.systemUptime
    guard now - lastCheck >= Self.patience else { return }
    lastCheck = now
    // A pooler has limits of its own, and lets its clients wait.
    if connection.isPooled { return }
    let rows = try connection.lastRows(Self.query)
    guard let free = Int64(rows.string(0, 0)), let limit = Int64(rows.string(0, 1)) else { return }
    guard free >= max(Self.minimum, limit / Self.fraction) else {
      throw NoneToSpare(free: free, limit: limit)
    }
  }

  /// The numbers of free connections and of all connections that the role may have. Not limited to client backends,
  /// whose kind only members of `pg_read_all_stats` see.
  private static let query = """
    SELECT least(a.whole - a.used, r.rolconnlimit - a.by_role, d.datconnlimit - a.by_database), \
    least(a.whole, r.rolconnlimit, d.datconnlimit) \
    FROM (SELECT count(*) AS used, count(*) FILTER (WHERE s.usename = session_user) AS by_role, \
    count(*) FILTER (WHERE s.datname = current_database()) AS by_database, \
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint \
    - coalesce(current_setting('reserved_connections', true), '0')::bigint AS whole \
    FROM pg_catalog.pg_stat_activity s WHERE s.datid IS NOT NULL) a \
    LEFT JOIN (SELECT nullif(rolconnlimit, -1) AS rolconnlimit FROM pg_catalog.pg_roles WHERE rolname = session_user) r \
    ON TRUE LEFT JOIN (SELECT nullif(datconnlimit, -1) AS datconnlimit FROM pg_catalog.pg_database \
    WHERE datname = current_database()) d ON TRUE
    """
}
