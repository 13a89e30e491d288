// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A store that carries out batch requests without objects, each in one transaction.
///
/// The coordinator's lock is held during all calls.
protocol BatchStore: RowStore {
  /// Runs a batch request in a transaction of its own.
  ///
  /// - Throws: `NotExpressibleInSQL` for a query that SQL cannot express; the errors of the request. Nothing has been
  ///   written then.
  func batch<Result>(_ derivations: Derivations, _ body: (BatchRun) throws -> Result) throws -> Result
}

extension SQLiteStore: BatchStore {
  func batch<Result>(_ derivations: Derivations, _ body: (BatchRun) throws -> Result) throws -> Result {
    let state = try writableState()
    isInBatch = true
    defer { isInBatch = false }
    return try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      let mark = state.external.mark
      do {
        let result = try state.connection.transaction {
          let run = BatchRun(state, derivations: derivations, origin: origin)
          let result = try body(run)
          try run.finish()
          return result
        }
        state.external.didCommit { try state.connection.synchronizeCommit() }
        return result
      } catch let error as InvalidPattern {
        state.external.didRollBack(to: mark)
        throw BatchErrors.badRequest(
          EvaluationError.invalidPattern(error.pattern).description, entity: nil,
          suggestion: "Correct the predicate of the request.")
      } catch {
        state.external.didRollBack(to: mark)
        throw error
      }
    }
  }
}
