// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContainer {
  /// Creates a container and opens its stores, some of which may be of the program's own.
  ///
  /// Each entity must belong to one store if a store of the program's own is among them, so that all configurations but
  /// one need a schema. A relationship cannot lead to a model in another store.
  ///
  /// - Parameters:
  ///   - schema: the types.
  ///   - configurations: where the models are kept; none for the default place.
  /// - Throws: `SwiftDataError.duplicateConfiguration` for an entity in two stores, and what the other initializers and
  ///   the stores throw.
  @_disfavoredOverload
  public convenience init(for schema: Schema, configurations: [any DataStoreConfiguration]) throws {
    let own = configurations.compactMap { $0 as? ModelConfiguration }
    if own.count == configurations.count {
      try self.init(for: schema, migrationPlan: nil, configurations: own)
      return
    }
    do {
      for configuration in configurations { try configuration.validate() }
      try Self.check(own, schema)
      try Self.checkPartition(configurations, schema)
      let model = try Self.model(of: schema, configurations)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      self.init(schema, nil, own, coordinator)
      SnapshotClasses.add(schema)
      for configuration in configurations {
        if let configuration = configuration as? ModelConfiguration {
          let migration = ContainerMigration(configuration: configuration, schema: schema, model: model, stages: nil)
          try migration.run { try Self.open(migration, coordinator) }
        } else {
          dataStores.append(try Self.add(configuration, to: coordinator, schema))
        }
      }
    } catch let error as SwiftDataError {
      throw error
    } catch {
      throw SwiftDataError(.loadIssueModelContainer, cause: error)
    }
  }

  /// Creates a container for model types and opens its stores, some of which may be of the program's own.
  @_disfavoredOverload
  public convenience init(
    for types: any PersistentModel.Type..., configurations: any DataStoreConfiguration...
  ) throws {
    try self.init(for: Schema(types), configurations: configurations)
  }

  /// Makes the store of a configuration, and adds it to a coordinator.
  private static func add<Configuration: DataStoreConfiguration>(
    _ configuration: Configuration, to coordinator: NSPersistentStoreCoordinator, _ schema: Schema
  ) throws -> DataStoreBridge {
    var configuration = configuration
    let part = configuration.schema
    if part == nil { configuration.schema = schema }
    let store = try Configuration.Store(configuration, migrationPlan: nil)
    SnapshotClasses.add(schema, ofStore: store.identifier)
    return try DataStoreBridge.add(
      store, to: coordinator, schema: schema, configuration: part == nil ? nil : configuration.name,
      entityNames: Set((part ?? schema).entities.map(\.name)))
  }

  /// Checks that each entity has one store.
  private static func checkPartition(_ configurations: [any DataStoreConfiguration], _ schema: Schema) throws {
    var owners: [String: String] = [:]
    for configuration in configurations {
      for entity in (configuration.schema ?? schema).entities {
        guard schema.entitiesByName[entity.name] != nil else {
          throw SwiftDataError(
            .configurationSchemaNotFoundInContainerSchema,
            "The configuration '\(configuration.name)' contains '\(entity.name)', which the container's schema lacks.")
        }
        if let other = owners.updateValue(configuration.name, forKey: entity.name) {
          throw SwiftDataError(
            .duplicateConfiguration,
            "The configurations '\(other)' and '\(configuration.name)' both contain '\(entity.name)'. Give each a schema "
              + "of its own: with a DataStore, a model belongs to one store.")
        }
      }
    }
    for (name, relationship, destination) in Self.relationships(of: schema) where owners[name] != owners[destination] {
      throw SwiftDataError(
        .duplicateConfiguration,
        "The relationship \(name).\(relationship) leads from the store '\(owners[name] ?? "none")' to "
          + "'\(owners[destination] ?? "none")'. Keep both entities in one store, or an identifier in an attribute.")
    }
  }

  private static func relationships(of schema: Schema) -> [(String, String, String)] {
    schema.entities.flatMap { entity in entity.relationships.map { (entity.name, $0.name, $0.destination) } }
  }
}
