// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A fetch of models that are in a data store of the program's own.
///
/// The store receives the descriptor. Unsaved changes are merged into its results in memory, by evaluating the Swift
/// predicate and sort descriptors on the models.
struct DataStoreFetch<T: PersistentModel> {
  private let descriptor: FetchDescriptor<T>
  private let core: ContextCore
  private let entity: NSEntityDescription
  private let store: any DataStore

  /// - Returns: nil if the models are in a Core Data store.
  init?(_ descriptor: FetchDescriptor<T>, _ core: ContextCore) {
    guard !core.container.dataStores.isEmpty, let entity = core.container.entity(of: T.self),
      let bridge = core.container.dataStore(for: entity)
    else { return nil }
    (self.descriptor, self.core, self.entity, store) = (descriptor, core, entity, bridge.store)
  }

  /// Whether unsaved changes may change the results.
  private var isMerging: Bool { descriptor.includePendingChanges && core.managed.hasChanges }

  /// What the store is asked, and what remains to be done.
  private struct Attempt {
    var descriptor: FetchDescriptor<T>
    var filters = false
    var sorts = false
  }

  /// Asks the store, and asks again for what it leaves to the context.
  private func asking<Result>(_ body: (Attempt) throws -> Result) throws -> Result {
    var attempt = Attempt(descriptor: descriptor)
    // A store without limits is asked for all models that unsaved changes may concern.
    func withoutLimits() { (attempt.descriptor.fetchLimit, attempt.descriptor.fetchOffset) = (nil, nil) }
    if isMerging { withoutLimits() }
    while true {
      do {
        return try core.running(DescribedFetch(descriptor: attempt.descriptor)) { try body(attempt) }
      } catch DataStoreError.preferInMemoryFilter where !attempt.filters {
        attempt.filters = true
        attempt.descriptor.predicate = nil
        withoutLimits()
      } catch DataStoreError.preferInMemorySort where !attempt.sorts {
        attempt.sorts = true
        attempt.descriptor.sortBy = []
        withoutLimits()
      } catch DataStoreError.invalidPredicate {
        throw SwiftDataError(
          .unsupportedPredicate, "The data store \(type(of: store)) cannot evaluate the predicate.",
          cause: DataStoreError.invalidPredicate)
      }
    }
  }

  /// Returns the models.
  ///
  /// - Parameter includesSubclasses: whether models of subclasses are among them.
  func models(includesSubclasses: Bool = true) throws -> [T] {
    try asking { attempt in
      let request = NSFetchRequest<ModelRow>(entityName: entity.name ?? "")
      request.includesPendingChanges = descriptor.includePendingChanges
      request.includesSubentities = includesSubclasses
      let rows = try core.managed.fetch(request)
      for row in rows where !row.isFault && !row.hasChanges { core.managed.refresh(row, mergeChanges: true) }
      var models = rows.compactMap { row in
        includesSubclasses || row.entity === entity ? core.model(of: row) as? T : nil
      }
      if let predicate = descriptor.predicate, attempt.filters || isMerging {
        models = try models.filter { model in
          // The store has evaluated the predicate for what it has saved.
          guard attempt.filters || model.hasChanges else { return true }
          return try predicate.evaluate(model)
        }
      }
      if attempt.sorts || isMerging, !descriptor.sortBy.isEmpty { models.sort(using: descriptor.sortBy) }
      if attempt.filters || attempt.sorts || isMerging {
        models = Array(models.dropFirst(descriptor.fetchOffset ?? 0).prefix(descriptor.fetchLimit ?? .max))
      }
      return models
    }
  }

  /// Returns the number of models.
  func count() throws -> Int {
    if isMerging { return try models().count }
    return try asking { attempt in
      if attempt.filters || attempt.sorts { return try models().count }
      return try core.managed.count(for: NSFetchRequest<ModelRow>(entityName: entity.name ?? ""))
    }
  }

  /// Returns the identifiers of the models, without unsaved changes.
  func objectIDs() throws -> [NSManagedObjectID] {
    try asking { attempt in
      if attempt.filters || attempt.sorts { return try models().compactMap { $0.storage.row?.objectID } }
      let request = NSFetchRequest<NSManagedObjectID>(entityName: entity.name ?? "")
      request.resultType = .managedObjectIDResultType
      request.includesPendingChanges = false
      return try core.managed.fetch(request)
    }
  }
}

extension ContextCore {
  /// Reads the rows with identifiers, and returns them in that order; nil if they are in a Core Data store.
  func dataStoreRows<T: PersistentModel>(_ ids: [NSManagedObjectID], of type: T.Type) throws -> [ModelRow]? {
    guard let bridge = container.dataStore(for: entity(of: type)) else { return nil }
    let wanted = ids.compactMap { bridge.identifier(of: $0) }
    var descriptor = FetchDescriptor<T>(predicate: #Predicate<T> { wanted.contains($0.persistentModelID) })
    descriptor.includePendingChanges = false
    let rows = try DataStoreFetch(descriptor, self)?.models().compactMap(\.storage.row) ?? []
    let found = Dictionary(rows.map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
    // A row that was deleted since becomes a fault, as in a fetch.
    return ids.compactMap { found[$0] ?? managed.object(with: $0) as? ModelRow }
  }
}
