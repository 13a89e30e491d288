// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTracing
import Dispatch
import Foundation

/// A read-only connection, with its knowledge of the store's layout. Used by one thread at a time.
package protocol ReadingConnection: AnyObject, RowSource {
  /// Reads the store's part of identifiers, once for the reads that follow.
  func noteIdentity()

  /// Interrupts the statement that is executing, which then fails. Called on another thread. The connection is not used
  /// again.
  func interrupt()

  /// Closes the connection. Nothing was written, so failures do not matter.
  func end()

  /// Whether using the connection for the current context takes no preparation.
  var suitsContext: Bool { get }

  /// Runs a body that reads what was committed before it began. The state may be kept for the next body.
  func readingNewest<Result>(_ body: () throws -> Result) throws -> Result

  /// Runs a body that reads the state that a transaction on the connection has pinned, and translates the errors of
  /// lower layers.
  func readingPinned<Result>(url: URL?, _ body: () throws -> Result) throws -> Result

  /// Whether the connection keeps its read state for the next read, provided that nothing is committed in between.
  var keepsState: Bool { get }

  func endKeptState()
}

extension ReadingConnection {
  package var suitsContext: Bool { true }

  package func readingNewest<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  package var keepsState: Bool { false }

  package func endKeptState() {}
}

/// A pool of read-only connections, beside the connection that writes. Reads wait neither for each other nor for a
/// save, and do not delay saves.
///
/// Each read sees what was committed when it began: the database keeps that state for it. A connection is opened when
/// all others are busy, up to a limit; further reads wait for a connection in the order in which they began. A read that
/// fails here is repeated on the connection that writes, whose error counts.
package final class ReadingConnections: @unchecked Sendable {
  /// The maximum number of idle connections.
  private static let idleLimit = 4
  /// The time for which an idle connection keeps its read state.
  private static let keepingTime = DispatchTimeInterval.milliseconds(10)
  /// The seconds for which no connection to a server is opened after an attempt has failed. A server without a free
  /// connection refuses the next ones too, and each attempt takes as long as a read.
  private static let openingPause: TimeInterval = 1
  /// The seconds for which a read waits for a connection. It then uses the one that writes, in case the reads that have
  /// the others wait for it.
  private static let longestWait: TimeInterval = 10

  package init() {}

  private let condition = NSCondition()
  /// The maximum number of connections. Reads nested in another one may exceed it.
  private var limit = Int.max
  /// Opens a connection; nil while reads are not allowed.
  private var open: (() throws -> (any ReadingConnection)?)?
  // The lock prevents overlapping accesses. Every fault takes this path.
  @exclusivity(unchecked) private var idle: [any ReadingConnection] = []
  /// The threads that are reading, each once for every nested read.
  @exclusivity(unchecked) private var busyThreads: [UInt] = []
  /// Whether a caller is waiting to close all connections.
  @exclusivity(unchecked) private var isEnding = false
  @exclusivity(unchecked) private var pauseCount = 0
  /// The reads that wait for a connection, in the order in which they began.
  @exclusivity(unchecked) private var waiting: [UInt64] = []
  private var lastTicket: UInt64 = 0
  /// The time until which no connection is opened.
  private var pauseEnd: TimeInterval = 0
  /// Whether the end of kept states has been scheduled.
  @exclusivity(unchecked) private var isEndingSoon = false

  /// Allows reads.
  package func begin(_ open: @escaping () throws -> (any ReadingConnection)?) {
    condition.withLock { (self.open, pauseCount) = (open, 0) }
  }

  /// Waits for the reads in progress, and closes all connections.
  ///
  /// Nested reads are let through. A read that makes objects runs the program's code, which may read again. Without a
  /// connection, that read would wait for the lock held by the caller, and the caller for the read.
  package func end() {
    let closing = condition.withLock {
      isEnding = true
      condition.broadcast()
      while !busyThreads.isEmpty { condition.wait() }
      (isEnding, open) = (false, nil)
      defer { idle = [] }
      return idle
    }
    for reader in closing { reader.end() }
  }

  /// Makes reads use the connection that writes until `resume()`, because they belong to its transaction.
  package func pause() {
    condition.withLock {
      pauseCount += 1
      if !waiting.isEmpty { condition.broadcast() }
    }
    endKeptStates()
  }

  package func resume() { condition.withLock { pauseCount = max(pauseCount - 1, 0) } }

  /// Reads on a connection that no other thread uses meanwhile; returns nil if there is none, or if reading fails.
  package func reading<Result>(_ body: (any RowSource) throws -> Result) -> Result? {
    guard let reader = acquire() else { return nil }
    reader.noteIdentity()
    do {
      let result: Result
      if let interruption = ReadInterruption.current {
        result = try interruption.during(reader) { try reader.readingNewest { try body(reader) } }
      } else {
        result = try reader.readingNewest { try body(reader) }
      }
      release(reader)
      return result
    } catch {
      // The caller repeats the read under the lock, and throws its error. This connection may be at fault.
      reader.end()
      release(nil)
      return nil
    }
  }

  /// Ends the states that idle connections keep, so that they do not prevent resetting the write-ahead log.
  package func endKeptStates() {
    condition.withLock {
      for reader in idle where reader.keepsState { reader.endKeptState() }
    }
  }

  private func acquire() -> (any ReadingConnection)? {
    condition.lock()
    let thread = ThreadIdentity.current
    guard let open, pauseCount == 0, !isEnding || busyThreads.contains(thread) else {
      condition.unlock()
      return nil
    }
    if idle.isEmpty || !waiting.isEmpty, !waitForConnection(thread) {
      condition.unlock()
      return nil
    }
    busyThreads.append(thread)
    let known = takeIdle()
    condition.unlock()
    if let known { return known }
    do {
      if let opened = try open() { return opened }
    } catch {
      // As above, the connection that writes meets the same obstacle, and throws it.
      condition.withLock {
        if limit < .max { pauseEnd = ProcessInfo.processInfo.systemUptime + Self.openingPause }
      }
    }
    release(nil)
    return nil
  }

  /// Returns an idle connection, preferably one that suits the current context. The lock must be held.
  private func takeIdle() -> (any ReadingConnection)? {
    if StatementTracing.needsOrigins, let position = idle.lastIndex(where: { $0.suitsContext }) {
      return idle.remove(at: position)
    }
    return idle.popLast()
  }

  private func release(_ reader: (any ReadingConnection)?) {
    condition.lock()
    if let reader {
      if idle.count < Self.idleLimit {
        idle.append(reader)
        if !isEndingSoon, reader.keepsState { endKeptStatesSoon() }
      } else {
        reader.end()
      }
    }
    // A read ends on the thread on which it began.
    if let index = busyThreads.lastIndex(of: ThreadIdentity.current) { busyThreads.remove(at: index) }
    if busyThreads.isEmpty || !waiting.isEmpty { condition.broadcast() }
    condition.unlock()
  }

  /// Schedules the end of kept states, in case nothing is read or written any more. The lock must be held.
  private func endKeptStatesSoon() {
    isEndingSoon = true
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.keepingTime) { [weak self] in
      guard let self else { return }
      condition.withLock { isEndingSoon = false }
      endKeptStates()
    }
  }

  /// Limits the number of connections.
  package func limit(to count: Int) { condition.withLock { limit = max(count, 1) } }

  /// Waits until a connection is idle or may be opened. The lock must be held.
  ///
  /// A nested read does not wait, because the connections may all be in use by reads that wait for such reads.
  ///
  /// - Returns: false if the read must use the connection that writes.
  private func waitForConnection(_ thread: UInt) -> Bool {
    let isNested = busyThreads.contains(thread)
    if isNested { return !idle.isEmpty || isEnding || ProcessInfo.processInfo.systemUptime >= pauseEnd }
    if waiting.isEmpty, busyThreads.count < limit, pauseEnd == 0 { return true }
    lastTicket += 1
    let ticket = lastTicket
    waiting.append(ticket)
    defer {
      waiting.removeAll { $0 == ticket }
      // The next one may find a connection too.
      if !waiting.isEmpty { condition.broadcast() }
    }
    let end = Date(timeIntervalSinceNow: Self.longestWait)
    while open != nil, pauseCount == 0, !isEnding {
      if waiting.first == ticket {
        if !idle.isEmpty { return true }
        let mayOpen = ProcessInfo.processInfo.systemUptime >= pauseEnd
        if mayOpen, busyThreads.count < limit { return true }
        // Without another connection there is nothing to wait for.
        if !mayOpen, busyThreads.isEmpty { return false }
      }
      if !condition.wait(until: end) { return false }
    }
    return false
  }
}
