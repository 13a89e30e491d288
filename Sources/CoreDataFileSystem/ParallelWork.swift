// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Dispatch
import Foundation
import Synchronization

/// A task that runs on its own thread while the caller does something else and then waits for it.
///
/// The thread releases everything the task captured before `wait()` returns. Otherwise it could release a statement or
/// a connection while the caller uses or closes the connection.
package final class ParallelWork<Outcome: Sendable>: Sendable {
  private let outcome = Mutex<Result<Outcome, any Error>?>(nil)
  private let end = DispatchGroup()
  /// The task; nil once it has started.
  private let body: Mutex<(@Sendable () throws -> Outcome)?>

  package init(_ body: @escaping @Sendable () throws -> Outcome) {
    self.body = Mutex(body)
    end.enter()
    Thread.detachNewThread { [self] in
      run()
      end.leave()
    }
  }

  /// Runs the task. Never inlined, so that the body is released when this function returns.
  @inline(never)
  private func run() {
    let body = body.withLock { $0.take() }
    let result = body.map { Result(catching: $0) }
    outcome.withLock { $0 = result }
  }

  /// Waits for the task to end and returns its result.
  ///
  /// - Throws: The error that the task has thrown.
  package func wait() throws -> Outcome {
    end.wait()
    guard let result = outcome.withLock({ $0 }) else { trap("The work ends with an outcome.") }
    return try result.get()
  }
}
