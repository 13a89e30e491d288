// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Dispatch
import Foundation
import Synchronization

/// Work on a thread of its own, while the caller does something else and then waits for it.
///
/// When the waiting ends, the thread has let go of all that the work uses: the last reference to a statement or a connection must
/// not go while the caller uses, or closes, the connection.
package final class ParallelWork<Outcome: Sendable>: Sendable {
  private let outcome = Mutex<Result<Outcome, any Error>?>(nil)
  private let end = DispatchGroup()
  /// Nil once the work has begun.
  private let body: Mutex<(@Sendable () throws -> Outcome)?>

  package init(_ body: @escaping @Sendable () throws -> Outcome) {
    self.body = Mutex(body)
    end.enter()
    Thread.detachNewThread { [self] in
      run()
      end.leave()
    }
  }

  /// A function of its own, so that the body is released before it returns.
  @inline(never)
  private func run() {
    let body = body.withLock { $0.take() }
    let result = body.map { Result(catching: $0) }
    outcome.withLock { $0 = result }
  }

  /// Waits for the end of the work.
  ///
  /// - Throws: what the work has thrown.
  package func wait() throws -> Outcome {
    end.wait()
    guard let result = outcome.withLock({ $0 }) else { trap("The work ends with an outcome.") }
    return try result.get()
  }
}
