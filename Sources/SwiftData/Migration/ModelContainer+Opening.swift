// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContainer {
  /// Creates a container and opens its stores, which are created or migrated if necessary.
  ///
  /// - Parameters:
  ///   - schema: the types.
  ///   - migrationPlan: how old stores are migrated; nil to infer the changes.
  ///   - configurations: where the models are kept; none for the default place.
  /// - Throws: `SwiftDataError.loadIssueModelContainer`, whose cause is Core Data's error or a problem of a declaration.
  public convenience init(
    for schema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil, configurations: [ModelConfiguration]
  ) throws {
    let configurations = configurations.isEmpty ? [ModelConfiguration()] : configurations
    do {
      try Self.check(configurations, schema)
      let model = try Self.model(of: schema, configurations)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      self.init(schema, migrationPlan, configurations, coordinator)
      let stages = try migrationPlan.map { try PlannedStages($0, destination: model) }
      for configuration in configurations {
        let migration = ContainerMigration(configuration: configuration, schema: schema, model: model, stages: stages)
        try migration.run { try Self.open(migration, coordinator) }
      }
    } catch let error as SwiftDataError {
      throw error
    } catch {
      throw SwiftDataError(.loadIssueModelContainer, cause: error)
    }
  }

  /// Creates a container and opens its stores.
  public convenience init(
    for schema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil, configurations: ModelConfiguration...
  ) throws {
    try self.init(for: schema, migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Creates a container for model types and opens its stores.
  public convenience init(
    for types: any PersistentModel.Type..., migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: ModelConfiguration...
  ) throws {
    try self.init(for: Schema(types), migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Returns the model of a schema, with the entities of each configuration.
  static func model(
    of schema: Schema, _ configurations: [any DataStoreConfiguration]
  ) throws -> NSManagedObjectModel {
    var managed = ManagedModel(schema)
    let model = try managed.make(configurations: configurations.map(\.name).filter { $0 != "default" })
    for configuration in configurations {
      guard let part = configuration.schema else { continue }
      let names = Set(part.entities.map(\.name))
      model.setEntities(
        model.entities.filter { names.contains($0.name ?? "") }, forConfigurationName: configuration.name)
    }
    return model
  }

  static func check(_ configurations: [ModelConfiguration], _ schema: Schema) throws {
    for configuration in configurations { try configuration.validate() }
    for (position, configuration) in configurations.enumerated() {
      let others = configurations[..<position]
      if others.contains(where: { $0.name == configuration.name }) {
        throw SwiftDataError(.duplicateConfiguration, "Two configurations are named '\(configuration.name)'.")
      }
      if !configuration.isStoredInMemoryOnly, others.contains(where: { $0.url == configuration.url }) {
        throw SwiftDataError(.duplicateConfiguration, "Two configurations have the store \(configuration.url.path).")
      }
      for entity in configuration.schema?.entities ?? [] where schema.entitiesByName[entity.name] == nil {
        throw SwiftDataError(
          .configurationSchemaNotFoundInContainerSchema,
          "The configuration '\(configuration.name)' contains '\(entity.name)', which the container's schema lacks.")
      }
    }
  }

  static func open(_ migration: ContainerMigration, _ coordinator: NSPersistentStoreCoordinator) throws {
    let configuration = migration.configuration
    let description = NSPersistentStoreDescription(url: configuration.url)
    description.configuration = configuration.schema == nil ? nil : configuration.name
    description.isReadOnly = !configuration.allowsSave
    description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
    description.setOption(NSNumber(value: true), forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    try migration.setOptions(of: description)
    if configuration.url.isFileURL, !configuration.isStoredInMemoryOnly, configuration.allowsSave {
      try FileManager.default.createDirectory(
        at: configuration.url.deletingLastPathComponent(), withIntermediateDirectories: true)
    }
    var failure: (any Error)?
    coordinator.addPersistentStore(with: description) { failure = $1 }
    if let failure { throw failure }
  }
}
