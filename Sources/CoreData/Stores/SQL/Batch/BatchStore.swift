// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A store that executes batch requests without objects, each in one transaction.
///
/// The coordinator's lock is held during all calls.
package protocol BatchStore: RowStore {
  /// Runs a batch request in a transaction of its own.
  ///
  /// - Throws: `NotExpressibleInSQL` for a query that SQL cannot express; the errors of the request. On an error,
  ///   nothing has been written.
  func batch<Result>(_ derivations: Derivations, _ body: (BatchRun) throws -> Result) throws -> Result
}
