// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTracing
import Foundation

extension NSManagedObjectContext {
  /// Runs a body whose statements are reported as parts of a request of this context.
  ///
  /// Requests of a child are those of the context at the root of its tree, which executes them.
  @inline(__always)
  func tracing<Result>(_ kind: StatementOrigin.Kind, _ body: () throws -> Result) rethrows -> Result {
    StatementTracing.needsOrigins ? try report(kind, body) : try body()
  }

  private func report<Result>(_ kind: StatementOrigin.Kind, _ body: () throws -> Result) rethrows -> Result {
    try StatementTracing.reporting(
      kind, context: ObjectIdentifier(self), name: name ?? persistentStoreCoordinator?.migrationStageLabel,
      author: transactionAuthor, body)
  }
}
