// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// The source or the destination of a migration as the statements on the destination's connection see it.
struct MappedStore {
  let model: NSManagedObjectModel
  /// The name under which the connection has the store.
  let database: String
  let entities: StoredEntities
  let external: ExternalData

  var schema: StoreSchema { entities.schema }

  init(_ stack: MigrationStack, database: String) throws {
    let state = try stack.store.state()
    (model, self.database, entities, external) = (stack.model, database, state.entities, state.external)
  }

  /// A table with the name of its database.
  func table(_ name: String) -> String { "\(database).\(SQLName.quoted(name))" }

  func description(of entity: EntityLayout) -> NSEntityDescription? { entities.description(number: entity.number) }

  /// Makes conditions over the store's tables.
  func predicates() -> PredicateSQL {
    PredicateSQL(schema: schema, objects: entities, aliases: AliasNames(database: database))
  }

  /// Whether the table of an entity also holds rows of other entities.
  func sharesTable(_ entity: EntityLayout) -> Bool {
    schema.entity(number: entity.rootNumber)?.hasSubentities ?? false
  }
}

/// The reason why SQL cannot carry out an entity mapping, or its relationships. Objects carry it out, or report what is wrong.
struct SQLObstacle: Error, Hashable {
  /// A predicate of which the mapping is the subject: "has a policy class".
  let reason: String
  let property: String?

  init(_ reason: String, property: String? = nil) {
    (self.reason, self.property) = (reason, property)
  }
}
