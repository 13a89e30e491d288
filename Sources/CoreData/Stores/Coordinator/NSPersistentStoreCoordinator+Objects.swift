// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The operations of contexts: the coordinator finds the stores, and serializes access to them.
extension NSPersistentStoreCoordinator {
  /// Returns the stores that may hold rows of an entity.
  func rowStores(for entity: NSEntityDescription, among affected: [NSPersistentStore]? = nil) throws -> [any RowStore] {
    let wanted = withLock { stores }.filter { store in affected?.contains { $0 === store } ?? true }
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
    // Sub-entities of the configuration's entities, if the store has them.
    return entities.contains { entity.isKindOf(entity: $0) } && (store as? SQLiteStore)?.number(of: entity) != nil
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    guard let store = id.persistentStore as? any RowStore else { return nil }
    return try withLock { try store.row(for: id) }
  }

  func members(of relationship: NSRelationshipDescription, for id: NSManagedObjectID) throws -> [NSManagedObjectID] {
    guard let store = id.persistentStore as? any RowStore else { return [] }
    return try withLock { try store.members(of: relationship, for: id) }
  }

  /// Returns permanent identifiers for new objects, each in the store it is assigned to, or else in the first writable
  /// store that holds its entity.
  func makeIdentifiers(
    for objects: [(entity: NSEntityDescription, store: NSPersistentStore?)]
  ) throws -> [NSManagedObjectID] {
    guard !objects.isEmpty else { return [] }
    return try withLock {
      var result: [NSManagedObjectID?] = Array(repeating: nil, count: objects.count)
      var groups: [(store: any RowStore, positions: [Int])] = []
      var known: [ObjectIdentifier: any RowStore] = [:]
      for (position, object) in objects.enumerated() {
        let store: any RowStore
        if object.store == nil, let found = known[ObjectIdentifier(object.entity)] {
          store = found
        } else {
          store = try storeForNewObject(object.entity, object.store)
          if object.store == nil { known[ObjectIdentifier(object.entity)] = store }
        }
        if let group = groups.firstIndex(where: { $0.store === store }) {
          groups[group].positions.append(position)
        } else {
          groups.append((store, [position]))
        }
      }
      for group in groups {
        let ids = try group.store.makeIdentifiers(for: group.positions.map { objects[$0].entity })
        for (position, id) in zip(group.positions, ids) { result[position] = id }
      }
      return result.compactMap { $0 }
    }
  }

  private func storeForNewObject(_ entity: NSEntityDescription, _ assigned: NSPersistentStore?) throws -> any RowStore {
    let holding = try rowStores(for: entity)
    if let assigned {
      guard let store = holding.first(where: { $0 === assigned }) else {
        throw StoreErrors.operationFailed(
          url: assigned.url,
          reason:
            "The store's configuration \(assigned.configurationName) does not contain the entity \(entity.name ?? "").")
      }
      return store
    }
    guard let store = holding.first(where: { !$0.isReadOnly }) ?? holding.first else {
      throw ObjectGraphErrors.noStore(for: entity, coordinatorHasStores: !stores.isEmpty)
    }
    return store
  }

  /// Writes a context's changes, store by store, and resolves conflicts by the context's merge policy.
  func write(_ changes: [RowChange], for context: NSManagedObjectContext) throws {
    try withLock {
      var groups: [(store: any RowStore, changes: [RowChange])] = []
      let numbers = Set(changes.map(\.id.key.store))
      for number in numbers.sorted() {
        let own = numbers.count == 1 ? changes : changes.filter { $0.id.key.store == number }
        guard let first = own.first, let store = first.id.persistentStore as? any RowStore else {
          if let first = own.first { throw ObjectGraphErrors.missingObject(first.id) }
          continue
        }
        groups.append((store, own))
      }
      if let refusing = groups.first(where: { $0.store.isReadOnly }) {
        throw StoreErrors.readOnly(
          url: refusing.store.url, byOption: StoreOptions(refusing.store.options).isReadOnly)
      }
      let resolution = MergeResolution(policy: context.mergePolicy, context: context)
      func writeAll() throws {
        for group in groups { try resolution.write(group.changes, to: group.store) }
      }
      if groups.count > 1 {
        try together(groups.map(\.store), writeAll)
      } else {
        try writeAll()
      }
      try writeMetadata()
    }
  }

  /// Writes to several stores, and commits only if all writes succeed.
  private func together(_ stores: [any RowStore], _ body: () throws -> Void) throws {
    var begun: [any RowStore] = []
    do {
      for store in stores {
        try store.beginWriting()
        begun.append(store)
      }
      try body()
      while let store = begun.first {
        try store.commitWriting()
        begun.removeFirst()
      }
    } catch {
      // The caller needs the error that stopped the save. SQLite rolls back what remains when the file is closed.
      for store in begun { try? store.rollBackWriting() }
      throw error
    }
  }

  /// Writes changed metadata of stores to which no rows were written.
  func writeMetadata() throws {
    try withLock {
      for case let store as any RowStore in stores where store.hasUnsavedMetadata && !store.isReadOnly {
        try store.write([])
      }
    }
  }
}
