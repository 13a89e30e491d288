// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// The rows of an entity requested by a query.
package struct RowCriteria {
  package var includesSubentities = true
  package var predicate: PredicateSyntax?
  /// Whether the query may return extra rows, in any order, which the caller filters: SQL evaluates only the part of
  /// the predicate that it can express.
  package var findsCandidates = false
  package var order: [SortKey] = []
  /// The maximum number of rows; 0 for no limit.
  package var limit = 0
  package var offset = 0
  /// The range of primary keys to search; nil for all.
  package var keys: ClosedRange<Int64>?
  /// The primary keys of rows to leave out.
  package var excludedKeys: Set<Int64> = []

  /// Whether rows are found by more than their primary keys.
  package var isSearch: Bool { predicate != nil || !order.isEmpty || keys == nil }

  package init(includesSubentities: Bool = true) {
    self.includesSubentities = includesSubentities
  }
}

/// Builds the statements of queries.
package struct SelectBuilder {
  package let schema: StoreSchema
  package let objects: any ObjectKeys

  package init(schema: StoreSchema, objects: any ObjectKeys) {
    self.schema = schema
    self.objects = objects
  }

  /// Builds a statement that selects columns of the matching rows.
  ///
  /// - Throws: `NotExpressibleInSQL` for a predicate or an order that SQL cannot express.
  package func select(_ columns: [String], of entity: EntityLayout, _ query: RowCriteria) throws -> BoundSQL {
    let (scope, condition, order) = try parts(of: entity, query, isOrdered: true)
    let list = columns.map { "\(scope.alias).\(SQLName.quoted($0))" }.joined(separator: ", ")
    return "SELECT \(raw: list)\(raw: from(scope))\(condition)\(order)\(limit(of: query))"
  }

  /// Builds a statement that counts the matching rows.
  ///
  /// - Throws: `NotExpressibleInSQL` for a predicate that SQL cannot express.
  package func count(of entity: EntityLayout, _ query: RowCriteria) throws -> BoundSQL {
    let (scope, condition, _) = try parts(of: entity, query, isOrdered: false)
    guard query.limit > 0 || query.offset > 0 else { return "SELECT COUNT(*)\(raw: from(scope))\(condition)" }
    return "SELECT COUNT(*) FROM (SELECT 1\(raw: from(scope))\(condition)\(limit(of: query))) c"
  }

  private func parts(
    of entity: EntityLayout, _ query: RowCriteria, isOrdered: Bool
  ) throws -> (scope: SQLScope, condition: BoundSQL, order: BoundSQL) {
    let builder = PredicateSQL(schema: schema, objects: objects, aliases: AliasNames())
    let scope = SQLScope(entity: entity, names: builder.aliases)
    let condition = try condition(of: entity, query, scope, builder)
    return (scope, condition, isOrdered ? try order(query, of: entity, scope, builder) : "")
  }

  /// Returns the WHERE clause of a query; empty for all rows of a table.
  func condition(
    of entity: EntityLayout, _ query: RowCriteria, _ scope: SQLScope, _ builder: PredicateSQL
  ) throws -> BoundSQL {
    var conditions: [BoundSQL] = []
    if let test = entityTest(entity, includesSubentities: query.includesSubentities, alias: scope.alias) {
      conditions.append(test)
    }
    if let keys = query.keys {
      conditions.append(
        "\(raw: scope.alias).Z_PK BETWEEN \(value: .integer(keys.lowerBound)) AND \(value: .integer(keys.upperBound))")
    }
    if !query.excludedKeys.isEmpty {
      conditions.append(
        "\(raw: scope.alias).Z_PK NOT IN \(try SQLValueList.set(of: query.excludedKeys, schema.dialect))")
    }
    if let predicate = query.predicate {
      let names = SQLNames(evaluated: scope)
      let condition =
        query.findsCandidates
        ? try builder.necessaryCondition(predicate, names) : try builder.condition(predicate, names)
      if let condition { conditions.append(condition) }
    }
    return conditions.isEmpty ? "" : " WHERE \(conditions.joined(" AND "))"
  }

  /// Returns the ORDER BY clause of a query for rows.
  func order(
    _ query: RowCriteria, of entity: EntityLayout, _ scope: SQLScope, _ builder: PredicateSQL
  ) throws -> BoundSQL {
    let terms = try query.order.map { try term($0, from: scope, builder) }
    // The primary key breaks ties, so that pages of one query never overlap. The unary plus lets SQLite search an index
    // and sort the result, instead of reading all rows in key order.
    let sign = searchesRange(query, of: entity) ? "+" : ""
    return " ORDER BY \((terms + ["\(raw: sign)\(raw: scope.alias).Z_PK"]).joined(", "))"
  }

  /// Whether a query without a sort order and a limit has a range of an indexed attribute.
  private func searchesRange(_ query: RowCriteria, of entity: EntityLayout) -> Bool {
    guard schema.dialect == .sqlite, query.order.isEmpty, query.limit == 0, query.offset == 0,
      let predicate = query.predicate
    else {
      return false
    }
    func isIndexed(_ expression: ExpressionSyntax) -> Bool {
      guard case .keyPath(let path) = expression, let column = entity.attributes[path]?.column else { return false }
      return schema.indexes.contains { $0.table == entity.table && $0.elements.first?.column == column }
    }
    func hasRange(_ predicate: PredicateSyntax) -> Bool {
      switch predicate {
      case .and(let parts): return parts.contains(where: hasRange)
      case .comparison(let comparison):
        switch comparison.op {
        case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
          return comparison.modifier == .direct && (isIndexed(comparison.left) || isIndexed(comparison.right))
        default: return false
        }
      case .constant, .or, .not: return false
      }
    }
    return hasRange(predicate)
  }

  func from(_ scope: SQLScope) -> String {
    " FROM \(SQLName.quoted(scope.entity.table)) \(scope.alias)\(scope.joins)"
  }

  /// Returns a condition that restricts a shared table to the requested entities; nil if all its rows belong to them.
  private func entityTest(_ entity: EntityLayout, includesSubentities: Bool, alias: String) -> BoundSQL? {
    let inTable = schema.entity(number: entity.rootNumber)?.numbers ?? []
    let wanted = includesSubentities ? entity.numbers : [entity.number]
    if Set(inTable) == Set(wanted) { return nil }
    let numbers = wanted.map { SQLiteValue.integer(Int64($0)) }
    return numbers.count == 1
      ? "\(raw: alias).Z_ENT = \(value: numbers[0])" : "\(raw: alias).Z_ENT IN (\(values: numbers))"
  }

  func term(_ term: SortKey, from scope: SQLScope, _ builder: PredicateSQL) throws -> BoundSQL {
    let path = term.keyPath.split(separator: ".").map(String.init)
    let value = try NotExpressibleInSQL.naming(.expression(.keyPath(term.keyPath))) {
      guard case .value(let value) = try builder.operand(path: path, from: scope), value.kind.isOrdered else {
        throw NotExpressibleInSQL()
      }
      return value
    }
    let collation = value.kind == .string ? SortCollation.clause(for: term.method) : ""
    let direction = term.isAscending ? schema.dialect.ascending : schema.dialect.descending
    // PostgreSQL cannot use collations defined by the program.
    guard schema.dialect == .sqlite || collation.isEmpty else {
      throw NotExpressibleInSQL(.expression(.keyPath(term.keyPath)))
    }
    return value.keys.map { "\($0)\(raw: collation)\(raw: direction)" as BoundSQL }.joined(", ")
  }

  func limit(of query: RowCriteria) -> BoundSQL {
    guard query.limit > 0 || query.offset > 0 else { return "" }
    // SQLite has no offset without a limit.
    let hasLimit = query.limit > 0 || schema.dialect == .sqlite
    let limit: BoundSQL = hasLimit ? " LIMIT \(value: .integer(query.limit > 0 ? Int64(query.limit) : -1))" : ""
    return query.offset > 0 ? "\(limit) OFFSET \(value: .integer(Int64(query.offset)))" : limit
  }
}

/// The collations of the string comparison methods of sort descriptors.
package enum SortCollation {
  private static let names: [(SortKey.Method, String)] = [
    (.caseInsensitive, "CDCaseInsensitive"), (.localized, "CDLocalized"),
    (.localizedCaseInsensitive, "CDLocalizedCaseInsensitive"), (.localizedStandard, "CDLocalizedStandard"),
  ]

  /// Returns the COLLATE clause of a method; empty for the literal order, which is SQLite's default.
  package static func clause(for method: SortKey.Method) -> String {
    names.first { $0.0 == method }.map { " COLLATE \($0.1)" } ?? ""
  }

  package static func register(with connection: SQLiteConnection) throws {
    for (method, name) in names {
      try connection.register(collation: name) { method.order($0, $1) }
    }
  }
}
