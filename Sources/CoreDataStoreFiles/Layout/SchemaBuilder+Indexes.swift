// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

extension SchemaBuilder {
  /// Lays out the indexes of a hierarchy in Core Data's order: keys, entity number, join tables, then those of the model.
  package mutating func layOutIndexes(of root: EntityDocument) {
    let entities = hierarchy(of: root)
    guard let table = tables.first(where: { $0.rootEntity == root.name }) else { return }
    for column in table.columns {
      switch column.role {
      case .foreignKey, .ownerKey:
        indexes.append(
          IndexLayout(
            name: "\(table.name)_\(column.name)_INDEX", table: table.name, elements: [.init(column: column.name)],
            purpose: .foreignKey))
      default: continue
      }
    }
    if entities.count > 1 {
      indexes.append(
        IndexLayout(
          name: "\(table.name)_Z_ENT_INDEX", table: table.name, elements: [.init(column: "Z_ENT")],
          purpose: .entityNumber))
    }
    for join in joinTables where entities.contains(where: { $0.name == join.ownerEntity }) {
      indexes.append(
        IndexLayout(
          name: "\(join.name)_\(join.destinationColumn)_INDEX", table: join.name,
          elements: [.init(column: join.destinationColumn), .init(column: join.ownerColumn)], purpose: .joinTable))
    }
    for entity in entities { layOutModelIndexes(of: entity, table: table.name) }
  }

  private mutating func layOutModelIndexes(of entity: EntityDocument, table: String) {
    var names: Set<String> = []
    // SQLite tells no upper from lower case in names, but the model does.
    var spelled = NameRegister()
    func add(_ name: String, _ elements: [IndexLayout.Element]?, _ purpose: IndexLayout.Purpose) {
      guard let elements, !elements.isEmpty, names.insert(name).inserted else { return }
      let suffix = spelled.unique(name.uppercased()).dropFirst(name.uppercased().count)
      indexes.append(IndexLayout(name: name + suffix, table: table, elements: elements, purpose: purpose))
    }
    for index in entity.effectiveIndexes where !isInherited(index, by: entity) {
      let columns: [IndexLayout.Element]? = index.elements.reduce(into: []) { columns, element in
        let column = element.expression == nil ? column(of: element.propertyName, in: entity) : nil
        guard let column else { return columns = nil }
        columns?.append(.init(column: column, isAscending: element.isAscending))
      }
      add("Z_\(entity.name)_\(index.name)", columns, .fetch(entity: entity.name))
    }
    // Compilers repeat a fetch index of several elements as a compound index, for systems that know no other.
    let known = Set(entity.indexes.map { $0.elements.map(\.propertyName) })
    for compound in entity.compoundIndexes where !known.contains(compound) {
      add(
        "Z_\(entity.name)_\(compound.joined(separator: "_"))", elements(compound, of: entity),
        .fetch(entity: entity.name))
    }
    for constraint in entity.uniquenessConstraints where !isInherited(constraint, by: entity) {
      add(
        "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))", elements(constraint, of: entity),
        .uniqueness(entity: entity.name))
    }
  }

  private func isInherited(_ index: FetchIndexDocument, by entity: EntityDocument) -> Bool {
    selection.index.lineage(of: entity.name).dropFirst().contains { $0.effectiveIndexes.contains(index) }
  }

  private func isInherited(_ constraint: [String], by entity: EntityDocument) -> Bool {
    selection.index.lineage(of: entity.name).dropFirst().contains { $0.uniquenessConstraints.contains(constraint) }
  }

  /// The columns of all these properties; nil when one of them has none.
  private func elements(_ properties: [String], of entity: EntityDocument) -> [IndexLayout.Element]? {
    let columns = properties.compactMap { column(of: $0, in: entity) }
    return columns.count == properties.count ? columns.map { .init(column: $0) } : nil
  }

  private func column(of property: String, in entity: EntityDocument) -> String? {
    for ancestor in selection.index.lineage(of: entity.name) {
      if let attribute = attributes[ancestor.name]?.first(where: { $0.name == property }) { return attribute.column }
    }
    return selection.relationship(property, of: entity.name).flatMap { foreignKeys[$0]?.column }
  }
}
