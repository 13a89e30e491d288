// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

/// A pinned generation of a store: a transaction on its own connection that reads a single snapshot. Until it ends, the
/// server keeps the row versions visible to it.
final class SchemaGeneration: StoreGeneration {
  private let url: URL?
  // Contexts on several threads may be pinned to the same generation.
  private let lock = NSLock()
  private var opened: OpenedSchema?

  fileprivate init(_ opened: OpenedSchema, url: URL?) { (self.opened, self.url) = (opened, url) }

  deinit { close() }

  /// Ends the transaction.
  func close() {
    lock.withLock {
      opened?.end()
      opened = nil
    }
  }

  func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result {
    try lock.withLock {
      guard let opened else {
        throw StoreErrors.disconnected(
          url: url, reason: "The query generation ended when its store was closed, destroyed or replaced.")
      }
      opened.noteIdentity()
      return try PostgreSQLErrors.translating(url: url, isOpening: false) {
        // Use a savepoint: a failing statement would end the transaction and with it the snapshot.
        try opened.connection.transaction { try body(opened) }
      }
    }
  }
}

/// A generation that contexts or tokens may have released.
struct WeakSchemaGeneration {
  weak var value: SchemaGeneration?
}

extension PostgreSQLStore: GenerationalStore {
  func openGeneration() throws -> any StoreGeneration {
    try asking { state in
      let connection = try PostgreSQLConnection(address(), applicationName: ProcessInfo.processInfo.processName)
      do {
        try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        // The first query takes the snapshot.
        _ = try connection.query("SELECT 1")
      } catch {
        connection.close()
        throw error
      }
      let opened = try OpenedSchema(
        connection, schema: address().schema, entities: StoredEntities(sharing: state.entities), isOwned: true)
      opened.isInTransaction = false
      let generation = SchemaGeneration(opened, url: url)
      generations.removeAll { $0.value == nil }
      generations.append(WeakSchemaGeneration(value: generation))
      return generation
    }
  }

  /// Ends all generations of the store, which is being closed.
  func closeGenerations() {
    for generation in generations { generation.value?.close() }
    generations = []
  }
}
