// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What an evaluator reads keys from. Managed objects are of this kind; dictionaries and collections need not be.
internal protocol KeyValueReading {
  /// The value of one key of a key path; nil where it has none.
  ///
  /// - Throws: `EvaluationError.unknownKey` or an error of its own if there is no such key.
  func value(forKeyPathComponent key: String) throws -> Any?
}

/// What has an identifier that a predicate may name instead of it.
internal protocol ObjectIdentified {
  var objectID: NSManagedObjectID { get }
}

/// What `FUNCTION(operand, "name:", …)` calls: a migration manager, a policy, a block.
internal protocol FunctionProviding {
  func callFunction(_ name: String, arguments: [Any?]) throws -> Any?
}

/// What runs `FETCH(request, context, countOnly)`: a managed object context.
internal protocol FetchEvaluating {
  func evaluateFetch(_ request: Any?, countOnly: Bool) throws -> Any?
}
