// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

extension PostgreSQLStore {
  static func examine(at url: URL) throws -> [ServerFinding] {
    try looking(at: url) { schema in
      var examination = ServerExamination(schema)
      try examination.run()
      return examination.findings
    }
  }
}

/// Examines a server, the role of the connection, and a store: what an operator looks at first. Changes nothing.
private struct ServerExamination {
  /// The age of a transaction in minutes from which it is reported.
  private static let longTransaction = 5
  /// The age of the oldest transaction number that is reported. At 2,147 million the server stops.
  private static let oldTransactions = 1_500_000_000

  private let schema: SchemaInDatabase
  private(set) var findings: [ServerFinding] = []

  private var connection: PostgreSQLConnection { schema.connection }

  init(_ schema: SchemaInDatabase) { self.schema = schema }

  private mutating func add(_ level: ServerFinding.Level, _ subject: String, _ text: String, cure: String? = nil) {
    findings.append(ServerFinding(level, subject, text, cure: cure))
  }

  mutating func run() throws {
    let isStandby = try connection.query("SELECT pg_is_in_recovery()").bool(0, 0)
    try examineServer(isStandby: isStandby)
    try examineDurability()
    try examineEncryption()
    try examineConnections()
    try examineTransactions()
    try examineTimeouts()
    guard try schema.isPresent() else {
      add(
        .problem, "store", "There is no store in the schema \(schema.address.schema).",
        cure: "Check the parameter 'schema' of the URL, or create the store.")
      return
    }
    // As the tool writes sizes.
    let size = ByteCountFormatter.string(fromByteCount: Int64(try schema.size()), countStyle: .file)
      .replacingOccurrences(of: " KB", with: " kB")
    add(.ok, "store", "Its tables and indexes take \(size).")
    try examinePrivileges(isStandby: isStandby)
    let metadata = try schema.metadata()
    if metadata[StoreMetadata.Key.unfinishedCopy] != nil {
      add(
        .problem, "copy", "The store has an unfinished copy of another one, and does not open.",
        cure: "Run coredata store copy again, which continues it.")
    }
    guard let document = try schema.cachedModel() else { return }
    let problems = try SchemaInspection(schema, document).problems()
    for problem in problems { add(.problem, "schema", problem.text, cure: problem.cure) }
    if problems.isEmpty { add(.ok, "schema", "Constraints, indexes and sequences are those of the model.") }
  }

  private mutating func examineServer(isStandby: Bool) throws {
    let start = Date()
    let rows = try connection.query(
      "SELECT current_setting('server_version'), current_database()::text, current_user::text")
    let milliseconds = String(format: "%.1f", Date().timeIntervalSince(start) * 1_000)
    add(
      .ok, "server",
      "PostgreSQL \(rows.string(0, 0)), database \(rows.string(0, 1)), role \(rows.string(0, 2)). A question and its "
        + "answer take \(milliseconds) ms.")
    if connection.isPooled {
      add(
        .note, "pooler",
        "A connection pooler is between this program and the server. Each transaction sets what it needs, and statements "
          + "are parsed each time.", cure: "Use the URL of the server itself for migrations and copies.")
    }
    guard isStandby else { return }
    let lag = try connection.query(
      "SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 "
        + "ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::float8")
    let seconds = lag.isNull(0, 0) ? "an unknown time" : String(format: "%.1f s", lag.double(0, 0))
    add(.note, "standby", "The server is a standby, and \(seconds) behind. Stores open read-only.")
  }

  private mutating func examineDurability() throws {
    let rows = try connection.query(
      "SELECT current_setting('fsync')::bool, current_setting('full_page_writes')::bool, "
        + "current_setting('synchronous_commit')")
    for (position, name) in ["fsync", "full_page_writes"].enumerated() where !rows.bool(0, position) {
      add(
        .problem, "durability", "\(name) is off: a crash of the machine can damage the database.",
        cure: "Set \(name) = on in the server's configuration.")
    }
    if rows.string(0, 2) == "off" {
      add(
        .problem, "durability", "synchronous_commit is off: a crash can undo the saves of the last moments.",
        cure: "Set synchronous_commit = on for the database and its roles.")
    }
    if !findings.contains(where: { $0.subject == "durability" }) {
      add(.ok, "durability", "A save is on the server's disk when it returns.")
    }
  }

  private mutating func examineEncryption() throws {
    let rows = try connection.query(
      "SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false), "
        + "coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true)")
    if rows.bool(0, 0) {
      add(.ok, "encryption", "The connection is encrypted.")
    } else if !rows.bool(0, 1) {
      add(
        .note, "encryption", "The connection is not encrypted.",
        cure: "Add sslmode=verify-full to the URL, with sslrootcert if the server's certificate is the company's own.")
    }
  }

  private mutating func examineConnections() throws {
    let rows = try connection.query(
      "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
        + "current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint")
    let (used, limit) = (rows.int64(0, 0), rows.int64(0, 1))
    add(
      used * 10 > limit * 8 ? .note : .ok, "connections", "\(used) of \(limit) are in use.",
      cure: used * 10 > limit * 8 ? "Lower the number of connections of each instance, or raise max_connections." : nil)
  }

  private mutating func examineTransactions() throws {
    let rows = try connection.query(
      "SELECT pid::text, coalesce(usename::text, ''), coalesce(application_name, ''), coalesce(state, ''), "
        + "(extract(epoch FROM now() - xact_start) / 60)::bigint FROM pg_stat_activity "
        + "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' "
        + "AND xact_start < now() - make_interval(mins => $1::int) ORDER BY xact_start LIMIT 10",
      [.integer(Int64(Self.longTransaction))])
    for row in 0..<rows.count {
      add(
        .note, "transactions",
        "Process \(rows.string(row, 0)) of \(rows.string(row, 1)) (\(rows.string(row, 2)), \(rows.string(row, 3))) has "
          + "had a transaction open for \(rows.int64(row, 4)) minutes. It keeps old rows on the disk, and a migration "
          + "waits for its locks.",
        cure: "End the program, or: SELECT pg_terminate_backend(\(rows.string(row, 0)))")
    }
    let prepared = try connection.query(
      "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
    ).int64(0, 0)
    if prepared > 0 {
      add(
        .note, "transactions", "\(prepared) prepared transactions have locks until somebody ends them.",
        cure: "See pg_prepared_xacts, and end them with COMMIT PREPARED or ROLLBACK PREPARED.")
    }
    let age = try connection.query(
      "SELECT max(age(datfrozenxid))::bigint FROM pg_database WHERE datname = current_database()"
    ).int64(0, 0)
    if age > Self.oldTransactions {
      add(
        .problem, "vacuum",
        "The oldest transaction number is \(age) transactions old; at 2,147 million the server stops.",
        cure: "Execute VACUUM in the database, and find out what keeps autovacuum from it.")
    }
  }

  private mutating func examineTimeouts() throws {
    let names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
    let rows = try connection.query(
      "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY ($1) ORDER BY 1",
      [.texts(names)])
    let found = (0..<rows.count).map {
      "\(rows.string($0, 0)) \(rows.string($0, 1) == "0" ? "none" : rows.string($0, 1))"
    }
    add(.ok, "timeouts", found.joined(separator: ", ") + ".")
  }

  private mutating func examinePrivileges(isStandby: Bool) throws {
    let rows = try connection.query(
      "SELECT c.relname::text, c.relkind = 'S', "
        + "CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'USAGE') "
        + "ELSE has_table_privilege(c.oid, 'SELECT') END, "
        + "CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'USAGE') "
        + "ELSE has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') "
        + "AND has_table_privilege(c.oid, 'DELETE') END, pg_has_role(c.relowner, 'USAGE') "
        + "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = $1 AND c.relname = ANY ($2) ORDER BY 1",
      [.text(schema.address.schema), .texts(schema.ownTables() + schema.ownSequences())])
    var (unreadable, unwritable): ([String], [String]) = ([], [])
    var (isOwner, writableCount) = (true, 0)
    for row in 0..<rows.count {
      let name = rows.string(row, 0)
      if !rows.bool(row, 1), !rows.bool(row, 2) { unreadable.append(name) }
      if rows.bool(row, 3) { writableCount += 1 } else { unwritable.append(name) }
      isOwner = isOwner && rows.bool(row, 4)
    }
    if !unreadable.isEmpty {
      add(
        .problem, "role", "The role may not read \(unreadable.joined(separator: ", ")).",
        cure: "Have the owner grant SELECT on all tables of the schema.")
    } else if writableCount == 0 {
      add(.note, "role", "The role may only read. Open the store read-only.")
    } else if !unwritable.isEmpty, !isStandby {
      add(
        .problem, "role", "The role may not write \(unwritable.joined(separator: ", ")).",
        cure: "Have the owner grant INSERT, UPDATE and DELETE on all tables of the schema, and USAGE on all sequences.")
    } else {
      add(
        .ok, "role",
        isOwner
          ? "The role owns the tables: it may read, write and migrate."
          : "The role may read and write. It does not own the tables, so that another role must migrate.")
    }
  }
}
