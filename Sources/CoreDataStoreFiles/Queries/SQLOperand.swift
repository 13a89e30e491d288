// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// An expression in SQL.
package enum SQLOperand {
  /// A column, or a scalar computed from columns.
  case value(BoundSQL, Kind)
  /// The primary key of an object, with the number of its root entity.
  case object(BoundSQL, root: Int)
  case constant(PlainValue)
  case list([PlainValue])
  /// The members of a to-many relationship, or values reached through it.
  case collection(SQLCollection)

  /// The kind of a value; only values of one kind can be compared.
  package enum Kind {
    case number
    case string
    case date
    case uuid
    case uri
    case data
    /// Can only be compared with NULL.
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

    /// Returns the column value of a constant.
    ///
    /// - Throws: `NotExpressibleInSQL` for a constant of another type, which is compared in memory.
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

/// A to-many relationship of a row, and a key path from each member.
package struct SQLCollection {
  package let source: String
  package let relationship: RelationshipLayout
  /// The key path from a member; empty for the member itself.
  package let rest: [String]
}

/// The rows that expressions can refer to: the evaluated object and the variables of subqueries.
package struct SQLNames {
  package let evaluated: SQLScope
  package var variables: [String: SQLScope] = [:]

  package init(evaluated: SQLScope, variables: [String: SQLScope] = [:]) {
    self.evaluated = evaluated
    self.variables = variables
  }
}

/// A row in the scope of a statement, and the rows joined to it.
package final class SQLScope {
  package let alias: String
  package let entity: EntityLayout
  private let names: AliasNames
  private var aliases: [String: String] = [:]
  /// The joins for to-one relationships, in the order in which key paths needed them.
  package private(set) var joins = ""

  package init(entity: EntityLayout, names: AliasNames) {
    self.entity = entity
    self.names = names
    alias = names.next("t")
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

/// The SQL functions for string comparisons that SQLite lacks.
package enum StringFunction: String, CaseIterable {
  case equal = "CDStringEquals"
  case beginsWith = "CDStringBeginsWith"
  case endsWith = "CDStringEndsWith"
  case contains = "CDStringContains"
  case like = "CDStringLike"
  case matches = "CDStringMatches"

  package init?(_ op: ComparisonSyntax.Operator) {
    switch op {
    case .beginsWith: self = .beginsWith
    case .endsWith: self = .endsWith
    case .contains: self = .contains
    case .like: self = .like
    case .matches: self = .matches
    default: return nil
    }
  }

  /// Returns the call for two strings; the result is NULL if one of them is.
  package func call(_ subject: BoundSQL, _ pattern: BoundSQL, _ options: ComparisonSyntax.Options) -> BoundSQL {
    "\(raw: rawValue)(\(subject), \(pattern), \(value: .integer(Int64(options.rawValue))))"
  }

  package static func register(with connection: SQLiteConnection) throws {
    for function in allCases {
      try connection.register(function: function.rawValue, argumentCount: 3, deterministic: true) { arguments in
        guard let subject = arguments[0].text, let pattern = arguments[1].text else { return .null }
        let options = ComparisonSyntax.Options(rawValue: UInt(arguments[2].integer ?? 0))
        return .integer(try function.holds(subject, pattern, options) ? 1 : 0)
      }
    }
  }

  /// Compares like predicates in memory.
  private func holds(_ subject: String, _ pattern: String, _ options: ComparisonSyntax.Options) throws -> Bool {
    let comparison = TextComparison(options)
    switch self {
    case .equal: return comparison.areEqual(subject, pattern)
    case .beginsWith: return comparison.begins(subject, with: pattern)
    case .endsWith: return comparison.ends(subject, with: pattern)
    case .contains: return comparison.contains(subject, pattern)
    case .like: return comparison.isLike(subject, pattern)
    case .matches: return try comparison.matches(subject, pattern: pattern)
    }
  }

  /// Returns the first string after all strings with a prefix; nil where there is none.
  package static func endOfPrefixRange(_ prefix: String) -> String? {
    guard let last = prefix.unicodeScalars.last,
      let next = Unicode.Scalar(last.value == 0xD7FF ? 0xE000 : last.value + 1)
    else { return nil }
    return String(String.UnicodeScalarView(prefix.unicodeScalars.dropLast())) + String(Character(next))
  }
}
