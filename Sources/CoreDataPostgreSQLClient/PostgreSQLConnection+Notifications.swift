// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// What a transaction, of this connection or another, has sent by `NOTIFY` or `pg_notify`.
package struct PostgreSQLNotification: Hashable, Sendable {
  package let channel: String
  package let payload: String
  /// The server's process for the connection that has sent it.
  package let processID: Int
}

extension PostgreSQLConnection {
  /// Begins to receive the notifications of a channel.
  package func listen(_ channel: String) throws { try execute("LISTEN \(Self.quoted(channel))") }

  /// Waits for notifications.
  ///
  /// - Parameter seconds: how long.
  /// - Returns: those that have come; empty for none, or if `wake()` was called.
  package func notifications(waitingUpTo seconds: Double) throws -> [PostgreSQLNotification] {
    let handle = try open()
    let deadline = Date(timeIntervalSinceNow: seconds)
    while true {
      // Some may have come with the result of a statement.
      let found = received(handle)
      if !found.isEmpty { return found }
      guard try wait(handle, for: Int16(POLLIN), until: deadline, wakeable: true) else { return [] }
      guard cpq_PQconsumeInput(handle) == 1 else { throw failure(nil) }
    }
  }

  /// Ends `notifications(waitingUpTo:)` on another thread; if none is waiting, the next call.
  package func wake() throws { try waker.wake() }

  private func received(_ handle: OpaquePointer) -> [PostgreSQLNotification] {
    var found: [PostgreSQLNotification] = []
    while let pointer = cpq_next_notification(handle) {
      let notification = pointer.pointee
      found.append(
        PostgreSQLNotification(
          channel: String(cString: notification.channel), payload: String(cString: notification.payload),
          processID: Int(notification.process)))
      cpq_PQfreemem(pointer)
    }
    return found
  }
}
