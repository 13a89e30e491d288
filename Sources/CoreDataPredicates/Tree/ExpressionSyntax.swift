// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The tree of an expression: what a parser makes, an archive holds, and an evaluator or SQL builder reads.
public indirect enum ExpressionSyntax: Hashable, Sendable {
  case constant(PlainValue)
  /// `SELF`
  case evaluatedObject
  /// `$name`, without the dollar sign.
  case variable(String)
  /// A key path from the evaluated object, collection operators included: `books.@max.price`.
  case keyPath(String)
  /// A key path from any other expression: `$source.name`, `FUNCTION(…).name`.
  case keyPathOf(ExpressionSyntax, String)
  /// `ANYKEY`
  case anyKey
  /// A predefined function (`sum:`, `add:to:`, `now`) without operand, or any function of an operand.
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
}
