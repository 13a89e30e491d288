// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A bounded producer/consumer queue whose producer runs on its own thread.
package final class ParallelValues<Value>: @unchecked Sendable {
  private let condition = NSCondition()
  private let limit: Int
  /// The produced values that `next()` has not returned yet. `condition` guards this and the following properties.
  private var waiting: [Value] = []
  private var hasEnded = false
  private var failure: (any Error)?
  private var isStopped = false
  private var work: ParallelWork<Void>?

  /// Creates the queue and starts its producer.
  ///
  /// - Parameters:
  ///   - limit: The capacity of the queue. A thread that has to wait resumes when the queue is half full, because
  ///     waking a thread costs as much as producing a small value.
  ///   - make: Returns the next value, or nil at the end. Other threads must not use what it uses before `stop()`
  ///     returns.
  package init(limit: Int, _ make: @escaping () throws -> Value?) {
    self.limit = limit
    nonisolated(unsafe) let make = make
    work = ParallelWork { [self] in
      do {
        while let value = try make(), give(value) {}
      } catch {
        condition.withLock { failure = error }
      }
      condition.withLock {
        hasEnded = true
        condition.signal()
      }
    }
  }

  /// Returns the next value, waiting for it if necessary, or nil at the end.
  ///
  /// - Throws: The error of the producer, after the values before it.
  package func next() throws -> Value? {
    try condition.withLock {
      if waiting.isEmpty {
        while waiting.count < (limit + 1) / 2, !hasEnded { condition.wait() }
      }
      if waiting.isEmpty {
        if let failure { throw failure }
        return nil
      }
      let value = waiting.removeFirst()
      if waiting.count == limit / 2 { condition.signal() }
      return value
    }
  }

  /// Stops the producer and waits until its thread no longer uses anything.
  package func stop() {
    condition.withLock {
      isStopped = true
      condition.signal()
    }
    // The work catches its errors and stores them in `failure`.
    try? work?.wait()
    work = nil
  }

  /// Appends a value, waiting while the queue is full.
  ///
  /// - Returns: false if the queue was stopped.
  private func give(_ value: Value) -> Bool {
    condition.withLock {
      if waiting.count >= limit {
        while waiting.count > limit / 2, !isStopped { condition.wait() }
      }
      waiting.append(value)
      if waiting.count == (limit + 1) / 2 { condition.signal() }
      return !isStopped
    }
  }
}
