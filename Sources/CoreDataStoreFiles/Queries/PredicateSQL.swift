// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Builds SQL conditions from predicates. Every constant is bound, none is written into the text.
///
/// The conditions mean the same as the predicates in memory, even for missing values: `a != 1` and `NOT (a == 1)` hold for
/// rows without `a`. Predicates that SQL cannot express exactly throw `NotExpressibleInSQL`.
package struct PredicateSQL {
  package let schema: StoreSchema
  package let objects: any ObjectKeys
  package let aliases: AliasNames

  package init(schema: StoreSchema, objects: any ObjectKeys, aliases: AliasNames) {
    self.schema = schema
    self.objects = objects
    self.aliases = aliases
  }

  /// The longest list in SQL, since SQLite limits the number of bound values; longer ones are evaluated in memory.
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

  /// Makes a condition that is never NULL: what is unknown in SQL is false in memory.
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

  /// An `EXISTS` condition over the members of a collection, nested where the key path leads through further collections.
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

  /// A condition that holds for all members: none of them fails it.
  private func all(
    _ collection: SQLCollection, _ names: SQLNames, _ test: (SQLOperand) throws -> BoundSQL
  ) throws -> BoundSQL {
    "NOT \(try exists(collection, names) { "NOT \(definite(try test($0)))" })"
  }

  /// The number of members of a collection, or of those that meet a condition.
  package func count(
    _ collection: SQLCollection, where condition: (SQLScope) throws -> BoundSQL? = { _ in nil }
  ) throws -> BoundSQL {
    guard collection.rest.isEmpty else { throw NotExpressibleInSQL() }
    let rows = try MemberRows(collection, self)
    guard let condition = try condition(rows.scope) else { return "(SELECT COUNT(*)\(raw: rows.from))" }
    return "(SELECT COUNT(*)\(raw: rows.from) AND \(condition))"
  }
}

/// The rows of a collection's members, as a subquery that refers to the owner's row.
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
    let pairs = RelationshipPairs(of: collection.relationship, in: builder.schema)
    guard !pairs.isReflexive, pairs.ownerColumn != "Z_PK" else { throw NotExpressibleInSQL() }
    let key = SQLName.quoted(pairs.ownerColumn)
    if pairs.memberColumn == "Z_PK" {
      table = " FROM \(builder.aliases.table(pairs.table)) \(scope.alias)"
      condition = " WHERE \(scope.alias).\(key) = \(owner)"
    } else {
      let join = builder.aliases.next("j")
      table =
        " FROM \(builder.aliases.table(pairs.table)) \(join) JOIN \(builder.aliases.table(destination.table)) \(scope.alias) "
        + "ON \(scope.alias).Z_PK = \(join).\(SQLName.quoted(pairs.memberColumn))"
      condition = " WHERE \(join).\(key) = \(owner)"
    }
  }

  /// The FROM and WHERE clauses. Read them last, because key paths in conditions add joins to the scope.
  package var from: String { table + scope.joins + condition }

  package func operand(_ path: [String], _ builder: PredicateSQL) throws -> SQLOperand {
    try builder.operand(path: path, from: scope)
  }
}

/// Finds the rows of objects in predicates.
package protocol ObjectKeys {
  /// Returns the primary key of an object or identifier; nil for one without a row in the root entity's table of this store.
  ///
  /// - Throws: `NotExpressibleInSQL` for a value that is neither.
  func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64?
}

/// The error for a predicate or an order that SQL cannot express; the caller evaluates it in memory.
package struct NotExpressibleInSQL: Error {
  package init() {}
}

extension PredicateSQL {
  package typealias Operator = ComparisonSyntax.Operator

  /// Compares two operands that are not collections.
  package func compare(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options, _ names: SQLNames
  ) throws -> BoundSQL {
    switch op {
    case .equalTo, .notEqualTo: return try equality(left, op, right, options)
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      guard options.isEmpty else { throw NotExpressibleInSQL() }
      return try order(left, op, right)
    case .between:
      guard options.isEmpty, case .value(let value, let kind) = left, case .list(let bounds) = right, bounds.count == 2
      else { throw NotExpressibleInSQL() }
      return "\(value) BETWEEN \(value: try kind.binding(bounds[0])) AND \(value: try kind.binding(bounds[1]))"
    case .in: return try membership(left, right, options)
    case .beginsWith, .endsWith, .contains, .like, .matches: return try text(left, op, right, options)
    case .customSelector: throw NotExpressibleInSQL()
    }
  }

  private func equality(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    let isEqual = op == .equalTo
    switch (left, right) {
    case (.constant, .value), (.constant, .object): return try equality(right, op, left, options)
    case (.value(let value, _), .constant(.null)), (.object(let value, _), .constant(.null)):
      return isEqual ? "\(value) IS NULL" : "\(value) IS NOT NULL"
    case (.value(let value, .string), .constant(.string(let text))) where !options.isEmpty:
      let test = StringFunction.equal.call(value, "\(value: .text(text))", options)
      return isEqual ? test : "NOT \(definite(test))"
    case (.value(let value, let kind), .constant(let constant)):
      let bound = try kind.binding(constant)
      return isEqual ? "\(value) = \(value: bound)" : "\(value) IS NOT \(value: bound)"
    case (.value(let a, let kind), .value(let b, let other)):
      guard kind == other, kind != .opaque, options.isEmpty else { throw NotExpressibleInSQL() }
      return isEqual ? "\(a) IS \(b)" : "\(a) IS NOT \(b)"
    case (.object(let value, let root), .constant(let constant)):
      guard let key = try primaryKey(constant, root: root) else { return isEqual ? "0" : "1" }
      return isEqual ? "\(value) = \(value: key)" : "\(value) IS NOT \(value: key)"
    case (.object(let a, let root), .object(let b, let other)):
      guard root == other else { throw NotExpressibleInSQL() }
      return isEqual ? "\(a) IS \(b)" : "\(a) IS NOT \(b)"
    default: throw NotExpressibleInSQL()
    }
  }

  private func order(_ left: SQLOperand, _ op: Operator, _ right: SQLOperand) throws -> BoundSQL {
    let signs: [Operator: String] = [
      .lessThan: "<", .lessThanOrEqualTo: "<=", .greaterThan: ">", .greaterThanOrEqualTo: ">=",
    ]
    let sign = signs[op] ?? "="
    switch (left, right) {
    case (.value(let value, let kind), .constant(let constant)) where kind.isOrdered:
      return "\(value) \(raw: sign) \(value: try kind.binding(constant))"
    case (.constant(let constant), .value(let value, let kind)) where kind.isOrdered:
      return "\(value: try kind.binding(constant)) \(raw: sign) \(value)"
    case (.value(let a, let kind), .value(let b, let other)) where kind == other && kind.isOrdered:
      return "\(a) \(raw: sign) \(b)"
    default: throw NotExpressibleInSQL()
    }
  }

  private func membership(
    _ left: SQLOperand, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    switch (left, right) {
    case (_, .value(_, .string)): return try text(right, .contains, left, options)
    case (_, .list(let elements)):
      guard options.isEmpty, elements.count <= Self.longestList else { throw NotExpressibleInSQL() }
      let present = elements.filter { $0 != .null }
      let list: [SQLiteValue]
      let subject: BoundSQL
      switch left {
      case .value(let value, let kind): (subject, list) = (value, try present.map(kind.binding))
      case .object(let value, let root):
        (subject, list) = (value, try present.compactMap { try primaryKey($0, root: root) })
      default: throw NotExpressibleInSQL()
      }
      let test: BoundSQL = "\(subject) IN (\(values: list))"
      return present.count == elements.count ? test : "(\(test) OR \(subject) IS NULL)"
    default: throw NotExpressibleInSQL()
    }
  }

  private func text(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard let function = StringFunction(op) else { throw NotExpressibleInSQL() }
    let subject = try string(left)
    if op == .beginsWith, options.isEmpty, case .constant(.string(let prefix)) = right,
      let end = StringFunction.endOfPrefixRange(prefix)
    {
      return "(\(subject) >= \(value: .text(prefix)) AND \(subject) < \(value: .text(end)))"
    }
    return function.call(subject, try string(right), options)
  }

  private func string(_ operand: SQLOperand) throws -> BoundSQL {
    switch operand {
    case .value(let value, .string): return value
    case .constant(.string(let text)): return "\(value: .text(text))"
    default: throw NotExpressibleInSQL()
    }
  }

  /// Returns the primary key of a constant object; nil for one that cannot be a row of this kind.
  private func primaryKey(_ constant: PlainValue, root: Int) throws -> SQLiteValue? {
    guard case .object(let object) = constant else { throw NotExpressibleInSQL() }
    return try objects.primaryKey(of: object, root: root).map { .integer($0) }
  }
}

extension SQLOperand.Kind {
  /// Whether SQLite orders such values as they are ordered in memory.
  package var isOrdered: Bool {
    switch self {
    case .number, .string, .date: true
    case .uuid, .uri, .data, .opaque: false
    }
  }
}

extension PredicateSQL {
  /// Translates an expression.
  ///
  /// - Throws: `NotExpressibleInSQL` for what SQL cannot compute, and for unknown key paths, whose errors are reported by the
  ///   evaluation in memory.
  package func operand(_ expression: ExpressionSyntax, _ names: SQLNames) throws -> SQLOperand {
    switch expression {
    case .constant(.array(let values)), .constant(.set(let values)): return .list(values)
    case .constant(let value): return .constant(value)
    case .aggregate(let elements): return .list(try elements.map(constant))
    case .evaluatedObject: return object(names.evaluated)
    case .variable(let name): return object(try scope(name, names))
    case .keyPath(let path): return try operand(path: components(path), from: names.evaluated)
    case .keyPathOf(.evaluatedObject, let path): return try operand(path: components(path), from: names.evaluated)
    case .keyPathOf(.variable(let name), let path): return try operand(path: components(path), from: scope(name, names))
    case .keyPathOf(let collection, "@count"): return .value(try count(of: collection, names), .number)
    case .function(nil, let name, let arguments): return try function(name, arguments, names)
    default: throw NotExpressibleInSQL()
    }
  }

  private func components(_ path: String) -> [String] { path.split(separator: ".").map(String.init) }

  private func object(_ scope: SQLScope) -> SQLOperand {
    .object(BoundSQL("\(raw: scope.alias).Z_PK"), root: scope.entity.rootNumber)
  }

  private func scope(_ variable: String, _ names: SQLNames) throws -> SQLScope {
    guard let scope = names.variables[variable] else { throw NotExpressibleInSQL() }
    return scope
  }

  private func constant(_ expression: ExpressionSyntax) throws -> PlainValue {
    if case .constant(let value) = expression { return value }
    throw NotExpressibleInSQL()
  }

  /// Translates a key path that begins at a row.
  package func operand(path: [String], from scope: SQLScope) throws -> SQLOperand {
    var (alias, entity) = (scope.alias, scope.entity)
    for (position, name) in path.enumerated() {
      let rest = Array(path[(position + 1)...])
      if name.caseInsensitiveCompare("self") == .orderedSame { continue }
      if let attribute = entity.attributes[name] { return try value(of: attribute, rest, alias) }
      guard let relationship = entity.relationships[name],
        let destination = schema[relationship.destinationEntity]
      else { throw NotExpressibleInSQL() }
      guard case .foreignKey(let key) = relationship.place, !relationship.isToMany else {
        return try collection(SQLCollection(source: alias, relationship: relationship, rest: rest))
      }
      if rest.isEmpty {
        return .object(BoundSQL("\(raw: alias).\(raw: SQLName.quoted(key.column))"), root: destination.rootNumber)
      }
      alias = scope.join(key, of: alias, to: destination)
      entity = destination
    }
    return .object(BoundSQL("\(raw: alias).Z_PK"), root: entity.rootNumber)
  }

  private func value(of attribute: AttributeLayout, _ rest: [String], _ alias: String) throws -> SQLOperand {
    if let element = rest.first.flatMap({ name in attribute.elements.first { $0.name == name } }) {
      return try value(of: element, Array(rest.dropFirst()), alias)
    }
    guard rest.isEmpty, let column = attribute.column else { throw NotExpressibleInSQL() }
    return .value(BoundSQL("\(raw: alias).\(raw: SQLName.quoted(column))"), .init(attribute))
  }

  /// Translates a collection, with an operator such as `@count`.
  private func collection(_ collection: SQLCollection) throws -> SQLOperand {
    guard let position = collection.rest.firstIndex(where: { $0.hasPrefix("@") }) else {
      return .collection(collection)
    }
    let path = Array(collection.rest[(position + 1)...])
    guard position == 0 else { throw NotExpressibleInSQL() }
    let members = SQLCollection(source: collection.source, relationship: collection.relationship, rest: [])
    if collection.rest[0] == "@count", path.isEmpty { return .value(try count(members), .number) }
    let functions = ["@sum": "SUM", "@min": "MIN", "@max": "MAX"]
    guard let function = functions[collection.rest[0]], !path.isEmpty else { throw NotExpressibleInSQL() }
    let rows = try MemberRows(members, self)
    guard case .value(let value, let kind) = try rows.operand(path, self), kind == .number || kind == .date else {
      throw NotExpressibleInSQL()
    }
    let sql: BoundSQL = "(SELECT \(raw: function)(\(value))\(raw: rows.from))"
    // An empty sum is 0 in memory, and NULL in SQL.
    return .value(function == "SUM" ? "IFNULL(\(sql), 0)" : sql, kind)
  }

  private func function(_ name: String, _ arguments: [ExpressionSyntax], _ names: SQLNames) throws -> SQLOperand {
    switch (name, arguments.count) {
    case ("count:", 1): return .value(try count(of: arguments[0], names), .number)
    case ("now", 0): return .value("\(value: .real(Date().timeIntervalSinceReferenceDate))", .date)
    case ("abs:", 1): return .value("ABS(\(try number(arguments[0], names)))", .number)
    default: break
    }
    let operators = ["add:to:": "+", "from:subtract:": "-", "multiply:by:": "*"]
    guard let sign = operators[name], arguments.count == 2 else { throw NotExpressibleInSQL() }
    return .value("(\(try number(arguments[0], names)) \(raw: sign) \(try number(arguments[1], names)))", .number)
  }

  private func number(_ expression: ExpressionSyntax, _ names: SQLNames) throws -> BoundSQL {
    switch try operand(expression, names) {
    case .value(let sql, .number): return sql
    case .constant(let value): return "\(value: try SQLOperand.Kind.number.binding(value))"
    default: throw NotExpressibleInSQL()
    }
  }

  private func count(of expression: ExpressionSyntax, _ names: SQLNames) throws -> BoundSQL {
    guard case .subquery(let source, let variable, let predicate) = expression else {
      guard case .collection(let members) = try operand(expression, names) else { throw NotExpressibleInSQL() }
      return try count(members)
    }
    guard case .collection(let members) = try operand(source, names) else { throw NotExpressibleInSQL() }
    return try count(members) { scope in
      var inner = names
      inner.variables[variable] = scope
      return try condition(predicate, inner)
    }
  }
}
