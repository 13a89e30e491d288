// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension PostgreSQLStore {
  func makeIdentifiers(for runs: [EntityRun]) throws -> [NSManagedObjectID] {
    _ = try writableState()
    // If the connection is lost, the keys it has reserved are skipped.
    return try withState { state in
      var ids: [NSManagedObjectID] = []
      ids.reserveCapacity(runs.reduce(0) { $0 + $1.count })
      for run in runs {
        let layout = try state.plans.plan(for: run.entity).layout
        guard let root = state.entities.schema.entity(number: layout.rootNumber) else { continue }
        for range in try keys.reserve(run.count, of: root, state.connection) {
          ids += state.entities.identities?.ids(entity: layout.number, primaryKeys: range) ?? []
        }
      }
      return ids
    }
  }

  func writeRows(_ changes: [RowChange]) throws {
    writtenChanges = changes
    defer { if opened?.isInTransaction != true { writtenChanges = [] } }
    try writing(repeating: true) { state in
      try recordHistory(changes, state)
      try PostgreSQLRowWriter(state: state).writeChanges(changes)
    }
  }

  func excludeOtherDefinitions(_ opened: OpenedSchema) throws {
    try SchemaInDatabase(opened.connection, address(), url: url).lock()
  }

  func excludeWriters() throws {
    try ErrorTranslation.translating(url: url, during: .use) { try excludeWriters(from: writableState()) }
  }

  private func excludeWriters(from state: OpenedSchema) throws {
    try excludeWriters(of: state.entities.schema.tables.map(\.name), state)
  }

  /// Keeps other connections from changing rows of tables and from recording history until the transaction ends. They
  /// can still read.
  ///
  /// The transaction must not have changed anything yet, so that locking can be retried after a deadlock. Once the
  /// tables are locked, no deadlock is possible: no transaction that waits for them holds a lock that this one needs.
  func excludeWriters(of tables: [String], _ state: OpenedSchema) throws {
    var names = tables.map(SQLName.quoted)
    for attempt in 1... {
      do {
        try SchemaInDatabase(state.connection, address(), url: url).lockForTableLocks()
        return try state.database.transaction {
          // Saves record history before they write rows.
          if state.history != nil { try HistoryTables.lock(state.database) }
          try state.database.run("LOCK TABLE \(names.joined(separator: ", ")) IN SHARE ROW EXCLUSIVE MODE", [])
        }
      } catch let error as PostgreSQLError where error.isDeadlock && attempt < Self.lockAttempts {
        // The other transaction has probably locked the tables in the opposite order.
        names.reverse()
      } catch let error as PostgreSQLError where error.isPrivilege {
        // A role that may only insert continues without the locks and may conflict with other transactions.
        return
      }
    }
  }

  /// The maximum number of attempts to lock tables despite deadlocks, each of which the server detects after a second.
  private static let lockAttempts = 10

  func writeMetadata() throws { try writing(repeating: true) { _ in } }

  /// Runs a body that writes, in its own transaction or in the one that `beginWriting()` has begun. Then writes unsaved
  /// metadata, checks constraints, and notifies listeners.
  ///
  /// Repeats its own transaction if it failed because of a lost connection, a deadlock or a serialization failure, and
  /// nothing can have been committed.
  ///
  /// - Parameter repeating: Whether the body may be called again.
  func writing<Result>(repeating: Bool, _ body: (OpenedSchema) throws -> Result) throws -> Result {
    var attempt = 1
    var isAlone = false
    unconfirmedCommit = nil
    while true {
      let state = try writableState()
      let isOwn = !state.isInTransaction
      do {
        let result = try ErrorTranslation.translating(url: url, during: .use) {
          try transaction(state) {
            if isAlone { try excludeWriters(from: state) }
            return try finishWriting(body, state)
          }
        }
        hasUnsavedMetadata = false
        return result
      } catch {
        // The queued statements belong to the transaction that was rolled back, whatever the error is.
        state.database.forget()
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? PostgreSQLError
        // What the server or the rows refuse may have its cause in a migration.
        if cause?.isConnectionLost != true, cause?.isCommitUnknown != true,
          let migrated = state.identity?.cause(on: state.connection)
        {
          throw migrated
        }
        guard isOwn, repeating, attempt < Self.attempts,
          let cause, cause.isRepeatable
        else { throw error }
        attempt += 1
        // Many writers of the same rows could run into one deadlock after another.
        isAlone = isAlone || cause.isDeadlock
      }
    }
  }

  /// The maximum number of attempts to run a transaction.
  private static let attempts = 5

  private func finishWriting<Result>(_ body: (OpenedSchema) throws -> Result, _ state: OpenedSchema) throws -> Result {
    let result = try body(state)
    if hasUnsavedMetadata {
      try state.identity?.lockMetadata(on: state.connection)
      try SchemaInDatabase(state.connection, address(), url: url).setMetadata(metadata ?? [:])
    }
    try state.database.flush()
    // Deferred constraints would fail at the commit, where a merge policy could not resolve the conflict.
    let script = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED"
    if let identity = state.identity {
      try identity.finish(script, on: state.connection)
    } else {
      try state.connection.execute(script)
    }
    try ChangeListener.notify(state.connection, schema: address().schema)
    return result
  }

  // MARK: Transactions around several reads or writes

  func beginReading() throws {
    // A migration reads in its own transaction, in which the tables are locked.
    if borrowed != nil { return }
    try withState { state in
      if let identity = state.identity {
        try identity.beginSnapshot(on: state.connection)
      } else {
        try state.connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
      }
      connections.pause()
      state.isInTransaction = true
    }
  }

  func endReading() throws {
    if borrowed == nil { try rollBackWriting() }
  }

  func beginWriting() throws {
    // The transaction of a migration does not end before the migration.
    if borrowed != nil { return }
    try withState { state in
      if isReadOnly { throw StoreErrors.readOnly(self) }
      unconfirmedCommit = nil
      try state.noteServerRun()
      try state.connection.begin()
      connections.pause()
      state.isInTransaction = true
      hadUnsavedMetadata = hasUnsavedMetadata
    }
  }

  func rollBackWriting() throws {
    if borrowed != nil { return }
    try ErrorTranslation.translating(url: url, during: .use) {
      guard let opened else { return }
      defer {
        opened.isInTransaction = false
        writtenChanges = []
        connections.resume()
        hasUnsavedMetadata = hasUnsavedMetadata || hadUnsavedMetadata
      }
      try opened.connection.rollback()
    }
  }
}

extension PostgreSQLError {
  /// Whether the transaction that failed with this error can be repeated: nothing was committed, and the next attempt
  /// may succeed.
  var isRepeatable: Bool { !isCommitUnknown && (isConnectionLost || isSerializationFailure || isDeadlock) }
}
