// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

/// Finds additions by others to the tables of a store, which recreating the tables would lose.
struct SchemaAdditions {
  private let connection: PostgreSQLConnection
  private let schema: String
  private let names: PostgreSQLValue

  /// Creates a finder.
  ///
  /// - Parameter tables: The names of the store's tables.
  init(_ connection: PostgreSQLConnection, schema: String, tables: [String]) {
    (self.connection, self.schema) = (connection, schema)
    names = .texts(tables)
  }

  /// Returns descriptions of columns that are not in the layout, triggers and policies.
  func found(besides layout: StoreSchema) throws -> [String] {
    let own = Set(
      layout.tables.flatMap { table in table.columns.map { "\(table.name).\($0.name)" } }
        + layout.joinTables.flatMap { join in
          [join.ownerColumn, join.destinationColumn, join.orderColumn, join.inverseOrderColumn]
            .compactMap { $0 }.map { "\(join.name).\($0)" }
        })
    let tables = Set(layout.tables.map(\.name) + layout.joinTables.map(\.name))
    let columns = try texts(
      "SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    ).filter { name in tables.contains { name.hasPrefix($0 + ".") } && !own.contains(name) }
    let triggers = try texts(
      "SELECT c.relname || '.' || t.tgname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal")
    let policies = try texts(
      "SELECT c.relname || '.' || p.polname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "JOIN pg_policy p ON p.polrelid = c.oid")
    return columns.map { "the column \($0)" } + triggers.map { "the trigger \($0)" }
      + policies.map { "the policy \($0)" }
  }

  private func texts(_ sql: String) throws -> [String] {
    let rows = try connection.query(
      sql + " WHERE n.nspname = $1 AND c.relname = ANY($2) ORDER BY 1", [.text(schema), names])
    return (0..<rows.count).map { rows.string($0, 0) }
  }

  /// A privilege on a table or sequence, granted by its owner.
  struct Grant {
    let relation: String
    let isSequence: Bool
    /// The role, in quotes if necessary; `PUBLIC` for all roles.
    let role: String
    let privilege: String
    let canGrant: Bool
  }

  /// Returns the privileges that other roles have on the tables and their sequences.
  func grants() throws -> [Grant] {
    let rows = try connection.query(
      "SELECT c.relname::text, c.relkind = 'S', CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, "
        + "a.privilege_type, a.is_grantable FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE n.nspname = $1 AND c.relname = ANY($2 || $3::text[]) "
        + "AND a.grantee <> c.relowner",
      [.text(schema), names, sequences])
    return (0..<rows.count).map { row in
      Grant(
        relation: rows.string(row, 0), isSequence: rows.bool(row, 1), role: rows.string(row, 2),
        privilege: rows.string(row, 3), canGrant: rows.bool(row, 4))
    }
  }

  private var sequences: PostgreSQLValue {
    guard case .texts(let tables) = names else { return .texts([]) }
    return .texts(tables.map(TableLayout.sequenceName(ofTable:)))
  }

  /// Grants the privileges again, on those tables and sequences that exist.
  func restore(_ grants: [Grant]) throws {
    let rows = try connection.query(
      "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1",
      [.text(schema)])
    let present = Set((0..<rows.count).map { rows.string($0, 0) })
    for grant in grants where present.contains(grant.relation) {
      try connection.execute(
        "GRANT \(grant.privilege) ON \(grant.isSequence ? "SEQUENCE" : "TABLE") \(SQLName.quoted(grant.relation)) "
          + "TO \(grant.role)" + (grant.canGrant ? " WITH GRANT OPTION" : ""))
    }
  }
}
