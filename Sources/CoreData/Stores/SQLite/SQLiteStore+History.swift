// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A store that can record persistent history.
///
/// The coordinator's lock is held during all calls.
package protocol HistoryStore: RowStore {
  /// Who makes the next changes.
  var origin: HistoryOrigin { get set }
  /// Whether changes are recorded.
  var recordsHistory: Bool { get }
  /// Whether there is history to read, even if changes are not recorded.
  var hasHistory: Bool { get }

  /// Returns the number of the last transaction; nil for a store without history.
  func lastTransaction() throws -> Int64?

  /// Calls a closure with the transactions of a range and, if wanted, their changes.
  ///
  /// - Throws: 134301 if transactions of the range have been deleted.
  func readHistory(
    _ range: HistoryReader.Range, withChanges: Bool,
    _ body: (HistoryTransaction, [NSPersistentHistoryChange]) throws -> Void
  ) throws

  /// Deletes the transactions before a position.
  ///
  /// - Returns: how many were deleted.
  func deleteHistory(before limit: HistoryLimit) throws -> Int
}

/// A store whose history can be copied to another one with the same numbers of objects.
package protocol HistoryCopying: HistoryStore {
  /// Calls a closure with all transactions and their changes, as they are stored, and the number of the last transaction,
  /// even if it has been deleted.
  ///
  /// - Parameter body: gets the name of each change's entity; changes of entities that the store does not have any more are
  ///   left out.
  func readStoredHistory(
    _ body: (HistoryTransaction, [(change: HistoryChange, entity: String)]) throws -> Void
  ) throws -> Int64

  /// Adds a transaction of another store, with its numbers and its time, in the order of the numbers.
  func insertHistory(_ transaction: HistoryTransaction, _ changes: [(change: HistoryChange, entity: String)]) throws

  /// Has new transactions get numbers greater than the given one.
  func continueHistory(after number: Int64) throws
}

/// Where deleted history ends.
package enum HistoryLimit {
  case number(Int64)
  /// Seconds since the reference date.
  case time(Double)
}

extension HistoryOrigin {
  /// The origin of changes by this program.
  package init(ofProgramWithContextName contextName: String?, author: String? = nil) {
    let process = ProcessInfo.processInfo.processName
    self.init(
      author: author, contextName: contextName, bundle: Bundle.main.bundleIdentifier ?? process, process: process)
  }
}

extension SQLiteStore: HistoryStore {
  /// Prepares a newly opened file for recording, if an option asks for it.
  ///
  /// A store whose history has been recorded is read-only without the option, since clients of the history would not
  /// learn of changes.
  package func openHistory(_ opened: Opened, _ settings: StoreOptions) throws {
    guard settings.tracksHistory else {
      if try !isReadOnly && HistoryTables.arePresent(in: opened.connection) {
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
    let history = StoreHistory(opened.entities)
    try HistoryTables.make(in: opened.connection, tombstones: history.tombstoneCount)
    opened.history = history
  }

  /// Continues the numbers of another store's history, which this one replaces.
  package func continueNumbers(of other: SQLiteStore) throws {
    guard let last = try other.lastTransaction(), last > 0 else { return }
    try continueHistory(after: last)
  }

  package func continueHistory(after number: Int64) throws {
    try asking { state in
      let entity = HistoryTables.transaction
      try state.connection.run(
        "INSERT OR REPLACE INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, 0, ?)",
        [.integer(entity.number), .text(entity.name), .integer(number)])
    }
  }

  /// Records the changes of a save, in the transaction that makes them.
  package func recordHistory(_ changes: [RowChange], _ state: Opened) throws {
    guard let history = state.history, !changes.isEmpty else { return }
    let writer = HistoryWriter(state.connection, origin: origin)
    try history.record(changes, with: writer)
    try writer.finish()
  }

  package var recordsHistory: Bool { opened?.history != nil }

  package var hasHistory: Bool {
    if recordsHistory { return true }
    // If the file cannot be read, reading its history throws the reason.
    return (try? asking { try HistoryTables.arePresent(in: $0.connection) }) ?? true
  }

  package func lastTransaction() throws -> Int64? {
    try asking { state in
      guard try HistoryTables.arePresent(in: state.connection) else { return nil }
      return try HistoryWriter.greatest(HistoryTables.transaction, state.connection)
    }
  }

  package func readHistory(
    _ range: HistoryReader.Range, withChanges: Bool,
    _ body: (HistoryTransaction, [NSPersistentHistoryChange]) throws -> Void
  ) throws {
    try asking { state in
      // All queries see the same state of the store.
      try state.connection.transaction(.deferred) {
        let reader = try HistoryReader(state.connection)
        if case .after(let number) = range, try reader.isGap(after: number) {
          throw HistoryErrors.expired(url: url, number: number, last: try reader.lastNumber())
        }
        let facts = state.history ?? StoreHistory(state.entities)
        try reader.transactions(range) { transaction in
          guard withChanges else { return try body(transaction, []) }
          let bare = NSPersistentHistoryTransaction(transaction, store: identifier ?? "", changes: nil)
          let changes = try reader.changes(of: transaction.number).compactMap { change in
            try self.change(change, in: bare, state, facts)
          }
          try body(transaction, changes)
        }
      }
    }
  }

  /// Returns a change; nil for one of an entity that the store does not have any more.
  private func change(
    _ change: HistoryChange, in transaction: NSPersistentHistoryTransaction, _ state: Opened, _ facts: StoreHistory
  ) throws -> NSPersistentHistoryChange? {
    guard let id = state.entities.id(entity: change.entity, primaryKey: change.key) else { return nil }
    var properties: Set<NSPropertyDescription>?
    if change.kind == .update {
      let names = facts.bits(of: change.entity).properties(in: change.columns ?? Data())
      let known = id.entityDescription.propertiesByName
      properties = Set(names.compactMap { known[$0] })
    }
    var tombstone: [AnyHashable: Any] = [:]
    if change.kind == .delete {
      for (kept, stored) in zip(facts.tombstones(of: change.entity), change.tombstones) where !stored.isNull {
        guard let slot = try kept.coding.slot(of: stored, external: state.external) else { continue }
        if case .archived(let data) = slot {
          tombstone[kept.attribute.name] = TransformableValues.decode(data, of: kept.attribute)
        } else {
          tombstone[kept.attribute.name] = slot.publicValue
        }
      }
    }
    return NSPersistentHistoryChange(
      change, of: id, properties: properties, tombstone: tombstone.isEmpty ? nil : tombstone, transaction: transaction)
  }

  package func deleteHistory(before limit: HistoryLimit) throws -> Int {
    let state = try writableState()
    return try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      let reader = try HistoryReader(state.connection)
      switch limit {
      case .number(let number): return try reader.remove(beforeNumber: number)
      case .time(let time): return try reader.remove(beforeTime: time)
      }
    }
  }
}

extension SQLiteStore: HistoryCopying {
  package func readStoredHistory(
    _ body: (HistoryTransaction, [(change: HistoryChange, entity: String)]) throws -> Void
  ) throws -> Int64 {
    try asking { state in
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

  package func insertHistory(
    _ transaction: HistoryTransaction, _ changes: [(change: HistoryChange, entity: String)]
  ) throws {
    try asking { state in
      let history = state.history ?? StoreHistory(state.entities)
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

/// Errors about persistent history.
package enum HistoryErrors {
  /// 134301
  package static func expired(url: URL?, number: Int64, last: Int64) -> NSError {
    let reason =
      number > last
      ? "The token's transaction is \(number), but the last one of the store is \(last): the store was replaced."
      : "History after the token's transaction, \(number), has been deleted."
    return .cocoa(
      NSPersistentHistoryTokenExpiredError, "The persistent history token has expired.", reason: reason,
      suggestion: "Fetch the objects again, and continue from currentPersistentHistoryToken(fromStores:).",
      url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134091
  package static func notRecorded(url: URL?) -> NSError {
    .cocoa(
      NSPersistentStoreUnsupportedRequestTypeError, "The store has no persistent history.",
      reason: "The store \(url.map { "at \($0.path) " } ?? "")has never recorded its changes.",
      suggestion: "Open it with NSPersistentHistoryTrackingKey.", url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134060
  package static func badRequest(_ reason: String, suggestion: String) -> NSError {
    .cocoa(
      NSCoreDataError, "The request for persistent history cannot be executed.", reason: reason,
      suggestion: suggestion)
  }
}
