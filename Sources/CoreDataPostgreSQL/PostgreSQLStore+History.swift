// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

extension PostgreSQLStore: HistoryStore {
  /// Prepares a newly opened store for recording, if an option asks for it.
  ///
  /// A store whose history has been recorded is read-only without the option, since clients of the history would not
  /// learn of changes. If the whole history was deleted, its tokens expire instead.
  func openHistory(_ opened: OpenedSchema, _ settings: StoreOptions) throws {
    // Migrations and copies write history that was recorded before.
    if borrowed != nil { return }
    guard settings.tracksHistory else {
      if try !isReadOnly && HistoryTables.arePresent(in: opened.database) {
        if try HistoryTables.areEmpty(in: opened.database), try beginUnrecorded(opened) { return }
        isReadOnly = true
        isForcedReadOnly = true
        FileHandle.standardError.write(
          Data(
            """
            CoreData: Store opened without NSPersistentHistoryTrackingKey but previously had been opened with \
            NSPersistentHistoryTrackingKey - Forcing into Read Only mode store at '\(url?.place ?? "")'\n
            """.utf8))
      }
      return
    }
    if isReadOnly { return }
    let history = StoreHistory(opened.entities, .postgreSQL)
    try opened.connection.transaction {
      // Another process may be creating the tables at the same time.
      try SchemaInDatabase(opened.connection, address(), url: url).lock()
      try HistoryTables.make(in: opened.database, tombstones: history.tombstoneCount)
      try opened.database.flush()
    }
    opened.history = history
  }

  /// - Returns: false if there is history by now.
  private func beginUnrecorded(_ opened: OpenedSchema) throws -> Bool {
    try opened.connection.transaction {
      // Transactions that record history wait.
      try HistoryTables.lock(opened.database)
      let isDone = try HistoryWriter.beginUnrecorded(opened.database)
      try opened.database.flush()
      return isDone
    }
  }

  /// Records the changes of a save, in the transaction that makes them.
  func recordHistory(_ changes: [RowChange], _ state: OpenedSchema) throws {
    guard let history = state.history, !changes.isEmpty else { return }
    let writer = HistoryWriter(state.database, origin: origin)
    try history.record(changes, with: writer)
    try writer.finish()
    // Record deleted rows while they still exist.
    try state.database.flush()
  }

  var recordsHistory: Bool { opened?.history != nil }

  var hasHistory: Bool {
    if recordsHistory { return true }
    // If the store cannot be read, reading its history reports the error.
    return (try? asking { try HistoryTables.arePresent(in: $0.database) }) ?? true
  }

  func lastTransaction() throws -> Int64? {
    try asking { state in
      guard try HistoryTables.arePresent(in: state.database) else { return nil }
      return try HistoryWriter.greatest(HistoryTables.transaction, state.database)
    }
  }

  func readHistory(
    _ range: HistoryReader.Range, withChanges: Bool,
    _ body: (HistoryTransaction, [ObjectHistoryChange]) throws -> Void
  ) throws {
    try asking { state in
      let history = state.history ?? StoreHistory(state.entities, .postgreSQL)
      try history.read(range, withChanges: withChanges, in: state.database, of: self, external: nil, body)
    }
  }

  func deleteHistory(before limit: HistoryLimit) throws -> Int {
    try writing { try StoreHistory.delete(before: limit, in: $0.database) }
  }
}
