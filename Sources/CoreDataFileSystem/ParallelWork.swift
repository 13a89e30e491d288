// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization

/// Work on a thread of its own, while the caller does something else and then waits for it.
package final class ParallelWork<Outcome: Sendable>: Sendable {
  private let outcome = Mutex<Result<Outcome, any Error>?>(nil)
  private let end = DispatchGroup()

  package init(_ body: @escaping @Sendable () throws -> Outcome) {
    end.enter()
    Thread.detachNewThread { [self] in
      let result = Result(catching: body)
      outcome.withLock { $0 = result }
      end.leave()
    }
  }

  /// Waits for the end of the work.
  ///
  /// - Throws: what the work has thrown.
  package func wait() throws -> Outcome {
    end.wait()
    guard let result = outcome.withLock({ $0 }) else { preconditionFailure("The work ends with an outcome.") }
    return try result.get()
  }
}
