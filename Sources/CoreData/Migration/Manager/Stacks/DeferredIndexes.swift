// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The indexes of a destination store, as long as it is being filled.
///
/// Those of a new store are made when all rows are there, which sorts them once instead of finding a place for every row;
/// or before, when somebody asks a question that they answer.
///
/// Uniqueness constraints count at the end and not before, since policies may correct values after the objects were made.
/// Until then an ordinary index stands in for each unique one, so that looking up objects by such values stays fast.
final class DeferredIndexes {
  private struct Entry {
    let index: IndexLayout
    let sql: String
    /// The name of the index in its place; nil for one that is made as it is.
    let standIn: String?
  }

  private let entries: [Entry]
  private var isSearchable = false

  /// Takes away the indexes that are to wait.
  ///
  /// - Parameter isNew: whether the store has no rows yet. Indexes of one that has rows stay, but for unique ones.
  init(_ store: SQLiteStore.Opened, isNew: Bool) throws {
    var entries: [Entry] = []
    for index in store.entities.schema.indexes where isNew || index.isUnique {
      let sql = "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?"
      // A store of an old framework has constraints in its tables' definitions, where they count at once.
      guard let text = try store.connection.scalar(sql, [.text(index.name)])?.text else { continue }
      try store.connection.run("DROP INDEX \(SQLName.quoted(index.name))")
      entries.append(Entry(index: index, sql: text, standIn: index.isUnique ? "Z_MIGRATION_\(entries.count)" : nil))
    }
    self.entries = entries
    if !isNew { try prepareSearch(store) }
  }

  /// Sees to it that rows are found without looking at all of them. To be called where what is done is not undone by itself:
  /// not within a savepoint.
  func prepareSearch(_ store: SQLiteStore.Opened) throws {
    if isSearchable { return }
    isSearchable = true
    for entry in entries {
      guard let standIn = entry.standIn else {
        try store.connection.run(entry.sql)
        continue
      }
      let columns = entry.index.elements.map { SQLName.quoted($0.column) }.joined(separator: ", ")
      try store.connection.run("CREATE INDEX \(standIn) ON \(SQLName.quoted(entry.index.table)) (\(columns))")
    }
  }

  /// Makes all indexes as the store is to have them, and has constraints count again.
  ///
  /// - Throws: 134111 with the values that occur several times.
  func restore(_ store: SQLiteStore.Opened, url: URL) throws {
    for entry in entries {
      guard let standIn = entry.standIn else {
        let sql = "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?"
        if try store.connection.scalar(sql, [.text(entry.index.name)]) == nil { try store.connection.run(entry.sql) }
        continue
      }
      do {
        try store.connection.run(entry.sql)
      } catch let failure as SQLiteError where failure.isUniqueConstraint {
        throw try violation(of: entry, store, url, failure)
      }
      try store.connection.run("DROP INDEX IF EXISTS \(standIn)")
    }
  }

  private func violation(
    of entry: Entry, _ store: SQLiteStore.Opened, _ url: URL, _ failure: SQLiteError
  ) throws -> any Error {
    let found = try DuplicateValues(violating: entry.index, of: store.entities.schema, on: store.connection)
    guard let found else { return failure }
    return MigrationErrors.constraintViolation(
      url: url, entity: found.entity, properties: found.properties, values: found.summary, underlying: failure)
  }
}
