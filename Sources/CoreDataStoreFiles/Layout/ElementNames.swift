// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The naming rule for columns of the elements of composite attributes.
package enum ElementNames: Hashable, Sendable {
  /// The element's name alone, as in Core Data: `ZSTREET`. The second column of that name is `ZSTREET1`.
  case plain
  /// The names of the enclosing composite attributes, then the element's: `ZADDRESS_STREET`. Used by PostgreSQL stores,
  /// and by SQLite stores made by earlier versions of this project.
  case qualified
  /// Qualified in the tables of these root entities, plain in the others.
  case qualifiedIn(Set<String>)

  /// Creates the rule for a new store.
  package init(_ dialect: SQLDialect) {
    self = dialect == .postgreSQL ? .qualified : .plain
  }

  /// Returns the name of a column before a number is added to make it unique.
  ///
  /// - Parameters:
  ///   - path: the names of the enclosing composite attributes, then the element's own name.
  ///   - root: the root entity of the table.
  package func column(_ path: [String], inTableOf root: String) -> String {
    let names = isQualified(inTableOf: root) ? path[...] : path.suffix(1)
    return "Z" + names.map { $0.uppercased() }.joined(separator: "_")
  }

  private func isQualified(inTableOf root: String) -> Bool {
    switch self {
    case .plain: false
    case .qualified: true
    case .qualifiedIn(let roots): roots.contains(root)
    }
  }
}

extension ElementNames {
  /// Determines the rule of each table in an existing SQLite store.
  ///
  /// Each table is judged as a whole, because a name may belong to an element under one rule, and to another property
  /// under the other rule.
  ///
  /// - Parameters:
  ///   - plain: the layout with plain names.
  ///   - qualified: the layout with qualified names.
  ///   - table: returns the table of the store for a table of the layout.
  init(of plain: StoreSchema, or qualified: StoreSchema, table: (TableLayout) -> StoreCatalog.Table?) {
    var roots: Set<String> = []
    for (own, other) in zip(plain.tables, qualified.tables) where own.columns != other.columns {
      guard let found = table(own) else { continue }
      let (missing, otherMissing) = (Self.missing(own, in: found), Self.missing(other, in: found))
      // If both rules fit, the names of one belong to columns left behind by a migration. These are never qualified
      // names, see `TableLayout.leavesQualifiedName(_:)`.
      if otherMissing < missing || otherMissing == 0 { roots.insert(own.rootEntity) }
    }
    self = roots.isEmpty ? .plain : .qualifiedIn(roots)
  }

  /// Returns the number of columns that a table lacks.
  private static func missing(_ layout: TableLayout, in table: StoreCatalog.Table) -> Int {
    layout.columns.count { table.spelling(of: $0.name) == nil }
  }
}

extension TableLayout {
  /// Whether the table has columns for elements of composite attributes.
  var hasElements: Bool { columns.contains { $0.role.isElement } }

  /// Whether one of these names could be the qualified name of an element. A column left behind under such a name would
  /// make the table appear to use qualified names.
  package func leavesQualifiedName(_ names: some Sequence<String>) -> Bool {
    let qualified = columns.compactMap { column -> String? in
      guard case .attribute(_, let path) = column.role, path.count > 1 else { return nil }
      return ElementNames.qualified.column(path, inTableOf: rootEntity)
    }
    return names.contains { name in
      let name = name.uppercased()
      return qualified.contains { name.hasPrefix($0) && name.dropFirst($0.count).allSatisfy(\.isNumber) }
    }
  }
}

extension ColumnRole {
  /// Whether the column holds an element of a composite attribute.
  fileprivate var isElement: Bool {
    if case .attribute(_, let path) = self { path.count > 1 } else { false }
  }
}
