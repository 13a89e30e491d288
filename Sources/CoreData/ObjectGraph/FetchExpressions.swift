// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension NSManagedObjectContext: FetchEvaluating {
  func evaluateFetch(_ request: Any?, countOnly: Bool) throws -> Any? {
    guard let request = request as? any AnyFetchRequest else {
      throw EvaluationError.wrongType("FETCH", value: Operand.description(request), expected: "a fetch request")
    }
    var specification = request.specification
    if countOnly { specification.resultType = .countResultType }
    let results = try results(of: specification, affectedStores: request.affectedStores)
    return countOnly ? results.first : results
  }
}

extension PredicateSyntax {
  /// Returns the predicate with the results of the fetches in it, so that no fetch is made for each object again.
  func evaluatingFetches() throws -> PredicateSyntax {
    try replacing { expression in
      guard case .fetch(.constant, .constant, let countOnly) = expression else { return nil }
      let value = try PredicateEvaluator().value(expression, with: nil)
      guard !countOnly, let results = value as? [Any] else { return .constant(PlainValue(value ?? NSNull())) }
      return .constant(.array(results.map(PredicateSyntax.element)))
    }
  }

  /// A result of a fetch as an element of a collection: an object by its identifier, a dictionary of one value by that.
  private static func element(_ result: Any) -> PlainValue {
    switch result {
    case let object as NSManagedObject: .object(.init(object.objectID))
    case let dictionary as NSDictionary where dictionary.count == 1: PlainValue(dictionary.allValues[0])
    case let other: PlainValue(other)
    }
  }
}
