// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The declared type of a column. The raw values are what Core Data writes into `CREATE TABLE`.
package enum ColumnType: String, Hashable, Sendable {
  case integer = "INTEGER"
  case timestamp = "TIMESTAMP"
  case float = "FLOAT"
  case decimal = "DECIMAL"
  case varchar = "VARCHAR"
  case blob = "BLOB"
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
  /// The primary key of the object at the other end of a to-one relationship.
  case foreignKey(entity: String, relationship: String)
  /// The entity number of that object, where its entity has sub-entities.
  case foreignEntity(entity: String, relationship: String)
  /// The primary key of the owner of a to-many relationship without inverse.
  case ownerKey(entity: String, relationship: String)
  /// The row's place in an ordered relationship that points here.
  case order(entity: String, relationship: String)
}

/// One column of an entity's table.
package struct ColumnLayout: Hashable, Sendable {
  package var name: String
  package var type: ColumnType
  package var role: ColumnRole

  package init(name: String, type: ColumnType, role: ColumnRole) {
    self.name = name
    self.type = type
    self.role = role
  }
}

/// The table of a root entity and all its sub-entities.
package struct TableLayout: Hashable, Sendable {
  package var name: String
  package var rootEntity: String
  package var columns: [ColumnLayout]

  package init(
    name: String, rootEntity: String, columns: [ColumnLayout]
  ) {
    self.name = name
    self.rootEntity = rootEntity
    self.columns = columns
  }

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

  /// The group and type of an attribute's column; nil for kinds that no column can hold.
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
