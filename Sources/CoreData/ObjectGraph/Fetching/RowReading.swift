// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// The source from which a context reads rows: a store, a generation of a store, or the context's parent.
protocol RowReading {
  /// Returns the rows that match a query; nil if its predicate or order cannot be evaluated here. The caller then reads
  /// candidates (`RowCriteria.findsCandidates`), and filters and sorts them in memory.
  func rows(for query: RowQuery) throws -> [RowSnapshot]?

  /// Makes results of the rows that match a query; returns nil as for `rows(for:)`. The following rows may be
  /// prefetched.
  func rows<Result>(for query: RowQuery, _ make: ([RowSnapshot]) -> [Result]) throws -> [Result]?

  /// Runs a body with a cursor over the rows that match a query. The body runs again if reading has failed and is
  /// repeated.
  ///
  /// - Returns: false where `rows(for:)` returns nil.
  func readRows(for query: RowQuery, _ body: (RowCursor) throws -> Void) throws -> Bool

  /// Returns the identifiers of the rows that match a query; nil as for `rows(for:)`.
  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]?

  /// Returns the number of rows that match a query; nil as for `rows(for:)`.
  func count(for query: RowQuery) throws -> Int?

  /// Returns the dictionaries that a request asks for; nil if they must be made from objects.
  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]?

  /// Returns the existing rows for identifiers of one entity, in any order.
  func rows(of ids: [NSManagedObjectID], entity: NSEntityDescription) throws -> [RowSnapshot]
}

extension RowReading {
  func readRows(for query: RowQuery, _ body: (RowCursor) throws -> Void) throws -> Bool {
    guard let rows = try rows(for: query) else { return false }
    try body(RowCursor(rows))
    return true
  }

  func rows<Result>(for query: RowQuery, _ make: ([RowSnapshot]) -> [Result]) throws -> [Result]? {
    try rows(for: query).map(make)
  }

  func rows(of ids: [NSManagedObjectID], entity: NSEntityDescription) throws -> [RowSnapshot] {
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.predicate = .comparison(
      .init(.evaluatedObject, .in, .constant(.array(ids.map { .object(.init($0)) }))))
    return try rows(for: query) ?? []
  }
}

/// Reads the rows of a store.
struct CoordinatorReader: RowReading {
  let store: any RowStore
  let context: NSManagedObjectContext
  let coordinator: NSPersistentStoreCoordinator
  /// The state to read; nil for the current one.
  let generation: (any StoreGeneration)?

  private func reading<Result>(_ body: (any RowSource) throws -> Result) throws -> Result {
    if let generation { return try context.tracing(.fault) { try generation.reading(body) } }
    return try coordinator.reading(store, for: context, body)
  }

  /// Returns the query, excluding the keys of the objects to leave out.
  private func own(_ query: RowQuery) -> RowQuery {
    guard !query.excludedIDs.isEmpty else { return query }
    var own = query
    let keys = query.excludedIDs.lazy.map(\.current.key)
    own.excludedKeys.formUnion(keys.filter { $0.store == store.number }.map(\.number))
    return own
  }

  func rows(for query: RowQuery) throws -> [RowSnapshot]? { try reading { try $0.rows(for: own(query)) } }

  func rows<Result>(for query: RowQuery, _ make: ([RowSnapshot]) -> [Result]) throws -> [Result]? {
    // Contexts on other threads, and nested reads, may use the same generation.
    if let generation { return try generation.reading { try $0.rows(for: own(query)) }.map(make) }
    return try coordinator.rows(of: store, for: own(query), make)
  }

  func readRows(for query: RowQuery, _ body: (RowCursor) throws -> Void) throws -> Bool {
    if let generation {
      guard let rows = try generation.reading({ try $0.rows(for: own(query)) }) else { return false }
      try body(RowCursor(rows))
      return true
    }
    return try coordinator.readRows(of: store, for: own(query), body)
  }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try reading { try $0.identifiers(for: own(query)) }
  }

  func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try reading { try $0.placedIdentifiers(for: own(query)) }
  }

  func count(for query: RowQuery) throws -> Int? { try reading { try $0.count(for: own(query)) } }

  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try reading { try $0.dictionaries(for: own(query), results) }
  }

  /// Returns the rows of an entity with the given primary keys; nil if the store can only search for them.
  func rows(of entity: NSEntityDescription, primaryKeys: [Int64]) throws -> [RowSnapshot]? {
    try reading { try $0.rows(of: entity, primaryKeys: primaryKeys) }
  }

  func memberRows(
    of relationship: NSRelationshipDescription, entity: NSEntityDescription, primaryKeys: [Int64]
  ) throws -> RowGroups? {
    try reading { try $0.memberRows(of: relationship, entity: entity, primaryKeys: primaryKeys) }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? { try reading { try $0.row(for: id) } }

  func members(of relationship: NSRelationshipDescription, for id: NSManagedObjectID) throws -> [NSManagedObjectID] {
    try reading { try $0.members(of: relationship, for: id) }
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    try reading { try $0.members(of: relationship, forAll: ids) }
  }
}

/// Reads from the parent of a context, which returns its own values, including unsaved ones.
struct ParentReader: RowReading {
  let parent: NSManagedObjectContext
  var affectedStores: [NSPersistentStore]?
  /// Whether the parent reads rows of unchanged objects again.
  var isRefreshing = false

  private func fetching<Result>(_ query: RowQuery, _ body: (FetchExecution) throws -> Result) throws -> Result {
    try parent.runForChild {
      try parent.tracing(.fetch) {
        try body(FetchExecution(query, in: parent, affectedStores: affectedStores, isRefreshing: isRefreshing))
      }
    }
  }

  func rows(for query: RowQuery) throws -> [RowSnapshot]? { try fetching(query) { try $0.rowsForChild() } }

  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]? {
    try fetching(query) { try $0.identifiers() }
  }

  func count(for query: RowQuery) throws -> Int? { try fetching(query) { try $0.count() } }

  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try fetching(query) { try $0.dictionariesForChild(results) }
  }

  func rows(of ids: [NSManagedObjectID], entity: NSEntityDescription) throws -> [RowSnapshot] {
    try parent.runForChild {
      let objects = ids.map { parent.object(for: $0) }
      try Prefetching(context: parent).readRows(of: objects.filter { $0.isFault && $0.snapshot == nil })
      return objects.compactMap(parent.rowForChild)
    }
  }

  func row(for id: NSManagedObjectID) throws -> RowSnapshot? {
    try parent.runForChild { parent.rowForChild(parent.object(for: id)) }
  }

  func members(of relationship: NSRelationshipDescription, for id: NSManagedObjectID) throws -> [NSManagedObjectID] {
    try parent.runForChild {
      let object = parent.object(for: id)
      guard parent.rowForChild(object) != nil else { return [] }
      return object.objectIDs(forRelationshipNamed: relationship.name)
    }
  }

  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    try parent.runForChild {
      let objects = ids.map { parent.object(for: $0) }
      try Prefetching(context: parent).readRows(of: objects.filter { $0.isFault && $0.snapshot == nil })
      let present = zip(ids, objects).filter { parent.rowForChild($1) != nil }
      try parent.readMembers(ofRelationshipNamed: relationship.name, for: present.map(\.1))
      return Dictionary(
        present.map { ($0.key, $1.objectIDs(forRelationshipNamed: relationship.name)) }, uniquingKeysWith: { $1 })
    }
  }
}

extension NSManagedObjectContext {
  /// Returns the sources of an entity's rows.
  ///
  /// - Throws: 134060 if no store holds the entity.
  func readers(
    for entity: NSEntityDescription, among affectedStores: [NSPersistentStore]? = nil, isRefreshing: Bool = false
  ) throws -> [any RowReading] {
    if let parent {
      return [ParentReader(parent: parent, affectedStores: affectedStores, isRefreshing: isRefreshing)]
    }
    let (coordinator, generation) = (coordinator, try readGeneration())
    return try coordinator.rowStores(for: entity, among: affectedStores).compactMap { store in
      guard let generation else {
        return CoordinatorReader(store: store, context: self, coordinator: coordinator, generation: nil)
      }
      return generation[store].map {
        CoordinatorReader(store: store, context: self, coordinator: coordinator, generation: $0)
      }
    }
  }

  /// Returns the reader for an identifier's store in the pinned generation; nil if the context is not pinned, or to a
  /// generation without that store.
  private func generationReader(for id: NSManagedObjectID) throws -> CoordinatorReader? {
    guard let generation = try readGeneration(), let store = id.rowStore,
      let state = generation[store]
    else { return nil }
    return CoordinatorReader(store: store, context: self, coordinator: coordinator, generation: state)
  }

  var isPinned: Bool {
    if case .latest = generation { return false }
    return true
  }

  /// Reads the row of an identifier; nil if there is none.
  func storedRow(for id: NSManagedObjectID) throws -> RowSnapshot? {
    if let parent {
      let row = try ParentReader(parent: parent).row(for: id)
      adoptPermanentIDs()
      return row
    }
    if isPinned { return try generationReader(for: id)?.row(for: id) }
    return try coordinator.row(for: id, in: self)
  }

  /// Reads the members of a to-many relationship.
  func storedMembers(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID
  ) throws -> [NSManagedObjectID] {
    if let parent { return try ParentReader(parent: parent).members(of: relationship, for: id) }
    if isPinned { return try generationReader(for: id)?.members(of: relationship, for: id) ?? [] }
    return try coordinator.members(of: relationship, for: id, in: self)
  }

  /// Reads the members of a to-many relationship of several objects, by the keys of the given identifiers.
  func storedMembers(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    if let parent { return try ParentReader(parent: parent).members(of: relationship, forAll: ids) }
    guard isPinned else { return try coordinator.members(of: relationship, forAll: ids, in: self) }
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    for (_, group) in Dictionary(grouping: ids, by: \.key.store) {
      guard let reader = try generationReader(for: group[0]) else { continue }
      members.merge(try reader.members(of: relationship, forAll: group)) { first, _ in first }
    }
    return members
  }

  /// Runs a child's request on this context's queue, while the child waits.
  ///
  /// - Throws: what the body throws, and errors of reading rows.
  func runForChild<Result>(_ body: () throws -> Result) throws -> Result {
    try queue.sync(isErrand: true) {
      adoptPermanentIDs()
      if !touched.isEmpty || !unprocessedDeletions.isEmpty || !repeatedDeletions.unlinked.isEmpty {
        processChangesBeforeFetch()
      }
      let wasHolding = registry.isHolding
      registry.isHolding = false
      defer { registry.isHolding = wasHolding }
      return try throwingReadingFailures(body)
    }
  }

  /// Returns the values of an object as a row for a child; nil if the object is deleted, has no row, or cannot be read.
  /// In the last case `runForChild` throws.
  ///
  /// Transient values are not passed to children.
  func rowForChild(_ object: NSManagedObject) -> RowSnapshot? {
    if object.isInaccessible { revive(object) }
    if object.isDeleted { return nil }
    if object.isFault {
      if object.snapshot == nil { object.snapshot = readRow(for: object) }
      if object.snapshot == nil { return nil }
    }
    object.fireFault()
    var slots = object.slots
    for position in slots.indices where object.table.isTransient(at: position) {
      slots[position] = object.table.defaults[position]
    }
    // Members that could not be read are not missing.
    if object.hasUnreadMembers {
      for position in unreadMembers[ObjectIdentifier(object)]?.removals.keys ?? [:].keys { slots[position] = .unread }
    }
    return RowSnapshot(
      id: object.identifier, version: object.snapshot?.version ?? 0, slots: slots, origin: object)
  }
}
