// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// A connection that only reads, with what is known of the store's layout. One thread at a time uses it.
package protocol ReadingConnection: AnyObject, RowSource {
  /// Asks the store for its part of identifiers, once for the reads that follow.
  func noteIdentity()

  /// Ends the statement that the connection is executing, with an error. Called on another thread; the connection is not
  /// used again.
  func interrupt()

  /// Closes the connection. Nothing was written, so that no failure matters.
  func end()

  /// Runs a body that reads what has been committed until it begins. The state that it reads may be kept for the next body.
  func readingNewest<Result>(_ body: () throws -> Result) throws -> Result

  /// Whether the connection keeps a state of the store, for the next read if nothing is committed meanwhile.
  var keepsState: Bool { get }

  func endKeptState()
}

extension ReadingConnection {
  package func readingNewest<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  package var keepsState: Bool { false }

  package func endKeptState() {}
}

/// The connections that contexts read a store by, beside the one that writes, so that no read waits for another, or for a
/// save, and none holds up a save.
///
/// Each read sees what was committed when it began: the database keeps that state for it. A connection is opened when
/// all others are busy. Whatever fails here is read again by the connection that writes, whose error counts.
package final class ReadingConnections: @unchecked Sendable {
  /// The number of idle connections that are kept.
  private static let idleLimit = 4
  /// How long an idle connection keeps a state.
  private static let keepingTime = DispatchTimeInterval.milliseconds(10)

  package init() {}

  private let condition = NSCondition()
  /// Opens a connection; nil while there must be none.
  private var open: (() throws -> (any ReadingConnection)?)?
  // The lock prevents overlapping accesses, and every fault comes here.
  @exclusivity(unchecked) private var idle: [any ReadingConnection] = []
  /// The threads that are reading, each as often as its reads are nested.
  @exclusivity(unchecked) private var busyThreads: [UInt] = []
  /// Whether somebody waits for them, to close all connections.
  @exclusivity(unchecked) private var isEnding = false
  @exclusivity(unchecked) private var pauseCount = 0
  /// Whether kept states are about to be ended.
  @exclusivity(unchecked) private var isEndingSoon = false

  /// Allows reads.
  package func begin(_ open: @escaping () throws -> (any ReadingConnection)?) {
    condition.withLock { (self.open, pauseCount) = (open, 0) }
  }

  /// Waits for the reads that are in progress, and closes all connections.
  ///
  /// A read that makes objects runs code of the program, which may read again: without a connection it would wait for the lock
  /// that the caller holds, and the caller for it.
  package func end() {
    let closing = condition.withLock {
      isEnding = true
      while !busyThreads.isEmpty { condition.wait() }
      (isEnding, open) = (false, nil)
      defer { idle = [] }
      return idle
    }
    for reader in closing { reader.end() }
  }

  /// Has reads use the connection that writes until `resume()`, because it is in a transaction of which they are a part.
  package func pause() {
    condition.withLock { pauseCount += 1 }
    endKeptStates()
  }

  package func resume() { condition.withLock { pauseCount = max(pauseCount - 1, 0) } }

  /// Reads by a connection that nobody else uses meanwhile; nil if there is none, or if reading fails.
  package func reading<Result>(_ body: (any RowSource) throws -> Result) -> Result? {
    guard let reader = take() else { return nil }
    reader.noteIdentity()
    do {
      let result: Result
      if let interruption = ReadInterruption.current {
        result = try interruption.during(reader) { try reader.readingNewest { try body(reader) } }
      } else {
        result = try reader.readingNewest { try body(reader) }
      }
      giveBack(reader)
      return result
    } catch {
      // The caller reads again, under the lock, and throws what that throws. This connection may be at fault.
      reader.end()
      giveBack(nil)
      return nil
    }
  }

  /// Ends the states that idle connections keep, so that they do not hold up the reset of a write-ahead log.
  package func endKeptStates() {
    condition.withLock {
      for reader in idle where reader.keepsState { reader.endKeptState() }
    }
  }

  private func take() -> (any ReadingConnection)? {
    condition.lock()
    let thread = ThreadIdentity.current
    guard let open, pauseCount == 0, !isEnding || busyThreads.contains(thread) else {
      condition.unlock()
      return nil
    }
    busyThreads.append(thread)
    let known = idle.popLast()
    condition.unlock()
    if let known { return known }
    // As above, what prevents a connection is met again, and thrown, by the one that writes.
    if let opened = try? open() { return opened }
    giveBack(nil)
    return nil
  }

  private func giveBack(_ reader: (any ReadingConnection)?) {
    condition.lock()
    if let reader {
      if idle.count < Self.idleLimit {
        idle.append(reader)
        if !isEndingSoon, reader.keepsState { endKeptStatesSoon() }
      } else {
        reader.end()
      }
    }
    // A read ends on the thread on which it has begun.
    if let index = busyThreads.lastIndex(of: ThreadIdentity.current) { busyThreads.remove(at: index) }
    if busyThreads.isEmpty { condition.broadcast() }
    condition.unlock()
  }

  /// Has the states that idle connections keep ended soon, though nothing is read or written any more. The lock must be
  /// held.
  private func endKeptStatesSoon() {
    isEndingSoon = true
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.keepingTime) { [weak self] in
      guard let self else { return }
      condition.withLock { isEndingSoon = false }
      endKeptStates()
    }
  }
}
