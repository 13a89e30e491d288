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
  /// The configurations, in the order in which their stores are opened.
  let orderedConfigurations: [ModelConfiguration]
  let coordinator: NSPersistentStoreCoordinator
  private let model: NSManagedObjectModel
  private var remoteChanges: RemoteChangePosting?
  /// The stores of the program's own; set when the container is made.
  var dataStores: [DataStoreBridge] = []
  /// The context that keeps what the code of a migration stage saves, until the stage is recorded with it.
  var stageRoot: NSManagedObjectContext?
  /// Whether the container was made for the code of a migration stage.
  private(set) var isOfStage = false

  /// Creates a container over stores that are opened afterwards.
  init(
    _ schema: Schema, _ migrationPlan: (any SchemaMigrationPlan.Type)?, _ configurations: [ModelConfiguration],
    _ coordinator: NSPersistentStoreCoordinator
  ) {
    self.schema = schema
    self.migrationPlan = migrationPlan
    self.configurations = Set(configurations)
    orderedConfigurations = configurations
    self.coordinator = coordinator
    model = coordinator.managedObjectModel
    for entity in model.entities { ManagedObjectClasses.assign(ModelRow.self, to: entity) }
    if !configurations.isEmpty { remoteChanges = RemoteChangePosting(self) }
  }

  /// Creates a container over stores that are open, for the code of a migration stage.
  convenience init(_ schema: Schema, over coordinator: NSPersistentStoreCoordinator) {
    self.init(schema, nil, [], coordinator)
    isOfStage = true
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

  /// Deletes all models, with the files of the stores. The container has empty stores afterwards.
  ///
  /// Models that contexts have are those of deleted rows then.
  public func erase() throws {
    for store in dataStores { try coordinator.performAndWait { try store.erase() } }
    var wasRemoved = false
    for store in coordinator.persistentStores where !(store is DataStoreBridge) {
      guard let url = store.url else { continue }
      try coordinator.remove(store)
      wasRemoved = true
      if url.isFileURL, url.path == "/dev/null" { continue }
      try coordinator.destroyPersistentStore(at: url, type: NSPersistentStore.StoreType(rawValue: store.type))
    }
    if wasRemoved { try openStores() }
  }

  /// Returns whether both are the same container.
  public static func == (left: ModelContainer, right: ModelContainer) -> Bool { left === right }
}
