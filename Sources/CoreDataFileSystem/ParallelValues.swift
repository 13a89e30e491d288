// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Values that are made one after the other on a thread of its own, while the caller uses those made before.
package final class ParallelValues<Value>: @unchecked Sendable {
  private let condition = NSCondition()
  private let limit: Int
  /// What has been made and not been asked for. The condition guards it, and the following.
  private var waiting: [Value] = []
  private var hasEnded = false
  private var failure: (any Error)?
  private var isStopped = false
  private var work: ParallelWork<Void>?

  /// Begins to make values.
  ///
  /// - Parameters:
  ///   - limit: how many values may wait. Whichever thread has to wait for the other does so until half of them have been made
  ///     or taken, since waking a thread takes as long as making a small value.
  ///   - make: makes the next value; nil at the end. What it uses must not be used by others until `stop()`.
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

  /// Returns the next value, and waits for it if necessary; nil at the end.
  ///
  /// - Throws: what making it has thrown.
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

  /// Has no more values made, and waits until the thread has ended.
  package func stop() {
    condition.withLock {
      isStopped = true
      condition.signal()
    }
    // The work keeps what goes wrong as `failure`.
    try? work?.wait()
    work = nil
  }

  /// Waits until there is room.
  ///
  /// - Returns: whether more is wanted.
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
