// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// One fetch: asks the stores, and works the context's unsaved changes in.
struct FetchExecution {
  private let specification: FetchSpecification
  private let context: NSManagedObjectContext
  private let entity: NSEntityDescription
  private let stores: [any RowStore]
  private var query: RowQuery
  /// Whether the predicate is one that only Foundation can evaluate: a block.
  private let isOpaque: Bool
  /// Whether the objects are sorted by something that only the program can read: a Swift key path.
  private let isSortedByCode: Bool
  /// Objects of the entity with unsaved changes, which no store can answer for.
  private let pending: [NSManagedObject]

  init(
    _ specification: FetchSpecification, in context: NSManagedObjectContext, affectedStores: [NSPersistentStore]?
  ) throws {
    context.willQueryStores()
    self.specification = specification
    self.context = context
    let entity = try FetchExecution.entity(of: specification, in: context)
    self.entity = entity
    stores = try context.coordinator.rowStores(for: entity, among: affectedStores)
    var query = RowQuery(entity: entity, includesSubentities: specification.includesSubentities)
    var isOpaque = false
    if let predicate = specification.predicate {
      do {
        query.predicate = try PredicateSyntax(predicate)
      } catch is OpaqueCriterion {
        isOpaque = true
      }
    }
    query.order = try (specification.sortDescriptors ?? []).compactMap { try SortKey(described: $0, entity: entity) }
    isSortedByCode = query.order.count < specification.sortDescriptors?.count ?? 0
    for path in query.order.map(\.keyPath) + (query.predicate?.keyPaths ?? []) {
      try FetchExecution.check(path, of: entity)
    }
    if isSortedByCode { query.order = [] }
    query.limit = specification.fetchLimit
    query.offset = specification.fetchOffset
    self.query = query
    self.isOpaque = isOpaque
    if specification.includesPendingChanges, context.hasChanges {
      context.processPendingChanges()
      pending = context.changedInOrder.filter { object in
        specification.includesSubentities
          ? object.entity.isKindOf(entity: entity) : object.entity === entity
      }
    } else {
      pending = []
    }
  }

  /// Refuses a key path that the model does not have, whether or not there is a row to try it on.
  private static func check(_ path: String, of entity: NSEntityDescription) throws {
    var source = entity
    for key in path.split(separator: ".").map(String.init) where !key.hasPrefix("@") {
      guard let property = source.propertiesByName[key] else {
        if ["self", "SELF", "objectID", "entity"].contains(key) { return }
        throw ObjectGraphErrors.badRequest(
          "The key path '\(path)' leads to '\(key)', which is no property of '\(source.name ?? "")'.", entity: entity,
          suggestion: "Correct the predicate or the sort descriptor.")
      }
      guard let destination = (property as? NSRelationshipDescription)?.destinationEntity else { return }
      source = destination
    }
  }

  private static func entity(
    of specification: FetchSpecification, in context: NSManagedObjectContext
  ) throws -> NSEntityDescription {
    let model = context.coordinator.managedObjectModel
    guard let name = specification.entity?.name ?? specification.entityName else {
      throw ObjectGraphErrors.badRequest(
        "The request names no entity.", entity: nil, suggestion: "Make it with NSFetchRequest(entityName:).")
    }
    guard let entity = model.entitiesByName[name] else {
      throw ObjectGraphErrors.unknownEntity(name, known: Array(model.entitiesByName.keys))
    }
    return entity
  }

  /// Whether the stores' answer stands as it is: one store, nothing unsaved.
  private var isStoresOwn: Bool { pending.isEmpty && stores.count == 1 && !isOpaque && !isSortedByCode }

  func objects() throws -> [NSManagedObject] {
    let found = try matching()
    if specification.shouldRefreshRefetchedObjects || !specification.returnsObjectsAsFaults {
      for object in found { object.realize() }
    }
    if specification.relationshipKeyPathsForPrefetching?.isEmpty == false { context.readAhead = [:] }
    try Prefetching(context: context).prefetch(specification.relationshipKeyPathsForPrefetching ?? [], of: found)
    return found
  }

  func identifiers() throws -> [NSManagedObjectID] {
    if isStoresOwn, let ids = try locked({ try stores[0].identifiers(for: query) }) { return ids }
    return try matching().map(\.objectID)
  }

  func count() throws -> Int {
    if isStoresOwn, let count = try locked({ try stores[0].count(for: query) }) { return count }
    return try matching().count
  }

  func dictionaries() throws -> [NSDictionary] {
    let results = try DictionaryResults(specification, entity: entity)
    guard specification.returnsDistinctResults || results.isSummary else {
      return try results.dictionaries(of: matching())
    }
    // Offset and limit count dictionaries, of which one can stand for several objects.
    return try window(results.dictionaries(of: unbounded().matching()))
  }

  /// Stores are asked while no other context does.
  private func locked<T>(_ body: () throws -> T) rethrows -> T {
    try context.coordinator.withLock(body)
  }

  /// All objects that answer the request, in order, with offset and limit observed.
  private func matching() throws -> [NSManagedObject] {
    if isStoresOwn, readsRowsLater, let ids = try locked({ try stores[0].identifiers(for: query) }) {
      return faults(ids)
    }
    if isStoresOwn, let rows = try locked({ try stores[0].rows(for: query) }) {
      return rows.map { context.object(for: $0, refreshing: specification.shouldRefreshRefetchedObjects) }
    }
    var whole = query
    whole.limit = 0
    whole.offset = 0
    var objects: [NSManagedObject] = []
    for store in stores {
      objects += try matching(whole, in: store)
    }
    objects = try withPending(objects)
    if isSortedByCode {
      objects = sortedByCode(objects)
    } else if !query.order.isEmpty {
      objects = try ObjectOrder(query.order).sorted(objects)
    }
    return window(objects)
  }

  /// Sorts by the descriptors themselves; equal objects keep their order.
  private func sortedByCode(_ objects: [NSManagedObject]) -> [NSManagedObject] {
    let descriptors = specification.sortDescriptors ?? []
    return objects.enumerated().sorted { left, right in
      for descriptor in descriptors {
        switch descriptor.compare(left.element, to: right.element) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return left.offset < right.offset
    }.map(\.element)
  }

  /// Whether only identifiers are read now.
  private var readsRowsLater: Bool {
    specification.resultType == .managedObjectResultType && !specification.shouldRefreshRefetchedObjects
      && (!specification.includesPropertyValues || specification.fetchBatchSize > 0)
  }

  /// The objects of identifiers; those that have no values yet read them in batches, where the request wants that.
  private func faults(_ ids: [NSManagedObjectID]) -> [NSManagedObject] {
    let batch = specification.fetchBatchSize > 0 ? FetchBatch(ids, size: specification.fetchBatchSize) : nil
    return ids.map { id in
      let object = context.object(for: id)
      if object.isInaccessible { context.revive(object) }
      if object.isFault, object.snapshot == nil { object.batch = batch }
      return object
    }
  }

  private func matching(_ query: RowQuery, in store: any RowStore) throws -> [NSManagedObject] {
    if !isOpaque, let rows = try locked({ try store.rows(for: query) }) {
      return rows.map { context.object(for: $0, refreshing: specification.shouldRefreshRefetchedObjects) }
    }
    // The store cannot express the predicate or the order: all rows are read and sorted out here.
    let all = RowQuery(entity: query.entity, includesSubentities: query.includesSubentities)
    guard let rows = try locked({ try store.rows(for: all) }) else {
      throw ObjectGraphErrors.badRequest(
        "The store cannot list the rows of '\(entity.name ?? "")'.", entity: entity,
        suggestion: "Check the store with an integrity check.")
    }
    return try rows.map { context.object(for: $0) }.filter(isWanted)
  }

  private func withPending(_ objects: [NSManagedObject]) throws -> [NSManagedObject] {
    guard !pending.isEmpty else { return objects }
    let unsaved = Set(pending.map(ObjectIdentifier.init))
    let matching = try pending.filter { try !$0.isDeleted && isWanted($0) }
    let standing = Set(matching.map(ObjectIdentifier.init))
    // Objects keep the place that the store gave them; those that only the context knows come last.
    let inPlace = objects.filter {
      !unsaved.contains(ObjectIdentifier($0)) || standing.contains(ObjectIdentifier($0))
    }
    let known = Set(inPlace.map(ObjectIdentifier.init))
    return inPlace + matching.filter { !known.contains(ObjectIdentifier($0)) }
  }

  private func isWanted(_ object: NSManagedObject) throws -> Bool {
    if isOpaque { return try specification.predicate?.holds(for: object) ?? true }
    guard let predicate = query.predicate else { return true }
    return try PredicateEvaluator().evaluate(predicate, with: object)
  }

  private func unbounded() -> FetchExecution {
    var execution = self
    execution.query.limit = 0
    execution.query.offset = 0
    return execution
  }

  private func window<Result>(_ objects: [Result]) -> [Result] {
    var result = objects[...]
    if query.offset > 0 { result = result.dropFirst(query.offset) }
    if query.limit > 0 { result = result.prefix(query.limit) }
    return Array(result)
  }
}
