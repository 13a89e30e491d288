// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A store of the program's own behind a `ModelContainer`: a file format, a database or a service.
///
/// A store exchanges snapshots with the contexts of its container: `fetch(_:)` returns them and `save(_:)` receives
/// them. A minimal store implements the initializer, `configuration`, `identifier`, `schema`, `fetch(_:)` and `save(_:)`;
/// the rest has defaults.
///
/// The container calls a store on behalf of one context at a time, on the thread of that context. So a store needs no
/// lock of its own unless something else uses it too.
public protocol DataStore<Configuration, Snapshot>: AnyObject {
  /// The type of the configurations by which containers make stores.
  associatedtype Configuration: DataStoreConfiguration where Configuration.Store == Self
  /// The type of the values that the store exchanges with contexts; `DefaultSnapshot` unless the store has its own.
  associatedtype Snapshot: DataStoreSnapshot

  /// Opens or creates a store.
  ///
  /// - Parameters:
  ///   - configuration: the configuration, whose schema the container has set.
  ///   - migrationPlan: how old stores are migrated; nil if there is no plan.
  init(_ configuration: Configuration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws

  /// The configuration that the store was made with.
  var configuration: Configuration { get }
  /// The identifier of the store, which its `PersistentIdentifier`s contain. It must not change.
  var identifier: String { get }
  /// The types of the models in the store.
  var schema: Schema { get }

  /// Returns the snapshots of the models that a request describes.
  ///
  /// - Throws: `DataStoreError.preferInMemoryFilter` or `.preferInMemorySort` to be asked again without the predicate or
  ///   without the order, which the context then evaluates in memory; any other error, which the fetch throws.
  func fetch<T: PersistentModel>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, Snapshot>

  /// Returns the number of models that a request describes. By default, counts the results of `fetch(_:)`.
  func fetchCount<T: PersistentModel>(_ request: DataStoreFetchRequest<T>) throws -> Int

  /// Returns the identifiers of the models that a request describes. By default, those of the results of `fetch(_:)`.
  func fetchIdentifiers<T: PersistentModel>(_ request: DataStoreFetchRequest<T>) throws -> [PersistentIdentifier]

  /// Writes the changes of a context.
  ///
  /// The result must have a permanent identifier for each inserted snapshot. Snapshots of other models may refer to
  /// the temporary ones: `copy(persistentIdentifier:remappedIdentifiers:)` replaces them. If the method throws, the
  /// context keeps its changes and saves all of them again the next time, so the store should write all or nothing.
  func save(_ request: DataStoreSaveChangesRequest<Snapshot>) throws -> DataStoreSaveChangesResult<Snapshot>

  /// Deletes all models. By default, throws `DataStoreError.unsupportedFeature`.
  func erase() throws

  /// Called before the first request of a context. Does nothing by default.
  func initializeState(for editingState: EditingState)

  /// Called when a context that has made requests has been deallocated. Does nothing by default.
  func invalidateState(for editingState: EditingState)

  /// Returns those of the snapshots with some identifiers that need no fetch. By default, returns none.
  ///
  /// A context asks for them to read a model that it knows by its identifier alone, and fetches the others.
  func cachedSnapshots(
    for persistentIdentifiers: [PersistentIdentifier], editingState: EditingState
  ) throws -> [PersistentIdentifier: Snapshot]
}

extension DataStore {
  /// Counts the identifiers that `fetchIdentifiers(_:)` returns.
  public func fetchCount<T: PersistentModel>(_ request: DataStoreFetchRequest<T>) throws -> Int {
    try fetchIdentifiers(request).count
  }

  /// Returns the identifiers of the snapshots that `fetch(_:)` returns.
  public func fetchIdentifiers<T: PersistentModel>(
    _ request: DataStoreFetchRequest<T>
  ) throws -> [PersistentIdentifier] {
    let names = entityNames(of: T.self, in: schema)
    return try fetch(request).fetchedSnapshots.map(\.persistentIdentifier).filter { names.contains($0.entityName) }
  }

  /// Throws `DataStoreError.unsupportedFeature`.
  public func erase() throws { throw DataStoreError.unsupportedFeature }
  /// Does nothing.
  public func initializeState(for editingState: EditingState) {}
  /// Does nothing.
  public func invalidateState(for editingState: EditingState) {}

  /// Returns no snapshots.
  public func cachedSnapshots(
    for persistentIdentifiers: [PersistentIdentifier], editingState: EditingState
  ) throws -> [PersistentIdentifier: Snapshot] { [:] }
}

/// Returns the names of the entities of a class and of its subclasses.
func entityNames(of type: any PersistentModel.Type, in schema: Schema) -> Set<String> {
  func all(_ entity: Schema.Entity) -> [String] { [entity.name] + entity.subentities.flatMap(all) }
  return Set(schema.entity(of: type).map(all) ?? [])
}

/// Where and how a store keeps models.
///
/// A structure with the location and the options of a kind of store. Its `Store` is the class that a container makes.
public protocol DataStoreConfiguration<Store>: Hashable {
  /// The class of the store.
  associatedtype Store: DataStore where Store.Configuration == Self
  /// The name, which must be unique in a container.
  var name: String { get }
  /// The types in the store; nil for all those of the container, which then sets it before it makes the store.
  var schema: Schema? { get set }
  /// Checks the configuration. By default, does nothing.
  func validate() throws
}

extension DataStoreConfiguration {
  /// Does nothing.
  public func validate() throws {}
}

/// A store that deletes models by a condition, without reading them.
public protocol DataStoreBatching: DataStore {
  /// Deletes the models that a request describes.
  ///
  /// For callers of the store itself. `ModelContext.delete(model:where:includeSubclasses:)` applies delete rules and can
  /// be undone until it is saved, so it deletes the models with `save(_:)`.
  func delete<T: PersistentModel>(_ request: DataStoreBatchDeleteRequest<T>) throws
}

/// What a store cannot do.
public enum DataStoreError: Error, Hashable, Sendable {
  /// The predicate cannot be evaluated. The fetch throws `SwiftDataError.unsupportedPredicate`.
  case invalidPredicate
  /// The context shall evaluate the predicate, and ask again without it.
  case preferInMemoryFilter
  /// The context shall sort the results, and ask again without an order.
  case preferInMemorySort
  /// The store lacks the feature.
  case unsupportedFeature
}
