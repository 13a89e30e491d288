// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite

extension SelectBuilder {
  /// Builds a statement that selects dictionaries.
  ///
  /// - Throws: `NotExpressibleInSQL` for requests whose results in SQL may differ from those in memory.
  package func select(
    _ results: ResultCriteria, of entity: EntityLayout, _ query: RowCriteria
  ) throws -> ResultSelect {
    let predicates = PredicateSQL(schema: schema, objects: objects, aliases: AliasNames())
    let scope = SQLScope(entity: entity, names: predicates.aliases)
    var builder = ResultBuilder(results, predicates, scope)
    let condition = try condition(of: entity, query, scope, predicates)
    try builder.appendColumns()
    var end: BoundSQL = ""
    if let groups = builder.groups {
      end = " GROUP BY \(groups.map(\.key).joined(", "))"
      if let having = results.having { end = "\(end) HAVING \(try builder.condition(having))" }
      let terms = try builder.order(query.order).map { try term($0, from: scope, predicates) }
      end = "\(end) ORDER BY \((terms + ["MIN(\(raw: scope.alias).Z_PK)"]).joined(", "))"
    } else if !results.isSummary {
      end = try order(query, of: entity, scope, predicates)
    }
    let inexactCount = builder.appendInexactCounts()
    let list = builder.list.joined(", ")
    var statement: BoundSQL = "SELECT \(list)\(raw: from(scope))\(condition)\(end)\(limit(of: query))"
    statement.sharesParameters = builder.groups != nil
    return ResultSelect(statement: statement, columns: builder.columns, inexactCount: inexactCount)
  }
}

/// Builds the columns and groups of a `ResultSelect`.
private struct ResultBuilder {
  private let results: ResultCriteria
  private let predicates: PredicateSQL
  private let scope: SQLScope
  private var names: SQLNames { SQLNames(evaluated: scope) }
  private var dialect: SQLDialect { predicates.dialect }
  private(set) var list: [BoundSQL] = []
  private(set) var columns: [ResultSelect.Column] = []
  /// SQL expressions that are nonzero if aggregates may differ from those in memory.
  private var inexactCounts: [BoundSQL] = []
  /// The grouping expressions and their keys; nil for rows that are not grouped.
  private(set) var groups: [(expression: ExpressionSyntax, key: BoundSQL)]?

  init(_ results: ResultCriteria, _ predicates: PredicateSQL, _ scope: SQLScope) {
    (self.results, self.predicates, self.scope) = (results, predicates, scope)
  }

  mutating func appendColumns() throws {
    if results.groups.isEmpty, results.isDistinct, !results.isSummary {
      // Distinct dictionaries are obtained by grouping by all columns.
      let varying = results.columns.filter { if case .constant = $0.expression { false } else { true } }
      groups = try varying.map { ($0.expression, try key($0.expression)) }
      if varying.isEmpty { throw NotExpressibleInSQL() }
    } else if !results.groups.isEmpty {
      groups = try results.groups.map { ($0.expression, try key($0.expression)) }
      let names = Set(results.columns.map(\.name))
      // Different groups may give equal dictionaries.
      if results.isDistinct, results.groups.contains(where: { !names.contains($0.name) }) {
        throw NotExpressibleInSQL()
      }
    }
    for column in results.columns { try append(column) }
    if list.isEmpty { list = ["1"] }
  }

  private mutating func append(_ column: ResultCriteria.Column) throws {
    let position = list.count
    let form: ResultSelect.Form
    if let (function, argument) = column.expression.summary {
      let (value, attribute) = try aggregate(function, argument)
      form = attribute.map { .attribute($0.layout, path: $0.path) } ?? computed(value)
      list.append(value.sql)
      if case .computed(_, hasTest: true) = form { list.append(value.missing) }
    } else {
      guard isSingle(column) else { throw NotExpressibleInSQL() }
      form = try appendValue(column.expression)
    }
    columns.append(ResultSelect.Column(name: column.name, form: form, position: position))
  }

  /// Whether a column without an aggregate has a single value in each dictionary.
  private func isSingle(_ column: ResultCriteria.Column) -> Bool {
    if results.groups.isEmpty { return !results.isSummary }
    return results.groups.contains { $0.name == column.name && $0.expression == column.expression }
  }

  private func computed(_ value: SQLScalar) -> ResultSelect.Form {
    .computed(value.kind, hasTest: !value.isExactlyNull)
  }

  private mutating func appendValue(_ expression: ExpressionSyntax) throws -> ResultSelect.Form {
    if let path = expression.path {
      if let attribute = predicates.attribute(path, of: scope.entity) {
        guard attribute.column != nil, case .value(let value) = try predicates.operand(path: path, from: scope) else {
          throw NotExpressibleInSQL()
        }
        list.append(value.sql)
        return .attribute(attribute, path: path)
      }
      if let (key, number, entity) = try predicates.reference(path, from: scope) {
        list.append(key)
        if let number { list.append(number) }
        return .object(entity: entity, hasNumber: number != nil)
      }
    }
    switch try predicates.operand(expression, names) {
    case .constant(let value): return .constant(value)
    case .value(let value):
      list.append(value.sql)
      if !value.isExactlyNull { list.append(value.missing) }
      return computed(value)
    case .object, .list, .tuple, .collection: throw NotExpressibleInSQL()
    }
  }

  /// Returns the expression by which rows are grouped. Its values are equal exactly if they are equal in memory.
  private func key(_ expression: ExpressionSyntax) throws -> BoundSQL {
    guard expression.summary == nil else { throw NotExpressibleInSQL() }
    switch try predicates.operand(expression, names) {
    case .object(let key, _):
      guard dialect == .postgreSQL, let path = expression.path,
        let number = try predicates.reference(path, from: scope)?.number
      else { return key }
      // PostgreSQL cannot infer that each key has only one entity number.
      return "\(key), \(number)"
    case .value(let value) where value.isExactlyNull:
      switch value.kind {
      case .integer, .real, .string, .date, .uuid, .uri, .data: return value.keys.joined(", ")
      case .decimal where dialect == .postgreSQL: return value.sql
      // Several REAL values may represent one decimal.
      case .decimal: return ValueFunction.call("noindex:", [value])
      case .calculated, .opaque: throw NotExpressibleInSQL()
      }
    default: throw NotExpressibleInSQL()
    }
  }

  // MARK: Aggregates

  /// Aggregates the values of an expression over the rows of a group.
  ///
  /// - Returns: the aggregate, and the attribute if the aggregated values are those of an attribute.
  private mutating func aggregate(
    _ function: PredicateSQL.Aggregate, _ argument: ExpressionSyntax
  ) throws -> (SQLScalar, (layout: AttributeLayout, path: [String])?) {
    switch try predicates.operand(argument, names) {
    case .object(let key, _) where function == .count: return (SQLScalar("COUNT(\(key))", .integer, missing: none), nil)
    case .collection(let members) where function == .count && !members.rest.contains { $0.hasPrefix("@") }:
      guard case .value(let count) = try predicates.aggregate(.count, members, .argument) else {
        throw NotExpressibleInSQL()
      }
      return (SQLScalar(dialect.coalesced(predicates.sum(count.sql, of: count), "0"), .integer, missing: none), nil)
    case .value(let value):
      addExactnessChecks(value)
      let attribute = argument.path.flatMap { path in
        predicates.attribute(path, of: scope.entity).map { (layout: $0, path: path) }
      }
      switch function {
      case .minimum where value.kind.isOrdered:
        return (SQLScalar(try predicates.extreme("MIN", value), value.kind, form: value.form), attribute)
      case .maximum where value.kind.isOrdered:
        return (SQLScalar(try predicates.extreme("MAX", value), value.kind, form: value.form), attribute)
      default: return (try total(function, value), nil)
      }
    default: throw NotExpressibleInSQL()
    }
  }

  private func total(_ function: PredicateSQL.Aggregate, _ value: SQLScalar) throws -> SQLScalar {
    let (sql, count) = (value.sql, "COUNT(\(value.sql))" as BoundSQL)
    switch (function, value.kind) {
    case (.count, let kind) where kind != .opaque: return SQLScalar(count, .integer, missing: none)
    // An empty sum is 0 in memory but NULL in SQL.
    case (.sum, .integer):
      return SQLScalar(dialect.coalesced(predicates.sum(sql, of: value), "0"), .integer, missing: none)
    case (.sum, .real):
      return SQLScalar(
        "CASE \(count) WHEN 0 THEN 0 ELSE \(predicates.sum(sql, of: value)) END", .real, missing: none, form: value.form
      )
    case (.average, .integer), (.average, .real):
      return SQLScalar(predicates.average(sql, of: value), .real, missing: "\(count) = 0")
    case (.sum, .decimal) where dialect == .postgreSQL:
      return SQLScalar("COALESCE(SUM(\(sql)), 0)", .decimal, missing: none)
    case (.sum, .decimal) where dialect == .sqlite, (.average, .decimal) where dialect == .sqlite, (.sum, .calculated),
      (.average, .calculated):
      let text = value.kind == .decimal ? ValueFunction.text(sql) : sql
      let result = ValueFunction.decimals("\(function.rawValue):", "GROUP_CONCAT(\(text))")
      return SQLScalar(result, .calculated, missing: function == .sum ? none : "\(count) = 0")
    default: throw NotExpressibleInSQL()
    }
  }

  private var none: BoundSQL { dialect.truth(false) }

  /// Adds conditions for values that SQL aggregates differently: NaN, and decimals that are stored as doubles.
  private mutating func addExactnessChecks(_ value: SQLScalar) {
    if !value.isExactlyNull { addInexactCount("\(value.sql) IS NULL AND NOT (\(value.missing))") }
    switch (value.kind, dialect) {
    // In memory, sums of decimals are exact up to 38 digits.
    case (.decimal, .postgreSQL): addInexactCount("ABS(\(value.sql)) >= 1e18 OR SCALE(\(value.sql)) > 12")
    case (.decimal, .sqlite): addInexactCount("typeof(\(value.sql)) = 'text'")
    case (.calculated, _):
      addInexactCount("typeof(\(value.sql)) <> 'text' AND NOT (\(value.missing)) OR \(value.sql) = 'NaN'")
    default: break
    }
  }

  /// Adds an expression that counts the rows of a group for which a condition holds.
  private mutating func addInexactCount(_ condition: BoundSQL) {
    inexactCounts.append(dialect == .sqlite ? "TOTAL(\(condition))" : "COUNT(CASE WHEN \(condition) THEN 1 END)")
  }

  mutating func appendInexactCounts() -> Int? {
    guard !inexactCounts.isEmpty else { return nil }
    list.append(inexactCounts.joined(" + "))
    return list.count - 1
  }

  // MARK: Groups

  /// Returns the condition for groups, whose names refer to results or to grouped columns.
  func condition(_ having: PredicateSyntax) throws -> BoundSQL {
    var copy = self
    let grouped = groups ?? []
    func result(_ name: String) throws -> SQLOperand? {
      try results.columns.last { $0.name == name }.map { try copy.exactOperand($0.expression) }
    }
    var names = names
    names.resolve = { expression in
      if expression.summary != nil { return try copy.exactOperand(expression) }
      switch expression {
      case .variable(let name):
        guard let value = try result(name) else { throw NotExpressibleInSQL() }
        return value
      case .keyPath(let path), .keyPathOf(.evaluatedObject, let path):
        if let value = try result(path) { return value }
        guard grouped.contains(where: { $0.expression == .keyPath(path) }) else { throw NotExpressibleInSQL() }
        return try copy.exactOperand(.keyPath(path))
      case .evaluatedObject, .keyPathOf, .subquery, .fetch: throw NotExpressibleInSQL()
      default: return nil
      }
    }
    return try predicates.condition(having, names)
  }

  /// Returns the value of a result or of an aggregate in a condition; throws `NotExpressibleInSQL` unless SQL computes
  /// it exactly.
  private mutating func exactOperand(_ expression: ExpressionSyntax) throws -> SQLOperand {
    guard let (function, argument) = expression.summary else { return try predicates.operand(expression, names) }
    let known = inexactCounts.count
    let value = try aggregate(function, argument).0
    guard inexactCounts.count == known else { throw NotExpressibleInSQL() }
    return .value(value)
  }

  /// Returns the keys that determine the order of groups. In memory, a group is placed where its first object is.
  func order(_ keys: [SortKey]) throws -> [SortKey] {
    var open = groups?.map(\.expression) ?? []
    var result: [SortKey] = []
    for key in keys where !open.isEmpty {
      guard groups?.contains(where: { $0.expression == .keyPath(key.keyPath) }) == true else {
        throw NotExpressibleInSQL()
      }
      result.append(key)
      // A collation may treat different values as equal.
      if key.method == .compare { open.removeAll { $0 == .keyPath(key.keyPath) } }
    }
    return result
  }
}

extension ExpressionSyntax {
  /// The names of a key path that starts from the evaluated object; empty for the object itself, and nil for other
  /// expressions.
  fileprivate var path: [String]? {
    switch self {
    case .evaluatedObject: []
    case .keyPath(let path), .keyPathOf(.evaluatedObject, let path): path.split(separator: ".").map(String.init)
    default: nil
    }
  }
}

extension PredicateSQL {
  /// Returns the attribute, or the element of a composite one, at the end of a key path; nil for other key paths.
  fileprivate func attribute(_ path: [String], of start: EntityLayout) -> AttributeLayout? {
    var entity = start
    for (position, name) in path.enumerated() {
      if var attribute = entity.attributes[name] {
        for element in path[(position + 1)...] {
          guard let found = attribute.elements.first(where: { $0.name == element }) else { return nil }
          attribute = found
        }
        return attribute
      }
      guard let relationship = entity.relationships[name], !relationship.isToMany,
        let destination = schema[relationship.destinationEntity]
      else { return nil }
      entity = destination
    }
    return nil
  }

  /// Returns the key of the object at the end of a key path, and its entity number if that may vary; nil for other key
  /// paths.
  fileprivate func reference(
    _ path: [String], from scope: SQLScope
  ) throws -> (key: BoundSQL, number: BoundSQL?, entity: EntityLayout)? {
    guard let last = path.last else {
      let alias = scope.alias
      return ("\(raw: alias).Z_PK", "\(raw: alias).Z_ENT", scope.entity)
    }
    var (alias, entity) = (scope.alias, scope.entity)
    for name in path.dropLast() {
      guard let relationship = entity.relationships[name], !relationship.isToMany,
        case .foreignKey(let key) = relationship.storage, let destination = schema[relationship.destinationEntity]
      else { return nil }
      alias = scope.join(key, of: alias, to: destination)
      entity = destination
    }
    guard let relationship = entity.relationships[last], !relationship.isToMany,
      case .foreignKey(let key) = relationship.storage, let destination = schema[relationship.destinationEntity]
    else { return nil }
    let number = key.entityColumn.map { "\(raw: alias).\(column: $0)" as BoundSQL }
    return ("\(raw: alias).\(column: key.column)", number, destination)
  }
}
