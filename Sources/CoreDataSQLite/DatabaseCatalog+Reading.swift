// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension SQLiteConnection {
  /// Reads what tables, indexes, triggers and views the main database has.
  ///
  /// Virtual tables are listed without columns: to ask for them runs the module that the file names.
  package func catalog() throws -> DatabaseCatalog {
    var catalog = DatabaseCatalog(tables: [], indexes: [], triggers: [], views: [])
    let entries = try prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_master ORDER BY rowid").rows()
    for entry in entries {
      guard let name = entry[1].text, let table = entry[2].text else { continue }
      let sql = entry[3].text
      switch entry[0].text {
      case "table" where !SQLName.folded(name).hasPrefix("sqlite_"):
        catalog.tables.append(try readTable(name, sql: sql ?? ""))
      case "index":
        catalog.indexes.append(try readIndex(name, table: table, sql: sql))
      case "trigger":
        catalog.triggers.append(DatabaseCatalog.Trigger(name: name, table: table, sql: sql ?? ""))
      case "view":
        catalog.views.append(DatabaseCatalog.View(name: name, sql: sql ?? ""))
      default:
        break
      }
    }
    return catalog
  }

  /// Whether the main database has a table of that name, in any case.
  package func hasTable(_ name: String) throws -> Bool {
    let sql = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE"
    return try scalar(sql, [.text(name)]) != nil
  }

  /// How many rows a table has.
  package func rowCount(of table: String) throws -> Int {
    Int(try prepare("SELECT COUNT(*) FROM \(SQLName.quoted(table))").scalar()?.integer ?? 0)
  }

  private func readTable(_ name: String, sql: String) throws -> DatabaseCatalog.Table {
    let words = sql.prefix(200).split(maxSplits: 3, whereSeparator: \.isWhitespace).prefix(3).map { $0.uppercased() }
    let isVirtual = words == ["CREATE", "VIRTUAL", "TABLE"]
    let rows = isVirtual ? [] : try prepare("PRAGMA main.table_xinfo(\(SQLName.quoted(name)))").rows()
    let columns = rows.map { row in
      DatabaseCatalog.Column(
        name: row["name"]?.text ?? "", declaredType: row["type"]?.text ?? "",
        isNotNull: row["notnull"]?.integer != 0, defaultValue: row["dflt_value"]?.text,
        primaryKeyPosition: Int(row["pk"]?.integer ?? 0), isGenerated: (row["hidden"]?.integer ?? 0) > 1)
    }
    return DatabaseCatalog.Table(name: name, sql: sql, columns: columns, isVirtual: isVirtual)
  }

  private func readIndex(_ name: String, table: String, sql: String?) throws -> DatabaseCatalog.Index {
    let list = try prepare("PRAGMA main.index_list(\(SQLName.quoted(table)))").rows()
    let entry = list.first { $0["name"]?.text == name }
    let columns = try prepare("PRAGMA main.index_xinfo(\(SQLName.quoted(name)))").rows()
    return DatabaseCatalog.Index(
      name: name, table: table,
      columns: columns.filter { $0["key"]?.integer == 1 }.map { row in
        DatabaseCatalog.IndexColumn(
          name: row["name"]?.text, isDescending: row["desc"]?.integer == 1, collation: row["coll"]?.text ?? "BINARY")
      }, isUnique: entry?["unique"]?.integer == 1, isPartial: entry?["partial"]?.integer == 1, sql: sql)
  }
}
