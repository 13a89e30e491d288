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

  /// Returns the condition under which an operand has no value.
  func missing(_ operand: SQLOperand) throws -> BoundSQL {
    switch operand {
    case .value(let value): return value.missing
    case .object(let key, _): return "\(key) IS NULL"
    case .constant(let value): return dialect.truth(value == .null)
    case .list, .tuple: return dialect.truth(false)
    case .collection(let collection):
      guard collection.filters.isEmpty else { return dialect.truth(false) }
      return collection.ownerMissing ?? dialect.truth(false)
    }
  }

  /// Compares two values of comparable kinds with an operator.
  ///
  /// In memory, NaN equals nothing and has no order. In both engines it equals itself, and is greater than all numbers.
  private func compared(_ left: SQLScalar, _ sign: String, _ right: SQLScalar) throws -> BoundSQL {
    let plain: BoundSQL =
      switch dialect {
      case .sqlite: "\(left.sql) \(raw: sign) \(right.sql)"
      case .postgreSQL: try comparedInPostgreSQL(left, sign, right)
      }
    let doubtful = [left, right].filter(\.mayBeNotANumber)
    guard let first = doubtful.first else { return plain }
    switch sign {
    case "=", dialect.isSame:
      return doubtful.count == 1 ? plain : "(\(plain) AND \(isNumber(first)))"
    case dialect.isDifferent:
      return doubtful.count == 1 ? plain : "(\(plain) OR NOT \(isNumber(first)))"
    default:
      // NaN as the lesser value never satisfies the comparison in the engines either.
      let greater = sign.hasPrefix(">") ? left : right
      return greater.mayBeNotANumber ? "(\(plain) AND \(isNumber(greater)))" : plain
    }
  }

  /// Returns a condition that a decimal is not NaN; it also holds for NULL.
  private func isNumber(_ value: SQLScalar) -> BoundSQL {
    switch dialect {
    case .sqlite: "TYPEOF(\(value.sql)) <> 'text'"
    case .postgreSQL: "\(value.sql) IS DISTINCT FROM 'NaN'"
    }
  }

  /// Returns a constant in the form in which it is compared with a value; nil for one of another type, which equals no
  /// value of this kind.
  private func comparand(_ constant: PlainValue, for value: SQLScalar) throws -> SQLScalar? {
    switch dialect {
    case .sqlite:
      guard let bound = value.kind.binding(constant) else { return nil }
      var scalar = SQLScalar("\(value: bound)", value.kind, missing: "0")
      scalar.constant = constant
      return scalar
    case .postgreSQL: return try value.comparand(postgreSQL: constant)
    }
  }

  // MARK: Equality

  /// Returns a condition that is false or NULL if two operands differ.
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
        return "(\(try call(.equal, a.sql, b.sql, options)) OR \(areMissing))"
      }
      if a.kind == .calculated || b.kind == .calculated { return "(\(numberOrder(a, b)) = 0 OR \(areMissing))" }
      return a.isExactlyNull && b.isExactlyNull
        ? try compared(a, dialect.isSame, b) : "(\(try compared(a, "=", b)) OR \(areMissing))"
    case (.object(let value, let root), .constant(let constant)):
      return try primaryKey(constant, root: root).map { "\(value) = \(value: $0)" } ?? dialect.truth(false)
    case (.object(let a, let root), .object(let b, let other)):
      guard root == other else { throw NotExpressibleInSQL() }
      return "\(a) \(raw: dialect.isSame) \(b)"
    default: throw NotExpressibleInSQL()
    }
  }

  private func equality(
    _ value: SQLScalar, _ constant: PlainValue, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard value.kind != .opaque else { throw NotExpressibleInSQL() }
    if value.kind == .string, !options.isEmpty, case .string(let text) = constant {
      return try call(.equal, value.sql, "\(value: .text(text))", options)
    }
    if value.kind == .calculated, let other = SQLScalar(constant, dialect) {
      return other.kind.isNumber ? "\(numberOrder(value, other)) = 0" : dialect.truth(false)
    }
    return try comparand(constant, for: value).map { try compared(value, "=", $0) } ?? dialect.truth(false)
  }

  /// Returns a condition that is true if two operands differ.
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
      // NaN is bound as NULL, and a missing value would not differ from that.
      guard let other = try comparand(constant, for: value), !other.isNotANumber else { return dialect.truth(true) }
      return try compared(value, dialect.isDifferent, other)
    case (.value(let a), .value(let b))
    where options.isEmpty && a.isExactlyNull && b.isExactlyNull && a.kind.isComparable(with: b.kind)
      && a.kind != .calculated && b.kind != .calculated && a.kind != .opaque:
      return try compared(a, dialect.isDifferent, b)
    case (.object(let value, let root), .constant(let constant)):
      return try primaryKey(constant, root: root).map { "\(value) \(raw: dialect.isDifferent) \(value: $0)" }
        ?? dialect.truth(true)
    case (.object(let a, let root), .object(let b, let other)) where root == other:
      return "\(a) \(raw: dialect.isDifferent) \(b)"
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
    case (.constant(.null), _), (_, .constant(.null)): return dialect.truth(false)
    case (.value(let value), .constant(let constant)):
      if let bound = try bound(constant, for: value, options) { return try compared(value, sign, bound) }
      return try order(value, sign, try scalar(constant), options)
    case (.constant(let constant), .value(let value)):
      if let bound = try bound(constant, for: value, options) { return try compared(bound, sign, value) }
      return try order(try scalar(constant), sign, value, options)
    case (.value(let a), .value(let b)): return try order(a, sign, b, options)
    default: throw NotExpressibleInSQL()
    }
  }

  /// Returns a constant that the engine compares as memory does; nil for one that a function must compare.
  private func bound(
    _ constant: PlainValue, for value: SQLScalar, _ options: ComparisonSyntax.Options
  ) throws -> SQLScalar? {
    guard value.kind.isOrdered, options.isEmpty || !value.kind.isText else { return nil }
    guard let bound = try comparand(constant, for: value) else { throw NotExpressibleInSQL() }
    return bound
  }

  private func scalar(_ constant: PlainValue) throws -> SQLScalar {
    guard let scalar = SQLScalar(constant, dialect) else { throw NotExpressibleInSQL() }
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
      return "\(try call(.order, left.sql, right.sql, options)) \(raw: sign) 0"
    }
    return try compared(left, sign, right)
  }

  /// Returns the order of two numbers as -1, 0 or 1; NULL if either is missing or NaN.
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
      if dialect == .sqlite { return "\(value.sql) BETWEEN \(first.sql) AND \(last.sql)" }
      return "(\(try compared(value, ">=", first)) AND \(try compared(value, "<=", last)))"
    }
    return
      "(\(try order(value, .greaterThanOrEqualTo, lower, options)) AND \(try order(value, .lessThanOrEqualTo, upper, options)))"
  }

  // MARK: Collections and strings

  private func membership(
    _ part: SQLOperand, _ whole: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    switch whole {
    case .constant(.null): return dialect.truth(false)
    case .value(let value) where value.kind == .string: return try text(whole, .contains, part, options)
    case .constant(.string): return try text(whole, .contains, part, options)
    case .collection(let collection):
      var ignoresMissing = false
      if case .constant(let constant) = part { ignoresMissing = constant != .null }
      return try exists(collection, isFlat: true, ignoresMissing: ignoresMissing) { try equality($0, part, options) }
    case .list(let elements): return try membership(part, elements, options)
    case .tuple(let elements):
      if elements.isEmpty { return dialect.truth(false) }
      return "(\(try elements.map { try equality($0, part, options) }.joined(" OR ")))"
    default: throw NotExpressibleInSQL()
    }
  }

  private func membership(
    _ part: SQLOperand, _ elements: [PlainValue], _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    let present = elements.filter { $0 != .null }
    let test: BoundSQL
    switch part {
    case .value(let value)
    where value.kind == .string && !options.isEmpty && dialect == .sqlite && hasOnlyTexts(present):
      if elements.isEmpty { return dialect.truth(false) }
      // Each string is folded once, instead of once for each row and element.
      let comparison = TextComparison(options)
      let texts = present.compactMap { $0.text.map { SQLiteValue.text(comparison.folded($0)) } }
      test = "\(StringFunction.folded(value.sql, options)) IN \(try SQLValueList.list(texts, .text, dialect))"
    case .value(let value)
    where value.kind == .calculated || value.kind == .string && !options.isEmpty:
      guard elements.count <= SQLValueList.longestShortList else { throw NotExpressibleInSQL() }
      if elements.isEmpty { return dialect.truth(false) }
      return "(\(try elements.map { try equality(part, .constant($0), options) }.joined(" OR ")))"
    case .value(let value):
      guard value.kind != .opaque else { throw NotExpressibleInSQL() }
      test = try membership(value, present)
    case .object(let key, let root):
      let keys = try present.compactMap { try primaryKey($0, root: root) }
      test = "\(key) IN \(try SQLValueList.list(keys, .bigint, dialect))"
    default: throw NotExpressibleInSQL()
    }
    return present.count == elements.count ? test : "(\(test) OR \(try missing(part)))"
  }

  private func hasOnlyTexts(_ elements: [PlainValue]) -> Bool { elements.allSatisfy { $0.text != nil } }

  private func membership(_ value: SQLScalar, _ constants: [PlainValue]) throws -> BoundSQL {
    switch dialect {
    case .sqlite:
      return "\(value.sql) IN \(try SQLValueList.list(constants.compactMap(value.kind.binding), .blob, dialect))"
    case .postgreSQL:
      let elements = try constants.compactMap(value.element(postgreSQL:))
      if let date = value.date {
        let dates = elements.compactMap { $0.real.flatMap(StoredDate.init(seconds:)) }
        return "(\(date.timestamp), \(date.remainder)) IN \(try SQLValueList.list(dates))"
      }
      return "\(value.sql) IN \(try SQLValueList.list(elements, value.listType, dialect))"
    }
  }

  /// Returns a call of a string function.
  private func call(
    _ function: StringFunction, _ subject: BoundSQL, _ pattern: BoundSQL, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard dialect == .postgreSQL else { return function.call(subject, pattern, options) }
    // Case and diacritics are folded by Foundation's rules.
    guard options.isEmpty else { throw NotExpressibleInSQL() }
    return try searchInPostgreSQL(function, subject, pattern)
  }

  private func text(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options
  ) throws -> BoundSQL {
    guard let function = StringFunction(op) else { throw NotExpressibleInSQL() }
    if case .constant(.null) = left { return dialect.truth(false) }
    if case .constant(.null) = right { return dialect.truth(false) }
    let subject = try string(left)
    if op == .beginsWith, options.isEmpty, case .constant(.string(let prefix)) = right,
      let end = StringFunction.endOfPrefixRange(prefix), dialect == .sqlite || SQLScalar.isStorable(prefix)
    {
      return "(\(subject) >= \(value: .text(prefix)) AND \(subject) < \(value: .text(end)))"
    }
    if op == .matches {
      // A pattern from a row may be invalid, which is an error only if the comparison is evaluated.
      guard case .constant(.string(let pattern)) = right else { throw NotExpressibleInSQL() }
      _ = try TextComparison(options).matches("", pattern: pattern)
    }
    return try call(function, subject, try string(right), options)
  }

  private func string(_ operand: SQLOperand) throws -> BoundSQL {
    switch operand {
    case .value(let value) where value.kind == .string: return value.sql
    case .constant(.string(let text)):
      guard dialect == .sqlite || SQLScalar.isStorable(text) else { throw NotExpressibleInSQL() }
      return "\(value: .text(text))"
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
  /// Whether comparison options affect values of this kind.
  fileprivate var isText: Bool { self == .string || self == .uri }
}

extension PlainValue {
  fileprivate var text: String? {
    if case .string(let text) = self { return text }
    return nil
  }
}
