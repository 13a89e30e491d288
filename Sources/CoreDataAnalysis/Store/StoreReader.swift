// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Reads a SQLite store without a model, a stack or a change to its files: for reports, exports and plans.
package final class StoreReader {
  /// Where names and types of what is read come from.
  package enum ModelOrigin: String, Hashable, Sendable {
    /// The model that the store carries.
    case cache
    /// A model that the caller has given.
    case given
    /// No model: the names of entities from `Z_PRIMARYKEY`, those of columns as they are, types as declared.
    case tables
  }

  package let url: URL
  package let access: StoreAccess
  package let catalog: DatabaseCatalog
  package let metadata: StoreFacts
  package let origin: ModelOrigin
  /// The model that rows are read with; nil where they are read by the tables alone.
  package let model: ModelDocument?
  /// Entities and where they stand, history's left out, sorted by name.
  let entities: [ReadableEntity]
  let schema: StoreSchema?
  /// What a reader should know, as sentences: why the store's own model was not used, and the like.
  package let remarks: [String]

  var connection: SQLiteConnection { access.connection }

  /// Opens a store.
  ///
  /// - Parameter given: a model whose entities have the store's hashes; nil for the one that the store carries.
  /// - Throws: `StoreProblem`.
  package init(url: URL, model given: ModelDocument? = nil) throws {
    self.url = url
    access = try StoreAccess(url: url)
    do {
      catalog = try access.connection.catalog()
      metadata = try StoreFacts(access.connection, catalog: catalog, path: url.path)
      try access.checkUnchanged()
    } catch let error as SQLiteError {
      try access.checkUnchanged()
      throw StoreProblem.from(error, path: url.path)
    }
    let name = url.lastPathComponent
    var remarks: [String] = []
    if metadata.isDerived {
      remarks.append(
        "\(name) holds no metadata: Z_METADATA.Z_PLIST is empty. Hashes and version are those of the model that it "
          + "carries; what the app had put there is lost.")
    }
    if let problem = metadata.modelProblem, given == nil {
      remarks.append("The model that \(name) carries cannot be read: \(problem)")
    }
    var found: (StoreSchema, ModelDocument)?
    if let document = given ?? metadata.model {
      do {
        found = (
          try StoreSchema(
            document: document, configuration: StoreMatch.configuration(of: document, matching: metadata.hashes),
            catalog: catalog, primaryKeys: metadata.primaryKeys), document
        )
      } catch let problem as SchemaProblem {
        guard given == nil else {
          throw StoreProblem(.unknownVersion, "The model does not fit the tables of \(name): \(problem)")
        }
        remarks.append("The model that \(name) carries does not fit its tables: \(problem)")
      }
    } else if metadata.modelProblem == nil {
      remarks.append("\(name) carries no model.")
    }
    if let (schema, document) = found {
      self.schema = schema
      model = document
      origin = given == nil ? .cache : .given
      entities = ReadableEntity.prepared(schema.entities.map { ReadableEntity(layout: $0) })
    } else {
      remarks.append(
        "Rows are read by the tables alone: values are named by their columns, and relationships are plain numbers. "
          + "Name the model with --model for more.")
      schema = nil
      model = nil
      origin = .tables
      entities = ReadableEntity.prepared(ReadableEntity.declared(metadata.primaryKeys, catalog: catalog))
    }
    self.remarks = remarks + Self.remarks(onTriggersOf: catalog, store: name)
  }

  /// The names of all entities, sorted.
  package var entityNames: [String] { entities.map(\.name) }

  /// Looks whether entities have tables to be read from: to count nothing would be to say that there is nothing.
  ///
  /// - Throws: `StoreProblem`.
  func checkTables(of entities: [ReadableEntity]) throws {
    for entity in entities {
      let wanted = entity.wantedTable
      if let table = entity.table, catalog.table(named: table) != nil { continue }
      let isView = catalog.views.contains { SQLName.areEqual($0.name, wanted) }
      throw StoreProblem(
        .damaged,
        "\(url.lastPathComponent) is damaged: the rows of \(entity.name) should be in the table \(wanted), "
          + (isView ? "which is a view." : "which is missing.") + " Restore it from a backup.")
    }
  }

  /// Runs a body that reads one state of the store, and puts errors of SQLite into words.
  func reading<Result>(_ body: () throws -> Result) throws -> Result {
    let result = try explaining(body)
    try access.checkUnchanged()
    return result
  }

  /// Runs a part of something that reads, and puts errors of SQLite into words.
  func explaining<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      // Pages of two states contradict each other, which is no damage.
      try access.checkUnchanged()
      throw StoreProblem.from(error, path: url.path)
    }
  }
}

/// An entity as far as it is known where it stands.
struct ReadableEntity {
  let name: String
  let number: Int
  /// Nil where the store has no table for it.
  let table: String?
  /// The table that it should have.
  let wantedTable: String
  let isAbstract: Bool
  /// Nil where no model is known.
  let layout: EntityLayout?
  /// Whether the table has rows of no other entity. Core Data then looks at no `Z_ENT`, and there are stores where it is
  /// wrong.
  var isAlone = false

  /// Narrows a query down to rows of exactly this entity.
  var condition: String { isAlone ? "1" : "Z_ENT = \(number)" }

  init(layout: EntityLayout) {
    name = layout.name
    number = layout.number
    table = layout.table
    wantedTable = layout.table
    isAbstract = layout.isAbstract
    self.layout = layout
  }

  private init(name: String, number: Int, table: String?, wantedTable: String) {
    self.name = name
    self.number = number
    self.table = table
    self.wantedTable = wantedTable
    isAbstract = false
    layout = nil
  }

  /// The entities sorted by name, knowing which of them share a table.
  static func prepared(_ entities: [ReadableEntity]) -> [ReadableEntity] {
    let shares = Dictionary(grouping: entities) { $0.table }
    return entities.sorted { $0.name < $1.name }.map { entity in
      var entity = entity
      entity.isAlone = shares[entity.table]?.count == 1
      return entity
    }
  }

  static func declared(_ rows: [PrimaryKeyRow], catalog: DatabaseCatalog) -> [ReadableEntity] {
    let own = rows.filter { $0.number <= PrimaryKeyRow.greatestNumber }
    let byNumber = Dictionary(own.map { ($0.number, $0) }) { first, _ in first }
    return own.map { row in
      var root = row
      var seen: Set<Int> = [row.number]
      while let parent = byNumber[root.parentNumber], seen.insert(parent.number).inserted { root = parent }
      let wanted = "Z" + root.name.uppercased()
      return ReadableEntity(
        name: row.name, number: row.number, table: catalog.table(named: wanted)?.name, wantedTable: wanted)
    }
  }
}
