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
    // Keys that a lost connection has taken are left out.
    return try asking { state in
      var ids: [NSManagedObjectID] = []
      ids.reserveCapacity(runs.reduce(0) { $0 + $1.count })
      for run in runs {
        let layout = try state.plans.plan(for: run.entity).layout
        guard let root = state.entities.schema.entity(number: layout.rootNumber) else { continue }
        for range in try keys.take(run.count, of: root, state.connection) {
          ids += state.entities.identities?.ids(entity: layout.number, primaryKeys: range) ?? []
        }
      }
      return ids
    }
  }

  func write(_ changes: [RowChange]) throws {
    try writing { state in
      try recordHistory(changes, state)
      try PostgreSQLRowWriter(state: state).write(changes)
    }
  }

  func excludeWriters() throws {
    try PostgreSQLErrors.translating(url: url, isOpening: false) { try excludeWriters(from: writableState()) }
  }

  private func excludeWriters(from state: OpenedSchema) throws {
    try excludeWriters(of: state.entities.schema.tables.map(\.name), state)
  }

  /// Keeps others from changing rows of tables, and from recording history, until the transaction ends. They may read.
  ///
  /// The transaction must not have changed anything: then a deadlock is no reason to give up, and once the tables are locked,
  /// there is none any more, since nobody who waits for them has what this transaction needs.
  func excludeWriters(of tables: [String], _ state: OpenedSchema) throws {
    var names = tables.map(SQLName.quoted)
    for attempt in 1... {
      do {
        return try SchemaInDatabase(state.connection, address(), url: url).locking {
          try state.database.transaction {
            // Saves record history before they write rows.
            if state.history != nil { try HistoryTables.lock(state.database) }
            try state.database.run("LOCK TABLE \(names.joined(separator: ", ")) IN SHARE ROW EXCLUSIVE MODE", [])
          }
        }
      } catch let error as PostgreSQLError where error.isDeadlock && attempt < Self.lockAttempts {
        // Those who wait have mostly locked the tables in the other order.
        names.reverse()
      } catch let error as PostgreSQLError where error.isPrivilege {
        // A role that may only insert goes on as it can: others may be in its way.
        return
      }
    }
  }

  /// How often tables are locked if a deadlock prevents it, which the server notices after a second.
  private static let lockAttempts = 10

  func writeMetadata() throws { try writing { _ in } }

  /// Runs a body that writes, in a transaction of its own or in one that `beginWriting()` has begun, and then writes unsaved
  /// metadata, checks constraints, and notifies others.
  ///
  /// A transaction of its own is repeated as long as nothing of it can have been committed: after a lost connection, a
  /// deadlock, or a serialization failure.
  ///
  /// - Parameter repeating: whether the body may be called again.
  func writing<Result>(repeating: Bool = true, _ body: (OpenedSchema) throws -> Result) throws -> Result {
    var attempt = 1
    var isAlone = false
    while true {
      let state = try writableState()
      let isOwn = !state.isInTransaction
      do {
        let result = try PostgreSQLErrors.translating(url: url, isOpening: false) {
          try transaction(state) {
            if isAlone { try excludeWriters(from: state) }
            return try write(body, state)
          }
        }
        hasUnsavedMetadata = false
        return result
      } catch {
        // What waits is of the transaction that was rolled back, whatever the error is.
        state.database.forget()
        guard isOwn, repeating, attempt < Self.attempts,
          let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? PostgreSQLError,
          cause.isRepeatable
        else { throw error }
        attempt += 1
        // Many who write the same rows could run into one deadlock after another.
        isAlone = isAlone || cause.isDeadlock
      }
    }
  }

  /// How often a transaction is tried that others prevent.
  private static let attempts = 5

  private func write<Result>(_ body: (OpenedSchema) throws -> Result, _ state: OpenedSchema) throws -> Result {
    let result = try body(state)
    if hasUnsavedMetadata {
      try SchemaInDatabase(state.connection, address(), url: url).setMetadata(metadata ?? [:])
    }
    try state.database.flush()
    // Deferred constraints would fail at the commit, where a merge policy could not resolve the conflict.
    try state.connection.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    try ChangeListener.notify(state.connection, schema: address().schema)
    return result
  }

  /// Runs a body in a transaction, or in a part of one that can be rolled back alone.
  private func transaction<Result>(_ state: OpenedSchema, _ body: () throws -> Result) throws -> Result {
    guard !state.isInTransaction, borrowed == nil else { return try state.connection.transaction(body) }
    var (number, result): (String?, Result?)
    do {
      return try state.connection.transaction {
        let made = try body()
        // Tells after a lost connection whether the server has committed.
        number = try state.connection.query("SELECT pg_current_xact_id()::text").string(0, 0)
        result = made
        return made
      }
    } catch let failure as PostgreSQLError where failure.isCommitUnknown {
      guard let number, let result, let isCommitted = try isCommitted(number) else { throw failure }
      if isCommitted { return result }
      throw failure.withoutCommit
    }
  }

  /// Asks the server whether a transaction was committed; nil if it does not know any more.
  ///
  /// - Throws: the errors of connecting.
  private func isCommitted(_ number: String) throws -> Bool? {
    for _ in 0..<Self.questions {
      let rows = try state().connection.query("SELECT pg_xact_status($1::text::xid8)", [.text(number)])
      switch rows.isNull(0, 0) ? nil : rows.string(0, 0) {
      case "committed": return true
      case "aborted": return false
      case nil: return nil
      default: Thread.sleep(forTimeInterval: 0.1)
      }
    }
    return nil
  }

  /// How often the server is asked about a transaction that it has not ended yet, ten times a second.
  private static let questions = 50

  // MARK: Transactions around several reads or writes

  func beginReading() throws {
    // A migration reads in its own transaction, which has locked the tables.
    if borrowed != nil { return }
    try asking { state in
      try state.connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
      connections.pause()
      state.isInTransaction = true
    }
  }

  func endReading() throws {
    if borrowed == nil { try rollBackWriting() }
  }

  func beginWriting() throws {
    // The transaction of a migration ends with the migration, and never before.
    if borrowed != nil { return }
    try asking { state in
      if isReadOnly { throw StoreErrors.readOnly(self) }
      try state.connection.begin()
      connections.pause()
      state.isInTransaction = true
      hadUnsavedMetadata = hasUnsavedMetadata
    }
  }

  func commitWriting() throws {
    if borrowed != nil { return }
    try PostgreSQLErrors.translating(url: url, isOpening: false) {
      guard let opened else { return }
      try opened.connection.commit()
      opened.isInTransaction = false
      connections.resume()
    }
  }

  func rollBackWriting() throws {
    if borrowed != nil { return }
    try PostgreSQLErrors.translating(url: url, isOpening: false) {
      guard let opened else { return }
      defer {
        opened.isInTransaction = false
        connections.resume()
        hasUnsavedMetadata = hasUnsavedMetadata || hadUnsavedMetadata
      }
      try opened.connection.rollback()
    }
  }
}

extension PostgreSQLError {
  /// Whether a transaction that this error has ended can be repeated: nothing of it was committed, and the next try may
  /// succeed.
  var isRepeatable: Bool { !isCommitUnknown && (isConnectionLost || isSerializationFailure || isDeadlock) }
}
