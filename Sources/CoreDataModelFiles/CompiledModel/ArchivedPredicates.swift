// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads predicates from keyed archives.
enum ArchivedPredicates {
  /// The raw values of `NSCompoundPredicate.LogicalType`.
  enum CompoundCode {
    static let not: Int64 = 0
    static let and: Int64 = 1
    static let or: Int64 = 2
  }

  static func predicate(_ object: ArchivedObject?, depth: Int = 0) throws -> PredicateSyntax {
    guard let object else { throw ArchiveFailure.broken("A predicate is missing.") }
    guard depth < ArchivedExpressions.deepest else { throw ArchiveFailure.broken("Predicates are nested too deeply.") }
    switch object.className {
    case "NSTruePredicate":
      return .constant(true)
    case "NSFalsePredicate":
      return .constant(false)
    case "NSCompoundPredicate":
      let parts = try object.elements("NSSubpredicates").map {
        try predicate(object.archive.object($0), depth: depth + 1)
      }
      switch try object.integer("NSCompoundPredicateType") {
      case CompoundCode.and: return .and(parts)
      case CompoundCode.or: return .or(parts)
      case CompoundCode.not where parts.count == 1: return .not(parts[0])
      default: throw ArchiveFailure.broken("A compound predicate is neither AND, OR nor NOT.")
      }
    case "NSComparisonPredicate":
      return .comparison(try comparison(object, depth: depth))
    default:
      throw ArchiveFailure.unknownClass(object.className, "a predicate")
    }
  }

  private static func comparison(_ object: ArchivedObject, depth: Int) throws -> ComparisonSyntax {
    guard let archived = try object.object("NSPredicateOperator") else {
      throw ArchiveFailure.broken("A comparison has no operator.")
    }
    guard ComparisonSyntax.Operator.archivedClasses.contains(archived.className) else {
      throw ArchiveFailure.unknownClass(archived.className, "the operator of a comparison")
    }
    guard let code = try archived.integer("NSOperatorType").flatMap({ UInt(exactly: $0) }),
      let op = ComparisonSyntax.Operator(rawValue: code),
      let modifierCode = UInt(exactly: try archived.integer("NSModifier") ?? 0),
      let modifier = ComparisonSyntax.Modifier(rawValue: modifierCode),
      let options = UInt(exactly: try archived.integer("NSOptions") ?? archived.integer("NSFlags") ?? 0)
    else { throw ArchiveFailure.broken("The operator of a comparison is unknown.") }
    return ComparisonSyntax(
      try ArchivedExpressions.expression(object.object("NSLeftExpression"), depth: depth + 1), op,
      try ArchivedExpressions.expression(object.object("NSRightExpression"), depth: depth + 1), modifier: modifier,
      options: ComparisonSyntax.Options(rawValue: options), selector: try archived.string("NSSelectorName"))
  }
}

extension ComparisonSyntax.Operator {
  /// The class of the operator in archives.
  var archivedClass: String {
    switch self {
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo: "NSComparisonPredicateOperator"
    case .equalTo, .notEqualTo: "NSEqualityPredicateOperator"
    case .matches: "NSMatchingPredicateOperator"
    case .like: "NSLikePredicateOperator"
    case .beginsWith, .endsWith: "NSSubstringPredicateOperator"
    case .in, .contains: "NSInPredicateOperator"
    case .between: "NSBetweenPredicateOperator"
    case .customSelector: "NSCustomPredicateOperator"
    }
  }

  /// All operator classes.
  static let archivedClasses: Set<String> = [
    "NSComparisonPredicateOperator", "NSEqualityPredicateOperator", "NSMatchingPredicateOperator",
    "NSLikePredicateOperator", "NSSubstringPredicateOperator", "NSInPredicateOperator", "NSBetweenPredicateOperator",
    "NSCustomPredicateOperator",
  ]
}

/// Writes predicates to keyed archives.
extension KeyedArchiveBuilder {
  mutating func predicate(_ predicate: PredicateSyntax) throws -> ArchiveValue {
    switch predicate {
    case .constant(let value):
      return add(value ? "NSTruePredicate" : "NSFalsePredicate", [:])
    case .and(let parts):
      return try compound(parts, ArchivedPredicates.CompoundCode.and)
    case .or(let parts):
      return try compound(parts, ArchivedPredicates.CompoundCode.or)
    case .not(let part):
      return try compound([part], ArchivedPredicates.CompoundCode.not)
    case .comparison(let comparison):
      var operatorFields: [String: ArchiveValue] = [
        "NSOperatorType": .integer(Int64(comparison.op.rawValue)),
        "NSModifier": .integer(Int64(comparison.modifier.rawValue)),
      ]
      let options = ArchiveValue.integer(Int64(clamping: comparison.options.rawValue))
      switch comparison.op {
      case .equalTo, .notEqualTo:
        operatorFields["NSNegate"] = .boolean(comparison.op == .notEqualTo)
        operatorFields["NSOptions"] = options
      case .beginsWith, .endsWith:
        operatorFields["NSPosition"] = .integer(comparison.op == .beginsWith ? 0 : 1)
        operatorFields["NSFlags"] = options
      case .matches, .like, .in, .contains:
        operatorFields["NSFlags"] = options
      case .customSelector:
        operatorFields["NSSelectorName"] = string(comparison.selector)
      default:
        operatorFields["NSOptions"] = options
      }
      let archived = add(comparison.op.archivedClass, operatorFields)
      let left = try expression(comparison.left)
      let right = try expression(comparison.right)
      return add(
        "NSComparisonPredicate",
        ["NSPredicateOperator": archived, "NSLeftExpression": left, "NSRightExpression": right])
    }
  }

  private mutating func compound(_ parts: [PredicateSyntax], _ type: Int64) throws -> ArchiveValue {
    let archived = try parts.map { try predicate($0) }
    return add(
      "NSCompoundPredicate", ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": collection(archived)])
  }
}
