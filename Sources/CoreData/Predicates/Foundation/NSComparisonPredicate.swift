// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataPredicates
import Foundation

/// A predicate that compares two expressions.
open class NSComparisonPredicate: NSPredicate {
  /// The operator of a comparison.
  public enum Operator: UInt, Sendable {
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

  /// Whether the left side is a single value, or a collection all or any of whose elements must match.
  public enum Modifier: UInt, Sendable {
    case direct = 0
    case all = 1
    case any = 2
  }

  /// The options for comparing strings.
  public struct Options: OptionSet, Sendable {
    /// The raw value.
    public let rawValue: UInt

    /// Creates options from a raw value.
    public init(rawValue: UInt) {
      self.rawValue = rawValue
    }

    /// Ignores case: `[c]`.
    public static let caseInsensitive = Options(rawValue: 1)
    /// Ignores diacritics: `[d]`.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// Assumes that the strings are already normalized, and does not fold them: `[n]`.
    public static let normalized = Options(rawValue: 4)
  }

  let syntax: ComparisonSyntax

  /// The block for Foundation's initializer. A constant predicate would be equal for all comparisons.
  private static let unused: @Sendable (Any?, [String: Any]?) -> Bool = { _, _ in false }

  init(syntax: ComparisonSyntax) {
    self.syntax = syntax
    super.init(block: Self.unused)
  }

  /// Creates a comparison of two expressions.
  public init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier, type: Operator,
    options: Options = []
  ) {
    guard let op = ComparisonSyntax.Operator(rawValue: type.rawValue),
      let modifier = ComparisonSyntax.Modifier(rawValue: modifier.rawValue)
    else { trap("NSComparisonPredicate has no operator \(type) with the modifier \(modifier).") }
    syntax = ComparisonSyntax(
      lhs.syntax, op, rhs.syntax, modifier: modifier, options: .init(rawValue: options.rawValue))
    super.init(block: Self.unused)
  }

  /// The operator of the comparison.
  open var predicateOperatorType: Operator { Operator(rawValue: syntax.op.rawValue) ?? .equalTo }
  /// The modifier of the comparison.
  open var comparisonPredicateModifier: Modifier { Modifier(rawValue: syntax.modifier.rawValue) ?? .direct }
  /// The left side.
  open var leftExpression: NSExpression { .make(syntax.left) }
  /// The right side.
  open var rightExpression: NSExpression { .make(syntax.right) }
  /// The options of the comparison.
  open var options: Options { Options(rawValue: syntax.options.rawValue) }

  /// Returns whether an object satisfies the comparison.
  open override func evaluate(with object: Any?) -> Bool {
    evaluate(with: object, substitutionVariables: nil)
  }

  /// Returns whether an object satisfies the comparison, with values for its variables.
  open override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    PredicateEvaluator(variables: bindings ?? [:]).evaluateOrStop(.comparison(syntax), with: object)
  }

  /// Returns the comparison itself, which is immutable.
  open override func copy(with zone: NSZone? = nil) -> Any { self }

  /// Returns whether an object is an equal comparison.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? NSComparisonPredicate)?.syntax == syntax
  }

  /// A hash of both sides and the operator.
  open override var hash: Int { syntax.hashValue }

  /// The comparison in the format language.
  open override var predicateFormat: String { PredicatePrinter().format(.comparison(syntax)) }

  /// The comparison in the format language.
  open override var description: String { predicateFormat }
}
