// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes to a store on a background thread. Other operations on the store wait for the writes, and throw their error.
final class WritesBehind {
  /// The store's connection, with plans and entities that only the background thread uses.
  private let state: SQLiteStore.Opened
  private var work: ParallelWork<Void>?
  private var failure: (any Error)?

  init(beside state: SQLiteStore.Opened) {
    self.state = SQLiteStore.Opened(
      file: state.file, entities: StoredEntities(sharing: state.entities), external: state.external,
      toleratesUnreadableFiles: state.toleratesUnreadableFiles)
  }

  /// Starts writing changes, after all earlier ones.
  ///
  /// - Parameter url: the location of the store, for errors.
  /// - Returns: false for changes that the caller must write itself, because not all are new rows, or because they
  ///   involve other rows, files or custom code.
  /// - Throws: the error of earlier changes.
  func write(_ changes: [RowChange], url: URL?) throws -> Bool {
    try wait()
    guard Optimization.backgroundDestination.isOn else { return false }
    for change in changes {
      guard try state.plans.plan(for: change.id.entityDescription).isAlone(change) else { return false }
    }
    state.entities.noteIdentity()
    // The values are immutable; see `RowPlan.isAlone(_:)`.
    nonisolated(unsafe) let changes = changes
    begin(url: url) { state in
      try state.connection.transaction { try state.writer.write(changes) }
    }
    return true
  }

  /// Starts running statements, after all earlier work.
  ///
  /// - Parameters:
  ///   - url: the location of the store, for errors.
  ///   - body: runs statements that call no custom code.
  /// - Throws: the error of earlier work.
  func run(url: URL?, _ body: @escaping @Sendable (SQLiteConnection) throws -> Void) throws {
    try wait()
    begin(url: url) { try body($0.connection) }
  }

  private func begin(url: URL?, _ body: @escaping @Sendable (SQLiteStore.Opened) throws -> Void) {
    // Only one thread uses it at a time, because everything else waits for the work.
    nonisolated(unsafe) let state = state
    let work = ParallelWork { try SQLiteStoreErrors.translating(url: url, isOpening: false) { try body(state) } }
    self.work = work
    if !Optimization.backgroundDestination.isOn { try? work.wait() }
  }

  /// Waits until everything has been written.
  ///
  /// - Throws: the first error, on every call: the rows are not in the store.
  func wait() throws {
    if let work {
      self.work = nil
      do { try work.wait() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}
