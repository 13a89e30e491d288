// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension PredicateSyntax {
  /// Returns the predicate with its `FETCH` expressions replaced by their results, so that each is evaluated once and
  /// not for every object, and stores get lists of objects. Comparisons of constants, such as `1 == 1`, are replaced by
  /// their results.
  ///
  /// A request that depends on the evaluated object is left for the in-memory evaluation.
  ///
  /// - Throws: the errors of the fetches.
  func evaluatingConstants() throws -> PredicateSyntax {
    try replacing { expression in
      guard case .fetch(request: .constant, context: .constant, let countOnly) = expression else { return nil }
      let result = try PredicateEvaluator().value(expression, with: nil)
      guard !countOnly, let results = result as? [Any] else { return .constant(result.map { PlainValue($0) } ?? .null) }
      return .constant(.array(results.map(PredicateSyntax.element)))
    }.evaluatingComparisons()
  }

  /// Returns a fetch result as an element of a collection: an object as its identifier, a dictionary with one value as
  /// that value.
  private static func element(_ result: Any) -> PlainValue {
    switch result {
    case let object as NSManagedObject: .object(.init(object.objectID))
    case let dictionary as NSDictionary where dictionary.count == 1: PlainValue(dictionary.allValues[0])
    case let other: PlainValue(other)
    }
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
        // The in-memory evaluation throws the error if it reaches the comparison.
        return self
      }
    }
  }
}
