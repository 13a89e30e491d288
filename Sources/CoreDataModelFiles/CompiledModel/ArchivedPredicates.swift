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

/// The raw values of `NSExpression.ExpressionType`, which archives contain beside the class.
enum ExpressionTypeCode {
  static let constant: Int64 = 0
  static let evaluatedObject: Int64 = 1
  static let variable: Int64 = 2
  static let keyPath: Int64 = 3
  static let function: Int64 = 4
  static let union: Int64 = 5
  static let intersect: Int64 = 6
  static let minus: Int64 = 7
  static let keyPathSpecifier: Int64 = 10
  static let subquery: Int64 = 13
  static let aggregate: Int64 = 14
  static let anyKey: Int64 = 15
  static let conditional: Int64 = 20
  static let fetch: Int64 = 50
}

/// Reads expressions from keyed archives.
///
/// Seen in mapping models made by Apple's tools: constants, variables, key paths and functions of variables, key path
/// specifiers and fetch requests. The other classes are known from Apple's documentation of `NSExpression`.
enum ArchivedExpressions {
  /// The class that implements the predefined functions, used as the operand of `sum:` and the like.
  static let predefinedFunctions = "_NSPredicateUtilities"
  static let deepest = 64

  static func expression(_ object: ArchivedObject?, depth: Int = 0) throws -> ExpressionSyntax {
    guard let object else { throw ArchiveFailure.broken("An expression is missing.") }
    guard depth < deepest else { throw ArchiveFailure.broken("Expressions are nested too deeply.") }
    func inner(_ key: String) throws -> ExpressionSyntax { try expression(object.object(key), depth: depth + 1) }
    func predicate(_ key: String) throws -> PredicateSyntax {
      try ArchivedPredicates.predicate(object.object(key), depth: depth + 1)
    }
    switch object.className {
    case "NSConstantValueExpression":
      return .constant(try ArchivedValues.plain(object.fields["NSConstantValue"], in: object.archive))
    case "NSSelfExpression":
      return .evaluatedObject
    case "NSVariableExpression":
      return .variable(try text("NSVariable", of: object))
    case "NSKeyPathSpecifierExpression":
      return .keyPath(try text("NSKeyPath", of: object))
    case "NSKeyPathExpression", "NSFunctionExpression":
      return try function(object, depth: depth)
    case "NSAggregateExpression":
      return .aggregate(try aggregate(object, depth: depth))
    case "NSAnyKeyExpression":
      return .anyKey
    case "NSSetExpression":
      let (left, right) = (try inner("NSLeftExpression"), try inner("NSRightExpression"))
      switch try object.integer("NSExpressionType") {
      case ExpressionTypeCode.union: return .union(left, right)
      case ExpressionTypeCode.intersect: return .intersect(left, right)
      case ExpressionTypeCode.minus: return .minus(left, right)
      default: throw ArchiveFailure.broken("A set expression is neither union, intersection nor difference.")
      }
    case "NSSubqueryExpression":
      let variable =
        try object.object("NSVariableExpression").map { try text("NSVariable", of: $0) }
        ?? text("NSVariable", of: object)
      return .subquery(
        collection: try inner("NSCollection"), variable: variable, predicate: try predicate("NSPredicate"))
    case "NSTernaryExpression":
      return .conditional(try predicate("NSPredicate"), try inner("NSTrueExpression"), try inner("NSFalseExpression"))
    case "NSFetchRequestExpression":
      return .fetch(
        request: try inner("NSFRExpression"), context: try inner("NSMOCExpression"),
        countOnly: try object.flag("NSCountOnlyFlag"))
    default:
      throw ArchiveFailure.unknownClass(object.className, "an expression")
    }
  }

  /// Reads a function of an operand. Key paths are archived as `valueForKeyPath:` and `valueForKey:`.
  private static func function(_ object: ArchivedObject, depth: Int) throws -> ExpressionSyntax {
    let name = try text("NSSelectorName", of: object)
    let arguments = try object.elements("NSArguments").map {
      try expression(object.archive.object($0), depth: depth + 1)
    }
    let operand = try object.object("NSOperand")
    if ["valueForKeyPath:", "valueForKey:"].contains(name), arguments.count == 1 {
      var path: String?
      if case .keyPath(let text) = arguments[0] { path = text }
      if case .constant(.string(let text)) = arguments[0] { path = text }
      if let path {
        let base = try operand.map { try expression($0, depth: depth + 1) } ?? .evaluatedObject
        return base == .evaluatedObject ? .keyPath(path) : .keyPathOf(base, path)
      }
    }
    guard let operand else { return .function(operand: nil, name: name, arguments: arguments) }
    if operand.className == "NSConstantValueExpression",
      try operand.string("NSConstantValueClassName") == predefinedFunctions
    {
      return .function(operand: nil, name: name, arguments: arguments)
    }
    return .function(operand: try expression(operand, depth: depth + 1), name: name, arguments: arguments)
  }

  private static func aggregate(_ object: ArchivedObject, depth: Int) throws -> [ExpressionSyntax] {
    try object.elements("NSCollection").map { try expression(object.archive.object($0), depth: depth + 1) }
  }

  private static func text(_ key: String, of object: ArchivedObject) throws -> String {
    guard let text = try object.string(key) else {
      throw ArchiveFailure.broken("\(key) of \(object.className) is missing.")
    }
    return text
  }
}

/// Writes expressions to keyed archives.
extension KeyedArchiveBuilder {
  mutating func expression(_ expression: ExpressionSyntax) throws -> ArchiveValue {
    switch expression {
    case .constant(let value):
      let archived = value == .null ? Self.null : try plain(value)
      return node("NSConstantValueExpression", ExpressionTypeCode.constant, ["NSConstantValue": archived])
    case .evaluatedObject:
      return node("NSSelfExpression", ExpressionTypeCode.evaluatedObject, [:])
    case .variable(let name):
      return node("NSVariableExpression", ExpressionTypeCode.variable, ["NSVariable": string(name)])
    case .keyPath(let path):
      return try keyPath(path, of: .evaluatedObject, ExpressionTypeCode.keyPath)
    case .keyPathOf(let base, let path):
      return try keyPath(path, of: base, ExpressionTypeCode.function)
    case .anyKey:
      return node("NSAnyKeyExpression", ExpressionTypeCode.anyKey, [:])
    case .function(let operand, let name, let arguments):
      let owner =
        try operand.map { try self.expression($0) }
        ?? node(
          "NSConstantValueExpression", ExpressionTypeCode.constant,
          ["NSConstantValueClassName": string(ArchivedExpressions.predefinedFunctions)])
      let archived = try arguments.map { try self.expression($0) }
      return node(
        "NSFunctionExpression", ExpressionTypeCode.function,
        ["NSOperand": owner, "NSSelectorName": string(name), "NSArguments": collection(archived)])
    case .aggregate(let elements):
      let archived = try elements.map { try self.expression($0) }
      return node("NSAggregateExpression", ExpressionTypeCode.aggregate, ["NSCollection": collection(archived)])
    case .union(let left, let right):
      return try set(left, right, ExpressionTypeCode.union)
    case .intersect(let left, let right):
      return try set(left, right, ExpressionTypeCode.intersect)
    case .minus(let left, let right):
      return try set(left, right, ExpressionTypeCode.minus)
    case .subquery(let collection, let variable, let predicate):
      let fields = [
        "NSCollection": try self.expression(collection), "NSPredicate": try self.predicate(predicate),
        "NSVariableExpression": try self.expression(.variable(variable)),
      ]
      return node("NSSubqueryExpression", ExpressionTypeCode.subquery, fields)
    case .conditional(let condition, let first, let second):
      let fields = [
        "NSPredicate": try predicate(condition), "NSTrueExpression": try self.expression(first),
        "NSFalseExpression": try self.expression(second),
      ]
      return node("NSTernaryExpression", ExpressionTypeCode.conditional, fields)
    case .fetch(let request, let context, let countOnly):
      let fields = [
        "NSFRExpression": try self.expression(request), "NSMOCExpression": try self.expression(context),
        "NSCountOnlyFlag": ArchiveValue.boolean(countOnly),
      ]
      return node("NSFetchRequestExpression", ExpressionTypeCode.fetch, fields)
    }
  }

  private mutating func keyPath(_ path: String, of base: ExpressionSyntax, _ type: Int64) throws -> ArchiveValue {
    let operand = try expression(base)
    let specifier = node(
      "NSKeyPathSpecifierExpression", ExpressionTypeCode.keyPathSpecifier, ["NSKeyPath": string(path)])
    return node(
      "NSKeyPathExpression", type,
      [
        "NSOperand": operand, "NSSelectorName": string("valueForKeyPath:"),
        "NSArguments": collection([specifier], "NSMutableArray"),
      ])
  }

  private mutating func set(_ left: ExpressionSyntax, _ right: ExpressionSyntax, _ type: Int64) throws -> ArchiveValue {
    node(
      "NSSetExpression", type, ["NSLeftExpression": try expression(left), "NSRightExpression": try expression(right)])
  }

  private mutating func node(_ className: String, _ type: Int64, _ fields: [String: ArchiveValue]) -> ArchiveValue {
    add(className, fields.merging(["NSExpressionType": .integer(type)]) { own, _ in own })
  }
}
