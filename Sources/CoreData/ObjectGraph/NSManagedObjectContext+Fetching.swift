// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension NSManagedObjectContext {
  /// The objects, identifiers, dictionaries or number that a request asks for.
  ///
  /// Unsaved changes of this context count unless the request says otherwise: an object inserted here is found, one
  /// deleted is not, and one changed is found by its new values.
  ///
  /// - Parameter request: what to fetch.
  /// - Throws: 134060 for an entity or key path that the model does not have; the store's errors.
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
          "The request was typed for \(T.self), and its results are \(Swift.type(of: result)).",
          entity: request.entity, suggestion: "Let the request's type and its resultType agree.")
      }
      return typed
    }
  }

  /// How many objects a request would find.
  ///
  /// - Parameter request: what to count.
  /// - Throws: as `fetch(_:)`.
  public func count<T>(for request: NSFetchRequest<T>) throws -> Int {
    try fetching(request.specification, request.affectedStores) { try $0.count() }
  }

  /// Results in the form that the specification wants, untyped.
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

  /// Prepares a fetch and takes its results. What it reads of objects to sort them out is not held by them.
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

  /// The objects of a fetched property. Whoever asks for them cannot be thrown an error at: it is kept, and the next
  /// `save()` throws it.
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
  /// Carries the request out in the context whose block this is called from.
  ///
  /// Differs from Apple: not available, since there is no current context without a run loop; use
  /// `NSManagedObjectContext.fetch(_:)`.
  @available(*, unavailable, message: "Use NSManagedObjectContext.fetch(_:), which says in which context to fetch.")
  public func execute() throws -> [ResultType] {
    preconditionFailure("Unavailable.")
  }
}
