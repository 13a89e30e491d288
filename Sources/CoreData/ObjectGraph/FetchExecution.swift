// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// One fetch: queries the stores, and merges the context's unsaved changes into the results.
struct FetchExecution {
  private let specification: FetchSpecification
  private let context: NSManagedObjectContext
  private let entity: NSEntityDescription
  private let stores: [any RowStore]
  private var query: RowQuery
  /// Whether only Foundation can evaluate the predicate, because it contains a block.
  private let isOpaque: Bool
  /// Whether the objects are sorted by a Swift key path, which only the program can read.
  private let isSortedByCode: Bool
  /// Objects of the entity with unsaved changes, which the stores do not know.
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
        query.predicate = try PredicateSyntax(predicate).evaluatingConstants()
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

  /// Throws if a key path is not in the model.
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

  /// Whether the results of a single store are final: nothing is unsaved, and the store evaluates everything.
  private var isAnsweredByStore: Bool { pending.isEmpty && stores.count == 1 && !isOpaque && !isSortedByCode }

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
    if isAnsweredByStore, let ids = try locked({ try stores[0].identifiers(for: query) }) { return ids }
    return try matching().map(\.objectID)
  }

  func count() throws -> Int {
    if isAnsweredByStore, let count = try locked({ try stores[0].count(for: query) }) { return count }
    return try matching().count
  }

  func dictionaries() throws -> [NSDictionary] {
    let results = try DictionaryResults(specification, entity: entity)
    guard specification.returnsDistinctResults || results.isSummary else {
      return try results.dictionaries(of: matching())
    }
    // Offset and limit count dictionaries, each of which may stand for several objects.
    return try window(results.dictionaries(of: unbounded().matching()))
  }

  /// Runs a query while holding the coordinator's lock.
  private func locked<T>(_ body: () throws -> T) rethrows -> T { try context.coordinator.withLock(body) }

  /// Returns the objects that match the request, in order, within offset and limit.
  private func matching() throws -> [NSManagedObject] {
    if isAnsweredByStore, readsRowsLater, let ids = try locked({ try stores[0].identifiers(for: query) }) {
      return faults(ids)
    }
    if isAnsweredByStore, let rows = try locked({ try stores[0].rows(for: query) }) {
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

  /// Sorts with the descriptors themselves. The sort is stable.
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

  /// Returns the objects of identifiers. Faults among them read their rows in batches if the request has a batch size.
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
    // The store cannot express the predicate or the order: read all rows, and filter in memory.
    let all = RowQuery(entity: query.entity, includesSubentities: query.includesSubentities)
    guard let rows = try locked({ try store.rows(for: all) }) else {
      throw ObjectGraphErrors.badRequest(
        "The store cannot list the rows of '\(entity.name ?? "")'.", entity: entity,
        suggestion: "Run an integrity check on the store.")
    }
    return try rows.map { context.object(for: $0) }.filter(isWanted)
  }

  private func withPending(_ objects: [NSManagedObject]) throws -> [NSManagedObject] {
    guard !pending.isEmpty else { return objects }
    let unsaved = Set(pending.map(ObjectIdentifier.init))
    let matching = try pending.filter { try !$0.isDeleted && isWanted($0) }
    let remaining = Set(matching.map(ObjectIdentifier.init))
    // Objects keep the order of the store; those that only the context has come last.
    let inPlace = objects.filter {
      !unsaved.contains(ObjectIdentifier($0)) || remaining.contains(ObjectIdentifier($0))
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

/// Sorts objects in memory, as a store would.
struct ObjectOrder {
  private let keys: [SortKey]

  init(_ keys: [SortKey]) {
    self.keys = keys
  }

  /// Returns the objects in order. The sort is stable.
  func sorted(_ objects: [NSManagedObject]) throws -> [NSManagedObject] {
    let rows = try objects.enumerated().map { offset, object in
      (offset, object, try keys.map { try KeyPathReader.value($0.keyPath, of: object) })
    }
    return try rows.sorted { a, b in
      for (position, key) in keys.enumerated() {
        switch try key.order(a.2[position], b.2[position]) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return a.0 < b.0
    }.map(\.1)
  }
}

extension SortKey {
  /// The key of a request's descriptor; nil for a Swift key path, which only the program can read.
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

extension ExpressionSyntax {
  /// The key paths that the expression reads from the evaluated object.
  var keyPaths: [String] {
    switch self {
    case .keyPath(let path): [path]
    case .keyPathOf(.evaluatedObject, let path): [path]
    case .keyPathOf(let operand, _): operand.keyPaths
    case .function(let operand, _, let arguments): (operand?.keyPaths ?? []) + arguments.flatMap(\.keyPaths)
    case .aggregate(let elements): elements.flatMap(\.keyPaths)
    case .union(let a, let b), .intersect(let a, let b), .minus(let a, let b): a.keyPaths + b.keyPaths
    case .subquery(let collection, _, let predicate): collection.keyPaths + predicate.keyPaths
    case .conditional(let predicate, let a, let b): predicate.keyPaths + a.keyPaths + b.keyPaths
    case .constant, .evaluatedObject, .variable, .anyKey, .fetch: []
    }
  }
}

extension PredicateSyntax {
  /// The key paths that the predicate reads from the evaluated object.
  var keyPaths: [String] {
    switch self {
    case .constant: []
    case .comparison(let comparison): comparison.left.keyPaths + comparison.right.keyPaths
    case .and(let operands), .or(let operands): operands.flatMap(\.keyPaths)
    case .not(let operand): operand.keyPaths
    }
  }
}

/// Makes the results of a fetch with the result type `dictionaryResultType`.
struct DictionaryResults {
  private struct Column {
    let name: String
    /// Computes the value of one object; nil for an aggregate.
    var value: ((NSManagedObject) throws -> Any?)?
    /// Computes an aggregate of all objects, such as the maximum of a property.
    var summary: (([NSManagedObject]) throws -> Any?)?
  }

  private let columns: [Column]
  private let isDistinct: Bool

  /// Whether the request asks for aggregates, and so for one dictionary of all objects.
  var isSummary: Bool { columns.contains { $0.summary != nil } }

  init(_ specification: FetchSpecification, entity: NSEntityDescription) throws {
    isDistinct = specification.returnsDistinctResults
    if let wanted = specification.propertiesToFetch {
      columns = try wanted.map { try DictionaryResults.column($0, entity) }
    } else {
      columns = try entity.attributesByName.filter { !$0.value.isTransient }.keys.sorted()
        .map { try DictionaryResults.column($0, entity) }
    }
  }

  private static func column(
    _ property: Any, _ entity: NSEntityDescription
  ) throws -> Column {
    switch property {
    case let expression as NSExpressionDescription:
      guard let tree = expression.expression?.syntax else {
        throw ObjectGraphErrors.badRequest(
          "The expression description '\(expression.name)' has no expression.", entity: entity,
          suggestion: "Set its expression.")
      }
      if let summary = summary(tree) { return Column(name: expression.name, summary: summary) }
      return Column(name: expression.name) { object in
        let value = try PredicateEvaluator().value(tree, with: object)
        return (value as? NSManagedObject)?.objectID ?? value
      }
    case let description as NSPropertyDescription:
      return try column(description.name, entity)
    case let name as String:
      let first = name.split(separator: ".").first.map(String.init) ?? name
      if name == "objectID", entity.propertiesByName[name] == nil { return Column(name: name) { $0.objectID } }
      guard entity.slotTable.position(of: first) != nil else {
        throw ObjectGraphErrors.badRequest(
          "'\(first)' is not an attribute or relationship of '\(entity.name ?? "")'.", entity: entity,
          suggestion: "Correct propertiesToFetch.")
      }
      return Column(name: name) { object in
        let value = try KeyPathReader.value(name, of: object)
        return (value as? NSManagedObject)?.objectID ?? value
      }
    default:
      throw ObjectGraphErrors.badRequest(
        "propertiesToFetch contains a \(type(of: property)).", entity: entity,
        suggestion: "Use names of properties, or property descriptions.")
    }
  }

  /// Returns the aggregate that an expression asks for, as `max:(price)` or `@max.price`; nil for other expressions.
  private static func summary(_ tree: ExpressionSyntax) -> (([NSManagedObject]) throws -> Any?)? {
    switch tree {
    case .keyPath(let path) where path.hasPrefix("@"):
      return { try KeyPathReader.value(path, of: $0) }
    case .function(operand: nil, let name, let arguments)
    where arguments.count == 1 && FunctionLibrary.isAggregate(name):
      return { objects in
        let values = try objects.flatMap { object -> [Any] in
          guard let value = Operand.unwrapped(try PredicateEvaluator().value(arguments[0], with: object)) else {
            return []
          }
          return Operand.elements(value) ?? [value]
        }
        return try FunctionLibrary.call(name, [values])
      }
    default: return nil
    }
  }

  /// Returns one dictionary of all objects. Values that are not aggregates are those of the first object.
  private func summary(of objects: [NSManagedObject]) throws -> NSDictionary {
    let dictionary = NSMutableDictionary()
    for column in columns {
      let value = try column.summary?(objects) ?? objects.first.flatMap { try column.value?($0) }
      if let value { dictionary[column.name] = value }
    }
    return dictionary
  }

  func dictionaries(of objects: [NSManagedObject]) throws -> [NSDictionary] {
    if isSummary { return [try summary(of: objects)] }
    var seen: Set<NSDictionary> = []
    var result: [NSDictionary] = []
    for object in objects {
      let dictionary = NSMutableDictionary()
      for column in columns {
        if let value = try column.value?(object) { dictionary[column.name] = value }
      }
      if !isDistinct || seen.insert(dictionary).inserted { result.append(dictionary) }
    }
    return result
  }
}
