// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The syntax tree of a predicate.
public indirect enum PredicateSyntax: Hashable, Sendable {
  /// `TRUEPREDICATE` or `FALSEPREDICATE`
  case constant(Bool)
  case comparison(ComparisonSyntax)
  case and([PredicateSyntax])
  case or([PredicateSyntax])
  case not(PredicateSyntax)
}

/// One comparison: `ANY books.title BEGINSWITH[cd] "a"`.
public struct ComparisonSyntax: Hashable, Sendable {
  /// The raw values are those of `NSComparisonPredicate.Operator`.
  public enum Operator: UInt, Hashable, Sendable {
    case lessThan = 0
    case lessThanOrEqualTo = 1
    case greaterThan = 2
    case greaterThanOrEqualTo = 3
    case equalTo = 4
    case notEqualTo = 5
    case matches = 6
    case like = 7
    case beginsWith = 8
    case endsWith = 9
    case `in` = 10
    case customSelector = 11
    case contains = 99
    case between = 100
  }

  /// The raw values are those of `NSComparisonPredicate.Modifier`. `NONE` is the negation of `any`.
  public enum Modifier: UInt, Hashable, Sendable {
    case direct = 0
    case all = 1
    case any = 2
  }

  /// The raw values are those of `NSComparisonPredicate.Options`.
  public struct Options: OptionSet, Hashable, Sendable {
    /// The bits of the options.
    public let rawValue: UInt

    /// Creates options from bits.
    public init(rawValue: UInt) {
      self.rawValue = rawValue
    }

    /// `[c]`
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`
    public static let normalized = Options(rawValue: 4)
    /// `[l]`
    public static let localeSensitive = Options(rawValue: 8)
    /// Strings as Swift compares them: by characters, which are equal if they are canonically equivalent. Not part of
    /// the format language.
    public static let characters = Options(rawValue: 16)
  }

  /// The left side.
  public var left: ExpressionSyntax
  /// The right side.
  public var right: ExpressionSyntax
  /// The operator.
  public var op: Operator
  /// Whether the left side is a collection of which all or any elements must match.
  public var modifier: Modifier
  /// How strings are compared.
  public var options: Options
  /// The name of the selector if `op` is `customSelector`.
  public var selector: String?

  /// Creates a comparison.
  public init(
    _ left: ExpressionSyntax, _ op: Operator, _ right: ExpressionSyntax, modifier: Modifier = .direct,
    options: Options = [], selector: String? = nil
  ) {
    self.left = left
    self.right = right
    self.op = op
    self.modifier = modifier
    self.options = options
    self.selector = selector
  }
}

extension PredicateSyntax {
  /// Returns the predicate with its variables replaced, except those without a value.
  public func substituting(_ values: [String: ExpressionSyntax]) -> PredicateSyntax {
    switch self {
    case .constant: return self
    case .comparison(var comparison):
      comparison.left = comparison.left.substituting(values)
      comparison.right = comparison.right.substituting(values)
      return .comparison(comparison)
    case .and(let operands): return .and(operands.map { $0.substituting(values) })
    case .or(let operands): return .or(operands.map { $0.substituting(values) })
    case .not(let operand): return .not(operand.substituting(values))
    }
  }
}

/// The syntax tree of an expression.
public indirect enum ExpressionSyntax: Hashable, Sendable {
  case constant(PlainValue)
  /// `SELF`
  case evaluatedObject
  /// `$name`, without the dollar sign.
  case variable(String)
  /// A key path from the evaluated object, possibly with collection operators: `books.@max.price`.
  case keyPath(String)
  /// A key path from any other expression: `$source.name`, `FUNCTION(…).name`.
  case keyPathOf(ExpressionSyntax, String)
  /// `ANYKEY`
  case anyKey
  /// A predefined function (`sum:`, `add:to:`, `now`) without an operand, or any function of an operand.
  case function(operand: ExpressionSyntax?, name: String, arguments: [ExpressionSyntax])
  /// `{a, b, c}`
  case aggregate([ExpressionSyntax])
  case union(ExpressionSyntax, ExpressionSyntax)
  case intersect(ExpressionSyntax, ExpressionSyntax)
  case minus(ExpressionSyntax, ExpressionSyntax)
  /// `SUBQUERY(collection, $variable, predicate)`
  case subquery(collection: ExpressionSyntax, variable: String, predicate: PredicateSyntax)
  /// `TERNARY(predicate, a, b)`
  case conditional(PredicateSyntax, ExpressionSyntax, ExpressionSyntax)
  /// `FETCH(request, context, countOnly)`
  case fetch(request: ExpressionSyntax, context: ExpressionSyntax, countOnly: Bool)

  /// Returns the expression with its variables replaced. The variable of a subquery is not replaced inside the
  /// subquery.
  public func substituting(_ values: [String: ExpressionSyntax]) -> ExpressionSyntax {
    switch self {
    case .constant, .evaluatedObject, .keyPath, .anyKey: return self
    case .variable(let name): return values[name] ?? self
    case .keyPathOf(let operand, let path): return .keyPathOf(operand.substituting(values), path)
    case .function(let operand, let name, let arguments):
      return .function(
        operand: operand?.substituting(values), name: name, arguments: arguments.map { $0.substituting(values) })
    case .aggregate(let elements): return .aggregate(elements.map { $0.substituting(values) })
    case .union(let left, let right): return .union(left.substituting(values), right.substituting(values))
    case .intersect(let left, let right): return .intersect(left.substituting(values), right.substituting(values))
    case .minus(let left, let right): return .minus(left.substituting(values), right.substituting(values))
    case .subquery(let collection, let variable, let predicate):
      var inner = values
      inner[variable] = nil
      return .subquery(
        collection: collection.substituting(values), variable: variable, predicate: predicate.substituting(inner))
    case .conditional(let condition, let whenTrue, let whenFalse):
      return .conditional(condition.substituting(values), whenTrue.substituting(values), whenFalse.substituting(values))
    case .fetch(let request, let context, let countOnly):
      return .fetch(request: request.substituting(values), context: context.substituting(values), countOnly: countOnly)
    }
  }
}

/// The predefined functions of the format language.
public enum PredefinedFunction {
  /// The number of arguments of each function; nil for any number.
  public static let argumentCounts: [String: Int?] = [
    "sum:": nil, "count:": nil, "min:": nil, "max:": nil, "average:": nil, "median:": nil, "mode:": nil,
    "stddev:": nil, "distinct:": nil, "sqrt:": 1, "log:": 1, "ln:": 1, "exp:": 1, "ceiling:": 1, "floor:": 1,
    "abs:": 1, "trunc:": 1, "randomn:": 1, "random:": 1, "random": 0, "now": 0, "uppercase:": 1, "lowercase:": 1,
    "canonical:": 1, "length:": 1, "noindex:": 1, "onesComplement:": 1, "chs:": 1, "add:to:": 2, "from:subtract:": 2,
    "multiply:by:": 2, "divide:by:": 2, "modulus:by:": 2, "raise:toThePower:": 2, "raise:toPower:": 2, "raise:to:": 2,
    "bitwiseAnd:with:": 2, "bitwiseOr:with:": 2, "bitwiseXor:with:": 2, "leftshift:by:": 2, "rightshift:by:": 2,
    "objectFrom:withIndex:": 2, "distanceToLocation:fromLocation:": 2, "castObject:toType:": 2,
  ]

  /// The function behind `CAST(value, "type")`.
  public static let cast = "castObject:toType:"
  /// The function behind `collection[index]`.
  public static let index = "objectFrom:withIndex:"
  /// The symbolic indexes: functions without arguments that are valid only between brackets.
  public static let symbolicIndexes: Set<String> = ["FIRST", "LAST", "SIZE"]
  /// The functions that are written as operators.
  public static let operators = [
    "add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/", "raise:toThePower:": "**",
    "bitwiseAnd:with:": "&", "bitwiseOr:with:": "|", "bitwiseXor:with:": "^", "leftshift:by:": "<<",
    "rightshift:by:": ">>",
  ]
  /// The function that is written as a prefix operator.
  public static let complement = "onesComplement:"

  /// Returns the full name of a function: `sum` is short for `sum:`.
  static func fullName(_ name: String) -> String? {
    for candidate in [name, name + ":", name.lowercased(), name.lowercased() + ":"]
    where argumentCounts.keys.contains(candidate) {
      return candidate
    }
    return nil
  }
}

/// The words of the format language that cannot be used as keys.
enum ReservedWords {
  static let operators: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "UNION", "INTERSECT",
    "MINUS", "ANY", "SOME", "ALL", "NONE",
  ]

  /// The words that must be escaped as `#word` to name a key.
  static let all = operators.union([
    "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "TRUEPREDICATE", "FALSEPREDICATE", "ANYKEY", "FIRST", "LAST",
    "SIZE", "SUBQUERY", "CAST", "TERNARY", "FUNCTION", "FETCH",
  ])
}
