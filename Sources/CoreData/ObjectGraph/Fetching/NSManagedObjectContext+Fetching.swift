// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTracing
import Foundation

extension NSManagedObjectContext {
  /// Returns the objects, identifiers, dictionaries or count that a request asks for.
  ///
  /// Includes this context's unsaved changes unless the request excludes them: inserted objects are found, deleted ones
  /// are not, and changed ones are matched by their new values.
  ///
  /// - Parameter request: the request to execute.
  /// - Throws: 134060 for an entity or key path that is not in the model; the store's errors.
  public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] { try fetch(request.specification) }

  /// Returns the results of a request; see `fetch(_:)`.
  func fetch<T>(_ specification: FetchSpecification) throws -> [T] {
    ConcurrencyDebug.check(self)
    adoptPermanentIDs()
    offerClass(T.self, for: specification)
    if specification.resultType == .managedObjectResultType, let type = T.self as? NSManagedObject.Type {
      let objects = try fetching(specification, specification.affectedStores) { try $0.objects() }
      noteFetchResults(objects)
      // The types are identical.
      if type == NSManagedObject.self { return unsafeBitCast(objects, to: [T].self) }
      if Self.areAll(objects, of: type) {
        return objects.withUnsafeBufferPointer { $0.withMemoryRebound(to: T.self) { Array($0) } }
      }
      return try typed(objects, for: specification)
    }
    let results = try results(of: specification, affectedStores: specification.affectedStores)
    noteFetchResults(results)
    return try typed(results, for: specification)
  }

  /// Returns whether all objects are instances of a class. Casting each of them takes longer than creating it.
  private static func areAll(_ objects: [NSManagedObject], of wanted: NSManagedObject.Type) -> Bool {
    var last: NSManagedObject.Type?
    for object in objects {
      let type = type(of: object)
      if type == last { continue }
      if !(object.isKind(of: wanted)) { return false }
      last = type
    }
    return true
  }

  /// Registers the class of a request's results for the request's entity.
  func offerClass(_ type: Any.Type, for specification: FetchSpecification) {
    let named = (type as? NSManagedObject.Type).flatMap { $0 == NSManagedObject.self ? nil : $0 }
    guard let type = named ?? specification.objectClass as? NSManagedObject.Type,
      let entity = specification.entity
        ?? specification.entityName.flatMap({ persistentStoreCoordinator?.managedObjectModel.entitiesByName[$0] })
    else { return }
    ManagedObjectClasses.offer(type, for: entity)
  }

  /// Casts results to the type of their request.
  func typed<T>(_ results: [Any], for specification: FetchSpecification) throws -> [T] {
    try results.map { result in
      guard let typed = result as? T else {
        let entity = (result as? NSManagedObject)?.entity ?? specification.entity
        throw ObjectGraphErrors.badRequest(
          "The request's type is \(T.self), but its results are \(Swift.type(of: result)).", entity: entity,
          suggestion: entity.flatMap(ManagedObjectClasses.missingClass)
            ?? "Make the request's type and its resultType agree.")
      }
      return typed
    }
  }

  /// Returns the number of objects that a request would find.
  ///
  /// - Parameter request: the request to count.
  /// - Throws: as `fetch(_:)`.
  public func count<T>(for request: NSFetchRequest<T>) throws -> Int {
    ConcurrencyDebug.check(self)
    let specification = request.specification
    return try fetching(specification, specification.affectedStores, .count) { try $0.count() }
  }

  /// Returns the results of a fetch, untyped, in the form of the result type.
  func results(of specification: FetchSpecification, affectedStores: [NSPersistentStore]? = nil) throws -> [Any] {
    let isCount = specification.resultType == .countResultType
    return try fetching(specification, affectedStores, isCount ? .count : .fetch) { fetch in
      switch specification.resultType {
      case .managedObjectIDResultType: return try fetch.identifiers()
      case .dictionaryResultType: return try fetch.dictionaries()
      case .countResultType: return [NSNumber(value: try fetch.count())]
      default: return try fetch.objects()
      }
    }
  }

  /// Runs a fetch. Relationships that the fetch reads to evaluate objects do not hold their destinations.
  private func fetching<Results>(
    _ specification: FetchSpecification, _ affectedStores: [NSPersistentStore]?,
    _ kind: StatementOrigin.Kind = .fetch, _ results: (FetchExecution) throws -> Results
  ) throws -> Results {
    let wasHolding = registry.isHolding
    registry.isHolding = false
    defer { registry.isHolding = wasHolding }
    return try throwingReadingFailures {
      do {
        return try tracing(kind) {
          try results(FetchExecution(specification, in: self, affectedStores: affectedStores))
        }
      } catch let failure as EvaluationError {
        throw ObjectGraphErrors.badRequest(
          failure.description, entity: specification.entity,
          suggestion: "Correct the predicate, the sort descriptors or the expressions of the request.")
      }
    }
  }

  /// Fetches the objects of a fetched property. Errors are stored in `readingFailure`, and the next `save()` throws the
  /// first.
  func fetchedObjects(_ specification: FetchSpecification) -> [Any] {
    do {
      return try results(of: specification)
    } catch {
      readingFailure = readingFailure ?? error
      return []
    }
  }
}

/// The evaluation of an object's fetched property.
struct FetchedPropertyUse: Equatable {
  /// The maximum depth of fetched properties whose requests depend on each other.
  static let limit = 32

  let object: NSManagedObjectID
  let name: String
}

extension NSManagedObject {
  /// Executes the request of a fetched property, with this object as `$FETCH_SOURCE`.
  final func fetchedValues(of property: NSFetchedPropertyDescription) -> [Any] {
    guard let context, let request = property.fetchRequest else { return [] }
    // After a failure, the request that needs this one fails anyway, without trying every object first.
    if !context.fetchedProperties.isEmpty, context.readingFailure != nil { return [] }
    let use = FetchedPropertyUse(object: objectID, name: property.name)
    guard context.fetchedProperties.count < FetchedPropertyUse.limit, !context.fetchedProperties.contains(use) else {
      context.readingFailure =
        context.readingFailure
        ?? ObjectGraphErrors.badRequest(
          "The request of the fetched property '\(property.name)' of '\(entity.name ?? "")' needs the property itself, or "
            + "leads through more than \(FetchedPropertyUse.limit) fetched properties.", entity: entity,
          suggestion: "Use attributes and relationships in its predicate and its sort descriptors.")
      return []
    }
    context.fetchedProperties.append(use)
    defer { context.fetchedProperties.removeLast() }
    var specification = request.specification
    specification.predicate = specification.predicate?.withSubstitutionVariables([
      "FETCH_SOURCE": self, "FETCHED_PROPERTY": property,
    ])
    return context.fetchedObjects(specification)
  }
}

/// Reads the destinations of relationships with one query per entity, instead of one per object.
struct Prefetching {
  /// The number of rows in one query.
  static let batchSize = 500

  let context: NSManagedObjectContext

  /// Reads the destinations of key paths.
  ///
  /// - Parameter areHeld: whether the objects hold the intermediate destinations, which contain the members read for
  ///   them.
  func prefetch(_ keyPaths: [String], of objects: [NSManagedObject], areHeld: Bool = false) throws {
    for keyPath in keyPaths {
      var level = objects
      let keys = keyPath.split(separator: ".").map(String.init)
      for (position, key) in keys.enumerated() {
        let rest = try prefetchMembers(key, of: level)
        // The objects of the last relationship are created when the program first accesses them.
        let isLast = position == keys.count - 1
        level = try prefetch(key, of: isLast ? prefetchDestinations(key, of: rest) : level, areHeld: areHeld && !isLast)
      }
    }
  }

  /// Reads one relationship of the objects, and the rows of its destinations.
  ///
  /// - Parameter areHeld: whether the objects hold their destinations.
  /// - Returns: the destinations, which must be retained for as long as their rows are needed.
  func prefetch(_ key: String, of objects: [NSManagedObject], areHeld: Bool = false) throws -> [NSManagedObject] {
    try context.readMembers(ofRelationshipNamed: key, for: objects)
    var destinations: [NSManagedObject] = []
    var seen: Set<ObjectIdentifier> = []
    for object in objects {
      guard let position = object.table.position(of: key), object.table.relationship(at: position) != nil else {
        throw ObjectGraphErrors.badRequest(
          "'\(key)' is not a relationship of '\(object.entity.name ?? "")', so it cannot be prefetched.",
          entity: object.entity, suggestion: "Correct relationshipKeyPathsForPrefetching.")
      }
      let linked = object.linkedObjects(at: position)
      if areHeld, !linked.isEmpty { hold(linked, at: position, of: object) }
      for destination in linked where seen.insert(ObjectIdentifier(destination)).inserted {
        destinations.append(destination)
      }
    }
    try readRows(of: destinations.filter { $0.isFault && $0.snapshot == nil }) { context.prefetchedRows[$0.key] = $0 }
    return destinations
  }

  private func hold(_ linked: [NSManagedObject], at position: Int, of object: NSManagedObject) {
    let wasHolding = context.registry.isHolding
    context.registry.isHolding = true
    defer { context.registry.isHolding = wasHolding }
    if object.table.relationship(at: position)?.isToMany == true {
      _ = object.members(at: position)
    } else {
      object.hold(linked[0], at: position)
    }
  }

  /// Reads the members of a relationship whose rows contain their owners' keys, together with the rows.
  ///
  /// - Returns: the objects whose members were already read, or must be read in another way.
  private func prefetchMembers(_ key: String, of objects: [NSManagedObject]) throws -> [NSManagedObject] {
    guard context.parent == nil, context.stalenessInterval < 0 else { return objects }
    var rest: [NSManagedObject] = []
    var unread: [ObjectIdentifier: [NSManagedObject]] = [:]
    for object in objects {
      guard !object.hasTemporaryID, let position = object.table.position(of: key),
        object.table.relationship(at: position)?.isToMany == true
      else { return objects }
      object.fireFault()
      if object.isUnread(at: position) {
        unread[ObjectIdentifier(object.entity), default: []].append(object)
      } else {
        rest.append(object)
      }
    }
    if unread.isEmpty { return objects }
    context.willQueryStores()
    for (_, group) in unread {
      let entity = group[0].entity
      guard let position = entity.slotTable.position(of: key),
        let relationship = entity.slotTable.relationship(at: position),
        let reader = try context.readers(for: entity).first as? CoordinatorReader,
        try context.readers(for: entity).count == 1,
        let found = try reader.memberRows(
          of: relationship, entity: entity, primaryKeys: group.map(\.key.number))
      else {
        rest += group
        continue
      }
      let waiting = PrefetchedMembers(found.rows, for: context)
      context.prefetchedRows.add(waiting)
      for object in group {
        let members = context.keepMembers(
          waiting, found.ranges[object.key.number] ?? 0..<0, isOrdered: relationship.isOrdered)
        object.setReadMembers(members, at: position)
      }
    }
    return rest
  }

  /// The destinations of one entity, and the objects that refer to them.
  private struct Destinations {
    let entity: NSEntityDescription
    let store: UInt32
    var primaryKeys: [Int64] = []
    var sources: [NSManagedObject] = []
  }

  /// Reads the rows of a to-one relationship's destinations that have no objects yet.
  ///
  /// - Returns: the objects whose destinations already have objects, or must be read in another way.
  private func prefetchDestinations(_ key: String, of objects: [NSManagedObject]) throws -> [NSManagedObject] {
    guard context.parent == nil, context.stalenessInterval < 0 else { return objects }
    var rest: [NSManagedObject] = []
    var groups: [Destinations] = []
    for object in objects {
      object.fireFault()
      guard let position = object.table.position(of: key),
        let destination = object.packedDestination(at: position), let entity = destination.entityDescription,
        context.registry[destination.key] == nil
      else {
        rest.append(object)
        continue
      }
      let store = destination.key.store
      var group = groups.count - 1
      if group < 0 || groups[group].entity !== entity || groups[group].store != store {
        group = groups.firstIndex { $0.entity === entity && $0.store == store } ?? groups.count
        if group == groups.count { groups.append(Destinations(entity: entity, store: store)) }
      }
      groups[group].primaryKeys.append(destination.key.number)
      groups[group].sources.append(object)
    }
    for group in groups {
      let readers = try context.readers(for: group.entity).compactMap { $0 as? CoordinatorReader }
      guard let reader = readers.first(where: { $0.store.number == group.store }),
        let rows = try reader.rows(of: group.entity, primaryKeys: Array(Set(group.primaryKeys)))
      else {
        rest += group.sources
        continue
      }
      context.prefetchedRows.add(rows)
    }
    return rest
  }

  /// Reads the rows of faults, which keep them until they fire.
  func readRows(of faults: [NSManagedObject], _ didRead: (RowSnapshot) -> Void = { _ in }) throws {
    let groups = Dictionary(grouping: faults) { ObjectIdentifier($0.entity) }.values
    for group in groups.sorted(by: { $0[0].entity.name ?? "" < $1[0].entity.name ?? "" }) {
      if try readRowsByKeys(of: group, didRead) { continue }
      for start in stride(from: 0, to: group.count, by: Prefetching.batchSize) {
        let part = Array(group[start..<min(start + Prefetching.batchSize, group.count)])
        guard let entity = part.first?.entity else { continue }
        for reader in try context.readers(for: entity) {
          for row in try reader.rows(of: part.map(\.objectID), entity: entity) {
            didRead(row)
            _ = context.object(for: row)
          }
        }
      }
    }
  }
}

extension Prefetching {
  /// Reads the rows of faults of one entity.
  ///
  /// - Returns: false if not all stores of the entity can read rows by their keys.
  private func readRowsByKeys(of faults: [NSManagedObject], _ didRead: (RowSnapshot) -> Void) throws -> Bool {
    let readers = try context.readers(for: faults[0].entity)
    guard context.parent == nil, !readers.isEmpty else { return false }
    var found: [RowSnapshot] = []
    for reader in readers {
      guard let reader = reader as? CoordinatorReader else { return false }
      let keys = faults.lazy.map(\.key).filter { $0.store == reader.store.number }.map(\.number)
      guard let rows = try reader.rows(of: faults[0].entity, primaryKeys: Array(keys)) else { return false }
      found += rows
    }
    for row in found {
      didRead(row)
      _ = context.object(for: row)
    }
    return true
  }
}

extension NSManagedObjectContext {
  /// Returns the objects for identifiers. With a batch size, faults read their rows in batches.
  func faults(_ ids: [NSManagedObjectID], batchSize: Int) -> [NSManagedObject] {
    let batch = batchSize > 0 ? FetchBatch(ids, size: batchSize) : nil
    return ids.map { id in
      let object = object(for: id)
      if object.isInaccessible { revive(object) }
      if object.isFault, object.snapshot == nil { object.batch = batch }
      return object
    }
  }
}

/// The results of a request with a `fetchBatchSize`. Its objects are faults. Firing one reads the rows of its whole
/// batch.
final class FetchBatch {
  private let ids: [NSManagedObjectID]
  private let size: Int
  private lazy var positions = Dictionary(ids.enumerated().map { ($1.key, $0) }) { first, _ in first }

  init(_ ids: [NSManagedObjectID], size: Int) {
    self.ids = ids
    self.size = size
  }

  /// Reads the rows of an object and of the other registered faults in its batch.
  func readRows(around object: NSManagedObject, in context: NSManagedObjectContext) throws {
    guard let position = positions[object.identifier.key] else { return }
    let start = position / size * size
    let faults = ids[start..<min(start + size, ids.count)].compactMap { context.registry[$0.key] }
      .filter { $0.isFault && $0.snapshot == nil && $0.batch === self }
    for fault in faults { fault.batch = nil }
    try Prefetching(context: context).readRows(of: faults)
  }
}

/// A sort descriptor for a Swift key path to values that Foundation cannot compare: optionals and identifiers.
final class KeyPathSortDescriptor: NSSortDescriptor {
  private let order: (Any, Any) -> ComparisonResult

  init<Root: NSManagedObject, Value>(_ keyPath: KeyPath<Root, Value>, isAscending: Bool) {
    let key = SortKey(keyPath: "self", isAscending: isAscending)
    order = { left, right in
      guard let left = left as? Root, let right = right as? Root else { return .orderedSame }
      do {
        return try key.order(Self.comparable(left[keyPath: keyPath]), Self.comparable(right[keyPath: keyPath]))
      } catch {
        // Values of different types have no order.
        return .orderedSame
      }
    }
    super.init(keyPath: \SortKey.keyPath, ascending: isAscending)
  }

  /// Replaces an identifier with its primary key, so that rows sort in the order of their insertion.
  private static func comparable(_ value: Any?) -> Any? {
    guard let id = Operand.unwrapped(value) as? NSManagedObjectID else { return value }
    return NSNumber(value: id.key.number)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult { order(object1, object2) }

  override func copy(with zone: NSZone? = nil) -> Any { self }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Creates a descriptor that sorts managed objects by a Swift key path, possibly to an optional. Fetches sort by it
  /// in memory.
  public init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    self = unsafeDowncast(
      KeyPathSortDescriptor(keyPath, isAscending: ascending) as NSSortDescriptor, to: Self.self)
  }
}
