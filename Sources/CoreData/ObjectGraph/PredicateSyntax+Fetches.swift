// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension PredicateSyntax {
  /// Returns the predicate with the results of its `FETCH` expressions in their place, so that each is evaluated once and not
  /// for each object, and stores get lists of objects.
  ///
  /// A request that depends on the evaluated object is left for the evaluation in memory.
  ///
  /// - Throws: The errors of the fetches.
  func evaluatingFetches() throws -> PredicateSyntax {
    try replacing { expression in
      guard case .fetch(request: .constant, context: .constant, _) = expression else { return nil }
      let result = try PredicateEvaluator().value(expression, with: nil)
      return .constant(result.map { PlainValue($0) } ?? .null)
    }
  }
}
