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
    var configurations = configurations.isEmpty ? [ModelConfiguration()] : configurations
    do {
      try Self.check(configurations, schema)
      Self.distinguishParts(of: &configurations)
      let model = try Self.model(of: schema, configurations)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      self.init(schema, migrationPlan, configurations, coordinator)
      try openStores()
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

  /// Opens the stores, which are created or migrated if necessary.
  func openStores() throws {
    let model = coordinator.managedObjectModel
    let stages = try migrationPlan.map { try PlannedStages($0, destination: model) }
    for configuration in orderedConfigurations {
      let migration = ContainerMigration(configuration: configuration, schema: schema, model: model, stages: stages)
      try migration.run { try Self.open(migration, coordinator) }
    }
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
    let parts = configurations.map { ($0 as? ModelConfiguration)?.part ?? $0.name }
    let model = try managed.make(configurations: parts.filter { $0 != "default" })
    for (configuration, part) in zip(configurations, parts) {
      guard let names = configuration.schema.map({ Set($0.entities.map(\.name)) }) else { continue }
      model.setEntities(model.entities.filter { names.contains($0.name ?? "") }, forConfigurationName: part)
    }
    return model
  }

  /// Gives the parts of configurations with one name different names.
  private static func distinguishParts(of configurations: inout [ModelConfiguration]) {
    for position in configurations.indices {
      let taken = Set(configurations[..<position].map(\.part))
      var number = 1
      while taken.contains(configurations[position].part) {
        number += 1
        configurations[position].part = "\(configurations[position].name) \(number)"
      }
    }
  }

  /// Returns whether two configurations have common types.
  private static func overlap(_ left: ModelConfiguration, _ right: ModelConfiguration) -> Bool {
    guard let left = left.schema, let right = right.schema else { return true }
    return left.entities.contains { right.entitiesByName[$0.name] != nil }
  }

  static func check(_ configurations: [ModelConfiguration], _ schema: Schema) throws {
    for configuration in configurations { try configuration.validate() }
    for (position, configuration) in configurations.enumerated() {
      let others = configurations[..<position]
      if others.contains(where: { $0.name == configuration.name && overlap($0, configuration) }) {
        throw SwiftDataError(
          .duplicateConfiguration,
          "Two configurations are named '\(configuration.name)'. Give each a name and a schema of its own.")
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
    description.configuration = migration.part
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
