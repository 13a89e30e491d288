// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A single fetch: queries the stores, and merges the context's unsaved changes into the results.
struct FetchExecution {
  private(set) var specification: FetchSpecification
  let context: NSManagedObjectContext
  private let entity: NSEntityDescription
  let sources: [any RowReading]
  private(set) var query: RowQuery
  /// Whether only Foundation can evaluate the predicate, because it contains a block.
  let isOpaque: Bool
  /// Whether objects are sorted by a Swift key path, which only the program can read.
  let isSortedByCode: Bool
  /// The objects whose unsaved changes decide whether and where they appear in the results. The stores do not know
  /// these changes.
  let pending: [NSManagedObject]
  /// A predicate implied by the request's; nil if none is known.
  private let necessary: PredicateSyntax?

  init(
    _ specification: FetchSpecification, in context: NSManagedObjectContext, affectedStores: [NSPersistentStore]?
  ) throws {
    context.willQueryStores()
    try DictionaryResults.check(specification)
    self.specification = specification
    self.context = context
    let entity = try FetchExecution.entity(of: specification, in: context)
    self.entity = entity
    sources = try context.readers(
      for: entity, among: affectedStores, isRefreshing: specification.shouldRefreshRefetchedObjects)
    var query = RowQuery(entity: entity, includesSubentities: specification.includesSubentities)
    var isOpaque = false
    if let predicate = specification.predicate {
      do {
        query.predicate = try PredicateSyntax(predicate).evaluatingConstants().convertingConstants(for: entity)
      } catch is OpaqueCriterion {
        isOpaque = true
        self.specification.predicate = predicate.convertingConstants(for: entity)
      }
    }
    query.order = try (specification.sortDescriptors ?? []).compactMap { try SortKey(described: $0, entity: entity) }
    isSortedByCode = query.order.count < specification.sortDescriptors?.count ?? 0
    for path in query.order.map(\.keyPath) + (query.predicate?.keyPaths ?? []) {
      try FetchExecution.check(path, of: entity)
    }
    try FetchExecution.checkSingleValues(query)
    if isSortedByCode { query.order = [] }
    necessary =
      try isOpaque
      ? specification.predicate.flatMap(PredicateSyntax.init(partsOf:))?.evaluatingConstants()
        .convertingConstants(for: entity) : query.predicate
    query.limit = specification.fetchLimit
    query.offset = specification.fetchOffset
    self.query = query
    self.isOpaque = isOpaque
    // Dictionaries contain values that neither the predicate nor the order reads.
    let isAnythingRead =
      isOpaque || isSortedByCode || specification.resultType == .dictionaryResultType || specification.isGrouped
      || FetchExecution.incrementalStore(of: sources) != nil
    pending =
      specification.includesPendingChanges
      ? PendingObjects(query, isAnythingRead: isAnythingRead, in: context).objects() : []
  }

  /// Creates the fetch that answers a child's query.
  ///
  /// - Parameter isRefreshing: whether unchanged objects are read again.
  init(
    _ query: RowQuery, in context: NSManagedObjectContext, affectedStores: [NSPersistentStore]?, isRefreshing: Bool
  ) throws {
    context.willQueryStores()
    var specification = FetchSpecification()
    specification.includesSubentities = query.includesSubentities
    specification.shouldRefreshRefetchedObjects = isRefreshing
    self.specification = specification
    self.context = context
    entity = query.entity
    necessary = query.predicate
    sources = try context.readers(for: query.entity, among: affectedStores, isRefreshing: isRefreshing)
    self.query = query
    isOpaque = false
    isSortedByCode = false
    let excluded = Set(query.excludedIDs.lazy.map(\.current.key))
    let isAnythingRead = FetchExecution.incrementalStore(of: sources) != nil
    pending = PendingObjects(query, isAnythingRead: isAnythingRead, in: context).objects()
      .filter { !excluded.contains($0.key) }
    guard incrementalStore != nil else { return }
    self.specification.predicate = query.predicate.map(NSPredicate.make)
    self.specification.sortDescriptors = query.order.map {
      NSSortDescriptor(key: $0.keyPath, ascending: $0.isAscending, selector: $0.method.rawValue)
    }
    (self.specification.fetchLimit, self.specification.fetchOffset) = (query.limit, query.offset)
  }

  /// Throws if a key path does not exist in the model.
  private static func check(_ path: String, of entity: NSEntityDescription) throws {
    var source = entity
    for key in path.split(separator: ".").map(String.init) where !key.hasPrefix("@") {
      guard let property = source.propertiesByName[key] else {
        if ["self", "SELF", "objectID", "entity"].contains(key) { return }
        throw ObjectGraphErrors.badRequest(
          "The key path '\(path)' contains '\(key)', which is not a property of '\(source.name ?? "")'.",
          entity: entity,
          suggestion: "Correct the predicate or the sort descriptor.")
      }
      guard let destination = (property as? NSRelationshipDescription)?.destinationEntity else { return }
      source = destination
    }
  }

  /// Throws if a query compares or sorts by a key path with several values per object.
  private static func checkSingleValues(_ query: RowQuery) throws {
    for path in query.order.map(\.keyPath) {
      guard let name = toManyRelationship(in: path, of: query.entity) else { continue }
      throw ObjectGraphErrors.badRequest(
        "The sort descriptor's key '\(path)' leads through the to-many relationship '\(name)', which has several values "
          + "for an object.", entity: query.entity,
        suggestion: "Sort by an attribute of the entity, or of a to-one relationship's destination.")
    }
    for path in query.predicate?.comparedKeyPaths ?? [] {
      guard let name = toManyRelationship(in: path, of: query.entity) else { continue }
      throw ObjectGraphErrors.badRequest(
        "The predicate compares '\(path)' with one value, but the to-many relationship '\(name)' in it has several "
          + "for an object.", entity: query.entity,
        suggestion: "Write ANY or ALL before the key path, as in ANY \(path) == %@, or use SUBQUERY.")
    }
  }

  /// Returns the name of a to-many relationship in a key path without collection operators; nil if there is none.
  private static func toManyRelationship(in path: String, of entity: NSEntityDescription) -> String? {
    guard !path.contains("@") else { return nil }
    var source = entity
    for key in path.split(separator: ".").map(String.init) {
      guard let relationship = source.relationshipsByName[key] else { return nil }
      if relationship.isToMany { return key }
      guard let destination = relationship.destinationEntity else { return nil }
      source = destination
    }
    return nil
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

  /// Whether a single store's results are final: there are no unsaved changes, and the store evaluates the whole
  /// request.
  private var isAnsweredByStore: Bool {
    pending.isEmpty && sources.count == 1 && !isOpaque && !isSortedByCode && incrementalStore == nil
  }

  /// The only store, if it executes requests itself.
  private var incrementalStore: NSIncrementalStore? { Self.incrementalStore(of: sources) }

  private static func incrementalStore(of sources: [any RowReading]) -> NSIncrementalStore? {
    sources.count == 1 ? (sources[0] as? CoordinatorReader)?.store as? NSIncrementalStore : nil
  }

  /// The store, if it executes the whole request itself.
  private var executingStore: NSIncrementalStore? {
    pending.isEmpty && query.excludedIDs.isEmpty ? incrementalStore : nil
  }

  func objects() throws -> [NSManagedObject] {
    let found = try matching()
    if specification.shouldRefreshRefetchedObjects || !specification.returnsObjectsAsFaults {
      for object in found { object.fireFault() }
    }
    if specification.relationshipKeyPathsForPrefetching?.isEmpty == false { context.prefetchedRows.removeAll() }
    try Prefetching(context: context).prefetch(
      specification.relationshipKeyPathsForPrefetching ?? [], of: found, areHeld: true)
    return found
  }

  func identifiers() throws -> [NSManagedObjectID] {
    if let store = executingStore {
      return try locked {
        try store.results(of: specification, as: .managedObjectIDResultType, entity: entity, in: context)
      }
    }
    if isAnsweredByStore, let ids = try sources[0].identifiers(for: query) { return ids }
    if let ids = try mergedIdentifiers() { return window(ids) }
    return try matching().map(\.objectID)
  }

  /// Returns the objects' values for a child.
  func rowsForChild() throws -> [RowSnapshot] {
    try matching().compactMap(context.rowForChild)
  }

  /// Returns dictionaries for a child; nil if they must be made from objects.
  func dictionariesForChild(_ results: ResultCriteria) throws -> [NSDictionary]? {
    isAnsweredByStore && !context.hasChanges ? try sources[0].dictionaries(for: query, results) : nil
  }

  func count() throws -> Int {
    if specification.isGrouped { return try dictionaries().count }
    if let store = executingStore {
      let counts: [NSNumber] = try locked {
        try store.results(of: specification, as: .countResultType, entity: entity, in: context)
      }
      return counts.first?.intValue ?? 0
    }
    if isAnsweredByStore, let count = try sources[0].count(for: query) { return count }
    return try countWithPending() ?? countInMemory() ?? matching().count
  }

  func dictionaries() throws -> [NSDictionary] {
    if let store = executingStore {
      return try locked {
        try store.results(of: specification, as: .dictionaryResultType, entity: entity, in: context)
      }
    }
    let results = try DictionaryResults(specification, entity: entity)
    if isAnsweredByStore, !results.leadsElsewhere || !context.hasChanges || !specification.includesPendingChanges,
      let found = try sources[0].dictionaries(for: query, results.criteria)
    {
      return found
    }
    guard specification.returnsDistinctResults || results.isSummary || specification.isGrouped else {
      return try results.dictionaries(of: matching())
    }
    // Offset and limit count dictionaries, each of which may represent several objects.
    return try window(results.dictionaries(of: unbounded().matching()))
  }

  /// Returns the objects that match the request, in order, within offset and limit.
  private func matching() throws -> [NSManagedObject] {
    if let store = executingStore { return try matching(query, of: store) }
    if isAnsweredByStore, readsRowsLater, let ids = try sources[0].identifiers(for: query) {
      return context.faults(ids, batchSize: specification.fetchBatchSize)
    }
    if isAnsweredByStore, let objects = try objects(for: query, in: sources[0]) { return objects }
    if readsRowsLater, let ids = try mergedIdentifiers() {
      return context.faults(window(ids), batchSize: specification.fetchBatchSize)
    }
    if let objects = try firstMatching() ?? firstMatchingOfParent() ?? mergedObjects() ?? bestMatching() {
      return objects
    }
    var whole = query
    whole.limit = 0
    whole.offset = 0
    var objects: [NSManagedObject] = []
    for source in sources {
      objects += try matching(whole, in: source)
    }
    objects = try withPending(objects)
    if isSortedByCode {
      objects = sortedByCode(objects)
    } else if !query.order.isEmpty || !pending.isEmpty {
      objects = try ObjectOrder(query.order).sorted(inOrderOfKeys(objects))
    }
    return window(objects)
  }

  /// Sorts with the request's descriptors directly. The sort is stable.
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

  /// Whether the fetch reads only identifiers.
  private var readsRowsLater: Bool {
    specification.resultType == .managedObjectResultType && !specification.shouldRefreshRefetchedObjects
      && (!specification.includesPropertyValues || specification.fetchBatchSize > 0)
  }

  /// Runs a request of a store that executes requests, while holding the coordinator's lock.
  private func locked<T>(_ body: () throws -> T) rethrows -> T { try context.coordinator.withLock(body) }

  private func matching(_ query: RowQuery, of store: NSIncrementalStore) throws -> [NSManagedObject] {
    var whole = specification
    (whole.fetchLimit, whole.fetchOffset) = (query.limit, query.offset)
    let found: [NSManagedObject] = try locked {
      try store.results(of: whole, as: .managedObjectResultType, entity: entity, in: context)
    }
    if query.excludedIDs.isEmpty { return found }
    let excluded = Set(query.excludedIDs.lazy.map(\.current.key))
    return found.filter { !excluded.contains($0.key) }
  }

  /// Returns the objects for the rows that match a query; nil if the source cannot evaluate its predicate or order.
  func objects(for query: RowQuery, in source: any RowReading) throws -> [NSManagedObject]? {
    try source.rows(for: query) {
      context.objects(for: $0, refreshing: specification.shouldRefreshRefetchedObjects)
    }
  }

  /// Returns the objects of a source that match a query, ignoring this context's changes.
  private func matching(_ query: RowQuery, in source: any RowReading) throws -> [NSManagedObject] {
    if let store = (source as? CoordinatorReader)?.store as? NSIncrementalStore {
      return try matching(query, of: store)
    }
    if !isOpaque, let objects = try objects(for: query, in: source) { return objects }
    // The store cannot express the predicate or the order, so read the rows that may match, and filter in memory.
    var objects: [NSManagedObject] = []
    try readCandidates(query, in: source) { cursor in
      objects = []
      try forEachWanted(cursor) {
        objects.append($0)
        return true
      }
    }
    return objects
  }

  /// Calls a closure with the objects of rows that match the predicate, until it returns false. Objects that are not
  /// kept are released before the next rows are read.
  func forEachWanted(_ cursor: RowCursor, _ body: (NSManagedObject) throws -> Bool) throws {
    let refreshes = specification.shouldRefreshRefetchedObjects
    try cursor.forEachPart { rows in
      for object in context.objects(for: rows, refreshing: refreshes) where try isWanted(object) {
        if try !body(object) { return false }
      }
      return true
    }
  }

  /// Reads a superset of the rows that match a query: as small as the store can make it with the parts of the predicate
  /// that it can express, or all rows of the entity.
  ///
  /// - Parameter body: runs again if reading has failed and is repeated.
  func readCandidates(_ query: RowQuery, in source: any RowReading, _ body: (RowCursor) throws -> Void) throws {
    var candidates = RowQuery(entity: query.entity, includesSubentities: query.includesSubentities)
    candidates.excludedIDs = query.excludedIDs
    if let necessary, isDecidedByStoredValues(necessary) {
      candidates.findsCandidates = true
      candidates.predicate = necessary
      if try source.readRows(for: candidates, body) { return }
      // A calculation has failed in SQL that has a result in memory.
      candidates.findsCandidates = false
      candidates.predicate = nil
    }
    guard try source.readRows(for: candidates, body) else {
      throw ObjectGraphErrors.badRequest(
        "The store cannot list the rows of '\(entity.name ?? "")'.", entity: entity,
        suggestion: "Run an integrity check on the store.")
    }
  }

  /// Returns whether a predicate has the same result for the stored values and for those of the context, except for
  /// pending objects.
  private func isDecidedByStoredValues(_ predicate: PredicateSyntax) -> Bool {
    if !context.hasChanges { return true }
    return specification.includesPendingChanges
      && predicate.keyPaths.allSatisfy { query.entity.attributesByName[$0]?.isTransient == false }
  }

  /// Removes objects that no longer match because of unsaved changes, and appends objects that match because of them.
  func withPending(_ objects: [NSManagedObject]) throws -> [NSManagedObject] {
    guard !pending.isEmpty else { return objects }
    let unsaved = Set(pending.map(ObjectIdentifier.init))
    let matching = try pending.filter { try !$0.isDeleted && isWanted($0) }
    let remaining = Set(matching.map(ObjectIdentifier.init))
    // Objects keep the order of the store. Objects that only the context has come last.
    let inPlace = objects.filter {
      !unsaved.contains(ObjectIdentifier($0)) || remaining.contains(ObjectIdentifier($0))
    }
    let known = Set(inPlace.map(ObjectIdentifier.init))
    return inPlace + matching.filter { !known.contains(ObjectIdentifier($0)) }
  }

  func isWanted(_ object: NSManagedObject) throws -> Bool {
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

  func window<Result>(_ objects: [Result]) -> [Result] {
    var result = objects[...]
    if query.offset > 0 { result = result.dropFirst(query.offset) }
    if query.limit > 0 { result = result.prefix(query.limit) }
    return Array(result)
  }
}

extension SortKey {
  /// Creates the key for a request's descriptor; nil for a Swift key path, which only the program can read.
  ///
  /// - Throws: 134060 for a descriptor with a comparator.
  init?(described descriptor: NSSortDescriptor, entity: NSEntityDescription) throws {
    do {
      try self.init(descriptor)
    } catch let opaque as OpaqueCriterion {
      if opaque.kind == .swiftKeyPath { return nil }
      throw ObjectGraphErrors.badRequest(
        opaque.description, entity: entity,
        suggestion: "Sort the fetched objects in memory, or give the descriptor a key.")
    }
  }
}
