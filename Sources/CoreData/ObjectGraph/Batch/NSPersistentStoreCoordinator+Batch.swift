// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// Execution of batch requests: finding the stores, and rows that only a context can find.
extension NSPersistentStoreCoordinator {
  func execute(_ request: NSBatchInsertRequest, for context: NSManagedObjectContext) throws -> NSBatchInsertResult {
    let entity = try self.entity(named: request.entityName)
    let policy = (context.mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    context.willChangeRows()
    let stores = try batchStores(for: entity, request, among: request.affectedStores)
    guard let store = stores.first(where: { !$0.isReadOnly }) ?? stores.first else {
      throw ObjectGraphErrors.noStore(for: entity, coordinatorHasStores: true)
    }
    // Requests may be changed on other threads, so each property is read once.
    let resultType = request.resultType
    let origin = context.requestOrigin
    let committed = try request.committedOutcomes()
    let done =
      try committed[store.number]
      ?? withLock { () -> BatchOutcome in
        store.origin = origin
        var hasRun = false
        var outcome = BatchOutcome()
        do {
          try store.batch(derivations) { run in
            // A handler provides each object only once.
            if hasRun, request.dictionaryHandler != nil || request.managedObjectHandler != nil { throw CannotRepeat() }
            hasRun = true
            let insertion = try BatchInsert(run, entity, policy: policy, keepsIdentifiers: resultType == .objectIDs)
            try insertion.insertAll(of: request)
            try insertion.finish()
            outcome = BatchOutcome(count: insertion.count, ids: insertion.identifiers)
          }
        } catch {
          let failure = InterruptedWrite.error(error, stores: [store], committed: [])
          throw request.cause(of: failure, [store.number: outcome])
        }
        return outcome
      }
    if done.count > 0 { postRemoteChanges(of: [store.url]) }
    return switch resultType {
    case .statusOnly: NSBatchInsertResult(NSNumber(value: true), .statusOnly)
    case .objectIDs: NSBatchInsertResult(done.ids, .objectIDs)
    case .count: NSBatchInsertResult(NSNumber(value: done.count), .count)
    }
  }

  func execute(_ request: NSBatchUpdateRequest, for context: NSManagedObjectContext) throws -> NSBatchUpdateResult {
    let entity = try self.entity(named: request.entityName)
    guard let properties = request.propertiesToUpdate, !properties.isEmpty else {
      throw BatchErrors.badRequest(
        "The request has no properties to update.", entity: entity.name, suggestion: "Set propertiesToUpdate.")
    }
    var specification = FetchSpecification()
    specification.entityName = entity.name
    specification.predicate = request.predicate
    specification.includesSubentities = request.includesSubentities
    let resultType = request.resultType
    let wantsIDs = resultType == .updatedObjectIDsResultType
    let done = try perform(request, entity, specification, ids: nil, context, wantsIDs: wantsIDs) { run, rows in
      try BatchUpdate(run, entity, properties).perform(rows)
    }
    return switch resultType {
    case .statusOnlyResultType: NSBatchUpdateResult(NSNumber(value: true), .statusOnlyResultType)
    case .updatedObjectIDsResultType: NSBatchUpdateResult(done.ids, .updatedObjectIDsResultType)
    case .updatedObjectsCountResultType:
      NSBatchUpdateResult(NSNumber(value: done.count), .updatedObjectsCountResultType)
    }
  }

  func execute(_ request: NSBatchDeleteRequest, for context: NSManagedObjectContext) throws -> NSBatchDeleteResult {
    var done = BatchOutcome()
    let specification = request.fetchRequest.specification
    let ids = request.objectIDs(of: specification)
    let resultType = request.resultType
    if ids?.isEmpty != true {
      guard let name = specification.entity?.name ?? specification.entityName else {
        throw BatchErrors.badRequest(
          "The fetch request names no entity.", entity: nil, suggestion: "Make it with NSFetchRequest(entityName:).")
      }
      done = try perform(
        request, self.entity(named: name), specification, ids: ids, context,
        wantsIDs: resultType == .resultTypeObjectIDs
      ) { run, rows in
        try BatchDelete(run).perform(rows)
      }
    }
    return switch resultType {
    case .resultTypeStatusOnly: NSBatchDeleteResult(NSNumber(value: true), .resultTypeStatusOnly)
    case .resultTypeObjectIDs: NSBatchDeleteResult(done.ids, .resultTypeObjectIDs)
    case .resultTypeCount: NSBatchDeleteResult(NSNumber(value: done.count), .resultTypeCount)
    }
  }

  private func entity(named name: String) throws -> NSEntityDescription {
    guard let entity = managedObjectModel.entitiesByName[name] else {
      throw ObjectGraphErrors.unknownEntity(name, known: Array(managedObjectModel.entitiesByName.keys))
    }
    return entity
  }

  /// Returns the stores that a request changes.
  private func batchStores(
    for entity: NSEntityDescription, _ request: NSPersistentStoreRequest, among affected: [NSPersistentStore]?
  ) throws -> [any BatchStore & HistoryStore] {
    let holding = try rowStores(for: entity, among: affected)
    return try holding.map { store in
      guard let store = store as? any BatchStore & HistoryStore else {
        throw ObjectGraphErrors.unsupported(request, by: "a store of type \(store.type)")
      }
      return store
    }
  }

  /// Performs a request on the rows that a fetch finds, in all stores or in none.
  private func perform(
    _ request: some BatchRequest, _ entity: NSEntityDescription, _ specification: FetchSpecification,
    ids: [NSManagedObjectID]?, _ context: NSManagedObjectContext, wantsIDs: Bool,
    _ body: (BatchRun, BatchRows) throws -> Void
  ) throws -> BatchOutcome {
    let affected = request.affectedStores
    context.willChangeRows()
    let stores = try batchStores(for: entity, request, among: affected)
    let origin = context.requestOrigin
    let kept = InterruptedBatch.Selection(specification)
    let before = try request.committedOutcomes(kept)
    func performAll(_ selection: BatchSelection) throws -> BatchOutcome {
      try withLock {
        var outcomes = before
        let remaining = stores.filter { before[$0.number] == nil }
        func work() throws {
          for store in remaining {
            store.origin = origin
            try store.batch(derivations) { run in
              let rows = try run.rows()
              try rows.add(selection)
              try body(run, rows)
              outcomes[store.number] = BatchOutcome(
                count: try rows.count(), ids: wantsIDs ? try rows.identifiers() : [])
            }
          }
        }
        var committed: Set<UInt32> = []
        do {
          if remaining.count > 1 {
            try inTransactions(remaining.map { $0 }, committed: &committed, work)
          } else {
            try work()
          }
        } catch {
          let failure = InterruptedWrite.error(error, stores: stores, committed: committed.union(before.keys))
          throw request.cause(of: failure, outcomes, kept)
        }
        request.interrupted.value = nil
        return stores.reduce(into: BatchOutcome()) { all, store in
          all.count += outcomes[store.number]?.count ?? 0
          all.ids += outcomes[store.number]?.ids ?? []
        }
      }
    }
    let done: BatchOutcome
    if let ids {
      done = try performAll(.identifiers(ids))
    } else {
      // A limit applies to the rows of all stores together.
      let isSplit = stores.count > 1 && (specification.fetchLimit > 0 || specification.fetchOffset > 0)
      do {
        guard !isSplit, let query = try query(specification, entity) else { throw NotExpressibleInSQL() }
        done = try performAll(.query(query))
      } catch is NotExpressibleInSQL {
        var found = specification
        found.resultType = .managedObjectIDResultType
        found.includesPendingChanges = false
        found.entity = entity
        // A context of its own reads the rows as they are: this one may have a parent with changes, or be pinned.
        let reader = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        reader.persistentStoreCoordinator = self
        let ids = try reader.performAndWait {
          try reader.results(of: found, affectedStores: affected).compactMap { $0 as? NSManagedObjectID }
        }
        done = try performAll(.identifiers(ids))
      }
    }
    if done.count > 0 { postRemoteChanges(of: stores.map(\.url)) }
    return done
  }

  /// Returns the query of a fetch; nil if only the context can execute it.
  private func query(_ specification: FetchSpecification, _ entity: NSEntityDescription) throws -> RowQuery? {
    var query = RowQuery(entity: entity, includesSubentities: specification.includesSubentities)
    do {
      query.predicate = try specification.predicate.map { try PredicateSyntax($0).convertingConstants(for: entity) }
    } catch is OpaqueCriterion {
      return nil
    }
    query.limit = specification.fetchLimit
    query.offset = specification.fetchOffset
    if query.limit > 0 || query.offset > 0 {
      let keys = try (specification.sortDescriptors ?? []).map { try SortKey(described: $0, entity: entity) }
      guard keys.allSatisfy({ $0 != nil }) else { return nil }
      query.order = keys.compactMap { $0 }
    }
    return query
  }
}

extension BatchInsert {
  /// Inserts all objects of a request.
  fileprivate func insertAll(of request: NSBatchInsertRequest) throws {
    for values in request.objectsToInsert ?? [] { try insert(self.values(values)) }
    if let handler = request.dictionaryHandler {
      while true {
        let dictionary = NSMutableDictionary()
        if handler(dictionary) { break }
        try insert(
          self.values(
            dictionary.map { key, value in (key: (key as? String) ?? "\(key)", value: value) }))
      }
    }
    if let handler = request.managedObjectHandler {
      let objectClass: NSManagedObject.Type = ManagedObjectClasses.of(entity)
      while true {
        let object = objectClass.init(entity: entity, insertInto: nil)
        if handler(object) { break }
        try insert(values(object.slots))
      }
    }
  }
}
