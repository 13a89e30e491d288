// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreHistory {
  /// Calls a closure with the transactions of a range and, if wanted, their changes.
  ///
  /// - Parameter external: the files of large values; nil for a store without files.
  /// - Throws: 134301 if transactions of the range have been deleted.
  package func read(
    _ range: HistoryReader.Range, withChanges: Bool, in database: any SQLDatabase, of store: NSPersistentStore,
    external: ExternalData?, _ body: (HistoryTransaction, [ObjectHistoryChange]) throws -> Void
  ) throws {
    try database.snapshot {
      let reader = try HistoryReader(database)
      if case .after(let number) = range, try reader.isGap(after: number) {
        throw HistoryErrors.expired(url: store.url, number: number, last: try reader.lastNumber())
      }
      try reader.transactions(range) { transaction in
        guard withChanges else { return try body(transaction, []) }
        try body(transaction, reader.changes(of: transaction.number).compactMap { try change($0, external) })
      }
    }
  }

  /// Calls a closure with the last transactions before a number, as `HistoryStore.readHistory(before:…)` does.
  package func read(
    before number: Int64, count: Int, changeLimit: Int, in database: any SQLDatabase, external: ExternalData?,
    _ body: (HistoryTransaction, Int, [ObjectHistoryChange]) throws -> Void
  ) throws {
    try database.snapshot {
      let reader = try HistoryReader(database)
      var transactions: [HistoryTransaction] = []
      try reader.transactions(.before(number, count: count)) { transactions.append($0) }
      for transaction in transactions {
        let changes = try reader.changes(of: transaction.number, limit: changeLimit)
        try body(
          transaction, reader.changeCount(of: transaction.number), changes.compactMap { try change($0, external) })
      }
    }
  }

  /// Deletes the transactions before a position, with their changes.
  ///
  /// - Returns: the number of deleted transactions.
  package static func delete(before limit: HistoryLimit, in database: any SQLDatabase) throws -> Int {
    let reader = try HistoryReader(database)
    switch limit {
    case .number(let number): return try reader.remove(beforeNumber: number)
    case .time(let time): return try reader.remove(beforeTime: time)
    }
  }

  /// Returns a change; nil if its entity no longer exists in the store.
  private func change(_ change: HistoryChange, _ external: ExternalData?) throws -> ObjectHistoryChange? {
    guard let id = entities.id(entity: change.entity, primaryKey: change.key) else { return nil }
    var properties: Set<NSPropertyDescription>?
    if change.kind == .update {
      let names = bits(of: change.entity).properties(in: change.columns ?? Data())
      let known = id.entityDescription.propertiesByName
      properties = Set(names.compactMap { known[$0] })
    }
    var tombstone: [AnyHashable: Any] = [:]
    if change.kind == .delete {
      for (kept, stored) in zip(tombstones(of: change.entity), change.tombstones) where !stored.isNull {
        guard let slot = try kept.coding.slot(of: stored, external: external) else { continue }
        if case .archived(let data) = slot {
          tombstone[kept.attribute.name] = TransformableValues.decode(data, of: kept.attribute)
        } else {
          tombstone[kept.attribute.name] = slot.publicValue
        }
      }
    }
    return ObjectHistoryChange(
      stored: change, id: id, properties: properties, tombstone: tombstone.isEmpty ? nil : tombstone)
  }
}
