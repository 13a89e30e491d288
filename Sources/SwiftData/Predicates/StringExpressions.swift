// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

// `#Predicate` accepts these methods of strings, and writes calls of the functions below, which Foundation on Linux lacks.

extension PredicateExpressions {
  /// `localizedStandardContains(_:)` of a string: whether it contains another, as a user searches.
  public struct StringLocalizedStandardContains<Root: PredicateExpression, Other: PredicateExpression>:
    PredicateExpression
  where Root.Output: StringProtocol, Other.Output: StringProtocol {
    /// The type of the result.
    public typealias Output = Bool
    /// The string.
    public let root: Root
    /// The other string.
    public let other: Other

    /// Creates the expression.
    public init(root: Root, other: Other) { (self.root, self.other) = (root, other) }

    /// Returns the result for values of the variables.
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
      String(try root.evaluate(bindings)).localizedStandardContains(String(try other.evaluate(bindings)))
    }
  }

  /// `localizedCompare(_:)` of a string: its order by the rules of the user's language.
  public struct StringLocalizedCompare<Root: PredicateExpression, Other: PredicateExpression>: PredicateExpression
  where Root.Output: StringProtocol, Other.Output: StringProtocol {
    /// The type of the result.
    public typealias Output = ComparisonResult
    /// The string.
    public let root: Root
    /// The other string.
    public let other: Other

    /// Creates the expression.
    public init(root: Root, other: Other) { (self.root, self.other) = (root, other) }

    /// Returns the result for values of the variables.
    public func evaluate(_ bindings: PredicateBindings) throws -> ComparisonResult {
      String(try root.evaluate(bindings)).localizedCompare(String(try other.evaluate(bindings)))
    }
  }

  /// `caseInsensitiveCompare(_:)` of a string: its order without regard to case.
  public struct StringCaseInsensitiveCompare<Root: PredicateExpression, Other: PredicateExpression>: PredicateExpression
  where Root.Output: StringProtocol, Other.Output: StringProtocol {
    /// The type of the result.
    public typealias Output = ComparisonResult
    /// The string.
    public let root: Root
    /// The other string.
    public let other: Other

    /// Creates the expression.
    public init(root: Root, other: Other) { (self.root, self.other) = (root, other) }

    /// Returns the result for values of the variables.
    public func evaluate(_ bindings: PredicateBindings) throws -> ComparisonResult {
      String(try root.evaluate(bindings)).caseInsensitiveCompare(String(try other.evaluate(bindings)))
    }
  }

  /// Called by `#Predicate` for `localizedStandardContains(_:)`.
  public static func build_localizedStandardContains<Root, Other>(
    _ root: Root, _ other: Other
  ) -> StringLocalizedStandardContains<Root, Other> { StringLocalizedStandardContains(root: root, other: other) }

  /// Called by `#Predicate` for `localizedCompare(_:)`.
  public static func build_localizedCompare<Root, Other>(
    _ root: Root, _ other: Other
  ) -> StringLocalizedCompare<Root, Other> { StringLocalizedCompare(root: root, other: other) }

  /// Called by `#Predicate` for `caseInsensitiveCompare(_:)`.
  public static func build_caseInsensitiveCompare<Root, Other>(
    _ root: Root, _ other: Other
  ) -> StringCaseInsensitiveCompare<Root, Other> { StringCaseInsensitiveCompare(root: root, other: other) }
}

extension PredicateExpressions.StringLocalizedStandardContains: PredicateNodeConvertible {
  package var node: PredicateNode { .text(.localizedStandardContains, root, other) }
}

extension PredicateExpressions.StringLocalizedCompare: PredicateNodeConvertible {
  package var node: PredicateNode { .text(.localizedCompare, root, other) }
}

extension PredicateExpressions.StringCaseInsensitiveCompare: PredicateNodeConvertible {
  package var node: PredicateNode { .text(.caseInsensitiveCompare, root, other) }
}

extension PredicateExpressions.StringLocalizedStandardContains: Sendable where Root: Sendable, Other: Sendable {}
extension PredicateExpressions.StringLocalizedCompare: Sendable where Root: Sendable, Other: Sendable {}
extension PredicateExpressions.StringCaseInsensitiveCompare: Sendable where Root: Sendable, Other: Sendable {}

extension PredicateExpressions.StringLocalizedStandardContains: Codable where Root: Codable, Other: Codable {}
extension PredicateExpressions.StringLocalizedCompare: Codable where Root: Codable, Other: Codable {}
extension PredicateExpressions.StringCaseInsensitiveCompare: Codable where Root: Codable, Other: Codable {}

extension PredicateExpressions.StringLocalizedStandardContains: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
extension PredicateExpressions.StringLocalizedCompare: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
extension PredicateExpressions.StringCaseInsensitiveCompare: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
