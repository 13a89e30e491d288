// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A predicate that compares two expressions.
open class NSComparisonPredicate: NSPredicate {
  /// How the two sides are compared.
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

  /// Whether the left side is one value, or a collection of which all or any must match.
  public enum Modifier: UInt, Sendable {
    case direct = 0
    case all = 1
    case any = 2
  }

  /// How texts are compared.
  public struct Options: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Makes options from bits.
    public init(rawValue: UInt) {
      self.rawValue = rawValue
    }

    /// `[c]`
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: the texts have been prepared; nothing is folded.
    public static let normalized = Options(rawValue: 4)
  }

  internal let syntax: ComparisonSyntax

  /// What Foundation's class is made with. A constant would make it equal to every comparison.
  private static let unused: @Sendable (Any?, [String: Any]?) -> Bool = { _, _ in false }

  internal init(syntax: ComparisonSyntax) {
    self.syntax = syntax
    super.init(block: Self.unused)
  }

  /// Makes a comparison of two expressions.
  public init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier, type: Operator,
    options: Options = []
  ) {
    guard let op = ComparisonSyntax.Operator(rawValue: type.rawValue),
      let modifier = ComparisonSyntax.Modifier(rawValue: modifier.rawValue)
    else { preconditionFailure("NSComparisonPredicate has no operator \(type) with the modifier \(modifier).") }
    syntax = ComparisonSyntax(
      lhs.syntax, op, rhs.syntax, modifier: modifier, options: .init(rawValue: options.rawValue))
    super.init(block: Self.unused)
  }

  /// The operator.
  open var predicateOperatorType: Operator { Operator(rawValue: syntax.op.rawValue) ?? .equalTo }
  /// The modifier.
  open var comparisonPredicateModifier: Modifier { Modifier(rawValue: syntax.modifier.rawValue) ?? .direct }
  /// The left side.
  open var leftExpression: NSExpression { NSExpression(syntax: syntax.left) }
  /// The right side.
  open var rightExpression: NSExpression { NSExpression(syntax: syntax.right) }
  /// The options.
  open var options: Options { Options(rawValue: syntax.options.rawValue) }

  /// Whether the comparison holds for an object.
  open override func evaluate(with object: Any?) -> Bool {
    evaluate(with: object, substitutionVariables: nil)
  }

  /// Whether the comparison holds for an object, with values for its variables.
  open override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    EvaluationFace.evaluate(.comparison(syntax), with: object, bindings)
  }

  /// The comparison itself, which never changes.
  open override func copy(with zone: NSZone? = nil) -> Any {
    self
  }

  /// Whether the other is the same comparison.
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
