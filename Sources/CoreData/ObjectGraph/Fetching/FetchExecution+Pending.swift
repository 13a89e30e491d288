// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Fetches that merge unsaved changes at a cost independent of the number of stored objects. The stores leave out the
/// changed objects, and matching ones are added in memory. A context with a parent asks for as many additional objects
/// as its changes may remove.
///
/// Objects that sort equally are ordered by store and primary key; new objects come last. In a context with a parent
/// they have the parent's order, followed by those that only the context has.
extension FetchExecution {
  /// The number of comparisons per object up to which a list is merged by comparing rows that are read one by one.
  private static let comparisonsPerObject = 16

  /// Whether the rows come from stores, and not from a parent context or from requests that stores execute.
  var areReadFromStores: Bool {
    context.parent == nil && !hasExecutingStore
  }

  /// Whether a store executes whole requests.
  private var hasExecutingStore: Bool { sources.contains { ($0 as? CoordinatorReader)?.store is NSIncrementalStore } }

  /// Whether an object with unsaved changes may affect the order of others.
  private var isOrderedByUnsaved: Bool {
    for path in query.order.map(\.keyPath) where path.contains(".") {
      var source = query.entity
      for key in path.split(separator: ".").map(String.init) {
        guard let destination = source.relationshipsByName[key]?.destinationEntity else { break }
        source = destination
        let changed = context.changed.objectsOfEntities { $0.isKindOf(entity: destination) }
        if changed.contains(where: { !$0.isInserted }) { return true }
      }
    }
    return false
  }

  /// Returns the query for the rows of objects without unsaved changes, as many as may be within offset and limit; nil
  /// if that number is too large.
  private func unchanged(in source: any RowReading) -> RowQuery? {
    var rows = query
    rows.offset = 0
    if query.limit > 0 {
      guard let end = end(adding: 0) else { return nil }
      rows.limit = end
    }
    if let store = (source as? CoordinatorReader)?.store {
      // New objects have no rows, unless a store has committed them in a save that has failed.
      let mayHaveRows = context.unconfirmedSave != nil
      let keys = pending.lazy.filter { !$0.isInserted || mayHaveRows && !$0.hasTemporaryID }.map(\.key)
      rows.excludedKeys = Set(keys.filter { $0.store == store.number }.map(\.number))
    } else {
      rows.excludedIDs += pending.lazy.filter { !$0.isInserted }.map(\.objectID)
    }
    return rows
  }

  /// Returns the sum of offset, limit and a number; nil if it is too large.
  func end(adding count: Int) -> Int? {
    let (end, overflow) = query.offset.addingReportingOverflow(query.limit)
    let (sum, isTooLarge) = end.addingReportingOverflow(count)
    return overflow || isTooLarge ? nil : sum
  }

  /// Returns the matching objects with unsaved changes.
  func matchingPending() throws -> [NSManagedObject] {
    try pending.filter { try !$0.isDeleted && isWanted($0) }
  }

  /// Returns the objects within offset and limit; nil if there is no limit, or if the stores cannot evaluate the whole
  /// request.
  func firstMatching() throws -> [NSManagedObject]? {
    guard query.limit > 0, areReadFromStores, !isOpaque, !isSortedByCode, !isOrderedByUnsaved else { return nil }
    var objects: [NSManagedObject] = []
    for source in sources {
      guard let unchanged = unchanged(in: source), let rows = try source.rows(for: unchanged) else { return nil }
      objects += context.objects(for: rows, refreshing: specification.shouldRefreshRefetchedObjects)
    }
    return window(try ObjectOrder(query.order).sorted(inOrderOfKeys(objects + matchingPending())))
  }

  /// Returns the objects within offset and limit, starting from the parent's first ones; nil if there is no limit, or
  /// if the order is not the parent's.
  ///
  /// Objects that have changed in the parent since this context read them are placed by the parent's values.
  func firstMatchingOfParent() throws -> [NSManagedObject]? {
    let stored = pending.count { !$0.isInserted }
    guard query.limit > 0, context.parent != nil, !isOpaque, !isSortedByCode, !isOrderedByUnsaved,
      let end = end(adding: stored)
    else { return nil }
    var first = query
    (first.offset, first.limit) = (0, end)
    let found = try parentObjects(first)
    var objects = try withPending(found)
    if found.count >= end {
      // The parent may have more objects. Those of them that have changed here precede, in the parent's order, the
      // objects that the parent does not have.
      let known = Set(found.map(ObjectIdentifier.init))
      let start = objects.firstIndex { !known.contains(ObjectIdentifier($0)) } ?? objects.endIndex
      try arrangeAsInParent(&objects[start...])
    }
    return window(try ObjectOrder(query.order).sorted(objects))
  }

  /// Moves changed objects that the parent also has before the others, in the parent's order.
  private func arrangeAsInParent(_ objects: inout ArraySlice<NSManagedObject>) throws {
    let ids = objects.lazy.filter { !$0.isInserted }.map(\.objectID)
    guard objects.count > 1, !ids.isEmpty else { return }
    var those = query
    (those.offset, those.limit) = (0, 0)
    let isOneOfThem = PredicateSyntax.comparison(
      .init(.evaluatedObject, .in, .constant(.array(ids.map { .object(.init($0)) }))))
    those.predicate = query.predicate.map { .and([$0, isOneOfThem]) } ?? isOneOfThem
    let found = try parentObjects(those)
    let known = Set(found.map(ObjectIdentifier.init))
    objects = found + objects.filter { !known.contains(ObjectIdentifier($0)) }
  }

  private func parentObjects(_ query: RowQuery) throws -> [NSManagedObject] {
    let rows = try sources.flatMap { try $0.rows(for: query) ?? [] }
    return context.objects(for: rows, refreshing: specification.shouldRefreshRefetchedObjects)
  }

  /// Returns the count from the stores or the parent, adjusted by the objects with unsaved changes; nil if the stores
  /// cannot evaluate the predicate.
  func countWithPending() throws -> Int? {
    guard !hasExecutingStore, !isOpaque else { return nil }
    var count = try matchingPending().count
    for source in sources {
      guard var unchanged = unchanged(in: source) else { return nil }
      (unchanged.limit, unchanged.order) = (0, [])
      guard let found = try source.count(for: unchanged) else { return nil }
      count += found
    }
    count = max(count - query.offset, 0)
    return query.limit > 0 ? min(count, query.limit) : count
  }

  /// The positions of the stores among the sources, by the numbers of the stores.
  private var positions: [UInt32: Int] {
    Dictionary(
      sources.enumerated().compactMap { position, source in
        (source as? CoordinatorReader).map { ($0.store.number, position) }
      }
    ) { first, _ in first }
  }

  /// Returns the objects in the order in which stores return rows that sort equally.
  func inOrderOfKeys(_ objects: [NSManagedObject]) -> [NSManagedObject] {
    guard areReadFromStores else { return objects }
    let positions = positions
    func position(_ object: NSManagedObject) -> (Int, Int64) {
      let key = object.key
      return (positions[key.store] ?? positions.count, key.number)
    }
    return objects.filter { !$0.isInserted }.sorted { position($0) < position($1) } + objects.filter(\.isInserted)
  }

  /// Returns the identifiers of all objects that may be within offset and limit, in order, without reading their rows.
  /// Returns nil if the rows are needed, if the stores cannot evaluate the whole request, and for a single store
  /// without unsaved changes, which returns the identifiers itself.
  func mergedIdentifiers() throws -> [NSManagedObjectID]? {
    guard !hasExecutingStore, !isOpaque, !isSortedByCode, !isOrderedByUnsaved else { return nil }
    if context.parent != nil { return try identifiersOfParent() }
    if sources.count > 1 { return try identifiersOfSeveralStores() }
    guard !pending.isEmpty, sources.count == 1,
      let unchanged = unchanged(in: sources[0]), let ids = try sources[0].identifiers(for: unchanged)
    else { return nil }
    let matching = try ObjectOrder(query.order).sorted(inOrderOfKeys(matchingPending()))
    return try merged(ids, matching, \.objectID, stored) {
      matching[$1].isInserted || ids[$0].key.number < matching[$1].key.number
    }
  }

  /// Returns the objects of one store, in order, with few unsaved changes merged in without sorting everything again;
  /// nil if there are many changes, or if the store cannot evaluate the whole request.
  func mergedObjects() throws -> [NSManagedObject]? {
    guard !pending.isEmpty, query.limit == 0, areReadFromStores, sources.count == 1, !isOpaque, !isSortedByCode,
      !isOrderedByUnsaved
    else { return nil }
    var all = query
    all.offset = 0
    guard let found = try objects(for: all, in: sources[0]) else { return nil }
    let unsaved = Set(pending.map(ObjectIdentifier.init))
    let others = found.filter { !unsaved.contains(ObjectIdentifier($0)) }
    let matching = inOrderOfKeys(try matchingPending())
    let order = ObjectOrder(query.order)
    let sorted = try order.sorted(matching)
    let objects = try merged(others, sorted, \.self, \.self) {
      sorted[$1].isInserted || others[$0].key.number < sorted[$1].key.number
    }
    // Everything that was read is kept for sorting all objects.
    return window(try objects ?? order.sorted(inOrderOfKeys(others + matching)))
  }

  /// Inserts objects with unsaved changes into a list of others; nil if that takes too many comparisons.
  ///
  /// - Parameters:
  ///   - others: the others, in order.
  ///   - matching: the objects, in order.
  ///   - element: returns the list element for an object.
  ///   - object: returns the object of a list element.
  ///   - isBefore: returns whether one of the others precedes an object that sorts equally, by their positions.
  private func merged<Element>(
    _ others: [Element], _ matching: [NSManagedObject], _ element: (NSManagedObject) -> Element,
    _ object: (Element) -> NSManagedObject, _ isBefore: (Int, Int) -> Bool
  ) throws -> [Element]? {
    if !query.order.isEmpty, matching.count > others.count / Self.comparisonsPerObject + 1 { return nil }
    let order = ObjectOrder(query.order)
    var merged: [Element] = []
    merged.reserveCapacity(others.count + matching.count)
    var known: [Int: [Any?]] = [:]
    var start = 0
    for (position, next) in matching.enumerated() {
      let values = try order.values(of: next)
      var (low, high) = (start, others.count)
      while low < high {
        let middle = (low + high) / 2
        if known[middle] == nil {
          known[middle] = query.order.isEmpty ? [] : try order.values(of: object(others[middle]))
        }
        let isFirst =
          switch try order.order(known[middle] ?? [], values) {
          case .orderedAscending: true
          case .orderedDescending: false
          case .orderedSame: isBefore(middle, position)
          }
        if isFirst { low = middle + 1 } else { high = middle }
      }
      merged += others[start..<low]
      merged.append(element(next))
      start = low
    }
    return merged + others[start...]
  }

  /// Implements `mergedIdentifiers()` for a context with a parent. Also returns nil for a request with a limit, for
  /// which `firstMatchingOfParent()` reads what it needs.
  ///
  /// Objects that have changed in the parent since this context read them are placed by the parent's values.
  private func identifiersOfParent() throws -> [NSManagedObjectID]? {
    var all = query
    all.offset = 0
    guard query.limit == 0, !pending.isEmpty, sources.count == 1, let found = try sources[0].identifiers(for: all)
    else { return nil }
    let unsaved = Set(pending.map(\.identifier.current.key))
    var positions: [ObjectKey: Int] = [:]
    var unchanged: [(id: NSManagedObjectID, position: Int)] = []
    for (position, id) in found.enumerated() {
      if unsaved.contains(id.current.key) {
        positions[id.current.key] = position
      } else {
        unchanged.append((id, position))
      }
    }
    // Objects that the parent does not find come last.
    func position(_ object: NSManagedObject) -> Int { positions[object.identifier.current.key] ?? found.count }
    let matching = try matchingPending().enumerated().sorted {
      (position($0.element), $0.offset) < (position($1.element), $1.offset)
    }.map(\.element)
    let sorted = try ObjectOrder(query.order).sorted(matching)
    return try merged(unchanged.map(\.id), sorted, \.objectID, stored) { unchanged[$0].position < position(sorted[$1]) }
  }

  /// Implements `mergedIdentifiers()` with the sort key values that the stores return for each row.
  private func identifiersOfSeveralStores() throws -> [NSManagedObjectID]? {
    typealias Entry = (id: NSManagedObjectID, values: [Any?], rank: (Int, Int64))
    var entries: [Entry] = []
    for (position, source) in sources.enumerated() {
      guard let reader = source as? CoordinatorReader, let unchanged = unchanged(in: reader) else { return nil }
      if query.order.isEmpty {
        guard let ids = try reader.identifiers(for: unchanged) else { return nil }
        entries += ids.lazy.map { ($0, [], (position, $0.key.number)) }
      } else {
        guard let found = try reader.placedIdentifiers(for: unchanged) else { return nil }
        entries += found.lazy.map { ($0.id, $0.values, (position, $0.id.key.number)) }
      }
    }
    let (order, positions) = (ObjectOrder(query.order), positions)
    for (position, object) in try matchingPending().enumerated() {
      let rank =
        object.isInserted
        ? (positions.count + 1, Int64(position)) : (positions[object.key.store] ?? positions.count, object.key.number)
      entries.append((object.objectID, try order.values(of: object), rank))
    }
    // Each store's entries are already in order, so that sorting merges them.
    return try entries.sorted { left, right in
      switch try order.order(left.values, right.values) {
      case .orderedAscending: true
      case .orderedDescending: false
      case .orderedSame: left.rank < right.rank
      }
    }.map(\.id)
  }

  private func stored(_ id: NSManagedObjectID) -> NSManagedObject { context.faults([id], batchSize: 0)[0] }
}
