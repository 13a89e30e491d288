// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// A store of a random first version, and a second version that it can be migrated to without an obstacle.
package struct PreparedMigration {
  package let store: TemporaryStore
  package let old: ModelDocument
  package let new: ModelDocument
  package let before: StoreImage
  package let expected: StoreImage

  /// Nil where the seed leads to a version that cannot be inferred, or that the rows do not allow.
  package init?(seed: UInt64, rows: Int = 5) throws {
    store = try TemporaryStore()
    var model = GeneratedModel(seed: seed)
    old = model.document
    guard let next = model.next() else { return nil }
    new = next.document
    var filling = GeneratedRows(old, seed: seed)
    let writer = try store.context(try NSManagedObjectModel(document: old))
    try filling.fill(writer, atMost: rows)
    try store.close()
    before = try StoreImage(try store.context(try NSManagedObjectModel(document: old)), old)
    try store.close()
    let (expected, obstacles) = MigrationReference(from: old, to: new).expected(after: before)
    guard obstacles.isEmpty, !before.objects.isEmpty else { return nil }
    self.expected = expected
  }

  /// The first seeds from `first` on that give a migration.
  package static func some(_ count: Int, from first: UInt64, rows: Int = 5) throws -> [PreparedMigration] {
    var found: [PreparedMigration] = []
    var seed = first
    while found.count < count {
      if let prepared = try PreparedMigration(seed: seed, rows: rows) { found.append(prepared) }
      seed += 1
    }
    return found
  }

  /// How the migrated store differs from what is expected, in words; empty when it does not.
  ///
  /// Rows of tables that become one may have got new keys, which follow from nothing but the result.
  package func differences() throws -> [String] { differences(try image(new)) }

  /// How an image of a migrated store differs from what is expected.
  package func differences(_ after: StoreImage) -> [String] {
    let reference = MigrationReference(from: old, to: new)
    let moved = before.moved(reference.distances(from: before, to: after), in: old)
    return after.differences(from: reference.expected(after: moved).image)
  }

  /// What the store holds under one of its models.
  package func image(_ document: ModelDocument) throws -> StoreImage {
    let image = try StoreImage(try store.context(try NSManagedObjectModel(document: document)), document)
    try store.close()
    return image
  }
}

/// Everything that stands in a database file, table by table, as text.
package struct FileContent: Equatable {
  package let tables: [String: [String]]
  package let definitions: [String]

  package init(_ url: URL) throws {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    definitions = try connection.rows("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
      .map { $0.values.map(\.literal).joined(separator: "|") }
    var tables: [String: [String]] = [:]
    for name in try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'").compactMap({ $0[0].text }) {
      tables[name] = try connection.rows("SELECT * FROM \"\(name)\"").map {
        $0.values.map(\.literal).joined(separator: "|")
      }.sorted()
    }
    self.tables = tables
    try connection.close()
  }
}
