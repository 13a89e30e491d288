// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// One of the two stores of a copy: its model, and where the model's entities stand in the database.
struct CopySide {
  let model: NSManagedObjectModel
  let schema: StoreSchema
  /// The name under which the connection has the store.
  let database: String
  let entities: StoredEntities
  let external: ExternalData

  init(model: NSManagedObjectModel, schema: StoreSchema, database: String, url: URL) {
    self.model = model
    self.schema = schema
    self.database = database
    entities = StoredEntities(schema: schema, model: model, store: nil)
    external = ExternalData(store: url)
  }

  /// The main database of an open store.
  init(model: NSManagedObjectModel, _ store: SQLiteStore.Opened) {
    self.model = model
    schema = store.entities.schema
    database = "main"
    entities = store.entities
    external = store.external
  }

  /// A table as statements have to call it.
  func table(_ name: String) -> String { "\(database).\(SQLName.quoted(name))" }

  func description(of entity: EntityLayout) -> NSEntityDescription? { entities.description(number: entity.number) }

  /// Makes conditions over the store's tables.
  func predicates() -> PredicateSQL {
    PredicateSQL(schema: schema, objects: entities, aliases: AliasNames(database: database))
  }

  /// Whether rows of an entity need their number to be told from others in their table.
  func sharesTable(_ entity: EntityLayout) -> Bool {
    schema.entity(number: entity.rootNumber)?.hasSubentities ?? false
  }
}

/// Why SQL cannot carry out an entity mapping, which objects can.
struct CopyBarrier: Error, Hashable {
  let mapping: String
  var property: String?
  /// The end of a sentence that begins with the mapping's name.
  let reason: String
}

/// A mapping that cannot be carried out at all, by whatever means.
struct CopyProblem: Error, Hashable {
  let mapping: String
  var entity: String?
  var property: String?
  let reason: String
  let suggestion: String

  func error(url: URL?) -> NSError {
    MigrationErrors.failed(
      url: url, reason: "The entity mapping '\(mapping)' cannot be carried out. \(reason)", suggestion: suggestion,
      entity: entity, attribute: property)
  }
}
