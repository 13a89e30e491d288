// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Conditions that select a superset of the rows that match a predicate which SQL cannot express. The caller evaluates
/// the predicate on these candidates in memory.
extension PredicateSQL {
  /// The direction in which a condition may deviate from a predicate.
  private enum Side {
    /// The condition holds wherever the predicate holds.
    case necessary
    /// The predicate holds wherever the condition holds.
    case sufficient

    var opposite: Side { self == .necessary ? .sufficient : .necessary }
  }

  /// Returns a condition that holds for all rows that match a predicate, and for as few others as SQL can exclude; nil
  /// if it can exclude none.
  package func necessaryCondition(_ predicate: PredicateSyntax, _ names: SQLNames) throws -> BoundSQL? {
    try condition(predicate, .necessary, names)
  }

  private func condition(_ predicate: PredicateSyntax, _ side: Side, _ names: SQLNames) throws -> BoundSQL? {
    switch predicate {
    case .constant(let value): return dialect.truth(value)
    case .and(let parts):
      if parts.isEmpty { return dialect.truth(true) }
      return try combined(parts, " AND ", needsAll: side == .sufficient, side, names)
    case .or(let parts):
      if parts.isEmpty { return dialect.truth(false) }
      return try combined(parts, " OR ", needsAll: side == .necessary, side, names)
    case .not(let part): return try condition(part, side.opposite, names).map { "NOT \(definite($0))" }
    case .comparison(let comparison):
      return try ifExpressible { try condition(comparison, names) }
        ?? ifExpressible {
          try translated(comparison, names) { try compare($0, comparison.op, $1, comparison.options, side) }
        }
    }
  }

  private func combined(
    _ parts: [PredicateSyntax], _ word: String, needsAll: Bool, _ side: Side, _ names: SQLNames
  ) throws -> BoundSQL? {
    var conditions: [BoundSQL] = []
    for part in parts {
      if let condition = try condition(part, side, names) {
        conditions.append(condition)
      } else if needsAll {
        return nil
      }
    }
    return conditions.isEmpty ? nil : Self.joined(conditions, word)
  }

  private func ifExpressible(_ translation: () throws -> BoundSQL) throws -> BoundSQL? {
    do {
      return try translation()
    } catch is NotExpressibleInSQL {
      return nil
    }
  }

  // MARK: Strings

  /// Compares two operands. For strings that are not plain, the result is undecided.
  ///
  /// A string is plain if all its characters are ASCII. In-memory comparison folds such a string like `LOWER` with the
  /// collation "C", and it has no diacritics (`TextComparisonTests`).
  private func compare(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options, _ side: Side
  ) throws -> BoundSQL {
    if let exact = try ifExpressible({ try compare(left, op, right, options) }) { return exact }
    guard dialect == .postgreSQL, options.isSubset(of: [.caseInsensitive, .diacriticInsensitive]) else {
      throw NotExpressibleInSQL()
    }
    switch (op, right) {
    case (.notEqualTo, _): return "NOT \(definite(try compare(left, .equalTo, right, options, side.opposite)))"
    case (.in, .list(let elements)) where !elements.isEmpty && elements.count <= SQLValueList.longestShortList:
      return Self.joined(try elements.map { try compare(left, .equalTo, .constant($0), options, side) }, " OR ")
    case (.in, .tuple(let elements)) where !elements.isEmpty:
      return Self.joined(try elements.map { try compare(left, .equalTo, $0, options, side) }, " OR ")
    case (.in, .value), (.in, .constant): return try compare(right, .contains, left, options, side)
    case (.between, .list(let bounds)) where bounds.count == 2:
      return try between(left, .constant(bounds[0]), .constant(bounds[1]), options, side)
    case (.between, .tuple(let bounds)) where bounds.count == 2:
      return try between(left, bounds[0], bounds[1], options, side)
    default: return try compareTexts(left, op, right, options, side)
    }
  }

  private func between(
    _ value: SQLOperand, _ lower: SQLOperand, _ upper: SQLOperand, _ options: ComparisonSyntax.Options, _ side: Side
  ) throws -> BoundSQL {
    let least = try compare(value, .greaterThanOrEqualTo, lower, options, side)
    return "(\(least) AND \(try compare(value, .lessThanOrEqualTo, upper, options, side)))"
  }

  private func compareTexts(
    _ left: SQLOperand, _ op: Operator, _ right: SQLOperand, _ options: ComparisonSyntax.Options, _ side: Side
  ) throws -> BoundSQL {
    let comparison = TextComparison(options)
    let subject = try text(left, comparison, options)
    var unplain = [subject.unplain]
    let test: BoundSQL
    if op == .like {
      guard case .constant(.string(let pattern)) = right, case .value = left else { throw NotExpressibleInSQL() }
      let wildcards = TextComparison.wildcards(comparison.folded(pattern))
      test = "\(subject.folded) LIKE \(value: .text(try Self.likePattern(wildcards)))"
      // In memory, CR LF is a single character.
      unplain.append("STRPOS(\(subject.sql), \(value: .text("\r"))) > 0")
    } else {
      let other = try text(right, comparison, options)
      unplain.append(other.unplain)
      test = try self.test(subject.folded, op, other.folded)
    }
    let isUnknown = unplain.compactMap { $0 }.joined(" OR ")
    var condition: BoundSQL
    switch side {
    case _ where isUnknown.sql.isEmpty: condition = test
    case .necessary: condition = "(\(test) OR \(isUnknown))"
    case .sufficient: condition = "(\(test) AND NOT (\(isUnknown)))"
    }
    if op == .like, side == .necessary, options.isEmpty, let prefix = Self.prefix(of: right) {
      condition = "(\(try compare(left, .beginsWith, .constant(.string(prefix)), [])) AND \(condition))"
    }
    if op == .equalTo, case .value(let a) = left, case .value(let b) = right {
      condition = "(\(condition) OR (\(a.missing) AND \(b.missing)))"
    }
    return condition
  }

  private func test(_ left: BoundSQL, _ op: Operator, _ right: BoundSQL) throws -> BoundSQL {
    switch op {
    case .equalTo: return "\(left) = \(right)"
    case .lessThan: return "\(left) < \(right)"
    case .lessThanOrEqualTo: return "\(left) <= \(right)"
    case .greaterThan: return "\(left) > \(right)"
    case .greaterThanOrEqualTo: return "\(left) >= \(right)"
    default:
      guard let function = StringFunction(op) else { throw NotExpressibleInSQL() }
      return try searchInPostgreSQL(function, left, right)
    }
  }

  /// Returns a string, its folded form for comparisons if it is plain, and the condition under which it is not plain;
  /// the condition is nil for a constant, which is folded in memory.
  private func text(
    _ operand: SQLOperand, _ comparison: TextComparison, _ options: ComparisonSyntax.Options
  ) throws -> (sql: BoundSQL, folded: BoundSQL, unplain: BoundSQL?) {
    switch operand {
    case .value(let value) where value.kind == .string:
      let collated: BoundSQL = "(\(value.sql)) COLLATE \"C\""
      return (
        value.sql, options.contains(.caseInsensitive) ? "LOWER(\(collated))" : collated,
        "OCTET_LENGTH(\(value.sql)) <> CHAR_LENGTH(\(value.sql))"
      )
    case .constant(.string(let text)):
      let folded = comparison.folded(text)
      guard SQLScalar.isStorable(folded) else { throw NotExpressibleInSQL() }
      return ("\(value: .text(text))", "\(value: .text(folded))", nil)
    default: throw NotExpressibleInSQL()
    }
  }

  /// Returns a PostgreSQL pattern that matches the same plain strings.
  private static func likePattern(_ wildcards: [TextComparison.Wildcard]) throws -> String {
    let pattern = wildcards.map { wildcard in
      switch wildcard {
      case .one: return "_"
      case .many: return "%"
      case .character(let character):
        // Three characters are canonically equivalent to an ASCII character.
        let text = String(character).precomposedStringWithCanonicalMapping
        return ["%", "_", "\\"].contains(text) ? "\\\(text)" : text
      }
    }.joined()
    guard SQLScalar.isStorable(pattern) else { throw NotExpressibleInSQL() }
    return pattern
  }

  /// Returns the ASCII characters that begin every string matching a pattern; nil if there are none.
  private static func prefix(of pattern: SQLOperand) -> String? {
    guard case .constant(.string(let pattern)) = pattern else { return nil }
    var prefix = ""
    for case .character(let character) in TextComparison.wildcards(pattern).prefix(while: { $0 != .one && $0 != .many })
    {
      // Other characters are canonically equivalent to these: the Kelvin sign to K, the Greek question mark to the
      // semicolon, and a second grave accent to the first.
      guard character.isASCII, character.unicodeScalars.count == 1, !"K;`\0".contains(character) else { break }
      prefix.append(character)
    }
    return prefix.isEmpty ? nil : prefix
  }
}
