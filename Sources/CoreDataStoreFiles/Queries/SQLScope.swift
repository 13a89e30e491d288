// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// One row that a statement ranges over, and the rows joined to it.
package final class SQLScope {
  package let alias: String
  package let entity: EntityLayout
  private let names: AliasNames
  private var aliases: [String: String] = [:]
  /// Tables of to-one relationships, in the order in which key paths asked for them.
  package private(set) var joins = ""

  package init(entity: EntityLayout, names: AliasNames) {
    self.entity = entity
    self.names = names
    alias = names.next("t")
  }

  /// The alias of the row at the end of a to-one relationship; the same one for the same path.
  package func join(_ key: ForeignKeyLayout, of source: String, to destination: EntityLayout) -> String {
    let path = "\(source).\(key.column)"
    if let alias = aliases[path] { return alias }
    let alias = names.next("t")
    aliases[path] = alias
    joins +=
      " LEFT OUTER JOIN \(names.table(destination.table)) \(alias) "
      + "ON \(source).\(SQLName.quoted(key.column)) = \(alias).Z_PK"
    return alias
  }
}

/// Gives out aliases, each once a statement, and knows what tables are called in it.
package final class AliasNames {
  private let database: String?
  private var last = -1

  /// - Parameter database: the name under which the connection has the store; nil where it has no other.
  package init(database: String? = nil) {
    self.database = database
  }

  /// The table as the statement has to call it.
  package func table(_ name: String) -> String {
    database.map { "\($0).\(SQLName.quoted(name))" } ?? SQLName.quoted(name)
  }

  package func next(_ letter: String) -> String {
    last += 1
    return letter + String(last)
  }
}
