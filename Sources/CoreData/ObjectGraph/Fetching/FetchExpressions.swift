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
    let results = try results(of: specification, affectedStores: specification.affectedStores)
    return countOnly ? results.first : results
  }
}
