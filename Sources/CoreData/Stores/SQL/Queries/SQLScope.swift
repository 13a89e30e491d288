// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// One row that a statement ranges over, and the rows joined to it.
final class SQLScope {
  let alias: String
  let entity: EntityLayout
  private let names: AliasNames
  private var aliases: [String: String] = [:]
  /// Tables of to-one relationships, in the order in which key paths asked for them.
  private(set) var joins = ""

  init(entity: EntityLayout, names: AliasNames) {
    self.entity = entity
    self.names = names
    alias = names.next("t")
  }

  /// The alias of the row at the end of a to-one relationship; the same one for the same path.
  func join(_ key: ForeignKeyLayout, of source: String, to destination: EntityLayout) -> String {
    let path = "\(source).\(key.column)"
    if let alias = aliases[path] { return alias }
    let alias = names.next("t")
    aliases[path] = alias
    joins +=
      " LEFT OUTER JOIN \(SQLName.quoted(destination.table)) \(alias) "
      + "ON \(source).\(SQLName.quoted(key.column)) = \(alias).Z_PK"
    return alias
  }
}

/// Gives out aliases, each once a statement.
final class AliasNames {
  private var last = -1

  func next(_ letter: String) -> String {
    last += 1
    return letter + String(last)
  }
}
