// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

extension SchemaBuilder {
  /// A pair of to-many relationships that are each other's inverses, the owner's first.
  private typealias Pair = (relationship: DeclaredRelationship, inverse: DeclaredRelationship)

  /// Lays out one table for each pair of to-many relationships that are each other's inverses, in the order of the owners'
  /// numbers.
  package mutating func layOutJoinTables() throws {
    var pairs: [Pair] = []
    var claimed: Set<DeclaredRelationship> = []
    for entity in ordered {
      for relationship in try selection.storedRelationships(of: entity) where relationship.document.isToMany {
        guard let inverse = selection.inverse(of: relationship), inverse.document.isToMany,
          owns(relationship, over: inverse)
        else { continue }
        guard claimed.insert(relationship).inserted, relationship == inverse || claimed.insert(inverse).inserted else {
          throw SchemaProblem.inverseOfAnother(relationship)
        }
        pairs.append((relationship, inverse))
      }
    }
    let columns = columnNames(of: pairs)
    for pair in pairs {
      joinTablePositions[pair.relationship] = joinTables.count
      joinTablePositions[pair.inverse] = joinTables.count
      joinTables.append(joinTable(of: pair, columns))
    }
  }

  /// The column that is named after each relationship.
  ///
  /// Of columns that would have the same name, the first has it, and the others have numbers: those that a store has
  /// already in the order that they have there, then the others in the order of the owners' names. So it is in 60 stores of
  /// one app, where that order is not that of the owners' numbers.
  private func columnNames(of pairs: [Pair]) -> [DeclaredRelationship: String] {
    var wanted: [(relationship: DeclaredRelationship, name: String)] = []
    for (relationship, inverse) in pairs.sorted(by: { isNamedBefore($0.relationship, $1.relationship) }) {
      // The owner's column comes first, and so it keeps its name where both would be alike.
      wanted.append((inverse, "Z_\(number(of: relationship.entity))\(inverse.name.uppercased())"))
      if relationship != inverse {
        wanted.append((relationship, "Z_\(number(of: inverse.entity))\(relationship.name.uppercased())"))
      }
    }
    func known(_ relationship: DeclaredRelationship) -> Int {
      joinNames.columnNumbers[[relationship.entity, relationship.name]] ?? Int.max
    }
    var register = NameRegister()
    var names: [DeclaredRelationship: String] = [:]
    let sorted = wanted.enumerated().sorted {
      (known($0.element.relationship), $0.offset) < (known($1.element.relationship), $1.offset)
    }
    for (_, column) in sorted { names[column.relationship] = register.unique(column.name) }
    return names
  }

  private func isNamedBefore(_ left: DeclaredRelationship, _ right: DeclaredRelationship) -> Bool {
    (left.entity.lowercased(), left.entity, left.name) < (right.entity.lowercased(), right.entity, right.name)
  }

  /// The side with the lower entity number names the table; within one entity, the side that a store has it named after,
  /// else the later of the two names.
  private func owns(_ relationship: DeclaredRelationship, over inverse: DeclaredRelationship) -> Bool {
    let (own, other) = (number(of: relationship.entity), number(of: inverse.entity))
    guard own == other else { return own < other }
    let isNamed = joinNames.tableNames.contains([relationship.entity, relationship.name])
    let isInverseNamed = joinNames.tableNames.contains([inverse.entity, inverse.name])
    return isNamed == isInverseNamed ? relationship.name >= inverse.name : isNamed
  }

  private mutating func joinTable(
    of pair: Pair, _ columns: [DeclaredRelationship: String]
  ) -> JoinTableLayout {
    let (relationship, inverse) = pair
    let name = "\(number(of: relationship.entity))\(relationship.name.uppercased())"
    let destination = "\(number(of: inverse.entity))\(relationship.name.uppercased())"
    let owner = "\(number(of: relationship.entity))\(inverse.name.uppercased())"
    // Names within one entity that differ in case only would give both orders one column.
    var orders = NameRegister()
    let isReflexive = relationship == inverse
    let inverseOrder = inverse.document.isOrdered && !isReflexive ? orders.unique("Z_FOK_" + owner) : nil
    let order = relationship.document.isOrdered ? orders.unique("Z_FOK_" + destination) : nil
    return JoinTableLayout(
      name: register.unique("Z_" + name), ownerEntity: relationship.entity, relationship: relationship.name,
      inverseEntity: inverse.entity, inverse: inverse.name, ownerColumn: columns[inverse] ?? "",
      // A relationship that is its own inverse has been seen in public schemas only: there this is the name.
      destinationColumn: isReflexive ? "REFLEXIVE" : columns[relationship] ?? "", orderColumn: order,
      inverseOrderColumn: inverseOrder)
  }
}
