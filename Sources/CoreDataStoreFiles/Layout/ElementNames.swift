// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// How the columns of the elements of composite attributes are named.
package enum ElementNames: Hashable, Sendable {
  /// By the element alone, as Core Data names them: `ZSTREET`. The second of that name is `ZSTREET1`.
  case plain
  /// With the names of the composite attributes before it: `ZADDRESS_STREET`. Stores in PostgreSQL have such names, and so
  /// have SQLite stores that earlier versions of this project made.
  case qualified
  /// Qualified in the tables of these root entities, plain in the others.
  case qualifiedIn(Set<String>)

  /// The names that a new store has.
  package init(_ dialect: SQLDialect) {
    self = dialect == .postgreSQL ? .qualified : .plain
  }

  /// The name of a column, before a number makes it unique.
  ///
  /// - Parameters:
  ///   - path: the names of the composite attributes around an element, and its own name.
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
  /// The names in an existing SQLite store.
  ///
  /// Each table is judged as a whole, because a name may be an element's by one rule, and that of another property by the
  /// other rule.
  ///
  /// - Parameters:
  ///   - plain: the layout with plain names.
  ///   - qualified: the layout with qualified names.
  ///   - table: returns the table of the store for a computed one.
  init(of plain: StoreSchema, or qualified: StoreSchema, table: (TableLayout) -> StoreCatalog.Table?) {
    var roots: Set<String> = []
    for (own, other) in zip(plain.tables, qualified.tables) where own.columns != other.columns {
      guard let found = table(own) else { continue }
      let (missing, otherMissing) = (Self.missing(own, in: found), Self.missing(other, in: found))
      // If both fit, one has columns that a migration has left behind. Such a table keeps none with qualified names, see
      // `TableLayout.leavesQualifiedName(_:)`.
      if otherMissing < missing || otherMissing == 0 { roots.insert(own.rootEntity) }
    }
    self = roots.isEmpty ? .plain : .qualifiedIn(roots)
  }

  /// The number of columns that a table lacks.
  private static func missing(_ layout: TableLayout, in table: StoreCatalog.Table) -> Int {
    layout.columns.count { table.spelling(of: $0.name) == nil }
  }
}

extension TableLayout {
  /// Whether the table has elements of composite attributes.
  var hasElements: Bool { columns.contains { $0.role.isElement } }

  /// Whether one of these names could be the qualified name of an element, so that a column left behind under this name
  /// would make the table look like one with qualified names.
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
