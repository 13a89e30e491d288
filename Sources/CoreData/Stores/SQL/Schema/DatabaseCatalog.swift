// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What a database file says about its own tables and indexes.
package struct DatabaseCatalog: Hashable, Sendable {
  /// A table, with its columns in order.
  package struct Table: Hashable, Sendable {
    package var name: String
    package var sql: String
    package var columns: [Column]

    package init(name: String, sql: String, columns: [Column]) {
      self.name = name
      self.sql = sql
      self.columns = columns
    }
  }

  /// A column and its declared type.
  package struct Column: Hashable, Sendable {
    package var name: String
    package var type: String

    package init(name: String, type: String) {
      self.name = name
      self.type = type
    }
  }

  /// An index, with the statement that made it; indexes that SQLite makes by itself are left out.
  package struct Index: Hashable, Sendable {
    package var name: String
    package var table: String
    package var sql: String

    package init(name: String, table: String, sql: String) {
      self.name = name
      self.table = table
      self.sql = sql
    }
  }

  /// In the order of `sqlite_master`.
  package var tables: [Table]
  package var indexes: [Index]
  package var triggers: [String]
  private let positions: [String: Int]

  package init(tables: [Table], indexes: [Index] = [], triggers: [String] = []) {
    self.tables = tables
    self.indexes = indexes
    self.triggers = triggers
    positions = Dictionary(
      tables.enumerated().map { ($1.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The table of that name, in whatever case.
  package func table(named name: String) -> Table? {
    positions[name.uppercased()].map { tables[$0] }
  }
}

extension DatabaseCatalog.Table {
  /// The column of that name, in whatever case, as the file spells it.
  func column(named name: String) -> String? {
    columns.first { $0.name.uppercased() == name.uppercased() }?.name
  }

  /// The only column whose name is `name` once the entity number after its first letters has been left out.
  func column(likeNumbered name: String) -> String? {
    let wanted = NumberedName(name)
    let found = columns.filter { NumberedName($0.name.uppercased()).isLike(wanted) }
    return found.count == 1 ? found[0].name : nil
  }
}

/// A name that has an entity number in it, taken apart: `Z_12BOOKS`, `Z3_OWNER`, `Z_FOK_1FAVORITES`.
struct NumberedName: Equatable {
  let prefix: Substring
  let number: Substring
  let rest: Substring

  init(_ name: String) {
    let text = name[...]
    let prefix = ["Z_FOK_", "Z_", "Z"].first { text.hasPrefix($0) } ?? ""
    self.prefix = prefix[...]
    let tail = text.dropFirst(prefix.count)
    number = tail.prefix { $0.isASCII && $0.isNumber }
    rest = tail.dropFirst(number.count)
  }

  /// Whether both differ in their numbers at most, and both have one.
  func isLike(_ other: NumberedName) -> Bool {
    !number.isEmpty && !other.number.isEmpty && prefix == other.prefix && rest == other.rest
  }
}

/// A row of `Z_PRIMARYKEY`.
package struct PrimaryKeyRow: Hashable, Sendable {
  package var number: Int
  package var name: String
  package var parentNumber: Int
  /// The greatest primary key given out; kept in the rows of root entities only.
  package var maximum: Int64

  package init(number: Int, name: String, parentNumber: Int, maximum: Int64 = 0) {
    self.number = number
    self.name = name
    self.parentNumber = parentNumber
    self.maximum = maximum
  }
}
