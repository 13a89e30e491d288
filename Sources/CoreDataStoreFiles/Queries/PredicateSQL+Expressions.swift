// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

extension PredicateSQL {
  /// Translates an expression.
  ///
  /// - Throws: `NotExpressibleInSQL` if SQL cannot compute it, and for unknown key paths, whose errors are reported by
  ///   the evaluation in memory.
  package func operand(_ expression: ExpressionSyntax, _ names: SQLNames) throws -> SQLOperand {
    try NotExpressibleInSQL.naming(.expression(expression)) { try translated(expression, names) }
  }

  private func translated(_ expression: ExpressionSyntax, _ names: SQLNames) throws -> SQLOperand {
    if let resolved = try names.resolve?(expression) { return resolved }
    switch expression {
    case .constant(.array(let values)), .constant(.set(let values)): return .list(values)
    case .constant(let value): return .constant(value)
    case .aggregate(let elements): return try list(elements, names)
    case .evaluatedObject: return object(names.evaluated)
    case .variable(let name): return object(try scope(name, names))
    case .keyPath(let path): return try operand(path: components(path), from: names.evaluated)
    case .keyPathOf(.evaluatedObject, let path): return try operand(path: components(path), from: names.evaluated)
    case .keyPathOf(.variable(let name), let path): return try operand(path: components(path), from: scope(name, names))
    case .keyPathOf(.subquery(let collection, let variable, let predicate), let path):
      var members = try subquery(collection, variable, predicate, names)
      members.rest = components(path)
      return try self.collection(members)
    case .subquery(let collection, let variable, let predicate):
      return .collection(try subquery(collection, variable, predicate, names))
    case .function(nil, let name, let arguments): return try function(name, arguments, names)
    case .conditional(let condition, let whenTrue, let whenFalse):
      return try conditional(self.condition(condition, names), operand(whenTrue, names), operand(whenFalse, names))
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

  private func list(_ elements: [ExpressionSyntax], _ names: SQLNames) throws -> SQLOperand {
    let operands = try elements.map { try operand($0, names) }
    var constants: [PlainValue] = []
    for operand in operands {
      switch operand {
      case .constant(let value): constants.append(value)
      case .value, .object: return try .tuple(operands.map(Self.scalarOnly))
      case .list, .tuple, .collection: throw NotExpressibleInSQL()
      }
    }
    return .list(constants)
  }

  private static func scalarOnly(_ operand: SQLOperand) throws -> SQLOperand {
    switch operand {
    case .constant, .value, .object: return operand
    case .list, .tuple, .collection: throw NotExpressibleInSQL()
    }
  }

  private func subquery(
    _ collection: ExpressionSyntax, _ variable: String, _ predicate: PredicateSyntax, _ names: SQLNames
  ) throws -> SQLCollection {
    // In memory, the members of members are collections, which have no keys.
    guard case .collection(var members) = try operand(collection, names), members.rest.isEmpty else {
      throw NotExpressibleInSQL()
    }
    members.filters.append(.init(variable: variable, predicate: predicate, names: names))
    return members
  }

  // MARK: Key paths

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
      guard case .foreignKey(let key) = relationship.storage, !relationship.isToMany else {
        let ownerMissing: BoundSQL? = alias == scope.alias ? nil : "\(raw: alias).Z_PK IS NULL"
        return try collection(
          SQLCollection(source: alias, relationship: relationship, rest: rest, ownerMissing: ownerMissing))
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
    guard let column = attribute.column else { throw NotExpressibleInSQL() }
    let value =
      dialect == .sqlite
      ? SQLScalar("\(raw: alias).\(column: column)", .init(attribute))
      : SQLScalar(attribute, column: column, of: alias)
    if rest.isEmpty { return .value(value) }
    let functions = ["length": "length:", "lowercaseString": "lowercase:", "uppercaseString": "uppercase:"]
    guard value.kind == .string, rest.count == 1, let name = functions[rest[0]] else { throw NotExpressibleInSQL() }
    if dialect == .postgreSQL { return .value(try unaryInPostgreSQL(name, value)) }
    return .value(SQLScalar(ValueFunction.call(name, [value]), rest[0] == "length" ? .integer : .string))
  }

  /// Translates a collection with an operator such as `@count`.
  private func collection(_ collection: SQLCollection) throws -> SQLOperand {
    let operators = collection.rest.indices.filter { collection.rest[$0].hasPrefix("@") }
    guard let position = operators.first else { return .collection(collection) }
    var members = collection
    let name = collection.rest[position]
    if position == 0 {
      guard let function = Aggregate(operator: name), operators.count == 1 else { throw NotExpressibleInSQL() }
      members.rest = function == .count ? [] : Array(collection.rest.dropFirst())
      guard function == .count || !members.rest.isEmpty else { throw NotExpressibleInSQL() }
      return try aggregate(function, members, .members)
    }
    // An operator at the end of the path aggregates all values at the end of the path; one in the middle is applied to
    // each member.
    guard position == collection.rest.count - 1 else { return .collection(collection) }
    guard let function = Aggregate(operator: name) else { throw NotExpressibleInSQL() }
    members.rest.removeLast()
    return try aggregate(function, members, .flattened)
  }

  // MARK: Functions

  private func function(_ name: String, _ arguments: [ExpressionSyntax], _ names: SQLNames) throws -> SQLOperand {
    if let function = Aggregate(function: name) {
      guard arguments.count == 1, case .collection(let members) = try operand(arguments[0], names),
        // The key path of an argument has been checked for operators.
        !members.rest.contains(where: { $0.hasPrefix("@") })
      else { throw NotExpressibleInSQL() }
      return try aggregate(function, members, .argument)
    }
    if name == "now", arguments.isEmpty { return .constant(.date(Date())) }
    if name == "noindex:", arguments.count == 1 { return try operand(arguments[0], names) }
    if name == PredefinedFunction.cast, arguments.count == 2 {
      guard case .constant(.string(let type)) = arguments[1] else { throw NotExpressibleInSQL() }
      return try cast(scalar(arguments[0], names), to: type)
    }
    let values = try arguments.map { try scalar($0, names) }
    switch values.count {
    case 1: return .value(try unary(name, values[0]))
    case 2: return .value(try binary(name, values[0], values[1]))
    default: throw NotExpressibleInSQL()
    }
  }

  private func scalar(_ expression: ExpressionSyntax, _ names: SQLNames) throws -> SQLScalar {
    switch try operand(expression, names) {
    case .value(let value): return value
    case .constant(let constant):
      guard let scalar = SQLScalar(constant, dialect) else { throw NotExpressibleInSQL() }
      return scalar
    default: throw NotExpressibleInSQL()
    }
  }

  private func unary(_ name: String, _ value: SQLScalar) throws -> SQLScalar {
    if dialect == .postgreSQL { return try unaryInPostgreSQL(name, value) }
    let called = SQLScalar(ValueFunction.call(name, [value]), .real, missing: value.missing)
    func result(_ kind: SQLOperand.Kind) -> SQLScalar {
      SQLScalar(called.sql, kind, missing: value.isExactlyNull && kind != .real ? nil : value.missing)
    }
    switch (name, value.kind) {
    case ("uppercase:", .string), ("lowercase:", .string), ("canonical:", .string): return result(.string)
    case ("length:", .string): return result(.integer)
    case ("abs:", .integer), ("abs:", .real):
      return SQLScalar("ABS(\(value.sql))", value.kind, missing: value.missing)
    case ("chs:", .integer), ("chs:", .real): return SQLScalar("(0 - \(value.sql))", .real, missing: value.missing)
    case ("onesComplement:", .integer): return SQLScalar("(~\(value.sql))", .integer, missing: value.missing)
    case ("abs:", let kind) where kind.isDecimal: return result(.calculated)
    case ("chs:", let kind) where kind.isDecimal: return result(.calculated)
    case ("sqrt:", let kind), ("log:", let kind), ("ln:", let kind), ("exp:", let kind), ("ceiling:", let kind),
      ("floor:", let kind), ("trunc:", let kind):
      guard kind.isNumber else { throw NotExpressibleInSQL() }
      return called
    default: throw NotExpressibleInSQL()
    }
  }

  private func binary(_ name: String, _ left: SQLScalar, _ right: SQLScalar) throws -> SQLScalar {
    let missing: BoundSQL = "(\(left.missing) OR \(right.missing))"
    if left.kind == .date || right.kind == .date { return try dates(name, left, right, missing) }
    guard left.kind.isNumber, right.kind.isNumber else { throw NotExpressibleInSQL() }
    if dialect == .postgreSQL { return try binaryInPostgreSQL(name, left, right, missing) }
    let areIntegers = left.kind == .integer && right.kind == .integer
    switch name {
    case "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toThePower:",
      "raise:toPower:", "raise:to:":
      if left.kind.isDecimal || right.kind.isDecimal {
        return SQLScalar(ValueFunction.call(name, [left, right]), .calculated, missing: missing)
      }
      let signs = ["add:to:": "+", "from:subtract:": "-", "multiply:by:": "*"]
      guard let sign = signs[name] else {
        return SQLScalar(ValueFunction.call(name, [left, right]), .real, missing: missing)
      }
      // Integer arithmetic never gives NaN, so a result is NULL only if an operand is.
      return SQLScalar("(\(left.sql) \(raw: sign) \(right.sql))", .real, missing: areIntegers ? nil : missing)
    case "bitwiseAnd:with:" where areIntegers: return SQLScalar("(\(left.sql) & \(right.sql))", .integer)
    case "bitwiseOr:with:" where areIntegers: return SQLScalar("(\(left.sql) | \(right.sql))", .integer)
    case "bitwiseXor:with:" where areIntegers:
      return SQLScalar("((\(left.sql) | \(right.sql)) - (\(left.sql) & \(right.sql)))", .integer)
    case "leftshift:by:" where areIntegers: return SQLScalar("(\(left.sql) << \(right.sql))", .integer)
    case "rightshift:by:" where areIntegers: return SQLScalar("(\(left.sql) >> \(right.sql))", .integer)
    default: throw NotExpressibleInSQL()
    }
  }

  /// Translates date arithmetic: a date plus or minus seconds is a date, and the difference of two dates is a number of
  /// seconds.
  private func dates(
    _ name: String, _ left: SQLScalar, _ right: SQLScalar, _ missing: BoundSQL
  ) throws -> SQLScalar {
    func isSeconds(_ value: SQLScalar) -> Bool { value.kind.isNumber && value.kind != .calculated }
    func calculated(_ sign: String, _ kind: SQLOperand.Kind) throws -> SQLScalar {
      switch dialect {
      case .sqlite: SQLScalar("(\(left.sql) \(raw: sign) \(right.sql))", kind, missing: missing)
      case .postgreSQL: try datesInPostgreSQL(left, sign, right, kind, missing)
      }
    }
    switch name {
    case "add:to:" where left.kind == .date && isSeconds(right) || isSeconds(left) && right.kind == .date:
      return try calculated("+", .date)
    case "from:subtract:" where left.kind == .date && isSeconds(right):
      return try calculated("-", .date)
    case "from:subtract:" where left.kind == .date && right.kind == .date:
      return try calculated("-", .real)
    default: throw NotExpressibleInSQL()
    }
  }

  private func cast(_ value: SQLScalar, to type: String) throws -> SQLOperand {
    var kind = value.kind
    switch (type, value.kind) {
    case ("NSDate", .date), ("Date", .date), ("NSNumber", .integer), ("NSNumber", .real), ("NSNumber", .decimal),
      ("NSNumber", .calculated), ("NSString", .string), ("String", .string):
      break
    case ("NSDate", .integer), ("NSDate", .real), ("Date", .integer), ("Date", .real), ("NSDate", .decimal),
      ("Date", .decimal):
      kind = .date
    case ("NSNumber", .date): kind = .real
    default: throw NotExpressibleInSQL()
    }
    if kind == value.kind { return .value(value) }
    if dialect == .postgreSQL { return .value(try castInPostgreSQL(value, to: kind)) }
    var result = value
    result.kind = kind
    return .value(result)
  }

  private func conditional(_ condition: BoundSQL, _ left: SQLOperand, _ right: SQLOperand) throws -> SQLOperand {
    func choice(_ a: BoundSQL, _ b: BoundSQL) -> BoundSQL {
      "CASE WHEN \(condition) THEN \(a) ELSE \(b) END"
    }
    func scalar(_ sql: BoundSQL, _ kind: SQLOperand.Kind, _ form: SQLScalar.Form, _ missing: BoundSQL) -> SQLOperand {
      // In PostgreSQL a constant has no collation of its own.
      let isCollated = dialect == .postgreSQL && (kind == .string || kind == .uri)
      return .value(SQLScalar(isCollated ? "(\(sql)) COLLATE \"C\"" : sql, kind, missing: missing, form: form))
    }
    switch (left, right) {
    case (.object(let a, let root), .object(let b, let other)) where root == other:
      return .object(choice(a, b), root: root)
    case (.value(let a), .constant(.null)):
      return scalar(choice(a.sql, "NULL"), a.kind, a.form, choice(a.missing, dialect.truth(true)))
    case (.constant(.null), .value(let b)):
      return scalar(choice("NULL", b.sql), b.kind, b.form, choice(dialect.truth(true), b.missing))
    case (.value, .value), (.value, .constant), (.constant, .value), (.constant, .constant):
      guard let a = left.scalar(dialect), let b = right.scalar(dialect) else { throw NotExpressibleInSQL() }
      // PostgreSQL would convert the values to one type.
      guard dialect == .sqlite || a.form == b.form else { throw NotExpressibleInSQL() }
      let kind: SQLOperand.Kind
      switch (a.kind, b.kind) {
      case (let x, let y) where x == y: kind = x
      case (.integer, .real), (.real, .integer): kind = .real
      default: throw NotExpressibleInSQL()
      }
      return scalar(choice(a.sql, b.sql), kind, a.form, choice(a.missing, b.missing))
    default: throw NotExpressibleInSQL()
    }
  }
}

extension SQLOperand {
  /// Returns the operand as a scalar; nil for null, objects and collections.
  fileprivate func scalar(_ dialect: SQLDialect) -> SQLScalar? {
    switch self {
    case .value(let value): value
    case .constant(let constant): SQLScalar(constant, dialect)
    case .object, .list, .tuple, .collection: nil
    }
  }
}
