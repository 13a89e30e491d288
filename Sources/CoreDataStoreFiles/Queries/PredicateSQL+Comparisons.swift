// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite

extension PredicateSQL {
  package typealias Operator = ComparisonSyntax.Operator

  /// Compares two operands, neither of which is a collection.
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

  /// The primary key of the object that a constant is; nil for one that no row of this kind can be.
  private func primaryKey(_ constant: PlainValue, root: Int) throws -> SQLiteValue? {
    guard case .object(let object) = constant else { throw NotExpressibleInSQL() }
    return try objects.primaryKey(of: object, root: root).map { .integer($0) }
  }
}

extension SQLOperand.Kind {
  /// Whether SQLite orders such values as memory does.
  package var isOrdered: Bool {
    switch self {
    case .number, .string, .date: true
    case .uuid, .uri, .data, .opaque: false
    }
  }
}
