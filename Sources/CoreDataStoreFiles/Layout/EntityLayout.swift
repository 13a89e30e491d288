// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The table and columns of one entity, including those of inherited properties.
package struct EntityLayout: Hashable, Sendable {
  package var name: String
  /// `Z_ENT`
  package var number: Int
  /// The parent's number; 0 for a root entity.
  package var parentNumber: Int
  package var rootName: String
  package var rootNumber: Int
  package var table: String
  package var isAbstract: Bool
  /// The entity's own number and those of all its sub-entities, ascending.
  package var numbers: [Int]
  /// Persistent attributes by name.
  package var attributes: [String: AttributeLayout]
  /// Persistent relationships by name, except those to entities outside the store.
  package var relationships: [String: RelationshipLayout]

  /// Whether other entities inherit from this one.
  package var hasSubentities: Bool { numbers.count > 1 }
  package var isRoot: Bool { parentNumber == 0 }
}

/// The columns of an attribute.
package struct AttributeLayout: Hashable, Sendable {
  package var name: String
  package var kind: AttributeKind
  /// The column in the entity's table; nil for a composite attribute.
  package var column: String?
  /// The elements of a composite attribute, each with a column or elements of its own.
  package var elements: [AttributeLayout]
  package var allowsExternalStorage: Bool

  /// All columns that hold a part of the value.
  package var columns: [String] {
    column.map { [$0] } ?? elements.flatMap(\.columns)
  }
}

/// The columns of a relationship.
package struct RelationshipLayout: Hashable, Sendable {
  package var name: String
  /// The entity that declares it.
  package var declaringEntity: String
  package var destinationEntity: String
  package var inverseName: String?
  package var isToMany: Bool
  package var isOrdered: Bool
  package var place: RelationshipPlace
}

/// The three ways in which a relationship is stored.
package enum RelationshipPlace: Hashable, Sendable {
  /// A to-one relationship: a column in the entity's own table.
  case foreignKey(ForeignKeyLayout)
  /// A to-many relationship that is read through a column of the destination's table.
  case inverseForeignKey(table: String, key: ForeignKeyLayout)
  /// A many-to-many relationship.
  case joinTable(JoinEnd)
}

/// The columns of a to-one relationship.
package struct ForeignKeyLayout: Hashable, Sendable {
  package var column: String
  /// The column with the destination's entity number, where the destination has sub-entities.
  package var entityColumn: String?
  /// The column with the row's order key, where the inverse is ordered.
  package var orderColumn: String?
}

/// A join table as one of its two relationships sees it.
package struct JoinEnd: Hashable, Sendable {
  package var table: String
  /// Holds the primary key of the object that has the relationship.
  package var sourceColumn: String
  /// Holds the primary key of the object at the other end.
  package var destinationColumn: String
  /// The order key of the destination among the source's members, where the relationship is ordered.
  package var orderColumn: String?
  /// The order key of the source among the destination's members, where the inverse is ordered.
  package var inverseOrderColumn: String?

  package init(
    table: String, sourceColumn: String, destinationColumn: String, orderColumn: String? = nil,
    inverseOrderColumn: String? = nil, isReflexive: Bool = false
  ) {
    self.isReflexive = isReflexive
    self.table = table
    self.sourceColumn = sourceColumn
    self.destinationColumn = destinationColumn
    self.orderColumn = orderColumn
    self.inverseOrderColumn = inverseOrderColumn
  }
  /// Whether the relationship is its own inverse, so that a row counts in both directions.
  package var isReflexive: Bool
}
