// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore: HistoryStore {
  /// Prepares a newly opened file for recording, if an option requests it.
  ///
  /// A store whose history has been recorded is read-only without the option, because clients of the history would miss
  /// changes. If the whole history was deleted, their tokens expire instead.
  package func openHistory(_ opened: Opened, _ settings: StoreOptions) throws {
    guard settings.tracksHistory else {
      if try !isReadOnly && HistoryTables.arePresent(in: opened.connection) {
        if try HistoryTables.areEmpty(in: opened.connection),
          try opened.writing({ try HistoryWriter.beginUnrecorded(opened.connection) })
        {
          return
        }
        isReadOnly = true
        isForcedReadOnly = true
        let path = url?.path ?? ""
        FileHandle.standardError.write(
          Data(
            """
            CoreData: Store opened without NSPersistentHistoryTrackingKey but previously had been opened with \
            NSPersistentHistoryTrackingKey - Forcing into Read Only mode store at '\(path)'\n
            """.utf8))
      }
      return
    }
    if isReadOnly { return }
    let history = StoreHistory(opened.entities, .sqlite)
    try opened.writing { try HistoryTables.make(in: opened.connection, tombstones: history.tombstoneCount) }
    opened.history = history
  }

  /// Continues the transaction numbers of another store's history, which this store replaces.
  package func continueNumbers(of other: SQLiteStore) throws {
    guard let last = try other.lastTransaction(), last > 0 else { return }
    try continueHistory(after: last)
  }

  package func continueHistory(after number: Int64) throws {
    try asking { state in
      try state.writing { try HistoryWriter.setGreatest(HistoryTables.transaction, number, state.connection) }
    }
  }

  /// Records the changes of a save, in the transaction that writes them.
  package func recordHistory(_ changes: [RowChange], _ state: Opened) throws {
    guard let history = state.history, !changes.isEmpty else { return }
    let writer = HistoryWriter(state.connection, origin: origin)
    try history.record(changes, with: writer)
    try writer.finish()
  }

  package var recordsHistory: Bool { opened?.history != nil }

  package var hasHistory: Bool {
    if recordsHistory { return true }
    // If the file cannot be read, reading its history throws the error.
    return (try? reading { try HistoryTables.arePresent(in: $0.connection) }) ?? true
  }

  package func lastTransaction() throws -> Int64? {
    try reading { state in
      guard try HistoryTables.arePresent(in: state.connection) else { return nil }
      return try HistoryWriter.greatest(HistoryTables.transaction, state.connection)
    }
  }

  package func readHistory(
    _ range: HistoryReader.Range, withChanges: Bool,
    _ body: (HistoryTransaction, [ObjectHistoryChange]) throws -> Void
  ) throws {
    try asking { state in
      let history = state.history ?? StoreHistory(state.entities, .sqlite)
      try state.readingOnce {
        try history.read(
          range, withChanges: withChanges, in: state.connection, of: self, external: state.external, body)
      }
    }
  }

  package func deleteHistory(before limit: HistoryLimit) throws -> Int {
    let state = try writableState()
    return try translating {
      try repeatingIfFull(state) {
        try state.writing { try StoreHistory.delete(before: limit, in: state.connection) }
      }
    }
  }
}

extension SQLiteStore: HistoryCopying {
  package func readStoredHistory(
    _ body: (HistoryTransaction, [(change: HistoryChange, entity: String)]) throws -> Void
  ) throws -> Int64 {
    try asking { state in
      try state.readingOnce {
        let reader = try HistoryReader(state.connection)
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
    try asking { state in
      let history = state.history ?? StoreHistory(state.entities, .sqlite)
      try HistoryTables.make(in: state.connection, tombstones: history.tombstoneCount)
      let writer = HistoryWriter(state.connection, copying: transaction)
      try writer.recordTransaction()
      for (change, name) in changes {
        guard let entity = state.entities.schema[name] else { throw SchemaProblem.entityNotInStore(entity: name) }
        try writer.copy(change, entity: entity.number)
      }
      try writer.finish()
    }
  }
}
