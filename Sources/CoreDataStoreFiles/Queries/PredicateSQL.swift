// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite

/// Makes conditions of SQL from predicates; every constant is bound, none is written into the text.
///
/// The conditions mean what the predicates mean in memory, also where values are missing: `a != 1` and `NOT (a == 1)` hold
/// for rows without `a`. What SQL cannot say exactly so throws `NotExpressibleInSQL`.
package struct PredicateSQL {
  package let schema: StoreSchema
  package let objects: any ObjectKeys
  package let aliases: AliasNames

  package init(
    schema: StoreSchema, objects: any ObjectKeys, aliases: AliasNames
  ) {
    self.schema = schema
    self.objects = objects
    self.aliases = aliases
  }

  /// Lists longer than this are left to memory: SQLite limits the values of one statement.
  package static let longestList = 10_000

  package func condition(_ predicate: PredicateSyntax, _ names: SQLNames) throws -> BoundSQL {
    switch predicate {
    case .constant(let value): return value ? "1" : "0"
    case .and(let parts): return try combined(parts, " AND ", empty: "1", names)
    case .or(let parts): return try combined(parts, " OR ", empty: "0", names)
    case .not(let part): return "NOT \(definite(try condition(part, names)))"
    case .comparison(let comparison): return try condition(comparison, names)
    }
  }

  private func combined(
    _ parts: [PredicateSyntax], _ word: String, empty: String, _ names: SQLNames
  ) throws -> BoundSQL {
    if parts.isEmpty { return BoundSQL(empty) }
    return "(\(try parts.map { try condition($0, names) }.joined(word)))"
  }

  /// A condition that is never unknown: what SQL does not know is false in memory.
  package func definite(_ condition: BoundSQL) -> BoundSQL { "IFNULL(\(condition), 0)" }

  private func condition(_ comparison: ComparisonSyntax, _ names: SQLNames) throws -> BoundSQL {
    guard comparison.op != .customSelector else { throw NotExpressibleInSQL() }
    let left = try operand(comparison.left, names)
    let right = try operand(comparison.right, names)
    switch (comparison.modifier, left, right) {
    case (.any, .collection(let collection), _):
      return try exists(collection, names) { try compare($0, comparison.op, right, comparison.options, names) }
    case (.all, .collection(let collection), _):
      return try all(collection, names) { try compare($0, comparison.op, right, comparison.options, names) }
    case (.any, _, _), (.all, _, _): throw NotExpressibleInSQL()
    case (.direct, .collection(let collection), _) where comparison.op == .contains:
      return try exists(collection, names) { try compare($0, .equalTo, right, comparison.options, names) }
    case (.direct, _, .collection(let collection)) where comparison.op == .in:
      return try exists(collection, names) { try compare($0, .equalTo, left, comparison.options, names) }
    case (.direct, _, _): return try compare(left, comparison.op, right, comparison.options, names)
    }
  }

  /// `EXISTS` over the members of a collection, through further collections where the path goes on to them.
  private func exists(
    _ collection: SQLCollection, _ names: SQLNames, _ test: (SQLOperand) throws -> BoundSQL
  ) throws -> BoundSQL {
    let rows = try MemberRows(collection, self)
    let member = try rows.operand(collection.rest, self)
    let condition: BoundSQL
    if case .collection(let inner) = member {
      condition = try exists(inner, names, test)
    } else {
      condition = try test(member)
    }
    return "EXISTS (SELECT 1\(raw: rows.from) AND \(condition))"
  }

  private func all(
    _ collection: SQLCollection, _ names: SQLNames, _ test: (SQLOperand) throws -> BoundSQL
  ) throws -> BoundSQL {
    let rows = try MemberRows(collection, self)
    let member = try rows.operand(collection.rest, self)
    let condition: BoundSQL
    if case .collection(let inner) = member {
      condition = try all(inner, names, test)
    } else {
      condition = try test(member)
    }
    return "NOT EXISTS (SELECT 1\(raw: rows.from) AND NOT \(definite(condition)))"
  }

  /// How many members a collection has, or how many of them meet a condition.
  package func count(
    _ collection: SQLCollection, where condition: (SQLScope) throws -> BoundSQL? = { _ in nil }
  ) throws -> BoundSQL {
    guard collection.rest.isEmpty else { throw NotExpressibleInSQL() }
    let rows = try MemberRows(collection, self)
    guard let condition = try condition(rows.scope) else { return "(SELECT COUNT(*)\(raw: rows.from))" }
    return "(SELECT COUNT(*)\(raw: rows.from) AND \(condition))"
  }
}

/// The rows of a collection's members, as a table expression that refers to the owner's row.
package struct MemberRows {
  package let scope: SQLScope
  private let table: String
  private let condition: String

  package init(_ collection: SQLCollection, _ builder: PredicateSQL) throws {
    guard let destination = builder.schema[collection.relationship.destinationEntity] else {
      throw NotExpressibleInSQL()
    }
    scope = SQLScope(entity: destination, names: builder.aliases)
    let owner = "\(collection.source).Z_PK"
    switch collection.relationship.place {
    case .foreignKey: throw NotExpressibleInSQL()
    case .inverseForeignKey(let table, let key):
      self.table = " FROM \(builder.aliases.table(table)) \(scope.alias)"
      condition = " WHERE \(scope.alias).\(SQLName.quoted(key.column)) = \(owner)"
    case .joinTable(let end):
      guard !end.isReflexive else { throw NotExpressibleInSQL() }
      let join = builder.aliases.next("j")
      table =
        " FROM \(builder.aliases.table(end.table)) \(join) JOIN \(builder.aliases.table(destination.table)) \(scope.alias) "
        + "ON \(scope.alias).Z_PK = \(join).\(SQLName.quoted(end.destinationColumn))"
      condition = " WHERE \(join).\(SQLName.quoted(end.sourceColumn)) = \(owner)"
    }
  }

  /// To be asked for last: key paths of conditions add joins to the scope.
  package var from: String { table + scope.joins + condition }

  package func operand(_ path: [String], _ builder: PredicateSQL) throws -> SQLOperand {
    try builder.operand(path: path, from: scope)
  }
}

/// Finds the rows that objects in predicates stand for.
package protocol ObjectKeys {
  /// The primary key of an object or identifier; nil for one that is no row of the root entity's table in this store.
  ///
  /// - Throws: `NotExpressibleInSQL` for a value that is neither.
  func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64?
}

/// The error for a predicate or an order that SQL cannot express; the caller evaluates it in memory.
package struct NotExpressibleInSQL: Error {
  package init() {}
}
