// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The tables, indexes, triggers and views of a database, as values.
///
/// Everything is in database order. SQLite's own tables (`sqlite_…`) are omitted; the indexes it creates for
/// constraints are included.
package struct DatabaseCatalog: Hashable, Sendable {
  /// A table, possibly virtual.
  package struct Table: Hashable, Sendable {
    package var name: String
    /// The SQL statement that created it, as SQLite stores it.
    package var sql: String
    /// The columns in order; none for a virtual table.
    package var columns: [Column]
    /// Whether a module (R-tree, full text) implements the table.
    package var isVirtual: Bool

    /// Returns the column with the given name, ignoring case.
    package func column(named name: String) -> Column? {
      columns.first { SQLName.areEqual($0.name, name) }
    }
  }

  /// A column of a table.
  package struct Column: Hashable, Sendable {
    package var name: String
    /// The declared type, such as `VARCHAR`; empty if none was declared.
    package var declaredType: String
    /// Whether the column is NOT NULL.
    package var isNotNull: Bool
    /// The expression after DEFAULT, as SQL text.
    package var defaultValue: String?
    /// The position in the primary key, from 1; 0 for other columns.
    package var primaryKeyPosition: Int
    /// Whether the column is generated.
    package var isGenerated = false
  }

  /// An index of a table.
  package struct Index: Hashable, Sendable {
    package var name: String
    package var table: String
    /// The columns in order.
    package var columns: [IndexColumn]
    /// Whether the index is UNIQUE.
    package var isUnique: Bool
    /// Whether the index has a WHERE clause.
    package var isPartial: Bool
    /// The SQL statement that created it; nil for an index that SQLite created for a constraint.
    package var sql: String?
  }

  /// A column or expression of an index.
  package struct IndexColumn: Hashable, Sendable {
    /// The name of the column; nil for an expression.
    package var name: String?
    /// Whether the order is descending.
    package var isDescending: Bool
    /// The name of the collation.
    package var collation: String
  }

  /// A trigger of a table or view.
  package struct Trigger: Hashable, Sendable {
    package var name: String
    package var table: String
    /// The SQL statement that created it.
    package var sql: String
  }

  /// A view.
  package struct View: Hashable, Sendable {
    package var name: String
    /// The SQL statement that created it.
    package var sql: String
  }

  package var tables: [Table]
  package var indexes: [Index]
  package var triggers: [Trigger]
  package var views: [View]

  /// Returns the table with the given name, ignoring case.
  package func table(named name: String) -> Table? {
    tables.first { SQLName.areEqual($0.name, name) }
  }

  /// Returns the index with the given name, ignoring case.
  package func index(named name: String) -> Index? {
    indexes.first { SQLName.areEqual($0.name, name) }
  }

  /// Returns the indexes of a table.
  package func indexes(of table: String) -> [Index] {
    indexes.filter { SQLName.areEqual($0.table, table) }
  }
}

extension SQLiteConnection {
  /// Reads the catalog of the main database.
  ///
  /// Virtual tables are listed without columns, because reading the columns runs the module that the file names.
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

  /// Whether the main database has a table with the given name, ignoring case.
  package func hasTable(_ name: String) throws -> Bool {
    let sql = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE"
    return try scalar(sql, [.text(name)]) != nil
  }

  /// Returns the number of rows in a table.
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

extension DatabaseCatalog.Table {
  /// Describes what in the definition computes values, or makes rows vanish without an error; nil for a plain table.
  package var oddity: String? {
    if isVirtual { return "it is a virtual table" }
    if let column = columns.first(where: \.isGenerated) { return "an expression computes its column \(column.name)" }
    if Self.words(of: sql).contains("CONFLICT") {
      return "it has an ON CONFLICT clause, by which rows can vanish without an error"
    }
    return nil
  }

  /// Returns the keywords and unquoted names of a statement in upper case, without quoted text and comments.
  static func words(of sql: String) -> [String] {
    var words: [String] = []
    var word = ""
    var rest = Substring(sql).utf8[...]
    func end() {
      if !word.isEmpty { words.append(word.uppercased()) }
      word = ""
    }
    while let byte = rest.first {
      let character = Character(UnicodeScalar(byte))
      if rest.starts(with: "--".utf8) {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      } else if rest.starts(with: "/*".utf8) {
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
      } else if let close = ["\"": "\"", "'": "'", "`": "`", "[": "]"][character] as Character? {
        // A doubled quotation mark is read as the end of one quoted text and the start of the next, with nothing
        // between them.
        rest = rest.dropFirst().drop { $0 != close.asciiValue }.dropFirst()
      } else {
        if character == "_" || character.isLetter || character.isNumber || byte >= 0x80 {
          word.append(character)
          rest = rest.dropFirst()
          continue
        }
        rest = rest.dropFirst()
      }
      end()
    }
    end()
    return words
  }
}
