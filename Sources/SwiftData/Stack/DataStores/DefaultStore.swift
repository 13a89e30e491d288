// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The kind of store that `ModelConfiguration` describes: a Core Data store.
///
/// A container with a `ModelConfiguration` reaches its store without snapshots. A program makes a `DefaultStore` of its
/// own to keep what another data store receives, for instance behind a cache or a filter.
public final class DefaultStore: DataStore, HistoryProviding, DataStoreBatching, @unchecked Sendable {
  // The container may be used on any thread.

  /// How the store is made.
  public typealias Configuration = ModelConfiguration
  /// The values of models.
  public typealias Snapshot = DefaultSnapshot
  /// The transactions of history.
  public typealias HistoryType = DefaultHistoryTransaction
  /// The positions in history.
  public typealias TokenType = DefaultHistoryToken

  /// The configuration that the store was made with.
  public let configuration: ModelConfiguration
  /// The UUID of the Core Data store.
  public let identifier: String
  /// The types of the models.
  public let schema: Schema
  /// The name of the configuration.
  public var name: String { configuration.name }
  /// The type of the transactions.
  public static var historyType: DefaultHistoryTransaction.Type { DefaultHistoryTransaction.self }

  private let container: ModelContainer

  /// Opens or creates a store, and migrates it if necessary.
  ///
  /// - Throws: `SwiftDataError.unknownSchema` for a configuration without a schema, and the errors of `ModelContainer`.
  public init(_ configuration: ModelConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    guard let schema = configuration.schema else {
      throw SwiftDataError(
        .unknownSchema, "The configuration '\(configuration.name)' has no schema. A DefaultStore needs one.")
    }
    self.configuration = configuration
    self.schema = schema
    container = try ModelContainer(for: schema, migrationPlan: migrationPlan, configurations: [configuration])
    identifier = container.coordinator.persistentStores.first?.identifier ?? ""
  }

  private func context(_ state: EditingState) -> ModelContext {
    let context = ModelContext(container)
    context.author = state.author
    return context
  }

  // MARK: Reading

  /// Returns the snapshots of models, and those of the relationships to be prefetched.
  public func fetch<T: PersistentModel>(
    _ request: DataStoreFetchRequest<T>
  ) throws -> DataStoreFetchResult<T, DefaultSnapshot> {
    let context = context(request.editingState)
    let models = try context.fetch(request.descriptor)
    var related: [PersistentIdentifier: DefaultSnapshot] = [:]
    let names = try request.descriptor.relationshipKeyPathsForPrefetching.map {
      try ModelLayout.name(of: $0, in: T.self)
    }
    for model in models {
      for name in names {
        let value = model.storage.row?.value(forKey: name)
        let rows = value as? Set<NSManagedObject> ?? (value as? NSManagedObject).map { [$0] } ?? []
        for case let row as ModelRow in rows {
          let snapshot = DefaultSnapshot(of: context.core.model(of: row).storage)
          related[snapshot.persistentIdentifier] = snapshot
        }
      }
    }
    return DataStoreFetchResult(
      descriptor: request.descriptor, fetchedSnapshots: models.map { DefaultSnapshot(of: $0.storage) },
      relatedSnapshots: related)
  }

  /// Returns the number of models.
  public func fetchCount<T: PersistentModel>(_ request: DataStoreFetchRequest<T>) throws -> Int {
    try context(request.editingState).fetchCount(request.descriptor)
  }

  /// Returns the identifiers of models.
  public func fetchIdentifiers<T: PersistentModel>(
    _ request: DataStoreFetchRequest<T>
  ) throws -> [PersistentIdentifier] {
    try context(request.editingState).fetchIdentifiers(request.descriptor)
  }

  // MARK: Writing

  /// Writes snapshots as one transaction. The result has a permanent identifier for each inserted one.
  public func save(
    _ request: DataStoreSaveChangesRequest<DefaultSnapshot>
  ) throws -> DataStoreSaveChangesResult<DefaultSnapshot> {
    let context = context(request.editingState)
    let writing = SnapshotWriting(context.core)
    try writing.insert(request.inserted)
    try writing.update(request.inserted + request.updated)
    try writing.delete(request.deleted)
    try context.save()
    return DataStoreSaveChangesResult(
      for: identifier, remappedIdentifiers: writing.inserted.mapValues { PersistentIdentifier($0.objectID) })
  }

  /// Deletes models by a condition, and their related models by the delete rules.
  public func delete<T: PersistentModel>(_ request: DataStoreBatchDeleteRequest<T>) throws {
    let context = context(request.editingState)
    try context.delete(model: T.self, where: request.predicate, includeSubclasses: request.includeSubclasses)
    try context.save()
  }

  /// Deletes all models, and the files of the store.
  public func erase() throws { try container.erase() }

  // MARK: History

  /// Returns transactions, the oldest first.
  public func fetchHistory(
    _ descriptor: HistoryDescriptor<DefaultHistoryTransaction>
  ) throws -> [DefaultHistoryTransaction] { try ModelContext(container).fetchHistory(descriptor) }

  /// Deletes transactions, which must be the oldest ones.
  public func deleteHistory(_ descriptor: HistoryDescriptor<DefaultHistoryTransaction>) throws {
    try ModelContext(container).deleteHistory(descriptor)
  }
}

/// Writes snapshots to the rows of a context.
private final class SnapshotWriting {
  private let core: ContextCore
  /// The rows of inserted snapshots, by their temporary identifiers.
  private(set) var inserted: [PersistentIdentifier: ModelRow] = [:]

  init(_ core: ContextCore) { self.core = core }

  func insert(_ snapshots: [DefaultSnapshot]) throws {
    for snapshot in snapshots {
      let identifier = snapshot.persistentIdentifier
      inserted[identifier] = ModelRow(
        entity: core.entity(of: try type(of: identifier)), insertInto: core.managed)
    }
  }

  func update(_ snapshots: [DefaultSnapshot]) throws {
    for snapshot in snapshots {
      let row = try row(snapshot.persistentIdentifier)
      let layout = ModelLayout.of(try type(of: snapshot.persistentIdentifier))
      for (name, value) in snapshot.values {
        guard let slot = layout.slot(named: name) else { continue }
        try set(slot, value, of: row)
      }
    }
  }

  func delete(_ snapshots: [DefaultSnapshot]) throws {
    for snapshot in snapshots { core.managed.delete(try row(snapshot.persistentIdentifier)) }
  }

  private func set(_ slot: PropertySlot, _ value: (any Codable)?, of row: ModelRow) throws {
    switch slot.kind {
    case .unstorable: break
    case .toOne:
      row.setValue(try (value as? PersistentIdentifier).map { try self.row($0) }, forKey: slot.name)
    case .toMany:
      let rows = try (value as? [PersistentIdentifier] ?? []).map { try self.row($0) }
      row.setValue(NSSet(array: rows), forKey: slot.name)
    case .attribute(let access):
      guard let value else { return row.setValue(nil, forKey: slot.name) }
      var stored: Any = value
      if let data = value as? Data, !(slot.wrappedType is any Codable.Type) {
        stored = slot.transformer(in: row.entity)?.reverseTransformedValue(data) ?? data
      }
      do {
        try access.write(any: stored, to: row)
      } catch {
        throw SwiftDataError(
          .modelValidationFailure,
          "'\(slot.name)' of a snapshot \((error as? UnreadableAttribute)?.reason ?? "cannot be stored: \(error)").",
          cause: error, entity: row.entity.name, property: slot.name)
      }
    }
  }

  private func type(of identifier: PersistentIdentifier) throws -> any PersistentModel.Type {
    guard let type = core.container.schema.entitiesByName[identifier.entityName]?.type else {
      throw SwiftDataError(
        .unknownSchema, "The store's schema has no class for the entity '\(identifier.entityName)' of a snapshot.")
    }
    return type
  }

  private func row(_ identifier: PersistentIdentifier) throws -> ModelRow {
    if let row = inserted[identifier] { return row }
    guard let row = core.row(for: identifier) else {
      throw SwiftDataError(
        .modelValidationFailure,
        "A snapshot refers to \(identifier.words), which is neither in the store nor inserted with it.")
    }
    return row
  }
}
