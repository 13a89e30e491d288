// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Interrupts one thread's reads of stores from another thread: those of an asynchronous fetch that is cancelled.
///
/// Only reads on connections of their own are interrupted. The connection that writes may be in the middle of a save.
package final class ReadInterruption: @unchecked Sendable {
  /// The interruption for the reads of the current task.
  @TaskLocal package static var current: ReadInterruption?

  private let lock = NSLock()
  /// Whether reads are to be interrupted. Guarded by `lock`, as is `connection`.
  private var isWanted = false
  /// The connection that is reading.
  private var connection: (any ReadingConnection)?

  package init() {}

  /// Interrupts the read in progress, if any, and all later ones. Returns immediately.
  package func interrupt() {
    lock.withLock { isWanted = true }
    // Interrupting a server takes a network request.
    DispatchQueue.global().async { [self] in lock.withLock { connection?.interrupt() } }
  }

  /// Throws if the reads have been interrupted.
  ///
  /// - Throws: 3072.
  package func check() throws {
    guard lock.withLock({ isWanted }) else { return }
    throw StoreErrors.fetchCancelled()
  }

  /// Runs a body that reads from a connection.
  ///
  /// - Throws: 3072 if the reads have been interrupted: the body's result may come from an interrupted connection, and
  ///   that connection must not be used again.
  func during<Result>(_ connection: any ReadingConnection, _ body: () throws -> Result) throws -> Result {
    try check()
    lock.withLock { self.connection = connection }
    let result: Swift.Result<Result, any Error> = Swift.Result { try body() }
    lock.withLock { self.connection = nil }
    try check()
    return try result.get()
  }
}
