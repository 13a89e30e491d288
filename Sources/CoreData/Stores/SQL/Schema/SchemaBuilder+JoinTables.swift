// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

extension SchemaBuilder {
  /// Lays out one table for each pair of to-many relationships that are each other's inverses.
  mutating func layOutJoinTables() throws {
    var columns = NameRegister()
    for entity in ordered {
      for relationship in try selection.storedRelationships(of: entity) where relationship.document.isToMany {
        guard let inverse = selection.inverse(of: relationship), inverse.document.isToMany,
          owns(relationship, over: inverse)
        else { continue }
        guard joinTablePositions[relationship] == nil, joinTablePositions[inverse] == nil else {
          throw SchemaProblem.inverseOfAnother(relationship)
        }
        let table = joinTable(of: relationship, inverse: inverse, columns: &columns)
        joinTablePositions[relationship] = joinTables.count
        joinTablePositions[inverse] = joinTables.count
        joinTables.append(table)
      }
    }
  }

  /// The side with the lower entity number names the table; within one entity, the later of the two names.
  private func owns(_ relationship: DeclaredRelationship, over inverse: DeclaredRelationship) -> Bool {
    let (own, other) = (number(of: relationship.entity), number(of: inverse.entity))
    return own == other ? relationship.name >= inverse.name : own < other
  }

  private mutating func joinTable(
    of relationship: DeclaredRelationship, inverse: DeclaredRelationship, columns: inout NameRegister
  ) -> JoinTableLayout {
    let name = "\(number(of: relationship.entity))\(relationship.name.uppercased())"
    let isReflexive = relationship == inverse
    let destination = "\(number(of: inverse.entity))\(relationship.name.uppercased())"
    let owner = "\(number(of: relationship.entity))\(inverse.name.uppercased())"
    // The owner's column comes first, and so it keeps its name where both would be alike. A relationship that is its own
    // inverse has been seen in public schemas only: there the second column is called REFLEXIVE.
    let ownerColumn = columns.unique("Z_" + owner)
    // Names within one entity that differ in case only would give both orders one column.
    var orders = NameRegister()
    let inverseOrder = inverse.document.isOrdered && !isReflexive ? orders.unique("Z_FOK_" + owner) : nil
    let order = relationship.document.isOrdered ? orders.unique("Z_FOK_" + destination) : nil
    return JoinTableLayout(
      name: register.unique("Z_" + name), ownerEntity: relationship.entity, relationship: relationship.name,
      inverseEntity: inverse.entity, inverse: inverse.name, ownerColumn: ownerColumn,
      destinationColumn: isReflexive ? "REFLEXIVE" : columns.unique("Z_" + destination),
      orderColumn: order, inverseOrderColumn: inverseOrder)
  }
}
