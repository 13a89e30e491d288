// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
}

extension ExpressionSyntax {
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
      return .conditional(
        condition.substituting(values), whenTrue.substituting(values), whenFalse.substituting(values))
    case .fetch(let request, let context, let countOnly):
      return .fetch(
        request: request.substituting(values), context: context.substituting(values), countOnly: countOnly)
    }
  }
}
