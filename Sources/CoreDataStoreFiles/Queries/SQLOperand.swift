// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// What an expression becomes in SQL.
package enum SQLOperand {
  /// A scalar of a table, or computed from some.
  case value(BoundSQL, Kind)
  /// The primary key of an object whose root entity has that number.
  case object(BoundSQL, root: Int)
  case constant(PlainValue)
  case list([PlainValue])
  /// Members of a to-many relationship, or values reached through it.
  case collection(SQLCollection)

  /// What can be compared with what.
  package enum Kind {
    case number
    case string
    case date
    case uuid
    case uri
    case data
    /// Can only be asked whether there is a value.
    case opaque

    package init(_ layout: AttributeLayout) {
      switch layout.kind {
      case .integer16, .integer32, .integer64, .boolean, .decimal, .double, .float: self = .number
      case .string: self = .string
      case .date: self = .date
      case .uuid: self = .uuid
      case .uri: self = .uri
      case .binaryData: self = layout.allowsExternalStorage ? .opaque : .data
      case .transformable, .undefined, .objectID, .composite: self = .opaque
      }
    }

    /// The value that stands in such a column for a constant.
    ///
    /// - Throws: `NotExpressibleInSQL` for a constant of another type: what that means is for memory to say.
    package func binding(_ value: PlainValue) throws -> SQLiteValue {
      switch (self, value) {
      case (.number, .integer(let value)): .integer(value)
      case (.number, .boolean(let value)): .integer(value ? 1 : 0)
      case (.number, .real(let value)): .real(value)
      case (.number, .decimal(let value)): StoredDecimal.number(NSDecimalNumber(decimal: value))
      case (.string, .string(let value)): .text(value)
      case (.date, .date(let value)): .real(value.timeIntervalSinceReferenceDate)
      case (.uuid, .uuid(let value)): .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
      case (.uri, .url(let value)): .text(value.absoluteString)
      case (.data, .data(let value)): .blob(value)
      default: throw NotExpressibleInSQL()
      }
    }
  }
}

/// A to-many relationship of a row, and what is asked of each member.
package struct SQLCollection {
  package let source: String
  package let relationship: RelationshipLayout
  /// The key path from a member; empty for the member itself.
  package let rest: [String]

  package init(
    source: String, relationship: RelationshipLayout, rest: [String]
  ) {
    self.source = source
    self.relationship = relationship
    self.rest = rest
  }
}

/// The rows that expressions can name: the evaluated object and the variables of subqueries.
package struct SQLNames {
  package let evaluated: SQLScope
  package var variables: [String: SQLScope] = [:]

  package init(
    evaluated: SQLScope, variables: [String: SQLScope] = [:]
  ) {
    self.evaluated = evaluated
    self.variables = variables
  }
}
