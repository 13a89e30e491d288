// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// What the catalog of a server says about the tables of a store, besides their names and columns: privileges,
/// constraints, indexes, sequences, triggers, and columns that are not declared as this framework declares them.
///
/// Everything is read by one statement.
struct SchemaFacts {
  /// A privilege that the role of the connection needs.
  enum Privilege: String, CaseIterable {
    case select = "SELECT"
    case insert = "INSERT"
    case update = "UPDATE"
    case delete = "DELETE"
  }

  struct ForeignKey: Hashable {
    let table: String
    let column: String
    let destination: String
  }

  /// The columns of a uniqueness constraint that the server enforces.
  struct UniqueKey: Hashable {
    let table: String
    let columns: Set<String>
  }

  struct Sequence {
    let isUsable: Bool
    let increment: Int64
  }

  /// A trigger or rule of somebody else.
  struct Trigger {
    let table: String
    let name: String
    /// Whether it runs instead of, or before, writing a row, and so can change or discard the row.
    let canDiscardRows: Bool
    let isRule: Bool
  }

  /// A column whose declaration limits its values, or whose texts are not compared by code points.
  struct Column {
    let table: String
    let name: String
    let type: String
    /// The collation; nil if texts are ordered by code points, or the column has no texts.
    let collation: String?
    /// Whether the type has a limit, such as that of `numeric(10,2)`.
    let isLimited: Bool
  }

  /// A column that must be given a value by whoever inserts a row.
  struct RequiredColumn: Hashable {
    let table: String
    let name: String
  }

  /// The role of the connection.
  private(set) var role = ""
  /// The privileges by table.
  private(set) var privileges: [String: Set<Privilege>] = [:]
  private(set) var sequences: [String: Sequence] = [:]
  private(set) var foreignKeys: Set<ForeignKey> = []
  private(set) var uniqueKeys: Set<UniqueKey> = []
  /// The names of constraints that exclude equal values of expressions, by table.
  private(set) var exclusions: Set<[String]> = []
  private(set) var indexes: Set<String> = []
  private(set) var triggers: [Trigger] = []
  /// The tables some of whose rows row-level security may hide from the role.
  private(set) var filteredTables: Set<String> = []
  private(set) var requiredColumns: Set<RequiredColumn> = []
  private(set) var columns: [Column] = []

  /// Reads the catalog.
  init(_ connection: PostgreSQLConnection, schema: String) throws {
    let rows = try connection.query(Self.query(isRecent: connection.serverVersion >= 150_000), [.text(schema)])
    for row in 0..<rows.count {
      func text(_ column: Int) -> String { rows.isNull(row, column) ? "" : rows.string(row, column) }
      let (table, name, detail, flags) = (text(1), text(2), text(3), text(4))
      switch text(0) {
      case "role": role = name
      case "table":
        privileges[table] = Set(zip(Privilege.allCases, flags).filter { $1 == "t" }.map { $0.0 })
      case "filtered": filteredTables.insert(table)
      case "required": requiredColumns.insert(RequiredColumn(table: table, name: name))
      case "sequence": sequences[table] = Sequence(isUsable: flags == "t", increment: Int64(detail) ?? 0)
      case "foreign": foreignKeys.insert(ForeignKey(table: table, column: name, destination: detail))
      case "exclusion": exclusions.insert([table, name])
      case "index":
        indexes.insert(name)
        if flags == "t" {
          let columns = try JSONDecoder().decode(Set<String>.self, from: Data(detail.utf8))
          uniqueKeys.insert(UniqueKey(table: table, columns: columns))
        }
      case "trigger", "rule":
        triggers.append(
          Trigger(table: table, name: name, canDiscardRows: flags == "t", isRule: text(0) == "rule"))
      default:
        let collation = flags.count > 1 ? String(flags.dropFirst()) : nil
        columns.append(
          Column(table: table, name: name, type: detail, collation: collation, isLimited: flags.first == "t"))
      }
    }
  }

  /// Returns the statement. Its columns are the kind of a fact, the table, a name, a detail and flags.
  ///
  /// - Parameter isRecent: Whether the catalog has the provider of the database's collation.
  private static func query(isRecent: Bool) -> String {
    // Only libc's C and POSIX, and their namesakes of other providers, order texts by code points.
    let isPlainDatabase =
      "EXISTS (SELECT 1 FROM pg_database d WHERE d.datname = current_database() AND d.datcollate IN ('C', 'POSIX')"
      + (isRecent ? " AND d.datlocprovider = 'c'" : "") + ")"
    let collation =
      "CASE WHEN a.attcollation = 0 OR l.collname IN ('C', 'POSIX', 'ucs_basic', 'pg_c_utf8') "
      + "OR l.collname = 'default' AND \(isPlainDatabase) THEN '' ELSE l.collname::text END"
    return """
      WITH own AS (SELECT c.oid, c.relname::text AS name, c.relkind, c.relrowsecurity FROM pg_class c \
      JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'S')) \
      SELECT 'role', '', current_user::text, '', '' \
      UNION ALL SELECT 'table', o.name, '', '', concat(\(Privilege.allCases.map(Self.test).joined(separator: ", "))) \
      FROM own o WHERE o.relkind <> 'S' \
      UNION ALL SELECT 'filtered', o.name, '', '', '' FROM own o \
      WHERE CASE WHEN o.relrowsecurity THEN row_security_active(o.oid) ELSE FALSE END \
      UNION ALL SELECT 'required', o.name, a.attname::text, '', '' FROM own o \
      JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped \
      WHERE o.relkind <> 'S' AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' \
      UNION ALL SELECT 'sequence', o.name, '', s.seqincrement::text, \
      \(flag("has_sequence_privilege(o.oid, 'USAGE')")) FROM own o JOIN pg_sequence s ON s.seqrelid = o.oid \
      UNION ALL SELECT 'foreign', o.name, a.attname::text, r.relname::text, '' FROM own o \
      JOIN pg_constraint k ON k.conrelid = o.oid AND k.contype = 'f' AND array_length(k.conkey, 1) = 1 \
      AND k.condeferrable AND k.confdeltype = 'a' AND k.confupdtype = 'a' \
      JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum = k.conkey[1] JOIN pg_class r ON r.oid = k.confrelid \
      WHERE NOT \(isDisabled) \
      UNION ALL SELECT 'exclusion', o.name, k.conname::text, '', '' FROM own o \
      JOIN pg_constraint k ON k.conrelid = o.oid AND k.contype = 'x' AND NOT \(isDisabled) \
      UNION ALL SELECT 'index', o.name, x.relname::text, CASE WHEN i.indisunique THEN \
      (SELECT coalesce(json_agg(a.attname::text), '[]')::text FROM pg_attribute a \
      WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)) ELSE '' END, \
      \(flag("i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT \(isDisabledIndex)")) FROM own o \
      JOIN pg_index i ON i.indrelid = o.oid AND i.indisvalid JOIN pg_class x ON x.oid = i.indexrelid \
      UNION ALL SELECT 'trigger', o.name, t.tgname::text, '', \(flag("t.tgtype & 3 = 3")) FROM own o \
      JOIN pg_trigger t ON t.tgrelid = o.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' \
      UNION ALL SELECT 'rule', o.name, w.rulename::text, '', \(flag("w.is_instead")) FROM own o \
      JOIN pg_rewrite w ON w.ev_class = o.oid AND w.ev_enabled <> 'D' \
      UNION ALL SELECT 'column', o.name, a.attname::text, format_type(a.atttypid, a.atttypmod), \
      \(flag("a.atttypmod <> -1")) || \(collation) FROM own o \
      JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped \
      LEFT JOIN pg_collation l ON l.oid = a.attcollation WHERE o.relkind <> 'S' \
      AND (a.atttypmod <> -1 OR \(collation) <> '')
      """
  }

  /// Whether `ALTER TABLE … DISABLE TRIGGER ALL` has disabled the triggers that check the constraint `k`.
  private static let isDisabled =
    "EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled = 'D')"
  /// The same of the index `i`.
  private static let isDisabledIndex =
    "EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = i.indrelid AND k.conindid = i.indexrelid "
    + "AND \(isDisabled))"

  private static func flag(_ condition: String) -> String { "CASE WHEN \(condition) THEN 't' ELSE 'f' END" }

  /// Returns the SQL for `t` if the role has a privilege on a table or some of its columns, `f` otherwise.
  private static func test(_ privilege: Privilege) -> String {
    privilege == .delete
      ? "has_table_privilege(o.oid, 'DELETE')" : "has_any_column_privilege(o.oid, '\(privilege.rawValue)')"
  }
}
