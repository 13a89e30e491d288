// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// The rows of an incremental store, as read by a context.
struct IncrementalSource: RowSource {
  let store: NSIncrementalStore
  let context: NSManagedObjectContext

  func rows(for query: RowQuery) throws -> [RowSnapshot]? { try store.rows(for: query) }
  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? { try store.identifiers(for: query) }
  func count(for query: RowQuery) throws -> Int? { try store.count(for: query) }

  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try store.dictionaries(for: query, results)
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? { try store.row(for: id, in: context) }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    try store.members(of: relationship, for: id, in: context)
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    for id in ids { members[id.key] = try self.members(of: relationship, for: id) }
    return members
  }
}

extension NSIncrementalStore: ObjectWritingStore {
  // Fetches are executed as requests of the custom class (`results(of:as:entity:in:)`), not as queries.

  package func rows(for query: RowQuery) throws -> [RowSnapshot]? { nil }
  package func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? { nil }
  package func count(for query: RowQuery) throws -> Int? { nil }

  /// Executes a fetch, and checks the types of the results.
  func results<Result>(
    of specification: FetchSpecification, as resultType: NSFetchRequestResultType, entity: NSEntityDescription,
    in context: NSManagedObjectContext
  ) throws -> [Result] {
    let request = NSFetchRequest<NSManagedObject>()
    request.specification = specification
    request.entity = entity
    request.resultType = resultType
    request.affectedStores = [self]
    let found = try execute(request, with: context)
    guard let results = found as? [Any], case let typed = results.compactMap({ $0 as? Result }),
      typed.count == results.count
    else {
      throw StoreErrors.operationFailed(
        url: url,
        reason:
          "\(Swift.type(of: self)) returned a \(Swift.type(of: found)) for a fetch of '\(entity.name ?? "")', whose "
          + "results must be an array of \(Result.self).")
    }
    return typed
  }

  /// A context for reads on behalf of no other context, as in a copy to another store.
  private var ownContext: NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  package func row(for id: NSManagedObjectID) throws -> RowSnapshot? { try row(for: id, in: ownContext) }

  package func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    try members(of: relationship, for: id, in: ownContext)
  }

  fileprivate func row(for id: NSManagedObjectID, in context: NSManagedObjectContext) throws -> RowSnapshot? {
    guard id.key.store == number else { return nil }
    let node: NSIncrementalStoreNode
    do {
      node = try newValuesForObject(with: id, with: context)
    } catch let error as NSError
      where error.isCocoa(NSManagedObjectReferentialIntegrityError)
    {
      return nil
    }
    let entity = node.objectID.entityDescription
    let table = entity.slotTable
    var slots: [Slot] = []
    for (position, property) in table.properties.enumerated() {
      switch property {
      case _ where table.isTransient(at: position): slots.append(.null)
      case .attribute(let attribute):
        let value = node.value(for: attribute)
        guard let slot = Slot(value, for: attribute) else { throw unreadable(value, attribute, id) }
        slots.append(slot)
      case .relationship(let relationship) where relationship.isToMany: slots.append(.unread)
      case .relationship(let relationship):
        let value =
          try node.value(for: relationship) ?? newValue(forRelationship: relationship, forObjectWith: id, with: context)
        slots.append(try destination(value, relationship, id).map { .toOne($0) } ?? .null)
      }
    }
    for transient in table.transientDefaults { slots[transient.position] = transient.value }
    return RowSnapshot(id: node.objectID, version: counted(node), slots: slots)
  }

  private func destination(
    _ value: Any, _ relationship: NSRelationshipDescription, _ id: NSManagedObjectID
  ) throws -> NSManagedObjectID? {
    switch Operand.unwrapped(value) {
    case nil: return nil
    case let destination as NSManagedObjectID: return destination
    case let other: throw unreadable(other, relationship, id)
    }
  }

  /// Returns the version of an object for contexts. It grows when the store's version has changed.
  private func counted(_ node: NSIncrementalStoreNode) -> Int64 {
    let key = node.objectID.key
    guard var seen = versions[key] else {
      versions[key] = SeenVersion(inStore: node.version, counted: 1)
      return 1
    }
    if let inStore = seen.inStore, inStore != node.version { seen.counted = RowVersion.next(after: seen.counted) }
    seen.inStore = node.version
    versions[key] = seen
    return seen.counted
  }

  fileprivate func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID, in context: NSManagedObjectContext
  ) throws -> [NSManagedObjectID] {
    guard id.key.store == number else { return [] }
    let value = try newValue(forRelationship: relationship, forObjectWith: id, with: context)
    guard let elements = Operand.unwrapped(value).map({ Operand.elements($0) }) else { return [] }
    return try (elements ?? [value]).map { element in
      if let member = element as? NSManagedObjectID { return member }
      throw unreadable(element, relationship, id)
    }
  }

  private func unreadable(_ value: Any?, _ property: NSPropertyDescription, _ id: NSManagedObjectID) -> NSError {
    StoreErrors.operationFailed(
      url: url,
      reason: "\(Swift.type(of: self)) returned \(value.map { "a \(Swift.type(of: $0))" } ?? "nil") for "
        + "'\(property.name)' of \(id.uriRepresentation().absoluteString), which is not of the property's type.")
  }

  func makeIdentifiers(forObjects objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    let ids = try obtainPermanentIDs(for: objects)
    guard ids.count == objects.count, ids.allSatisfy({ $0.key.store == number }) else {
      throw StoreErrors.operationFailed(
        url: url,
        reason:
          "\(Swift.type(of: self)) returned \(ids.count) identifiers of the store for \(objects.count) new objects.")
    }
    return ids
  }

  package func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let entity = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entityName] else { return nil }
    return references.id(entity, text: reference)
  }

  package func hasTable(for entity: NSEntityDescription) -> Bool { true }

  /// False, because the custom class writes its metadata with the changes that it saves.
  package var hasUnsavedMetadata: Bool { false }
  package func writeMetadata() throws {}

  // A request cannot be undone. So in a save to several stores, this store's changes are made when it executes the
  // request.

  package func beginWriting() throws {}
  package func commitWriting() throws {}
  package func rollBackWriting() throws {}

  func writeObjects(_ changes: [RowChange], of context: NSManagedObjectContext) throws {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    let conflicts = try changes.compactMap { try conflict($0, context) }
    guard conflicts.isEmpty else { throw RowConflicts(conflicts: conflicts) }
    func objects(_ kind: RowChange.Kind) throws -> Set<NSManagedObject> {
      Set(
        try changes.filter { $0.kind == kind }.map { change in
          guard let object = context.registry[change.id.key] else { throw ObjectGraphErrors.missingObject(change.id) }
          return object
        })
    }
    let request = NSSaveChangesRequest(
      inserted: try objects(.insert), updated: try objects(.update), deleted: try objects(.delete), locked: [])
    request.affectedStores = [self]
    _ = try execute(request, with: context)
    for change in changes {
      switch change.kind {
      case .insert: versions[change.id.key] = SeenVersion(inStore: nil, counted: 1)
      case .update:
        versions[change.id.key] = SeenVersion(
          inStore: nil, counted: RowVersion.next(after: change.old?.version ?? 0))
      case .delete: versions[change.id.key] = nil
      }
    }
  }

  /// Compares the row on which a change is based with what contexts have since seen of the object.
  private func conflict(_ change: RowChange, _ context: NSManagedObjectContext) throws -> RowConflicts.Conflict? {
    guard let old = change.old, versions[change.id.key]?.counted != old.version else { return nil }
    return RowConflicts.Conflict(
      id: change.id, expectedVersion: old.version, stored: try row(for: change.id, in: context))
  }
}
