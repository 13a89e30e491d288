// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// The stores of an app's models.
public final class ModelContainer: Equatable, @unchecked Sendable {
  /// The types, with those that their relationships reach.
  public let schema: Schema
  /// How old stores are migrated; nil if the changes are inferred.
  public let migrationPlan: (any SchemaMigrationPlan.Type)?
  /// Where the models are kept.
  public let configurations: Set<ModelConfiguration>
  let coordinator: NSPersistentStoreCoordinator
  private let model: NSManagedObjectModel
  /// The context that keeps what the code of a migration stage saves, until the stage is recorded with it.
  var stageRoot: NSManagedObjectContext?

  /// Creates a container and opens its stores, which are created or migrated if necessary.
  ///
  /// - Parameters:
  ///   - schema: the types.
  ///   - migrationPlan: how old stores are migrated; nil to infer the changes.
  ///   - configurations: where the models are kept; none for the default place.
  /// - Throws: `SwiftDataError.loadIssueModelContainer`, whose cause is Core Data's error or a problem of a declaration.
  public init(
    for schema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil, configurations: [ModelConfiguration]
  ) throws {
    self.schema = schema
    self.migrationPlan = migrationPlan
    let configurations = configurations.isEmpty ? [ModelConfiguration()] : configurations
    self.configurations = Set(configurations)
    do {
      try Self.check(configurations, schema)
      var managed = ManagedModel(schema)
      model = try managed.make(configurations: configurations.map(\.name).filter { $0 != "default" })
      for configuration in configurations {
        guard let part = configuration.schema else { continue }
        let names = Set(part.entities.map(\.name))
        model.setEntities(
          model.entities.filter { names.contains($0.name ?? "") }, forConfigurationName: configuration.name)
      }
      for entity in model.entities { ManagedObjectClasses.assign(ModelRow.self, to: entity) }
      coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let stages = try migrationPlan.map { try PlannedStages($0, destination: model) }
      for configuration in configurations {
        let migration = ContainerMigration(configuration: configuration, schema: schema, model: model, stages: stages)
        try migration.run { [coordinator] in try Self.open(migration, coordinator) }
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

  /// Creates a container over stores that are open, for the code of a migration stage.
  init(_ schema: Schema, over coordinator: NSPersistentStoreCoordinator) {
    self.schema = schema
    migrationPlan = nil
    configurations = []
    self.coordinator = coordinator
    model = coordinator.managedObjectModel
    for entity in model.entities { ManagedObjectClasses.assign(ModelRow.self, to: entity) }
  }

  private static func check(_ configurations: [ModelConfiguration], _ schema: Schema) throws {
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

  private static func open(_ migration: ContainerMigration, _ coordinator: NSPersistentStoreCoordinator) throws {
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

  /// The context of the main actor, which saves by itself.
  @MainActor public private(set) lazy var mainContext: ModelContext = {
    let context = ModelContext(ContextCore(self, .mainQueueConcurrencyType))
    context.core.mergeChanges()
    context.autosaveEnabled = true
    return context
  }()

  func entity(of type: any PersistentModel.Type) -> NSEntityDescription? {
    schema.entity(of: type).flatMap { model.entitiesByName[$0.name] }
  }

  /// Returns what makes the models of an entity.
  func factory(for entity: NSEntityDescription) -> any ModelMaking {
    guard let type = schema.entitiesByName[entity.name ?? ""]?.type else {
      trap("The schema has no class for the entity '\(entity.name ?? "")': make it from model types.")
    }
    return Self.factory(type)
  }

  private static func factory<Model: PersistentModel>(_ type: Model.Type) -> any ModelMaking { ModelFactory<Model>() }

  /// Deletes all models.
  ///
  /// Errors, such as that of a store in use, are printed: Apple's function has no other way. `erase()` throws them.
  public func deleteAllData() {
    do { try erase() } catch { FileHandle.standardError.write(Data("SwiftData: \(error)\n".utf8)) }
  }

  /// Deletes all models, and the files of the stores.
  public func erase() throws {
    for store in coordinator.persistentStores {
      guard let url = store.url else { continue }
      try coordinator.remove(store)
      if url.isFileURL, url.path != "/dev/null" {
        try coordinator.destroyPersistentStore(at: url, type: NSPersistentStore.StoreType(rawValue: store.type))
      }
    }
  }

  /// Returns whether both are the same container.
  public static func == (left: ModelContainer, right: ModelContainer) -> Bool { left === right }
}
