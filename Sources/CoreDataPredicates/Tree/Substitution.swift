// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Values in place of variables.
extension PredicateSyntax {
  /// The predicate with values for its variables; those that are not named stay.
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

extension ExpressionSyntax {
  /// The expression with values for its variables; the variable of a subquery is its own.
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
