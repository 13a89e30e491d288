// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The inferred mappings between versions, each computed once, when it is first needed.
package final class InferredSteps {
  private struct Pair: Hashable {
    let source: Int
    let destination: Int
  }

  package let sides: [ModelSide]
  private var results: [Pair: Result<InferredMapping, any Error>] = [:]

  package init(_ versions: [ModelVersion]) {
    sides = versions.map { ModelSide($0.document, hashes: $0.hashes) }
  }

  /// The mapping between two versions, or the reason why it cannot be inferred.
  package func result(from source: Int, to destination: Int) -> Result<InferredMapping, any Error> {
    let pair = Pair(source: source, destination: destination)
    if let known = results[pair] { return known }
    let result = Result { try MappingInference(source: sides[source], destination: sides[destination]).run() }
    results[pair] = result
    return result
  }

  /// The mapping between two versions; nil where none can be inferred.
  package func mapping(from source: Int, to destination: Int) -> InferredMapping? {
    guard case .success(let mapping) = result(from: source, to: destination) else { return nil }
    return mapping
  }
}
