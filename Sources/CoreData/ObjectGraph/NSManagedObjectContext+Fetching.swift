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
    if T.self == NSManagedObject.self, specification.resultType == .managedObjectResultType {
      let objects = try FetchExecution(specification, in: self, affectedStores: request.affectedStores).objects()
      if let typed = objects as? [T] { return typed }
    }
    return try results(of: specification, affectedStores: request.affectedStores).map { result in
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
    try FetchExecution(request.specification, in: self, affectedStores: request.affectedStores).count()
  }

  /// Results in the form that the specification wants, untyped.
  func results(of specification: FetchSpecification, affectedStores: [NSPersistentStore]? = nil) throws -> [Any] {
    let fetch = try FetchExecution(specification, in: self, affectedStores: affectedStores)
    switch specification.resultType {
    case .managedObjectIDResultType: return try fetch.identifiers()
    case .dictionaryResultType: return try fetch.dictionaries()
    case .countResultType: return [NSNumber(value: try fetch.count())]
    default: return try fetch.objects()
    }
  }

  /// Results for a caller that cannot throw: a fetched property. A failure stops the program, as it does on Apple.
  func fetchOrReport(_ specification: FetchSpecification) -> [Any] {
    do {
      return try results(of: specification)
    } catch {
      preconditionFailure("The request of a fetched property failed: \(error)")
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
