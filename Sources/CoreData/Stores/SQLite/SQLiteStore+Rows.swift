// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore.Opened: SQLRowSource {
  var database: SQLiteConnection { connection }
  var files: ExternalData? { external }

  func row(_ primaryKey: Int64, _ reader: RowReader) throws -> RowSnapshot? { try reader.row(primaryKey, connection) }

  func readRows<Result>(
    of statement: BoundSQL, _ reader: RowReader, _ body: (RowCursor) throws -> Result
  ) throws -> Result {
    try connection.cached(statement.sql) { prepared in
      try prepared.bind(statement.values)
      return try body(
        RowCursor { packer in
          guard try prepared.step() else { return false }
          try reader.pack(prepared, into: packer)
          return true
        })
    }
  }

  func forEachRow(
    of statement: BoundSQL, _ reader: RowReader,
    _ body: (any SQLRowValues, _ pack: (RowPacker) throws -> Void) throws -> Void
  ) throws {
    try connection.cached(statement.sql) { prepared in
      try prepared.bind(statement.values)
      while try prepared.step() { try body(prepared) { try reader.pack(prepared, into: $0) } }
    }
  }

  func tolerating<Result>(_ reader: RowReader, _ body: () throws -> Result) throws -> Result {
    toleratesUnreadableFiles ? try reader.tolerating(body) : try body()
  }

  func calculating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError where error.isIntegerOverflow || error.isTooComplex {
      throw NotExpressibleInSQL()
    }
  }
}

extension SQLiteStore.Opened {
  /// Returns the greatest known primary key of a root entity; 0 for none.
  func lastKey(root: Int) throws -> Int64 {
    guard let entity = entities.schema.entity(number: root) else { return 0 }
    let kept = "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?"
    let recorded = try connection.scalar(kept, [.integer(Int64(root))])?.integer ?? 0
    // Stores edited by hand or migrated by other tools may contain keys greater than the recorded one.
    let present = try connection.scalar("SELECT MAX(Z_PK) FROM \(SQLName.quoted(entity.table))")?.integer ?? 0
    return max(recorded, present, 0)
  }

  /// The number of deletions from which on a save may need more pages at once than the connection's cache holds.
  private static let manyDeletions = 1_000
  /// The cache size for many deletions, in KiB.
  private static let cacheForDeletions: Int64 = 8_192

  /// Runs a body that writes rows, and keeps the files of the values that the rows contain afterwards.
  func keepingFiles<Result>(_ body: () throws -> Result) throws -> Result {
    let mark = external.mark
    do {
      let result = try body()
      external.didCommit { try connection.synchronizeCommit() }
      return result
    } catch {
      external.didRollBack(to: mark)
      throw error
    }
  }

  /// Writes changes with a page cache suited to their kind and number.
  ///
  /// Rows are deleted in table order, which differs from the order in indexes. With SQLite's default cache of 2 MB, the
  /// pages of an index would be written and read repeatedly.
  fileprivate func withCache(for changes: [RowChange], _ body: () throws -> Void) throws {
    // The program may have set a size other than SQLite's default. A negative size is in KiB.
    guard changes.indices.count(where: { changes[$0].kind == .delete }) >= Self.manyDeletions,
      let before = try connection.pragma("cache_size")?.integer, before < 0, before > -Self.cacheForDeletions
    else { return try body() }
    try connection.setPragma("cache_size", to: .integer(-Self.cacheForDeletions))
    let result = Result { try body() }
    try connection.setPragma("cache_size", to: .integer(before))
    try result.get()
  }
}

extension SQLiteStore {
  func writeMetadata() throws { try writeRows([]) }

  func makeIdentifiers(for entityRuns: [EntityRun]) throws -> [NSManagedObjectID] {
    let state = try writableState()
    return try translating {
      let runs = try entityRuns.map { (plan: try state.plans.plan(for: $0.entity), count: $0.count) }
      let wanted = Dictionary(runs.map { ($0.plan.layout.rootNumber, $0.count) }, uniquingKeysWith: +)
      var next: [Int: Int64] = [:]
      try repeatingIfFull(state) {
        try state.writing {
          for (root, count) in wanted.sorted(by: { $0.key < $1.key }) {
            next[root] = try reserve(count, root: root, state)
          }
        }
      }
      var ids: [NSManagedObjectID] = []
      ids.reserveCapacity(runs.reduce(0) { $0 + $1.count })
      for (plan, count) in runs {
        let first = next[plan.layout.rootNumber, default: 1]
        let keys = first...(first + Int64(count - 1))
        ids += state.entities.identities?.ids(entity: plan.layout.number, primaryKeys: keys) ?? []
        // Wraps around only after the last key requested.
        next[plan.layout.rootNumber] = first &+ Int64(count)
      }
      return ids
    }
  }

  /// Reserves primary keys of a root entity, and returns the first.
  private func reserve(_ count: Int, root: Int, _ state: Opened) throws -> Int64 {
    guard let entity = state.entities.schema.entity(number: root) else { return 1 }
    let last = try state.lastKey(root: root)
    let (maximum, overflow) = last.addingReportingOverflow(Int64(count))
    guard !overflow else {
      throw StoreErrors.keysExhausted(url: url, entity: entity.name, table: entity.table, last: last)
    }
    try state.connection.run(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", [.integer(maximum), .integer(Int64(root))])
    return last + 1
  }

  func writeRows(_ changes: [RowChange]) throws {
    let state = try writableState()
    return try translating {
      try repeatingIfFull(state) {
        try state.keepingFiles {
          let writer = state.writer
          if let willSearch, try state.relationships.isSearching(for: changes) { try willSearch(state) }
          try state.withCache(for: changes) {
            try state.writing {
              try recordHistory(changes, state)
              try writer.writeChanges(changes)
              if hasReconnected { try noteKeys(of: changes, state) }
              if hasUnsavedMetadata { try writeMetadata(state) }
            }
          }
        }
      }
      hasUnsavedMetadata = false
    }
  }

  /// Writes the metadata. The framework's own values are written as another connection has left them, because the
  /// metadata in memory may be older.
  private func writeMetadata(_ state: Opened) throws {
    if let found = state.version?.foreignMetadata, !StoreOptions(options).ignoresVersioning {
      keptMetadata = keptMetadata.filter { !StoreMetadata.ownKeys.contains($0.key) }.merging(found) { $1 }
    }
    try state.file.setMetadata(keptMetadata)
  }

  /// Raises the recorded greatest keys, because new objects may have got their keys from the store that was replaced.
  private func noteKeys(of changes: [RowChange], _ state: Opened) throws {
    var greatest: [UInt32: Int64] = [:]
    for change in changes where change.kind == .insert {
      let key = change.id.key
      greatest[key.root] = max(greatest[key.root] ?? 0, key.number)
    }
    for (root, key) in greatest {
      try state.connection.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = ?1 WHERE Z_ENT = ?2 AND Z_MAX < ?1", [.integer(key), .integer(Int64(root))])
    }
  }

  /// Runs a transaction. If it does not fit on the disk, shortens the log and runs it once more.
  ///
  /// - Throws: as `StoreFile.repeatingIfFull(prepare:_:)`.
  func repeatingIfFull<Result>(_ state: Opened, _ body: () throws -> Result) throws -> Result {
    try state.file.repeatingIfFull(prepare: endUseOfLog, body)
  }

  private func endUseOfLog() {
    connections.endKeptStates()
    checkpointer?.wait()
  }

  func makeRoom() -> Bool {
    guard let opened, !opened.connection.inTransaction else { return false }
    endUseOfLog()
    opened.file.makeRoom()
    return true
  }

  func writableState() throws -> Opened {
    try checkWritable()
    connections.endKeptStates()
    return try state()
  }

  func writing<Result>(repeating: Bool, _ body: (Opened) throws -> Result) throws -> Result {
    let state = try writableState()
    return try translating {
      try repeatingIfFull(state) { try state.keepingFiles { try state.writing { try body(state) } } }
    }
  }

  func copying(_ body: (Opened) throws -> Void) throws {
    let state = try writableState()
    try translating {
      try state.keepingFiles { try state.writing { try body(state) } }
    }
  }

  // Transactions around several reads or writes.

  /// Begins a read transaction, so that all reads see the same state of the store.
  func beginReading() throws {
    try withState { state in
      try state.connection.begin(.deferred)
      do {
        _ = try state.connection.scalar("SELECT COUNT(*) FROM Z_METADATA")
        try state.version?.check()
      } catch {
        // Nothing was written, and the failed read is the error to report.
        try? state.connection.rollback()
        throw error
      }
    }
    connections.pause()
  }

  /// Ends what `beginReading()` began.
  func endReading() throws {
    connections.resume()
    try withState { try $0.connection.rollback() }
  }

  /// Makes SQLite verify the store's pages while a body reads it.
  func checkingPages<Result>(isCancelled: () -> Bool, during body: () throws -> Result) throws -> Result {
    let state = try state()
    return try PageCheck.during(state.connection, url: state.file.url, isCancelled: isCancelled, body)
  }

  func beginWriting() throws { try beginWriting { try $0.begin(.immediate) } }

  /// Begins a transaction as `beginWriting()` does, with attached databases that are only read. An immediate
  /// transaction would lock them too.
  func beginWritingWithAttached() throws {
    try beginWriting { connection in
      try connection.begin(.deferred)
      try connection.run("UPDATE main.Z_METADATA SET Z_VERSION = Z_VERSION WHERE 0")
    }
  }

  private func beginWriting(_ begin: (SQLiteConnection) throws -> Void) throws {
    try withState { state in
      if isReadOnly { throw StoreErrors.readOnly(self) }
      connections.pause()
      do {
        try begin(state.connection)
        try state.checkBeforeWriting()
      } catch {
        connections.resume()
        // The failure to take the lock, or the state found under the lock, is the error to report.
        try? state.connection.rollback()
        throw error
      }
      hadUnsavedMetadata = hasUnsavedMetadata
      state.external.isHoldingBack = true
    }
  }

  func commitWriting() throws {
    try withState { state in
      try state.connection.commit()
      connections.resume()
      state.external.isHoldingBack = false
      state.external.didCommit { try state.connection.synchronizeCommit() }
    }
  }

  func rollBackWriting() throws {
    try withState { state in
      defer {
        connections.resume()
        state.external.isHoldingBack = false
        state.external.didRollBack()
        hasUnsavedMetadata = hasUnsavedMetadata || hadUnsavedMetadata
      }
      try state.connection.rollback()
    }
  }
}
