// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// How the texts of predicates and expressions in a model source become trees.
package struct SourceParsers: Sendable {
  package var predicate: @Sendable (String) throws -> PredicateSyntax
  package var expression: @Sendable (String) throws -> ExpressionSyntax

  /// Makes a pair of parsers.
  package init(
    predicate: @escaping @Sendable (String) throws -> PredicateSyntax,
    expression: @escaping @Sendable (String) throws -> ExpressionSyntax
  ) {
    self.predicate = predicate
    self.expression = expression
  }
}

extension SourceParsers {
  /// Reads the format language of `NSPredicate` and `NSExpression`.
  package static let standard = SourceParsers(
    predicate: { try PredicateParser.parse($0) }, expression: { try PredicateParser.parseExpression($0) })
}
