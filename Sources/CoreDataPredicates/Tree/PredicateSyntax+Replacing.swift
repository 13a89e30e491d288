// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension PredicateSyntax {
  /// Returns the predicate with some of its expressions replaced.
  ///
  /// - Parameter replacement: returns what to put in the place of an expression; nil to look at its parts instead.
  package func replacing(_ replacement: (ExpressionSyntax) throws -> ExpressionSyntax?) rethrows -> PredicateSyntax {
    switch self {
    case .constant: return self
    case .comparison(var comparison):
      comparison.left = try comparison.left.replacing(replacement)
      comparison.right = try comparison.right.replacing(replacement)
      return .comparison(comparison)
    case .and(let operands): return .and(try operands.map { try $0.replacing(replacement) })
    case .or(let operands): return .or(try operands.map { try $0.replacing(replacement) })
    case .not(let operand): return .not(try operand.replacing(replacement))
    }
  }
}

extension ExpressionSyntax {
  /// Returns the expression, or what replaces it or its parts.
  package func replacing(_ replacement: (ExpressionSyntax) throws -> ExpressionSyntax?) rethrows -> ExpressionSyntax {
    if let replaced = try replacement(self) { return replaced }
    switch self {
    case .constant, .evaluatedObject, .variable, .keyPath, .anyKey: return self
    case .keyPathOf(let operand, let path): return .keyPathOf(try operand.replacing(replacement), path)
    case .function(let operand, let name, let arguments):
      return .function(
        operand: try operand?.replacing(replacement), name: name,
        arguments: try arguments.map { try $0.replacing(replacement) })
    case .aggregate(let elements): return .aggregate(try elements.map { try $0.replacing(replacement) })
    case .union(let left, let right):
      return .union(try left.replacing(replacement), try right.replacing(replacement))
    case .intersect(let left, let right):
      return .intersect(try left.replacing(replacement), try right.replacing(replacement))
    case .minus(let left, let right):
      return .minus(try left.replacing(replacement), try right.replacing(replacement))
    case .subquery(let collection, let variable, let predicate):
      return .subquery(
        collection: try collection.replacing(replacement), variable: variable,
        predicate: try predicate.replacing(replacement))
    case .conditional(let condition, let whenTrue, let whenFalse):
      return .conditional(
        try condition.replacing(replacement), try whenTrue.replacing(replacement),
        try whenFalse.replacing(replacement))
    case .fetch(let request, let context, let countOnly):
      return .fetch(
        request: try request.replacing(replacement), context: try context.replacing(replacement), countOnly: countOnly)
    }
  }
}
