// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
}

/// The connections that contexts read a store by, beside the one that writes, so that no read waits for another, or for a
/// save, and none holds up a save.
///
/// Each read sees what was committed when it began: the database keeps that state for it. A connection is opened when
/// all others are busy. Whatever fails here is read again by the connection that writes, whose error counts.
package final class ReadingConnections<Reader: ReadingConnection>: @unchecked Sendable {
  /// The number of idle connections that are kept.
  private static var idleLimit: Int { 4 }

  package init() {}

  private let condition = NSCondition()
  /// Opens a connection; nil while there must be none.
  private var open: (() throws -> Reader?)?
  // The lock prevents overlapping accesses, and every fault comes here.
  @exclusivity(unchecked) private var idle: [Reader] = []
  @exclusivity(unchecked) private var busyCount = 0
  @exclusivity(unchecked) private var pauseCount = 0

  /// Allows reads.
  package func begin(_ open: @escaping () throws -> Reader?) {
    condition.withLock { (self.open, pauseCount) = (open, 0) }
  }

  /// Waits for the reads that are in progress, and closes all connections.
  package func end() {
    let closing = condition.withLock {
      open = nil
      while busyCount > 0 { condition.wait() }
      defer { idle = [] }
      return idle
    }
    for reader in closing { reader.end() }
  }

  /// Has reads use the connection that writes until `resume()`, because it is in a transaction of which they are a part.
  package func pause() { condition.withLock { pauseCount += 1 } }

  package func resume() { condition.withLock { pauseCount = max(pauseCount - 1, 0) } }

  /// Reads by a connection that nobody else uses meanwhile; nil if there is none, or if reading fails.
  package func reading<Result>(_ body: (any RowSource) throws -> Result) -> Result? {
    guard let reader = take() else { return nil }
    reader.noteIdentity()
    do {
      let result: Result
      if let interruption = ReadInterruption.current {
        result = try interruption.during(reader) { try body(reader) }
      } else {
        result = try body(reader)
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

  private func take() -> Reader? {
    condition.lock()
    guard let open, pauseCount == 0 else {
      condition.unlock()
      return nil
    }
    busyCount += 1
    let known = idle.popLast()
    condition.unlock()
    if let known { return known }
    // As above, what prevents a connection is met again, and thrown, by the one that writes.
    if let opened = try? open() { return opened }
    giveBack(nil)
    return nil
  }

  private func giveBack(_ reader: Reader?) {
    condition.lock()
    let isKept = reader != nil && idle.count < Self.idleLimit
    if let reader, isKept { idle.append(reader) }
    if !isKept { reader?.end() }
    busyCount -= 1
    condition.broadcast()
    condition.unlock()
  }
}
