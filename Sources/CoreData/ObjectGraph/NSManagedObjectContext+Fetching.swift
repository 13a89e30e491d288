// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension NSManagedObjectContext {
  /// Returns the objects, identifiers, dictionaries or count that a request asks for.
  ///
  /// Includes this context's unsaved changes unless the request excludes them: inserted objects are found, deleted ones
  /// are not, and changed ones are matched by their new values.
  ///
  /// - Parameter request: what to fetch.
  /// - Throws: 134060 for an entity or key path that is not in the model; the store's errors.
  public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] {
    let specification = request.specification
    if let type = T.self as? NSManagedObject.Type, type != NSManagedObject.self,
      let entity = specification.entity
        ?? specification.entityName.flatMap({
          persistentStoreCoordinator?.managedObjectModel.entitiesByName[$0]
        })
    {
      ManagedObjectClasses.offer(type, for: entity)
    }
    if T.self == NSManagedObject.self, specification.resultType == .managedObjectResultType {
      let objects = try fetching(specification, request.affectedStores) { try $0.objects() }
      if let typed = objects as? [T] {
        noteFetchResults(typed)
        return typed
      }
    }
    let results = try results(of: specification, affectedStores: request.affectedStores)
    noteFetchResults(results)
    return try results.map { result in
      guard let typed = result as? T else {
        throw ObjectGraphErrors.badRequest(
          "The request's type is \(T.self), but its results are \(Swift.type(of: result)).",
          entity: request.entity, suggestion: "Make the request's type and its resultType agree.")
      }
      return typed
    }
  }

  /// Returns how many objects a request would find.
  ///
  /// - Parameter request: what to count.
  /// - Throws: as `fetch(_:)`.
  public func count<T>(for request: NSFetchRequest<T>) throws -> Int {
    try fetching(request.specification, request.affectedStores) { try $0.count() }
  }

  /// Returns the results of a fetch, untyped, in the form of the result type.
  func results(of specification: FetchSpecification, affectedStores: [NSPersistentStore]? = nil) throws -> [Any] {
    try fetching(specification, affectedStores) { fetch in
      switch specification.resultType {
      case .managedObjectIDResultType: return try fetch.identifiers()
      case .dictionaryResultType: return try fetch.dictionaries()
      case .countResultType: return [NSNumber(value: try fetch.count())]
      default: return try fetch.objects()
      }
    }
  }

  /// Runs a fetch. Objects do not hold the destinations of relationships that the fetch itself reads to evaluate them.
  private func fetching<Results>(
    _ specification: FetchSpecification, _ affectedStores: [NSPersistentStore]?,
    _ results: (FetchExecution) throws -> Results
  ) throws -> Results {
    let wasHolding = registry.isHolding
    registry.isHolding = false
    defer { registry.isHolding = wasHolding }
    return try throwingReadingFailures {
      do {
        return try results(FetchExecution(specification, in: self, affectedStores: affectedStores))
      } catch let failure as EvaluationError {
        throw ObjectGraphErrors.badRequest(
          failure.description, entity: specification.entity,
          suggestion: "Correct the predicate, the sort descriptors or the expressions of the request.")
      }
    }
  }

  /// Fetches the objects of a fetched property. Errors are kept in `readingFailure`, and the next `save()` throws the
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

extension NSFetchRequest {
  /// Executes the request in the context whose block is running.
  ///
  /// Differs from Apple: unavailable, since there is no current context here; use `NSManagedObjectContext.fetch(_:)`.
  @available(*, unavailable, message: "Use NSManagedObjectContext.fetch(_:), which names the context to fetch in.")
  public func execute() throws -> [ResultType] {
    preconditionFailure("Unavailable.")
  }
}
