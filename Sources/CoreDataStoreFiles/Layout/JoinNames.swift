// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What the names of a store's join tables say that no known rule gives: which of two relationships within one entity the
/// table is called after, and which of several columns of the same name got which number.
///
/// A store that is migrated keeps both: in the one store known that had got a further relationship to an entity by
/// migration, the new column has the next number.
package struct JoinNames {
  /// The number at the end of the column that is named after a relationship, by entity and relationship; 0 for none.
  package private(set) var columnNumbers: [[String]: Int] = [:]
  /// The entities and relationships that tables are called after.
  package private(set) var tableNames: Set<[String]> = []

  /// Knows no store: all names are those of the rules.
  package init() {}

  /// The names of a store, for the relationships of the version that it is migrated to.
  ///
  /// - Parameters:
  ///   - selection: the entities of the new version.
  ///   - source: the layout that the store has.
  ///   - mapping: what entities and relationships were called.
  package init(_ selection: SchemaSelection, from source: StoreSchema, mapping: some EarlierNames) throws {
    for entity in selection.entities {
      for relationship in try selection.storedRelationships(of: entity) {
        guard let oldEntity = mapping.sourceEntity(of: entity.name),
          let oldName = mapping.sourceRelationship(of: relationship.name, in: entity.name),
          case .joinTable(let end)? = source[oldEntity]?.relationships[oldName]?.place
        else { continue }
        let name = [entity.name, relationship.name]
        columnNumbers[name] = Self.number(in: end.destinationColumn, after: oldName)
        if Self.number(in: end.table, after: oldName) != nil { tableNames.insert(name) }
      }
    }
  }

  /// The number that follows a relationship's name in that of a table or column; nil where that has another name.
  private static func number(in name: String, after relationship: String) -> Int? {
    let (rest, base) = (NumberedName(name.uppercased()).rest, relationship.uppercased())
    guard rest.hasPrefix(base) else { return nil }
    let digits = rest.dropFirst(base.count)
    return digits.isEmpty ? 0 : digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int(digits) : nil
  }
}
