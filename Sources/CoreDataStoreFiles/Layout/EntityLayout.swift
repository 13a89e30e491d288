// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates

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
  /// In PostgreSQL, the column with what a timestamp does not hold of a date (`StoredDate`); nil for other attributes.
  package var remainderColumn: String?
  /// The elements of a composite attribute, each with a column or elements of its own.
  package var elements: [AttributeLayout]
  package var allowsExternalStorage: Bool

  /// The attribute, or the elements of a composite one, whose values may be in files.
  package var filed: [AttributeLayout] { (allowsExternalStorage ? [self] : []) + elements.flatMap(\.filed) }

  /// All columns that hold a part of the value.
  package var columns: [String] {
    column.map { [$0] + [remainderColumn].compactMap { $0 } } ?? elements.flatMap(\.columns)
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
  package var deleteRule: DeleteRuleKind
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

/// The declared type of a column, as it is written into `CREATE TABLE`.
package enum ColumnType: String, Hashable, Sendable {
  // SQLite, as Core Data writes them.
  case integer = "INTEGER"
  case timestamp = "TIMESTAMP"
  case float = "FLOAT"
  case decimal = "DECIMAL"
  case varchar = "VARCHAR"
  case blob = "BLOB"

  // PostgreSQL, as its catalog spells them.
  case bigint
  /// A number that Core Data makes itself: an entity's, or a row's version.
  case smallerInteger = "integer"
  case boolean
  case doublePrecision = "double precision"
  case real
  case numeric
  case text
  case uuid
  case bytea
  case timestamptz = "timestamp with time zone"
}

/// What a column is for.
package enum ColumnRole: Hashable, Sendable {
  case primaryKey
  /// The row's entity number.
  case entityNumber
  /// The row's version, for optimistic locking.
  case version
  /// A value; `path` has more than one name inside a composite attribute.
  case attribute(entity: String, path: [String])
  /// What a timestamp of PostgreSQL does not hold of a date.
  case remainder(entity: String, path: [String])
  /// The primary key of the object at the other end of a to-one relationship.
  case foreignKey(entity: String, relationship: String)
  /// The entity number of that object, where its entity has sub-entities.
  case foreignEntity(entity: String, relationship: String)
  /// The primary key of the owner of a to-many relationship without inverse.
  case ownerKey(entity: String, relationship: String)
  /// The row's order key in an ordered relationship that leads to it.
  case order(entity: String, relationship: String)
}

/// One column of an entity's table.
package struct ColumnLayout: Hashable, Sendable {
  package var name: String
  package var type: ColumnType
  package var role: ColumnRole
}

/// The table of a root entity and all its sub-entities.
package struct TableLayout: Hashable, Sendable {
  package var name: String
  package var rootEntity: String
  package var columns: [ColumnLayout]

  /// The names of the columns that every entity table begins with.
  package static let housekeepingColumns = [
    ColumnLayout(name: "Z_PK", type: .integer, role: .primaryKey),
    ColumnLayout(name: "Z_ENT", type: .integer, role: .entityNumber),
    ColumnLayout(name: "Z_OPT", type: .integer, role: .version),
  ]
}

/// The groups in which Core Data lays columns out, in this order.
package enum ColumnGroup: Int, Comparable {
  case integer
  case order
  case real
  case decimal
  case string
  case uri
  case uuid
  case transformable
  case binary

  package static func < (left: ColumnGroup, right: ColumnGroup) -> Bool { left.rawValue < right.rawValue }

  /// The group and type of an attribute's column; nil for types that no column can hold.
  package static func placing(_ kind: AttributeKind) -> (ColumnGroup, ColumnType)? {
    switch kind {
    case .integer16, .integer32, .integer64, .boolean: (.integer, .integer)
    case .date: (.real, .timestamp)
    case .double, .float: (.real, .float)
    case .decimal: (.decimal, .decimal)
    case .string: (.string, .varchar)
    case .uri: (.uri, .varchar)
    case .uuid: (.uuid, .blob)
    case .transformable: (.transformable, .blob)
    case .binaryData: (.binary, .blob)
    case .undefined, .objectID, .composite: nil
    }
  }
}

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
  /// Holds the order keys of `relationship`.
  package var orderColumn: String?
  /// Holds the order keys of `inverse`.
  package var inverseOrderColumn: String?

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

/// An index of a store.
package struct IndexLayout: Hashable, Sendable {
  package enum Purpose: Hashable, Sendable {
    case foreignKey
    case entityNumber
    case joinTable
    case fetch(entity: String)
    case uniqueness(entity: String)
  }

  /// A column of an index.
  package struct Element: Hashable, Sendable {
    package var column: String
    package var isAscending = true
    /// The second column of a date in PostgreSQL.
    package var remainderColumn: String?
  }

  package var name: String
  package var table: String
  package var elements: [Element]
  package var purpose: Purpose
  /// The predicate of a partial index, which only PostgreSQL gets: Core Data's indexes in SQLite contain all rows.
  package var predicate: PredicateSyntax?

  package var isUnique: Bool {
    if case .uniqueness = purpose { return true }
    return false
  }
}
