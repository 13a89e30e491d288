// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Names and sorts the columns of one table.
private struct ColumnList {
  var register = NameRegister(reserved: TableLayout.housekeepingColumns.map(\.name))
  private var columns: [(group: ColumnGroup, column: ColumnLayout)] = []

  /// Takes the next free form of `name`, which is the one returned.
  mutating func add(_ name: String, _ group: ColumnGroup, _ type: ColumnType, _ role: ColumnRole) -> String {
    let unique = register.unique(name)
    columns.append((group, ColumnLayout(name: unique, type: type, role: role)))
    return unique
  }

  /// Housekeeping columns, then the groups; inside a group in the order in which columns were added.
  var sorted: [ColumnLayout] {
    let grouped = Dictionary(grouping: columns, by: \.group).sorted { $0.key < $1.key }
    return TableLayout.housekeepingColumns + grouped.flatMap { $0.value.map(\.column) }
  }
}

/// A foreign key whose rows have a place in an ordered relationship.
private struct PendingOrder {
  let key: DeclaredRelationship
  let columnName: String
  let inverseName: String
}

extension SchemaBuilder {
  /// Lays out the table of a hierarchy: entity by entity, attributes before relationships, sorted by name.
  package mutating func layOutTable(of root: EntityDocument) throws {
    var list = ColumnList()
    var pending: [PendingOrder] = []
    for entity in hierarchy(of: root) {
      let stored = entity.attributes.filter { !$0.isTransient }.sorted { $0.name < $1.name }
      attributes[entity.name] = try stored.map { try add($0, path: [], of: entity.name, to: &list) }
      pending += try addForeignKeys(of: entity, to: &list)
      pending += try addOwnerKeys(into: entity, to: &list)
    }
    for order in pending {
      foreignKeys[order.key]?.orderColumn = list.add(
        "Z_FOK_" + order.columnName, .order, .integer,
        .order(entity: order.key.entity, relationship: order.key.name))
    }
    tables.append(TableLayout(name: tableNames[root.name] ?? "", rootEntity: root.name, columns: list.sorted))
  }

  private func add(
    _ attribute: AttributeDocument, path: [String], of entity: String, to list: inout ColumnList
  ) throws -> AttributeLayout {
    let path = path + [attribute.name]
    var layout = AttributeLayout(
      name: attribute.name, kind: attribute.kind, column: nil, elements: [],
      allowsExternalStorage: attribute.allowsExternalBinaryDataStorage)
    if attribute.kind == .composite {
      // No store with a composite attribute has been seen: these names are a choice of this project.
      let elements = attribute.elements.sorted { $0.name < $1.name }
      layout.elements = try elements.map { try add($0, path: path, of: entity, to: &list) }
      return layout
    }
    guard let (group, type) = ColumnGroup.placing(attribute.kind) else {
      throw SchemaProblem.unstorableAttribute(
        entity: entity, attribute: path.joined(separator: "."), kind: "\(attribute.kind)")
    }
    let name = "Z" + path.map { $0.uppercased() }.joined(separator: "_")
    layout.column = list.add(name, group, type, .attribute(entity: entity, path: path))
    return layout
  }

  private mutating func addForeignKeys(of entity: EntityDocument, to list: inout ColumnList) throws -> [PendingOrder] {
    var pending: [PendingOrder] = []
    for relationship in try selection.storedRelationships(of: entity) where !relationship.document.isToMany {
      let name = relationship.name.uppercased()
      var key = ForeignKeyLayout(
        column: list.add(
          "Z" + name, .integer, .integer, .foreignKey(entity: entity.name, relationship: relationship.name)))
      key.entityColumn = addEntityColumn(for: relationship, to: relationship.document.destinationEntityName, in: &list)
      foreignKeys[relationship] = key
      if let inverse = selection.inverse(of: relationship), inverse.document.isToMany, inverse.document.isOrdered {
        pending.append(PendingOrder(key: relationship, columnName: name, inverseName: inverse.name))
      }
    }
    // Descending by the ordered relationship's name: the one rule that fits every store seen with two such columns.
    return pending.sorted {
      $0.inverseName == $1.inverseName ? $0.columnName < $1.columnName : $0.inverseName > $1.inverseName
    }
  }

  /// Adds, to the destination's table, the columns of to-many relationships that have no inverse.
  private mutating func addOwnerKeys(into entity: EntityDocument, to list: inout ColumnList) throws -> [PendingOrder] {
    var pending: [PendingOrder] = []
    for owner in ordered {
      for relationship in try selection.storedRelationships(of: owner)
      where relationship.document.isToMany && relationship.document.destinationEntityName == entity.name
        && selection.inverse(of: relationship) == nil
      {
        let name = String(number(of: owner.name)) + relationship.name.uppercased()
        foreignKeys[relationship] = ForeignKeyLayout(
          column: list.add(
            "Z" + name, .integer, .integer, .ownerKey(entity: owner.name, relationship: relationship.name)))
        if relationship.document.isOrdered {
          pending.append(PendingOrder(key: relationship, columnName: name, inverseName: relationship.name))
        }
      }
    }
    return pending
  }

  /// The column for the destination's entity number, which only a destination with sub-entities needs.
  private func addEntityColumn(
    for relationship: DeclaredRelationship, to destination: String?, in list: inout ColumnList
  ) -> String? {
    guard let destination, !selection.subentities(of: destination).isEmpty else { return nil }
    return list.add(
      "Z\(number(of: destination))_\(relationship.name.uppercased())", .integer, .integer,
      .foreignEntity(entity: relationship.entity, relationship: relationship.name))
  }
}
