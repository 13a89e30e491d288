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
    package let name: String
    /// The SQL statement that created it, as SQLite stores it.
    package let sql: String
    /// The columns in order; none for a virtual table.
    package let columns: [Column]
    /// Whether a module (R-tree, full text) implements the table.
    package let isVirtual: Bool
    private let positions: [String: Int]

    package init(name: String, sql: String, columns: [Column], isVirtual: Bool) {
      (self.name, self.sql, self.columns, self.isVirtual) = (name, sql, columns, isVirtual)
      positions = Dictionary(columns.enumerated().map { (SQLName.folded($1.name), $0) }) { first, _ in first }
    }

    /// Returns the column with the given name, ignoring case.
    package func column(named name: String) -> Column? {
      positions[SQLName.folded(name)].map { columns[$0] }
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

  package let tables: [Table]
  package let indexes: [Index]
  package let triggers: [Trigger]
  package let views: [View]
  private let tablePositions: [String: Int]
  private let indexPositions: [String: Int]
  private let indexesByTable: [String: [Int]]

  package init(tables: [Table], indexes: [Index], triggers: [Trigger], views: [View]) {
    (self.tables, self.indexes, self.triggers, self.views) = (tables, indexes, triggers, views)
    tablePositions = Dictionary(tables.enumerated().map { (SQLName.folded($1.name), $0) }) { first, _ in first }
    indexPositions = Dictionary(indexes.enumerated().map { (SQLName.folded($1.name), $0) }) { first, _ in first }
    indexesByTable = Dictionary(grouping: indexes.indices) { SQLName.folded(indexes[$0].table) }
  }

  /// Returns the table with the given name, ignoring case.
  package func table(named name: String) -> Table? {
    tablePositions[SQLName.folded(name)].map { tables[$0] }
  }

  /// Returns the index with the given name, ignoring case.
  package func index(named name: String) -> Index? {
    indexPositions[SQLName.folded(name)].map { indexes[$0] }
  }

  /// Returns the indexes of a table.
  package func indexes(of table: String) -> [Index] {
    (indexesByTable[SQLName.folded(table)] ?? []).map { indexes[$0] }
  }
}

extension SQLiteConnection {
  /// Reads the catalog of the main database.
  ///
  /// Virtual tables are listed without columns, because reading the columns runs the module that the file names.
  package func catalog() throws -> DatabaseCatalog {
    var tables: [DatabaseCatalog.Table] = []
    var indexes: [DatabaseCatalog.Index] = []
    var triggers: [DatabaseCatalog.Trigger] = []
    var views: [DatabaseCatalog.View] = []
    var lists: [String: [String: (isUnique: Bool, isPartial: Bool)]] = [:]
    let entries = try prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_master ORDER BY rowid").rows()
    for entry in entries {
      guard let name = entry[1].text, let table = entry[2].text else { continue }
      let sql = entry[3].text
      switch entry[0].text {
      case "table" where !SQLName.folded(name).hasPrefix("sqlite_"):
        tables.append(try readTable(name, sql: sql ?? ""))
      case "index":
        if lists[table] == nil { lists[table] = try indexList(of: table) }
        let flags = lists[table]?[name] ?? (false, false)
        indexes.append(
          DatabaseCatalog.Index(
            name: name, table: table, columns: try indexColumns(of: name), isUnique: flags.isUnique,
            isPartial: flags.isPartial, sql: sql))
      case "trigger":
        triggers.append(DatabaseCatalog.Trigger(name: name, table: table, sql: sql ?? ""))
      case "view":
        views.append(DatabaseCatalog.View(name: name, sql: sql ?? ""))
      default:
        break
      }
    }
    return DatabaseCatalog(tables: tables, indexes: indexes, triggers: triggers, views: views)
  }

  /// Returns whether the main database has a table with the given name, ignoring case.
  package func hasTable(_ name: String) throws -> Bool {
    let sql = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE"
    return try scalar(sql, [.text(name)]) != nil
  }

  /// Returns the number of rows in a table.
  package func rowCount(of table: String) throws -> Int {
    Int(try prepare("SELECT COUNT(*) FROM \(SQLName.quoted(table))").scalar()?.integer ?? 0)
  }

  private func readTable(_ name: String, sql: String) throws -> DatabaseCatalog.Table {
    // SQLite itself writes these words in this form, but files may come from anywhere.
    let isPlain = sql.utf8.starts(with: "CREATE TABLE ".utf8)
    let words = isPlain ? [] : sql.prefix(200).split(maxSplits: 3, whereSeparator: \.isWhitespace).prefix(3)
    let isVirtual = words.map { $0.uppercased() } == ["CREATE", "VIRTUAL", "TABLE"]
    let rows = isVirtual ? [] : try prepare("PRAGMA main.table_xinfo(\(SQLName.quoted(name)))").rows()
    let columns = rows.map { row in
      DatabaseCatalog.Column(
        name: row["name"]?.text ?? "", declaredType: row["type"]?.text ?? "",
        isNotNull: row["notnull"]?.integer != 0, defaultValue: row["dflt_value"]?.text,
        primaryKeyPosition: Int(row["pk"]?.integer ?? 0), isGenerated: (row["hidden"]?.integer ?? 0) > 1)
    }
    return DatabaseCatalog.Table(name: name, sql: sql, columns: columns, isVirtual: isVirtual)
  }

  /// Returns whether each index of a table is unique and whether it is partial, by the index's name.
  private func indexList(of table: String) throws -> [String: (isUnique: Bool, isPartial: Bool)] {
    let rows = try prepare("PRAGMA main.index_list(\(SQLName.quoted(table)))").rows()
    return Dictionary(
      rows.map { ($0["name"]?.text ?? "", ($0["unique"]?.integer == 1, $0["partial"]?.integer == 1)) }
    ) { first, _ in first }
  }

  private func indexColumns(of name: String) throws -> [DatabaseCatalog.IndexColumn] {
    let columns = try prepare("PRAGMA main.index_xinfo(\(SQLName.quoted(name)))").rows()
    return columns.filter { $0["key"]?.integer == 1 }.map { row in
      DatabaseCatalog.IndexColumn(
        name: row["name"]?.text, isDescending: row["desc"]?.integer == 1, collation: row["coll"]?.text ?? "BINARY")
    }
  }
}

extension DatabaseCatalog.Table {
  /// Describes a part of the definition that computes values, or can make rows vanish without an error; nil for a plain
  /// table.
  package var unsupportedFeature: String? {
    if isVirtual { return "it is a virtual table" }
    if let column = columns.first(where: \.isGenerated) { return "an expression computes its column \(column.name)" }
    if mayContain(word: "CONFLICT"), Self.words(of: sql).contains("CONFLICT") {
      return "it has an ON CONFLICT clause, which can make rows vanish without an error"
    }
    return nil
  }

  /// Returns whether the definition contains the letters of a word in any case, even within a name or a comment. Much
  /// faster than parsing its words.
  ///
  /// - Parameter word: The word, in uppercase ASCII letters.
  package func mayContain(word: String) -> Bool {
    let letters = Array(word.utf8)
    var sql = sql
    return sql.withUTF8 { bytes in
      (0..<max(0, bytes.count - letters.count + 1)).contains { start in
        letters.indices.allSatisfy { bytes[start + $0] & 0xDF == letters[$0] }
      }
    }
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
