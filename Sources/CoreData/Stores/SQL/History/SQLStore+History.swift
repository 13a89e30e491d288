// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLStore {
  /// Prepares a newly opened store for recording, if an option requests it.
  ///
  /// A store whose history has been recorded is read-only without the option, because clients of the history would miss
  /// changes. If the whole history was deleted, their tokens expire instead.
  package func openHistory(_ opened: Connection, _ settings: StoreOptions) throws {
    guard settings.tracksHistory else {
      if try !isReadOnly && HistoryTables.arePresent(in: opened.database) {
        if try HistoryTables.areEmpty(in: opened.database), try beginUnrecorded(opened) { return }
        isReadOnly = true
        isForcedReadOnly = true
        guard Warnings.arePrinted.value else { return }
        FileHandle.standardError.write(
          Data(
            """
            CoreData: Store opened without NSPersistentHistoryTrackingKey but previously had been opened with \
            NSPersistentHistoryTrackingKey - Forcing into Read Only mode store at '\(url?.locationText ?? "")'\n
            """.utf8))
      }
      return
    }
    if isReadOnly { return }
    let history = StoreHistory(opened.entities, opened.database.dialect)
    try opened.writing {
      try excludeOtherDefinitions(opened)
      try HistoryTables.make(in: opened.database, tombstones: history.tombstoneCount)
    }
    opened.history = history
  }

  /// - Returns: false if there is history by now.
  private func beginUnrecorded(_ opened: Connection) throws -> Bool {
    try opened.writing {
      // Transactions that record history wait.
      try HistoryTables.lock(opened.database)
      return try HistoryWriter.beginUnrecorded(opened.database)
    }
  }

  /// Records the changes of a save, in the transaction that writes them, before it deletes rows.
  package func recordHistory(_ changes: [RowChange], _ opened: Connection) throws {
    guard let history = opened.history, !changes.isEmpty else { return }
    let writer = HistoryWriter(opened.database, origin: origin)
    try history.record(changes, with: writer)
    try writer.finish()
    try opened.database.flush()
  }

  package var recordsHistory: Bool { opened?.history != nil }

  package var hasHistory: Bool {
    if recordsHistory { return true }
    // If the store cannot be read, reading its history throws the error.
    return (try? reading(isSearch: false) { try HistoryTables.arePresent(in: $0.database) }) ?? true
  }

  package func lastTransaction() throws -> Int64? {
    try reading(isSearch: false) { state in
      guard try HistoryTables.arePresent(in: state.database) else { return nil }
      return try HistoryWriter.greatest(HistoryTables.transaction, state.database)
    }
  }

  package func readHistory(
    _ range: HistoryReader.Range, withChanges: Bool,
    _ body: (HistoryTransaction, [ObjectHistoryChange]) throws -> Void
  ) throws {
    try withState { state in
      try state.readingOnce {
        try history(state).read(
          range, withChanges: withChanges, in: state.database, of: self, external: state.files, body)
      }
    }
  }

  package func readHistory(
    before number: Int64, count: Int, changeLimit: Int,
    _ body: (HistoryTransaction, Int, [ObjectHistoryChange]) throws -> Void
  ) throws {
    try withState { state in
      try state.readingOnce {
        try history(state).read(
          before: number, count: count, changeLimit: changeLimit, in: state.database, external: state.files, body)
      }
    }
  }

  package func deleteHistory(before limit: HistoryLimit) throws -> Int {
    try writing(repeating: true) { try StoreHistory.delete(before: limit, in: $0.database) }
  }

  package func readStoredHistory(
    _ body: (HistoryTransaction, [(change: HistoryChange, entity: String)]) throws -> Void
  ) throws -> Int64 {
    try withState { state in
      try state.readingOnce {
        let reader = try HistoryReader(state.database)
        try reader.transactions(.all) { transaction in
          let changes = try reader.changes(of: transaction.number).compactMap { change in
            state.entities.schema.entity(number: change.entity).map { (change, $0.name) }
          }
          try body(transaction, changes)
        }
        return try reader.lastNumber()
      }
    }
  }

  package func insertHistory(
    _ transaction: HistoryTransaction, _ changes: [(change: HistoryChange, entity: String)]
  ) throws {
    try copying { state in
      try HistoryTables.make(in: state.database, tombstones: history(state).tombstoneCount)
      let writer = HistoryWriter(state.database, copying: transaction)
      try writer.recordTransaction()
      for (change, name) in changes {
        guard let entity = state.entities.schema[name] else { throw SchemaProblem.entityNotInStore(entity: name) }
        try writer.copy(change, entity: entity.number)
      }
      try writer.finish()
    }
  }

  package func continueHistory(after number: Int64) throws {
    try copying { try HistoryWriter.setGreatest(HistoryTables.transaction, number, $0.database) }
  }

  /// Returns the representation of changes, even if they are not being recorded.
  private func history(_ opened: Connection) -> StoreHistory {
    opened.history ?? StoreHistory(opened.entities, opened.database.dialect)
  }
}
