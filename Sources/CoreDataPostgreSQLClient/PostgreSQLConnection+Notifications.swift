// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// A notification that a transaction of this or another connection has sent with `NOTIFY` or `pg_notify`.
package struct PostgreSQLNotification: Hashable, Sendable {
  package let channel: String
  package let payload: String
  /// The ID of the server process of the sending connection.
  package let processID: Int
}

extension PostgreSQLConnection {
  /// Starts receiving the notifications of a channel.
  package func listen(_ channel: String) throws { try execute("LISTEN \(Self.quoted(channel))") }

  /// Waits for notifications.
  ///
  /// - Parameter seconds: The maximum time to wait.
  /// - Returns: The notifications received; empty if none arrived in time or `wake()` was called.
  package func notifications(waitingUpTo seconds: Double) throws -> [PostgreSQLNotification] {
    let handle = try open()
    let deadline = Date(timeIntervalSinceNow: seconds)
    while true {
      // Some may have arrived with the result of a statement.
      let found = received(handle)
      if !found.isEmpty { return found }
      guard try wait(handle, for: Int16(POLLIN), until: deadline, wakeable: true) else { return [] }
      guard cpq_PQconsumeInput(handle) == 1 else { throw failure(nil) }
    }
  }

  /// Makes `notifications(waitingUpTo:)` return on another thread. If no thread is waiting, its next call returns at
  /// once.
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
