// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Computes a `StoreSchema` from the selected entities and their numbers.
package struct SchemaBuilder {
  package let selection: SchemaSelection
  package let numbers: [String: Int]
  package let joinNames: JoinNames
  /// By ascending number.
  package let ordered: [EntityDocument]

  package var tables: [TableLayout] = []
  package var tableNames: [String: String] = [:]
  package var attributes: [String: [AttributeLayout]] = [:]
  package var foreignKeys: [DeclaredRelationship: ForeignKeyLayout] = [:]
  package var joinTables: [JoinTableLayout] = []
  package var joinTablePositions: [DeclaredRelationship: Int] = [:]
  package var indexes: [IndexLayout] = []
  package var register = NameRegister(reserved: ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"])

  package init(selection: SchemaSelection, numbers: [String: Int], joinNames: JoinNames = JoinNames()) {
    self.selection = selection
    self.joinNames = joinNames
    self.numbers = numbers
    ordered = selection.entities.sorted { (numbers[$0.name] ?? 0) < (numbers[$1.name] ?? 0) }
  }

  package mutating func build() throws -> StoreSchema {
    let roots = ordered.filter { $0.parentName == nil }
    for root in roots {
      let name = register.unique("Z" + root.name.uppercased())
      for entity in hierarchy(of: root) { tableNames[entity.name] = name }
    }
    for root in roots { try layOutTable(of: root) }
    try layOutJoinTables()
    for root in roots { layOutIndexes(of: root) }
    return StoreSchema(
      entities: try ordered.map(entityLayout), tables: tables, joinTables: joinTables, indexes: indexes)
  }

  /// The entity and everything below it, by ascending number.
  package func hierarchy(of root: EntityDocument) -> [EntityDocument] {
    ordered.filter { entity in selection.index.lineage(of: entity.name).contains { $0.name == root.name } }
  }

  package func number(of entity: String) -> Int {
    guard let number = numbers[entity] else {
      preconditionFailure("The entity \(entity) has been laid out without a number.")
    }
    return number
  }

  private func entityLayout(_ entity: EntityDocument) throws -> EntityLayout {
    let lineage = selection.index.lineage(of: entity.name)
    let root = lineage.last?.name ?? entity.name
    var attributes: [String: AttributeLayout] = [:]
    var relationships: [String: RelationshipLayout] = [:]
    for ancestor in lineage {
      for attribute in self.attributes[ancestor.name] ?? [] { attributes[attribute.name] = attribute }
      for relationship in try selection.storedRelationships(of: ancestor) {
        relationships[relationship.name] = try layout(of: relationship)
      }
    }
    return EntityLayout(
      name: entity.name, number: number(of: entity.name),
      parentNumber: entity.parentName.map(number(of:)) ?? 0, rootName: root, rootNumber: number(of: root),
      table: tableNames[entity.name] ?? "", isAbstract: entity.isAbstract,
      numbers: hierarchy(of: entity).map { number(of: $0.name) }, attributes: attributes,
      relationships: relationships)
  }

  private func layout(of relationship: DeclaredRelationship) throws -> RelationshipLayout {
    try RelationshipLayout(
      name: relationship.name, declaringEntity: relationship.entity,
      destinationEntity: relationship.document.destinationEntityName ?? "",
      inverseName: selection.inverse(of: relationship)?.name, isToMany: relationship.document.isToMany,
      isOrdered: relationship.document.isOrdered, place: place(of: relationship))
  }

  private func place(of relationship: DeclaredRelationship) throws -> RelationshipPlace {
    if let position = joinTablePositions[relationship] {
      return .joinTable(joinTables[position].end(entity: relationship.entity, relationship: relationship.name))
    }
    guard let key = foreignKeys[relationship] ?? selection.inverse(of: relationship).flatMap({ foreignKeys[$0] }) else {
      throw SchemaProblem.inverseOfAnother(relationship)
    }
    guard relationship.document.isToMany else { return .foreignKey(key) }
    let holder = selection.inverse(of: relationship)?.entity ?? relationship.document.destinationEntityName ?? ""
    return .inverseForeignKey(table: tableNames[holder] ?? "", key: key)
  }
}
