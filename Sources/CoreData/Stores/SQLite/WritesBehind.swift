// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes to a store on a thread of its own while the caller goes on. Whatever else uses the store waits for it, and gets
/// the error that writing has met.
final class WritesBehind {
  /// The store's connection, with plans and entities that only this thread uses.
  private let state: SQLiteStore.Opened
  private var work: ParallelWork<Void>?
  private var failure: (any Error)?

  init(beside state: SQLiteStore.Opened) {
    self.state = SQLiteStore.Opened(
      file: state.file, entities: StoredEntities(sharing: state.entities), external: state.external,
      toleratesUnreadableFiles: state.toleratesUnreadableFiles)
  }

  /// Begins to write changes, after all before have been written.
  ///
  /// - Parameter url: the store, for errors.
  /// - Returns: false for changes that the caller must write, because they are not all of new rows, or because other rows,
  ///   files or the program's code belong to them.
  /// - Throws: the error of earlier changes.
  func write(_ changes: [RowChange], url: URL?) throws -> Bool {
    try wait()
    for change in changes {
      guard try state.plans.plan(for: change.id.entityDescription).isAlone(change) else { return false }
    }
    state.entities.noteIdentity()
    // Values that nobody can change; see `RowPlan.isAlone(_:)`.
    nonisolated(unsafe) let changes = changes
    begin(url: url) { state in
      try state.connection.transaction { try state.writer.write(changes) }
    }
    return true
  }

  /// Begins to run statements, after all before have been written.
  ///
  /// - Parameters:
  ///   - url: the store, for errors.
  ///   - body: runs statements that call none of the program's code.
  /// - Throws: the error of earlier changes.
  func run(url: URL?, _ body: @escaping @Sendable (SQLiteConnection) throws -> Void) throws {
    try wait()
    begin(url: url) { try body($0.connection) }
  }

  private func begin(url: URL?, _ body: @escaping @Sendable (SQLiteStore.Opened) throws -> Void) {
    // Used by one thread at a time, since everything waits for the work.
    nonisolated(unsafe) let state = state
    work = ParallelWork { try SQLiteStoreErrors.translating(url: url, isOpening: false) { try body(state) } }
  }

  /// Waits until everything is written.
  ///
  /// - Throws: the first error, each time: what was to be written is not in the store.
  func wait() throws {
    if let work {
      self.work = nil
      do { try work.wait() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}
