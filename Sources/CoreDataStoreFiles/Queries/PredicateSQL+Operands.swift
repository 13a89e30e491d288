// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

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
    return .value(
      "(\(try number(arguments[0], names)) \(raw: sign) \(try number(arguments[1], names)))", .number)
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
