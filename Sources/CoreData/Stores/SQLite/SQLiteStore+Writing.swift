// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore {
  func makeIdentifiers(for entities: [NSEntityDescription]) throws -> [NSManagedObjectID] {
    let state = try writableState()
    return try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      let plans = try entities.map { try state.plans.plan(for: $0) }
      var wanted: [Int: Int] = [:]
      for plan in plans { wanted[plan.layout.rootNumber, default: 0] += 1 }
      var next: [Int: Int64] = [:]
      try state.connection.transaction {
        for (root, count) in wanted.sorted(by: { $0.key < $1.key }) {
          next[root] = try reserve(count, root: root, state)
        }
      }
      return plans.compactMap { plan in
        let key = next[plan.layout.rootNumber, default: 1]
        // Wraps around only after the last key requested.
        next[plan.layout.rootNumber] = key &+ 1
        return state.entities.id(entity: plan.layout.number, primaryKey: key)
      }
    }
  }

  /// Reserves primary keys of a root entity, and returns the first.
  private func reserve(_ count: Int, root: Int, _ state: Opened) throws -> Int64 {
    guard let entity = state.entities.schema.entity(number: root) else { return 1 }
    let kept = "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?"
    let recorded = try state.connection.scalar(kept, [.integer(Int64(root))])?.integer ?? 0
    // Stores edited by hand or migrated by others may have keys greater than the one recorded.
    let present = try state.connection.scalar("SELECT MAX(Z_PK) FROM \(SQLName.quoted(entity.table))")?.integer ?? 0
    let last = max(recorded, present, 0)
    let (maximum, overflow) = last.addingReportingOverflow(Int64(count))
    guard !overflow else {
      throw StoreErrors.keysExhausted(url: url, entity: entity.name, table: entity.table, last: last)
    }
    try state.connection.run(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", [.integer(maximum), .integer(Int64(root))])
    return last + 1
  }

  func write(_ changes: [RowChange]) throws {
    let state = try writableState()
    return try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      let mark = state.external.mark
      do {
        let writer = RowWriter(
          connection: state.connection, entities: state.entities, external: state.external,
          plans: state.plans)
        if let willSearch, try writer.isSearching(for: changes) { try willSearch(state) }
        try state.connection.transaction {
          try writer.write(changes)
          if hasUnsavedMetadata { try state.file.setMetadata(metadata) }
        }
        state.external.didCommit { try state.connection.synchronizeCommit() }
        hasUnsavedMetadata = false
      } catch {
        state.external.didRollBack(to: mark)
        throw error
      }
    }
  }

  private func writableState() throws -> Opened {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    return try state()
  }
}
