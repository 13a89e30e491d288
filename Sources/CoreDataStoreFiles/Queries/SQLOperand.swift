// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// An expression in SQL.
package enum SQLOperand {
  /// A column, or a scalar computed from columns.
  case value(SQLScalar)
  /// The primary key of an object, with the number of its root entity.
  case object(BoundSQL, root: Int)
  case constant(PlainValue)
  case list([PlainValue])
  /// A list whose elements are not all constants.
  case tuple([SQLOperand])
  /// The members of a to-many relationship, or values reached through it.
  case collection(SQLCollection)

  /// The kind of a value. Only values of comparable kinds can be compared.
  package enum Kind {
    /// An INTEGER.
    case integer
    /// A number that is not a decimal: an INTEGER or a REAL.
    case real
    /// A decimal attribute: an INTEGER or a REAL.
    case decimal
    /// The result of a calculation with decimals: an INTEGER or a REAL, or the digits of a decimal as TEXT.
    case calculated
    case string
    case date
    case uuid
    case uri
    case data
    /// A value that can only be compared with NULL.
    case opaque

    package init(_ layout: AttributeLayout, _ dialect: SQLDialect = .sqlite) {
      switch layout.kind {
      case .integer16, .integer32, .integer64, .boolean: self = .integer
      case .double, .float: self = .real
      case .decimal: self = .decimal
      case .string: self = .string
      case .date: self = .date
      case .uuid: self = .uuid
      case .uri: self = .uri
      // PostgreSQL stores keep no values in external data files.
      case .binaryData: self = layout.allowsExternalStorage && dialect == .sqlite ? .opaque : .data
      case .transformable, .undefined, .objectID, .composite: self = .opaque
      }
    }

    /// Determines the kind of a constant; nil for null, collections and objects.
    package init?(_ value: PlainValue) {
      switch value {
      case .integer, .boolean: self = .integer
      case .real: self = .real
      case .decimal: self = .calculated
      case .string: self = .string
      case .date: self = .date
      case .uuid: self = .uuid
      case .url: self = .uri
      case .data: self = .data
      case .null, .array, .set, .dictionary, .object: return nil
      }
    }

    package var isNumber: Bool {
      switch self {
      case .integer, .real, .decimal, .calculated: true
      case .string, .date, .uuid, .uri, .data, .opaque: false
      }
    }

    /// Whether numbers of this kind are decimals in memory, which are computed without rounding.
    package var isDecimal: Bool { self == .decimal || self == .calculated }

    /// Whether SQLite orders values of this kind as memory does.
    package var isOrdered: Bool { self != .opaque && self != .calculated }

    /// Whether values of two kinds can be equal.
    package func isComparable(with other: Kind) -> Bool { self == other || isNumber && other.isNumber }

    /// Returns the column value of a constant; nil for a constant of another type, which equals no value of this kind.
    package func binding(_ value: PlainValue) -> SQLiteValue? {
      switch (self, value) {
      case (.integer, .integer(let value)), (.real, .integer(let value)), (.decimal, .integer(let value)):
        .integer(value)
      case (.integer, .boolean(let value)), (.real, .boolean(let value)), (.decimal, .boolean(let value)):
        .integer(value ? 1 : 0)
      case (.integer, .real(let value)), (.real, .real(let value)), (.decimal, .real(let value)): .real(value)
      case (.integer, .decimal(let value)), (.real, .decimal(let value)), (.decimal, .decimal(let value)):
        value.isNaN ? .real(.nan) : StoredDecimal.number(NSDecimalNumber(decimal: value))
      case (.string, .string(let value)): .text(value)
      case (.date, .date(let value)): .real(value.timeIntervalSinceReferenceDate)
      case (.uuid, .uuid(let value)): .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
      case (.uri, .url(let value)): .text(value.absoluteString)
      case (.data, .data(let value)): .blob(value)
      default: nil
      }
    }
  }
}

/// A scalar in SQL.
package struct SQLScalar {
  package var sql: BoundSQL
  package var kind: SQLOperand.Kind
  /// The condition under which the value is missing. A calculation that gives NaN is NULL in SQL too, but not missing.
  package var missing: BoundSQL
  /// Whether `missing` is true exactly if `sql` is NULL.
  package let isExactlyNull: Bool
  /// The type of a number in PostgreSQL, which determines conversions and arithmetic.
  package var form: Form
  /// The column itself if `sql` is a conversion of it; only in PostgreSQL.
  package var column: BoundSQL?
  /// The two columns of a date in PostgreSQL; nil for a computed date.
  package var date: DateColumns?
  /// The constant that this scalar represents; nil if it depends on rows.
  package var constant: PlainValue?
  /// Whether this is a value of a decimal attribute, which may be NaN.
  var mayBeNotANumber: Bool { form == .decimal && kind != .calculated && constant == nil && !isNumber }
  /// Whether NaN has been excluded.
  var isNumber = false

  /// The types of numbers in PostgreSQL.
  package enum Form {
    case whole
    case double
    case decimal
    /// Not a number.
    case other

    fileprivate init(_ kind: SQLOperand.Kind) {
      switch kind {
      case .integer: self = .whole
      case .real: self = .double
      case .decimal, .calculated: self = .decimal
      case .string, .date, .uuid, .uri, .data, .opaque: self = .other
      }
    }
  }

  package struct DateColumns {
    package let timestamp: BoundSQL
    /// The remainder as a number; 0 if the timestamp represents the date exactly.
    package let remainder: BoundSQL
  }

  package init(_ sql: BoundSQL, _ kind: SQLOperand.Kind, missing: BoundSQL? = nil, form: Form? = nil) {
    self.sql = sql
    self.kind = kind
    self.missing = missing ?? "\(sql) IS NULL"
    self.form = form ?? Form(kind)
    isExactlyNull = missing == nil
  }

  /// Creates the scalar of a column read by `sql`, which is NULL exactly if the column is.
  init(column: BoundSQL, readBy sql: BoundSQL, _ kind: SQLOperand.Kind, date: DateColumns? = nil) {
    (self.sql, self.kind, self.column, self.date) = (sql, kind, column, date)
    missing = "\(column) IS NULL"
    form = Form(kind)
    isExactlyNull = true
  }

  /// Creates the scalar of a constant; nil for null, collections and objects, and for values that the engine cannot
  /// store.
  package init?(_ constant: PlainValue, _ dialect: SQLDialect) {
    guard let kind = SQLOperand.Kind(constant) else { return nil }
    if dialect == .postgreSQL {
      self.init(postgreSQL: constant, kind)
    } else if case .decimal(let decimal) = constant {
      self.init("\(value: .text(NSDecimalNumber(decimal: decimal).stringValue))", kind, missing: "0")
    } else if let bound = kind.binding(constant) {
      self.init("\(value: bound)", kind, missing: "0")
    } else {
      return nil
    }
    self.constant = constant
  }
}

/// The members of a to-many relationship of a row, or of a subquery over them, with a key path from each member.
package struct SQLCollection {
  package let source: String
  package let relationship: RelationshipLayout
  /// The key path from a member; empty for the member itself.
  package var rest: [String]
  /// The condition under which there is no owner; nil if there always is one.
  package var ownerMissing: BoundSQL?
  /// The conditions of subqueries, from the innermost to the outermost.
  package var filters: [Filter] = []

  package struct Filter {
    package let variable: String
    package let predicate: PredicateSyntax
    package let names: SQLNames
  }

  /// Whether the members' values are an array in memory, which contains missing values too; a set does not.
  package var keepsMissingValues: Bool { relationship.isOrdered || !filters.isEmpty }
}

/// The rows to which expressions can refer: the evaluated object and the variables of subqueries.
package struct SQLNames {
  package let evaluated: SQLScope
  package var variables: [String: SQLScope] = [:]
  /// Translates expressions that have another meaning here than in a row; nil for other expressions.
  var resolve: ((ExpressionSyntax) throws -> SQLOperand?)?

  package init(evaluated: SQLScope) { self.evaluated = evaluated }
}

/// A row in the scope of a statement, and the rows joined to it.
package final class SQLScope {
  package let alias: String
  package let entity: EntityLayout
  private let names: AliasNames
  private var aliases: [String: String] = [:]
  /// The joins of to-one relationships, in the order of first use by key paths.
  package private(set) var joins = ""

  /// - Parameter alias: the alias of the row; nil for a new one.
  package init(entity: EntityLayout, names: AliasNames, alias: String? = nil) {
    self.entity = entity
    self.names = names
    self.alias = alias ?? names.next("t")
  }

  /// Joins the destination of a to-one relationship, once for each path, and returns its alias.
  package func join(_ key: ForeignKeyLayout, of source: String, to destination: EntityLayout) -> String {
    let path = "\(source).\(key.column)"
    if let alias = aliases[path] { return alias }
    let alias = names.next("t")
    aliases[path] = alias
    joins +=
      " LEFT OUTER JOIN \(names.table(destination.table)) \(alias) "
      + "ON \(source).\(SQLName.quoted(key.column)) = \(alias).Z_PK"
    return alias
  }
}

/// The aliases and table names of a statement; every alias is unique.
package final class AliasNames {
  private let database: String?
  private var last = -1

  /// - Parameter database: the name of an attached store; nil for the main database.
  package init(database: String? = nil) {
    self.database = database
  }

  /// Returns the qualified name of a table.
  package func table(_ name: String) -> String {
    database.map { "\($0).\(SQLName.quoted(name))" } ?? SQLName.quoted(name)
  }

  package func next(_ letter: String) -> String {
    last += 1
    return letter + String(last)
  }
}
