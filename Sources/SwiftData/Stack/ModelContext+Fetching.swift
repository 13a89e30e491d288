// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContext {
  /// Returns the models that a descriptor describes.
  ///
  /// - Throws: `SwiftDataError.unsupportedPredicate` and `.unsupportedSortDescriptor` for what a store cannot do, and
  ///   Core Data's errors.
  public func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [T] {
    if let fetch = DataStoreFetch(descriptor, core) { return try fetch.models() }
    let fetch = try ModelFetch(descriptor, core)
    return try fetch.models(managed.fetch(fetch.request))
  }

  /// Returns the models that a descriptor describes. Their values are read from the store in batches, when they are
  /// first used.
  ///
  /// - Parameters:
  ///   - descriptor: the descriptor, which must not include unsaved changes.
  ///   - batchSize: the number of models that are read together.
  /// - Throws: `SwiftDataError.includePendingChangesWithBatchSize`, and the errors of `fetch(_:)`.
  public func fetch<T: PersistentModel>(
    _ descriptor: FetchDescriptor<T>, batchSize: Int
  ) throws -> FetchResultsCollection<T> {
    let identifiers = try objectIDs(descriptor, isBatched: true)
    let core = self.core
    return FetchResultsCollection(
      ResultBatches(identifiers, size: batchSize) { ids in
        try core.rows(ids, of: T.self).compactMap { core.model(of: $0) as? T }
      })
  }

  /// Returns the number of models that a descriptor describes.
  public func fetchCount<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> Int {
    if let fetch = DataStoreFetch(descriptor, core) { return try fetch.count() }
    let fetch = try ModelFetch(descriptor, core)
    if fetch.filter != nil { return try self.fetch(descriptor).count }
    return try managed.count(for: fetch.request)
  }

  /// Returns the identifiers of the models that a descriptor describes.
  ///
  /// - Throws: `SwiftDataError.sortingPendingChangesWithIdentifiers` if there are unsaved changes to be sorted, and the
  ///   errors of `fetch(_:)`.
  public func fetchIdentifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [PersistentIdentifier] {
    if descriptor.includePendingChanges, hasChanges {
      if !descriptor.sortBy.isEmpty {
        throw SwiftDataError(
          .sortingPendingChangesWithIdentifiers,
          "Identifiers cannot be sorted while there are unsaved changes. Save first, or fetch the models.")
      }
      return try fetch(descriptor).map(\.persistentModelID)
    }
    var maker = IdentifierMaker()
    return try objectIDs(descriptor, isBatched: false).map { maker.identifier(of: $0) }
  }

  /// Returns the identifiers of the models that a descriptor describes, which must not include unsaved changes.
  ///
  /// - Parameters:
  ///   - descriptor: the descriptor.
  ///   - batchSize: the number of identifiers that are made together.
  public func fetchIdentifiers<T: PersistentModel>(
    _ descriptor: FetchDescriptor<T>, batchSize: Int
  ) throws -> FetchResultsCollection<PersistentIdentifier> {
    let identifiers = try objectIDs(descriptor, isBatched: true)
    return FetchResultsCollection(
      ResultBatches(identifiers, size: batchSize) { ids in ids.map { PersistentIdentifier($0) } })
  }

  /// Calls a block with each model that a descriptor describes, with bounded memory.
  ///
  /// Models without unsaved changes are released after their batch, so that a relationship may be read again.
  ///
  /// - Parameters:
  ///   - descriptor: the descriptor.
  ///   - batchSize: the number of models in memory at a time.
  ///   - allowEscapingMutations: whether the block may leave unsaved changes in the context; if not, which is the
  ///     default, a batch that leaves changes throws `SwiftDataError.modelValidationFailure`.
  ///   - block: called with each model.
  public func enumerate<T: PersistentModel>(
    _ descriptor: FetchDescriptor<T>, batchSize: Int = 5000, allowEscapingMutations: Bool = false,
    block: (T) throws -> Void
  ) throws {
    var descriptor = descriptor
    descriptor.includePendingChanges = descriptor.includePendingChanges && hasChanges
    if descriptor.includePendingChanges {
      for model in try fetch(descriptor) { try block(model) }
      return
    }
    let hadChanges = hasChanges
    let identifiers = try objectIDs(descriptor, isBatched: false)
    var start = 0
    while start < identifiers.count {
      let batch = Array(identifiers[start..<min(start + max(batchSize, 1), identifiers.count)])
      let rows = try core.rows(batch, of: T.self)
      for row in rows {
        if let model = core.model(of: row) as? T { try block(model) }
      }
      if !allowEscapingMutations, !hadChanges, hasChanges {
        throw SwiftDataError(
          .modelValidationFailure,
          "The block of enumerate has left unsaved changes. Save them in the block, or pass allowEscapingMutations: true."
        )
      }
      for row in rows where !row.hasChanges { managed.refresh(row, mergeChanges: false) }
      core.collections.removeAll()
      core.merging.discard()
      start += batch.count
    }
  }

  private func objectIDs<T: PersistentModel>(
    _ descriptor: FetchDescriptor<T>, isBatched: Bool
  ) throws -> [NSManagedObjectID] {
    if isBatched, descriptor.includePendingChanges, hasChanges {
      throw SwiftDataError(
        .includePendingChangesWithBatchSize,
        "A fetch in batches cannot include unsaved changes. Save first, or set includePendingChanges to false.")
    }
    var descriptor = descriptor
    descriptor.includePendingChanges = false
    if let fetch = DataStoreFetch(descriptor, core) { return try fetch.objectIDs() }
    let fetch = try ModelFetch(descriptor, core)
    if fetch.filter != nil { return try fetch.rows(managed.fetch(fetch.request)).map(\.objectID) }
    return try managed.fetch(fetch.identifierRequest)
  }

  /// Deletes the models of a type, or some of them, when the context is saved.
  ///
  /// - Parameters:
  ///   - model: the type.
  ///   - predicate: the condition; nil for all models.
  ///   - includeSubclasses: whether models of subclasses are deleted too.
  public func delete<T: PersistentModel>(
    model: T.Type, where predicate: Predicate<T>? = nil, includeSubclasses: Bool = true
  ) throws {
    let descriptor = FetchDescriptor<T>(predicate: predicate)
    if let fetch = DataStoreFetch(descriptor, core) {
      for model in try fetch.models(includesSubclasses: includeSubclasses) { core.delete(model.storage) }
      return
    }
    let fetch = try ModelFetch(descriptor, core)
    fetch.request.includesSubentities = includeSubclasses
    for row in try fetch.rows(managed.fetch(fetch.request)) { core.delete(row) }
  }
}

/// A fetch request for models.
private struct ModelFetch<T: PersistentModel> {
  let request: NSFetchRequest<ModelRow>
  /// A condition that the store cannot evaluate.
  let filter: Predicate<T>?
  private let core: ContextCore
  /// The limit and offset, which apply after the filter.
  private var limits: (limit: Int?, offset: Int)

  init(_ descriptor: FetchDescriptor<T>, _ core: ContextCore) throws {
    self.core = core
    try core.checkContains(T.self)
    request = NSFetchRequest<ModelRow>(entityName: core.entity(of: T.self).name ?? "")
    let condition = try FetchCondition(descriptor, core)
    request.predicate = condition.predicate
    request.sortDescriptors = condition.order
    request.includesPendingChanges = descriptor.includePendingChanges
    // A context without a queue of its own does not learn of other contexts' changes in another way.
    request.shouldRefreshRefetchedObjects = !core.managed.automaticallyMergesChangesFromParent
    request.relationshipKeyPathsForPrefetching = try descriptor.relationshipKeyPathsForPrefetching.map {
      try ModelLayout.name(of: $0, in: T.self)
    }
    filter = condition.filter
    limits = (descriptor.fetchLimit, descriptor.fetchOffset ?? 0)
    if filter == nil {
      request.fetchLimit = descriptor.fetchLimit ?? 0
      request.fetchOffset = descriptor.fetchOffset ?? 0
    }
  }

  /// The request for identifiers alone.
  var identifierRequest: NSFetchRequest<NSManagedObjectID> {
    let result = NSFetchRequest<NSManagedObjectID>(entityName: request.entityName ?? "")
    result.resultType = .managedObjectIDResultType
    result.predicate = request.predicate
    result.sortDescriptors = request.sortDescriptors
    result.includesPendingChanges = request.includesPendingChanges
    result.fetchLimit = request.fetchLimit
    result.fetchOffset = request.fetchOffset
    return result
  }

  /// Returns the models of rows that the request returned.
  func models(_ rows: [ModelRow]) throws -> [T] {
    guard filter != nil else { return rows.compactMap { core.model(of: $0) as? T } }
    return try self.rows(rows).compactMap { core.model(of: $0) as? T }
  }

  /// Returns those of the rows that the filter keeps.
  func rows(_ rows: [ModelRow]) throws -> [ModelRow] {
    guard let filter else { return rows }
    let kept = try rows.filter { row in
      guard let model = core.model(of: row) as? T else { return false }
      return try filter.evaluate(model)
    }
    return Array(kept.dropFirst(limits.offset).prefix(limits.limit ?? Int.max))
  }
}
