// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

extension PredicateSQL {
  package typealias Operator = ComparisonSyntax.Operator

  /// Compares two operands.
  func compare(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    switch op {
    case .equalTo: return try equality(left, right, options)
    case .notEqualTo: return try inequality(left, right, options)
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      return try order(left, op, right, options)
    case .between: return try between(left, right, options)
    case .in: return try membership(left, right, options)
    case .contains:
      switch left {
      case .collection, .list, .tuple: return try membership(right, left, options)
      default: return try text(left, op, right, options)
      }
    case .beginsWith, .endsWith, .like, .matches: return try text(left, op, right, options)
    case .customSelector: throw NotExpressibleInSQL()
    }
  }

  /// The condition under which an operand has no value.
  func missing(_ operand: SQLOperand) throws -> BoundSQL {
    switch operand {
    case .value(let value): return value.missing
    case .object(let key, _): return "\(key) IS NULL"
    case .constant(let value): return value == .null ? "1" : "0"
    case .list, .tuple: return "0"
    case .collection(let collection):
      guard collection.filters.isEmpty else { return "0" }
      return collection.ownerMissing ?? "0"
    }
  }

  // MARK: Equality

  /// A condition that is false or NULL where two operands differ.
  private func equality(
    _ left: SQLOperand, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    switch (left, right) {
    case (.constant(.null), _): return try missing(right)
    case (_, .constant(.null)): return try missing(left)
    case (.constant, .value), (.constant, .object): return try equality(right, left, options)
    case (.value(let value), .constant(let constant)): return try equality(value, constant, options)
    case (.value(let a), .value(let b)):
      guard a.kind != .opaque, b.kind != .opaque else { throw NotExpressibleInSQL() }
      let areMissing: BoundSQL = "(\(a.missing) AND \(b.missing))"
      guard a.kind.isComparable(with: b.kind) else { return areMissing }
      if a.kind == .string, !options.isEmpty {
        return "(\(StringFunction.equal.call(a.sql, b.sql, options)) OR \(areMissing))"
      }
      if a.kind == .calculated || b.kind == .calculated { return "(\(numberOrder(a, b)) = 0 OR \(areMissing))" }
      return a.isExactlyNull && b.isExactlyNull ? "\(a.sql) IS \(b.sql)" : "(\(a.sql) = \(b.sql) OR \(areMissing))"
    case (.object(let value, let root), .constant(let constant)):
      return try primaryKey(constant, root: root).map { "\(value) = \(value: $0)" } ?? "0"
    case (.object(let a, let root), .object(let b, let other)):
      guard root == other else { throw NotExpressibleInSQL() }
      return "\(a) IS \(b)"
    default: throw NotExpressibleInSQL()
    }
  }

  private func equality(
    _ value: SQLScalar, _ constant: PlainValue, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard value.kind != .opaque else { throw NotExpressibleInSQL() }
    if value.kind == .string, !options.isEmpty, case .string(let text) = constant {
      return StringFunction.equal.call(value.sql, "\(value: .text(text))", options)
    }
    if value.kind == .calculated, let other = SQLScalar(constant) {
      return other.kind.isNumber ? "\(numberOrder(value, other)) = 0" : "0"
    }
    return value.kind.binding(constant).map { "\(value.sql) = \(value: $0)" } ?? "0"
  }

  /// A condition that is true where two operands differ.
  private func inequality(
    _ left: SQLOperand, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    switch (left, right) {
    case (.constant(let constant), .value), (.constant(let constant), .object):
      return try inequality(right, .constant(constant), options)
    case (.value(let value), .constant(.null)) where value.isExactlyNull: return "\(value.sql) IS NOT NULL"
    case (.object(let key, _), .constant(.null)): return "\(key) IS NOT NULL"
    case (.value(let value), .constant(let constant))
    where options.isEmpty && value.isExactlyNull && value.kind != .calculated:
      guard value.kind != .opaque else { break }
      guard let bound = value.kind.binding(constant) else { return "1" }
      // SQLite binds what is not a number as NULL, from which a missing value would not differ.
      if case .real(let number) = bound, number.isNaN { return "1" }
      return "\(value.sql) IS NOT \(value: bound)"
    case (.value(let a), .value(let b))
    where options.isEmpty && a.isExactlyNull && b.isExactlyNull && a.kind.isComparable(with: b.kind)
      && a.kind != .calculated && b.kind != .calculated && a.kind != .opaque:
      return "\(a.sql) IS NOT \(b.sql)"
    case (.object(let value, let root), .constant(let constant)):
      return try primaryKey(constant, root: root).map { "\(value) IS NOT \(value: $0)" } ?? "1"
    case (.object(let a, let root), .object(let b, let other)) where root == other: return "\(a) IS NOT \(b)"
    default: break
    }
    return "NOT \(definite(try equality(left, right, options)))"
  }

  // MARK: Order

  private func order(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    let signs: [Operator: String] = [
      .lessThan: "<", .lessThanOrEqualTo: "<=", .greaterThan: ">", .greaterThanOrEqualTo: ">=",
    ]
    let sign = signs[op] ?? "="
    switch (left, right) {
    case (.constant(.null), _), (_, .constant(.null)): return "0"
    case (.value(let value), .constant(let constant)):
      if let bound = try bound(constant, for: value, options) {
        return "\(value.sql) \(raw: sign) \(value: bound)"
      }
      return try order(value, sign, try scalar(constant), options)
    case (.constant(let constant), .value(let value)):
      if let bound = try bound(constant, for: value, options) {
        return "\(value: bound) \(raw: sign) \(value.sql)"
      }
      return try order(try scalar(constant), sign, value, options)
    case (.value(let a), .value(let b)): return try order(a, sign, b, options)
    default: throw NotExpressibleInSQL()
    }
  }

  /// The column value of a constant that SQLite compares like memory; nil for one that a function must compare.
  private func bound(
    _ constant: PlainValue, for value: SQLScalar, _ options: ComparisonSyntax.Options
  ) throws -> SQLiteValue? {
    guard value.kind.isOrdered, options.isEmpty || !value.kind.isText else { return nil }
    guard let bound = value.kind.binding(constant) else { throw NotExpressibleInSQL() }
    return bound
  }

  private func scalar(_ constant: PlainValue) throws -> SQLScalar {
    guard let scalar = SQLScalar(constant) else { throw NotExpressibleInSQL() }
    return scalar
  }

  private func order(
    _ left: SQLScalar, _ sign: String, _ right: SQLScalar, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard left.kind.isComparable(with: right.kind), left.kind != .opaque else { throw NotExpressibleInSQL() }
    if left.kind == .calculated || right.kind == .calculated {
      return "\(numberOrder(left, right)) \(raw: sign) 0"
    }
    if left.kind.isText, !options.isEmpty {
      return "\(StringFunction.order.call(left.sql, right.sql, options)) \(raw: sign) 0"
    }
    return "\(left.sql) \(raw: sign) \(right.sql)"
  }

  /// The order of two numbers as -1, 0 or 1; NULL if either is missing or not a number.
  private func numberOrder(_ left: SQLScalar, _ right: SQLScalar) -> BoundSQL {
    ValueFunction.order([left, right])
  }

  private func between(
    _ value: SQLOperand, _ bounds: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    let (lower, upper): (SQLOperand, SQLOperand)
    switch bounds {
    case .list(let elements) where elements.count == 2:
      (lower, upper) = (.constant(elements[0]), .constant(elements[1]))
    case .tuple(let elements) where elements.count == 2: (lower, upper) = (elements[0], elements[1])
    default: throw NotExpressibleInSQL()
    }
    if case .value(let value) = value, case .constant(let first) = lower, case .constant(let last) = upper,
      first != .null, last != .null, let first = try bound(first, for: value, options),
      let last = try bound(last, for: value, options)
    {
      return "\(value.sql) BETWEEN \(value: first) AND \(value: last)"
    }
    return
      "(\(try order(value, .greaterThanOrEqualTo, lower, options)) AND \(try order(value, .lessThanOrEqualTo, upper, options)))"
  }

  // MARK: Collections and strings

  private func membership(
    _ part: SQLOperand, _ whole: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    switch whole {
    case .constant(.null): return "0"
    case .value(let value) where value.kind == .string: return try text(whole, .contains, part, options)
    case .constant(.string): return try text(whole, .contains, part, options)
    case .collection(let collection):
      var ignoresMissing = false
      if case .constant(let constant) = part { ignoresMissing = constant != .null }
      return try exists(collection, isFlat: true, ignoresMissing: ignoresMissing) { try equality($0, part, options) }
    case .list(let elements): return try membership(part, elements, options)
    case .tuple(let elements):
      if elements.isEmpty { return "0" }
      return "(\(try elements.map { try equality($0, part, options) }.joined(" OR ")))"
    default: throw NotExpressibleInSQL()
    }
  }

  private func membership(
    _ part: SQLOperand, _ elements: [PlainValue], _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    let present = elements.filter { $0 != .null }
    let list: [SQLiteValue]
    let subject: BoundSQL
    switch part {
    case .value(let value)
    where value.kind == .calculated || value.kind == .string && !options.isEmpty:
      guard elements.count <= SQLValueList.longestShortList else { throw NotExpressibleInSQL() }
      if elements.isEmpty { return "0" }
      return "(\(try elements.map { try equality(part, .constant($0), options) }.joined(" OR ")))"
    case .value(let value):
      guard value.kind != .opaque else { throw NotExpressibleInSQL() }
      (subject, list) = (value.sql, present.compactMap(value.kind.binding))
    case .object(let key, let root):
      (subject, list) = (key, try present.compactMap { try primaryKey($0, root: root) })
    default: throw NotExpressibleInSQL()
    }
    let test: BoundSQL = "\(subject) IN \(try SQLValueList.list(list))"
    return present.count == elements.count ? test : "(\(test) OR \(try missing(part)))"
  }

  private func text(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard let function = StringFunction(op) else { throw NotExpressibleInSQL() }
    if case .constant(.null) = left { return "0" }
    if case .constant(.null) = right { return "0" }
    let subject = try string(left)
    if op == .beginsWith, options.isEmpty, case .constant(.string(let prefix)) = right,
      let end = StringFunction.endOfPrefixRange(prefix)
    {
      return "(\(subject) >= \(value: .text(prefix)) AND \(subject) < \(value: .text(end)))"
    }
    if op == .matches {
      // A pattern from a row may be invalid, which is an error only where the comparison is evaluated.
      guard case .constant(.string(let pattern)) = right else { throw NotExpressibleInSQL() }
      _ = try TextComparison(options).matches("", pattern: pattern)
    }
    return function.call(subject, try string(right), options)
  }

  private func string(_ operand: SQLOperand) throws -> BoundSQL {
    switch operand {
    case .value(let value) where value.kind == .string: return value.sql
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
  /// Whether the options of a comparison matter for such values.
  fileprivate var isText: Bool { self == .string || self == .uri }
}
