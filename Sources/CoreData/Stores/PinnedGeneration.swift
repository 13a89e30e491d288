// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A state of a store in a database: a read transaction on a connection of its own.
package final class PinnedGeneration: StoreGeneration {
  private let url: URL?
  // Contexts on several threads may be pinned to the same state.
  private let lock = NSLock()
  private var connection: (any ReadingConnection)?

  fileprivate init(_ connection: any ReadingConnection, url: URL?) { (self.connection, self.url) = (connection, url) }

  deinit { close() }

  /// Ends the transaction.
  package func close() {
    lock.withLock {
      connection?.end()
      connection = nil
    }
  }

  package func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result {
    try lock.withLock {
      guard let connection else {
        throw StoreErrors.disconnected(
          url: url, reason: "The query generation ended when its store was closed, destroyed or replaced.")
      }
      connection.noteIdentity()
      return try connection.readingPinned(url: url) { try body(connection) }
    }
  }
}

/// The generations of a store that contexts or tokens may not have released.
package struct PinnedGenerations {
  private struct Entry {
    weak var generation: PinnedGeneration?
  }

  private var entries: [Entry] = []

  package init() {}

  /// Adds the state that a transaction on a connection has pinned.
  package mutating func add(_ connection: any ReadingConnection, url: URL?) -> PinnedGeneration {
    let generation = PinnedGeneration(connection, url: url)
    entries.removeAll { $0.generation == nil }
    entries.append(Entry(generation: generation))
    return generation
  }

  /// Ends all generations of a store that is being closed.
  package mutating func close() {
    for entry in entries { entry.generation?.close() }
    entries = []
  }
}
