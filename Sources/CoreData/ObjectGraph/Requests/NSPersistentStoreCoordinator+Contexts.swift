// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataStoreFiles
import Foundation

/// Operations for contexts: finding stores, and serializing access to them.
extension NSPersistentStoreCoordinator {
  /// Returns the stores that may hold rows of an entity.
  func rowStores(for entity: NSEntityDescription, among affected: [NSPersistentStore]? = nil) throws -> [any RowStore] {
    let wanted = stores.filter { store in affected?.contains { $0 === store } ?? true }
    let holding = wanted.compactMap { $0 as? any RowStore }.filter { holds($0, entity) }
    if holding.isEmpty, affected == nil {
      throw ObjectGraphErrors.noStore(for: entity, coordinatorHasStores: !wanted.isEmpty)
    }
    return holding
  }

  private func holds(_ store: NSPersistentStore, _ entity: NSEntityDescription) -> Bool {
    if store.customConfigurationName == nil { return true }
    let entities = managedObjectModel.entities(forConfigurationName: store.configurationName) ?? []
    if entities.contains(where: { $0.name == entity.name }) { return true }
    // Also sub-entities of the configuration's entities, if the store has tables for them.
    return entities.contains { entity.isKindOf(entity: $0) } && (store as? any RowStore)?.hasTable(for: entity) == true
  }

  func row(for id: NSManagedObjectID, in context: NSManagedObjectContext) throws -> RowSnapshot? {
    guard let store = id.rowStore else { return nil }
    return try reading(store, for: context) { try $0.row(for: id) }
  }

  func row(_ layout: RowLayout, _ primaryKey: Int64, in context: NSManagedObjectContext) throws -> RowSnapshot? {
    guard let store = (layout.identities.reference.store as? NSPersistentStore)?.rowStore else { return nil }
    return try reading(store, for: context) { try $0.row(layout, primaryKey) }
  }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID, in context: NSManagedObjectContext
  ) throws -> [NSManagedObjectID] {
    guard let store = id.rowStore else { return [] }
    return try reading(store, for: context) { try $0.members(of: relationship, for: id) }
  }

  /// Returns the members of a to-many relationship by the keys of the given identifiers. Objects without members are
  /// left out.
  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID], in context: NSManagedObjectContext
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    for (_, group) in Dictionary(grouping: ids, by: \.key.store) {
      guard let store = group[0].rowStore else { continue }
      let found = try reading(store, for: context) { try $0.members(of: relationship, forAll: group) }
      members.merge(found) { first, _ in first }
    }
    return members
  }

  /// Returns permanent identifiers for new objects, each in its assigned store, or else in the first writable store
  /// that holds its entity.
  func makeIdentifiers(
    for objects: [(object: NSManagedObject, store: NSPersistentStore?)]
  ) throws -> [NSManagedObjectID] {
    guard !objects.isEmpty else { return [] }
    return try withLock {
      var groups: [(store: any RowStore, positions: [Int])] = []
      var known: [ObjectIdentifier: Int] = [:]
      // New objects usually come grouped by entity.
      var last: (entity: NSEntityDescription, group: Int)?
      for (position, (object, assigned)) in objects.enumerated() {
        let entity = object.entity
        if assigned == nil, let last, last.entity === entity {
          groups[last.group].positions.append(position)
          continue
        }
        let group: Int
        if assigned == nil, let found = known[ObjectIdentifier(entity)] {
          group = found
        } else {
          let store = try storeForNewObject(entity, assigned)
          group = groups.firstIndex { $0.store === store } ?? groups.count
          if group == groups.count { groups.append((store, [])) }
        }
        groups[group].positions.append(position)
        if assigned == nil {
          known[ObjectIdentifier(entity)] = group
          last = (entity, group)
        }
      }
      if groups.count == 1 { return try groups[0].store.identifiers(forNew: objects.map(\.object)) }
      var result: [NSManagedObjectID?] = Array(repeating: nil, count: objects.count)
      for group in groups {
        let ids = try group.store.identifiers(forNew: group.positions.map { objects[$0].object })
        for (position, id) in zip(group.positions, ids) { result[position] = id }
      }
      return result.compactMap { $0 }
    }
  }

  /// Returns permanent identifiers for new objects, none of which is assigned to a store.
  ///
  /// - Throws: as `makeIdentifiers(for:)`.
  func makeIdentifiers(forUnassigned objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    guard let entity = objects.first?.entity, objects.allSatisfy({ $0.entity === entity }) else {
      return try makeIdentifiers(for: objects.map { ($0, nil) })
    }
    return try withLock { try storeForNewObject(entity, nil).identifiers(forNew: objects) }
  }

  private func storeForNewObject(_ entity: NSEntityDescription, _ assigned: NSPersistentStore?) throws -> any RowStore {
    let known = managedObjectModel.entitiesByName
    guard let own = known[entity.name ?? ""] else {
      throw ObjectGraphErrors.unknownEntity(entity.name ?? "", known: Array(known.keys))
    }
    // Values are written by position.
    guard own === entity || own.slotTable.isLaidOut(like: entity.slotTable) else {
      throw ObjectGraphErrors.otherModel(entity, than: own)
    }
    let holding = try rowStores(for: entity)
    if let assigned {
      guard let store = holding.first(where: { $0 === assigned }) else {
        let name = entity.name ?? ""
        throw StoreErrors.operationFailed(
          url: assigned.url,
          reason: stores.contains { $0 === assigned }
            ? "The store's configuration \(assigned.configurationName) does not contain the entity \(name)."
            : "A new object of '\(name)' is assigned to a store that does not belong to its context's coordinator.")
      }
      return store
    }
    guard let store = holding.first(where: { !$0.isReadOnly }) ?? holding.first else {
      throw ObjectGraphErrors.noStore(for: entity, coordinatorHasStores: !stores.isEmpty)
    }
    return store
  }

  /// Writes a context's changes, store by store, and resolves conflicts by the context's merge policy.
  ///
  /// - Parameter check: runs first, in the same transactions.
  /// - Throws: `InterruptedWrite` if some of the stores have committed, or may have; otherwise the stores' errors and
  ///   those of conflicts, and nothing has been written.
  func saveChanges(_ changes: [RowChange], for context: NSManagedObjectContext, after check: ConflictCheck) throws {
    let changed = try withLock { () -> [URL?] in
      var groups: [(store: any RowStore, changes: [RowChange])] = []
      var numbers: Set<UInt32> = []
      for position in changes.indices {
        // Nearly all saves write to a single store.
        let number = changes[position].id.key.store
        if numbers.count != 1 || numbers.first != number { numbers.insert(number) }
      }
      for number in numbers.sorted() {
        let own = numbers.count == 1 ? changes : changes.filter { $0.id.key.store == number }
        guard let first = own.first, let store = first.id.rowStore else {
          if let first = own.first { throw ObjectGraphErrors.missingObject(first.id) }
          continue
        }
        groups.append((store, own))
      }
      if let refusing = groups.first(where: { $0.store.isReadOnly }) {
        throw StoreErrors.readOnly(refusing.store)
      }
      for case let store as any HistoryStore in groups.map(\.store) where store.recordsHistory {
        store.origin = HistoryOrigin(context)
      }
      let resolution = MergeResolution(policy: context.mergePolicy, context: context)
      let isTogether = groups.count > 1 || !check.isEmpty
      func writeAll() throws {
        try check.run()
        for group in groups {
          try resolution.writeResolvingConflicts(group.changes, to: group.store, isInTransaction: isTogether)
        }
      }
      var committed: Set<UInt32> = []
      do {
        if isTogether {
          let others = stores.compactMap { $0 as? any RowStore }.filter { store in
            !store.isReadOnly && check.concerns(store) && !groups.contains { $0.store === store }
          }
          // Objects that a merge policy has changed would be merged a second time.
          try inTransactions(
            groups.map(\.store) + others, canRepeat: { context.stateBeforeMerging == nil }, committed: &committed,
            writeAll)
        } else {
          try writeAll()
          committed = numbers
        }
        try writeMetadata()
      } catch {
        throw InterruptedWrite.error(error, stores: groups.map(\.store), committed: committed)
      }
      return groups.map(\.store.url)
    }
    postRemoteChanges(of: changed)
  }

  /// Reads rows of a store for a context, as `reading(_:_:)` does.
  func reading<Result>(
    _ store: any RowStore, for context: NSManagedObjectContext, _ body: (any RowSource) throws -> Result
  ) throws -> Result {
    try context.tracing(.fault) { try readingUntraced(store, for: context, body) }
  }

  private func readingUntraced<Result>(
    _ store: any RowStore, for context: NSManagedObjectContext, _ body: (any RowSource) throws -> Result
  ) throws -> Result {
    try reading(store) { source in
      // Only incremental stores receive the context.
      guard let incremental = store as? NSIncrementalStore else { return try body(source) }
      return try body(IncrementalSource(store: incremental, context: context))
    }
  }
}

extension RowStore {
  /// Returns permanent identifiers for new objects, in the same order.
  fileprivate func identifiers(forNew objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    switch self {
    case let store as any RowWritingStore: try store.makeIdentifiers(for: objects.lazy.map(\.entity))
    case let store as any ObjectWritingStore: try store.makeIdentifiers(forObjects: objects)
    default: trap("A store of the type '\(type)' writes neither rows nor objects.")
    }
  }

  /// Writes all changes of a context atomically.
  ///
  /// - Throws: `RowConflicts` if rows have changed since they were read; the store's errors.
  func writeRowsOrObjects(_ changes: [RowChange], of context: NSManagedObjectContext) throws {
    switch self {
    case let store as any RowWritingStore: try store.writeRows(changes)
    case let store as any ObjectWritingStore: try store.writeObjects(changes, of: context)
    default: trap("A store of the type '\(type)' writes neither rows nor objects.")
    }
  }
}
