// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Ends the reads that one thread makes of stores, at the wish of another thread: those of an asynchronous fetch that is
/// cancelled.
///
/// Only reads by connections of their own are ended. The connection that writes may be in the middle of a save.
package final class ReadInterruption: @unchecked Sendable {
  /// That of the reads which the current thread makes.
  @TaskLocal package static var current: ReadInterruption?

  private let lock = NSLock()
  /// Guarded by `lock`, as is `connection`.
  private var isWanted = false
  /// The connection that is reading.
  private var connection: (any ReadingConnection)?

  package init() {}

  /// Ends the read that is in progress, if there is one, and all that follow. Returns at once.
  package func interrupt() {
    lock.withLock { isWanted = true }
    // A server is asked over the network.
    DispatchQueue.global().async { [self] in lock.withLock { connection?.interrupt() } }
  }

  /// - Throws: 3072 if the reads are to end.
  package func check() throws {
    guard lock.withLock({ isWanted }) else { return }
    throw NSError.cocoa(
      CocoaError.Code.userCancelled.rawValue, "The fetch was cancelled.",
      reason: "Its progress or its result was told to cancel.", suggestion: "Execute the request again.")
  }

  /// Runs a body that reads by a connection.
  ///
  /// - Throws: 3072 if the reads are to end: what the body has returned may be of an interrupted connection, and that
  ///   connection must not be used again.
  func during<Result>(_ connection: any ReadingConnection, _ body: () throws -> Result) throws -> Result {
    try check()
    lock.withLock { self.connection = connection }
    let result: Swift.Result<Result, any Error> = Swift.Result { try body() }
    lock.withLock { self.connection = nil }
    try check()
    return try result.get()
  }
}
