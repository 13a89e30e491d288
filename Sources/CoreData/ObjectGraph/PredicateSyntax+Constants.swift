// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension PredicateSyntax {
  /// Returns the predicate with the results of its `FETCH` expressions in their place, so that each is evaluated once
  /// and not for each object, and stores get lists of objects. Comparisons of constants, such as `1 == 1`, are replaced
  /// by their results.
  ///
  /// A request that depends on the evaluated object is left for the evaluation in memory.
  ///
  /// - Throws: The errors of the fetches.
  func evaluatingConstants() throws -> PredicateSyntax {
    try replacing { expression in
      guard case .fetch(request: .constant, context: .constant, _) = expression else { return nil }
      let result = try PredicateEvaluator().value(expression, with: nil)
      return .constant(result.map { PlainValue($0) } ?? .null)
    }.evaluatingComparisons()
  }

  private func evaluatingComparisons() -> PredicateSyntax {
    switch self {
    case .constant: return self
    case .and(let operands): return .and(operands.map { $0.evaluatingComparisons() })
    case .or(let operands): return .or(operands.map { $0.evaluatingComparisons() })
    case .not(let operand): return .not(operand.evaluatingComparisons())
    case .comparison(let comparison):
      guard case .constant = comparison.left, case .constant = comparison.right else { return self }
      do {
        return .constant(try PredicateEvaluator().evaluate(self, with: nil))
      } catch {
        // The evaluation in memory throws the error if it gets to the comparison.
        return self
      }
    }
  }
}
