// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A store that keeps all its rows in memory. A store with a file reads it on opening, and replaces it on saving.
package protocol RowTableStore: RowStore {
  /// The rows; nil for a store that is not open.
  var tables: RowTables? { get }
  /// Whether changes become final only in `commitWriting()`.
  var isInTransaction: Bool { get set }
  var hasUnsavedMetadata: Bool { get set }

  /// Undoes what the store has changed outside the tables since changes last became final.
  func undoChanges()

  /// Called when all changes are final.
  func forgetChanges()

  /// Writes all rows and the metadata to the store's file, if it has one.
  ///
  /// - Throws: the errors of the file system. On an error, the file is unchanged.
  func saveFile() throws
}

extension RowTableStore {
  package func undoChanges() {}
  package func forgetChanges() {}

  /// Returns the rows of the open store.
  package func openTables() throws -> RowTables {
    if let tables { return tables }
    throw StoreErrors.operationFailed(url: url, reason: "The store is not open.")
  }

  package func rows(for query: RowQuery) throws -> [RowSnapshot]? { try openTables().rows(for: query) }

  package func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? { try rows(for: query)?.map(\.id) }

  package func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try openTables().placedIdentifiers(for: query)
  }

  package func count(for query: RowQuery) throws -> Int? {
    var query = query
    query.order = []
    return try rows(for: query)?.count
  }

  package func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    id.key.store == number ? try openTables().row(id.key) : nil
  }

  package func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    id.key.store == number ? try openTables().members(of: relationship.name, owner: id.key) : []
  }

  package func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let tables, let entity = tables.model.entitiesByName[entityName], reference.hasPrefix("p"),
      let number = Int64(reference.dropFirst()), number > 0
    else { return nil }
    let id = tables.id(entity, number)
    return tables.row(id.key)?.id ?? id
  }

  /// Returns true: sub-entities of a configuration's entities are stored together with them.
  package func hasTable(for entity: NSEntityDescription) -> Bool { true }

  /// Applies changes to the tables and, outside a transaction, to the file.
  ///
  /// - Parameter didChange: called after the tables have changed. If it throws, the changes are undone.
  package func apply(_ changes: [RowChange], _ didChange: () throws -> Void = {}) throws {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    let tables = try openTables()
    try orUndo(to: tables.mark) {
      try tables.apply(changes)
      try didChange()
      if !isInTransaction { try saveFile() }
    }
    if !isInTransaction { didSave() }
  }

  package func writeMetadata() throws {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    try saveFile()
    hasUnsavedMetadata = false
  }

  package func beginWriting() throws {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    _ = try openTables()
    isInTransaction = true
  }

  package func commitWriting() throws {
    try saveFile()
    isInTransaction = false
    didSave()
  }

  package func rollBackWriting() throws {
    isInTransaction = false
    try openTables().rollBack(to: 0)
    undoChanges()
  }

  private func orUndo(to mark: Int, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      tables?.rollBack(to: mark)
      if !(error is RowConflicts) { undoChanges() }
      throw error
    }
  }

  private func didSave() {
    tables?.forgetChanges()
    forgetChanges()
    hasUnsavedMetadata = false
  }
}

extension RowTableStore where Self: RowWritingStore {
  package func makeIdentifiers(for runs: [EntityRun]) throws -> [NSManagedObjectID] {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    let tables = try openTables()
    var next = try tables.reserve(runs.reduce(0) { $0 + $1.count })
    var ids: [NSManagedObjectID] = []
    for run in runs {
      for _ in 0..<run.count {
        ids.append(tables.id(run.entity, next))
        next += 1
      }
    }
    return ids
  }

  package func writeRows(_ changes: [RowChange]) throws { try apply(changes) }
}
