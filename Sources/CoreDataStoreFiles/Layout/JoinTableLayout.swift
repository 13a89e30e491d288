// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The table of a many-to-many relationship and its inverse.
package struct JoinTableLayout: Hashable, Sendable {
  package var name: String
  /// The entity whose number and relationship name the table.
  package var ownerEntity: String
  /// The relationship of `ownerEntity` that the table is named for.
  package var relationship: String
  package var inverseEntity: String
  package var inverse: String
  /// The keys of the owner's side, named after the inverse.
  package var ownerColumn: String
  /// The keys of the other side, named after the relationship.
  package var destinationColumn: String
  /// Orders `relationship`.
  package var orderColumn: String?
  /// Orders `inverse`.
  package var inverseOrderColumn: String?

  package init(
    name: String, ownerEntity: String, relationship: String, inverseEntity: String, inverse: String,
    ownerColumn: String, destinationColumn: String, orderColumn: String? = nil, inverseOrderColumn: String? = nil
  ) {
    self.name = name
    self.ownerEntity = ownerEntity
    self.relationship = relationship
    self.inverseEntity = inverseEntity
    self.inverse = inverse
    self.ownerColumn = ownerColumn
    self.destinationColumn = destinationColumn
    self.orderColumn = orderColumn
    self.inverseOrderColumn = inverseOrderColumn
  }

  /// The table as the named relationship sees it.
  package func end(entity: String, relationship name: String) -> JoinEnd {
    if entity == ownerEntity, name == relationship {
      return JoinEnd(
        table: self.name, sourceColumn: ownerColumn, destinationColumn: destinationColumn,
        orderColumn: orderColumn, inverseOrderColumn: inverseOrderColumn, isReflexive: isReflexive)
    }
    return JoinEnd(
      table: self.name, sourceColumn: destinationColumn, destinationColumn: ownerColumn,
      orderColumn: inverseOrderColumn, inverseOrderColumn: orderColumn)
  }

  /// Whether the relationship is its own inverse.
  package var isReflexive: Bool { ownerEntity == inverseEntity && relationship == inverse }
}
