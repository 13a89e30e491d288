// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

extension PostgreSQLStore {
  /// Pins the current state in a transaction on a connection of its own. Until it ends, the server keeps the row
  /// versions visible to it.
  func openGeneration() throws -> any StoreGeneration {
    try withState { state in
      let connection = try PostgreSQLConnection(address(), applicationName: ProcessInfo.processInfo.processName)
      do {
        if let identity = state.identity {
          try identity.beginSnapshot(on: connection)
        } else {
          try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
          // The first query takes the snapshot.
          _ = try connection.query("SELECT 1")
        }
      } catch {
        connection.close()
        throw error
      }
      let opened = try OpenedSchema(
        connection, schema: address().schema, entities: StoredEntities(sharing: state.entities), isOwned: true)
      return generations.add(opened, url: url)
    }
  }
}
