// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// Everything that the catalogue of a server says about the current schema, without the order of columns.
struct ServerImage {
  let lines: Set<String>

  init(_ database: PsqlDatabase) throws {
    let queries = [
      """
      SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || \
      a.attnotnull || ' ' || coalesce((SELECT collname FROM pg_collation WHERE oid = a.attcollation), '-') || ' ' || \
      coalesce(pg_get_expr(d.adbin, d.adrelid), '-') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relkind = 'r' \
      AND c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
      """,
      """
      SELECT 'index ' || replace(pg_get_indexdef(i.indexrelid), quote_ident(current_schema()) || '.', '') \
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = current_schema()::regnamespace
      """,
      """
      SELECT 'constraint ' || t.relname || ' ' || c.conname || ' ' || \
      replace(pg_get_constraintdef(c.oid), quote_ident(current_schema()) || '.', '') || ' ' || c.convalidated \
      FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid WHERE c.connamespace = current_schema()::regnamespace
      """,
      """
      SELECT 'sequence ' || s.relname || ' ' || q.seqincrement || ' ' || coalesce(t.relname, '-') || ' ' || \
      format_type(q.seqtypid, NULL) FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid \
      LEFT JOIN pg_depend d ON d.objid = s.oid AND d.deptype = 'a' LEFT JOIN pg_class t ON t.oid = d.refobjid \
      WHERE s.relnamespace = current_schema()::regnamespace
      """,
      "SELECT 'temporary ' || relname FROM pg_class WHERE relpersistence = 't' AND relkind IN ('r', 'i')",
    ]
    lines = Set(try queries.flatMap { try database.texts($0) }.compactMap { $0[0] })
  }

  /// What one has and the other lacks.
  func differences(from other: ServerImage) -> [String] {
    lines.subtracting(other.lines).sorted().map { "only here: \($0)" }
      + other.lines.subtracting(lines).sorted().map { "missing: \($0)" }
  }
}
