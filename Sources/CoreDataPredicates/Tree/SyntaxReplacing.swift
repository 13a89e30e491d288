// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension PredicateSyntax {
  /// Returns the predicate with some of its expressions replaced.
  ///
  /// - Parameter transform: Returns the replacement of an expression, or nil to continue with its subexpressions.
  package func replacing(_ transform: (ExpressionSyntax) throws -> ExpressionSyntax?) throws -> PredicateSyntax {
    switch self {
    case .constant: return self
    case .comparison(var comparison):
      comparison.left = try comparison.left.replacing(transform)
      comparison.right = try comparison.right.replacing(transform)
      return .comparison(comparison)
    case .and(let operands): return .and(try operands.map { try $0.replacing(transform) })
    case .or(let operands): return .or(try operands.map { try $0.replacing(transform) })
    case .not(let operand): return .not(try operand.replacing(transform))
    }
  }
}

extension ExpressionSyntax {
  /// Returns the expression with itself or some of its subexpressions replaced.
  ///
  /// - Parameter transform: Returns the replacement of an expression, or nil to continue with its subexpressions.
  package func replacing(_ transform: (ExpressionSyntax) throws -> ExpressionSyntax?) throws -> ExpressionSyntax {
    if let replacement = try transform(self) { return replacement }
    func replaced(_ part: ExpressionSyntax) throws -> ExpressionSyntax { try part.replacing(transform) }
    switch self {
    case .constant, .evaluatedObject, .variable, .keyPath, .anyKey: return self
    case .keyPathOf(let operand, let path): return .keyPathOf(try replaced(operand), path)
    case .function(let operand, let name, let arguments):
      return .function(operand: try operand.map(replaced), name: name, arguments: try arguments.map(replaced))
    case .aggregate(let elements): return .aggregate(try elements.map(replaced))
    case .union(let left, let right): return .union(try replaced(left), try replaced(right))
    case .intersect(let left, let right): return .intersect(try replaced(left), try replaced(right))
    case .minus(let left, let right): return .minus(try replaced(left), try replaced(right))
    case .subquery(let collection, let variable, let predicate):
      return .subquery(
        collection: try replaced(collection), variable: variable, predicate: try predicate.replacing(transform))
    case .conditional(let condition, let whenTrue, let whenFalse):
      return .conditional(try condition.replacing(transform), try replaced(whenTrue), try replaced(whenFalse))
    case .fetch(let request, let context, let countOnly):
      return .fetch(request: try replaced(request), context: try replaced(context), countOnly: countOnly)
    }
  }
}
