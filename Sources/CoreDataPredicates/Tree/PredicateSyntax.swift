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
