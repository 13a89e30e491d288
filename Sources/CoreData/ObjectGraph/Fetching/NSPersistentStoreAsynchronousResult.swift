// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The result of a request that is executed in the background. May be used on any thread.
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult, @unchecked Sendable {
  /// The fetch, which guards its mutable state.
  let fetch: AsynchronousFetch

  init(_ fetch: AsynchronousFetch) {
    self.fetch = fetch
    super.init()
  }

  /// The context that executes the request.
  open var managedObjectContext: NSManagedObjectContext { fetch.context }

  /// The reason why the request failed; nil while it runs, and if it succeeds. After `cancel()`, error 3072.
  open var operationError: (any Error)? { fetch.error }

  /// The progress in rows, a child of the progress that was current when the request was executed. Cancelling it cancels
  /// the request.
  open var progress: Progress? { fetch.progress }

  /// Cancels the request. Its completion block is still called, with the error.
  open func cancel() { fetch.progress.cancel() }
}

/// The result of an asynchronous fetch request.
///
/// Differs from Apple: `ResultType` has no constraint, as in `NSFetchRequest`.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult, @unchecked Sendable {
  /// The request.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>

  init(_ fetch: AsynchronousFetch, of request: NSAsynchronousFetchRequest<ResultType>) {
    fetchRequest = request
    super.init(fetch)
  }

  /// The results; nil while the request runs, and if it fails.
  open var finalResult: [ResultType]? { fetch.results?.compactMap { $0 as? ResultType } }
}

/// A block called on the context's queue when an asynchronous fetch has finished, failed or been cancelled.
public typealias NSPersistentStoreAsynchronousFetchResultCompletionBlock =
  (NSAsynchronousFetchResult<any NSFetchRequestResult>) -> Void

/// A fetch that reads the stores in the background. The context executes it with `execute(_:)`, and can be used
/// meanwhile.
///
/// Differs from Apple: `ResultType` has no constraint, as in `NSFetchRequest`. If the context has unsaved changes when
/// the rows have been read, it fetches once more to include them.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest, @unchecked Sendable {
  /// The request for the objects.
  public let fetchRequest: NSFetchRequest<ResultType>
  /// The number of results that the progress assumes until the actual number is known; 0 if unknown.
  open var estimatedResultCount: Int {
    get { estimate.value }
    set { estimate.value = newValue }
  }
  private let estimate = Guarded(0)
  private let completion: ((NSAsynchronousFetchResult<ResultType>) -> Void)?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - request: the request for the objects.
  ///   - blk: called on the context's queue when the request has finished, failed or been cancelled.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>,
    completionBlock blk: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    fetchRequest = request
    completion = blk
    super.init()
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  open override var affectedStores: [NSPersistentStore]? {
    get { fetchRequest.affectedStores }
    set { fetchRequest.affectedStores = newValue }
  }

  /// The block called when the request has finished; nil if there is none.
  open var completionBlock: NSPersistentStoreAsynchronousFetchResultCompletionBlock? {
    guard let completion else { return nil }
    return { [self] result in completion(NSAsynchronousFetchResult(result.fetch, of: self)) }
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let request = fetchRequest.copy() as? NSFetchRequest<ResultType>
    let copy = NSAsynchronousFetchRequest(fetchRequest: request ?? fetchRequest, completionBlock: completion)
    copy.estimatedResultCount = estimatedResultCount
    return copy
  }
}

/// An asynchronous fetch request of any result type.
protocol AsynchronousFetching: NSPersistentStoreRequest {
  func start(in context: NSManagedObjectContext) throws -> NSPersistentStoreAsynchronousResult
}

extension NSAsynchronousFetchRequest: AsynchronousFetching {
  func start(in context: NSManagedObjectContext) throws -> NSPersistentStoreAsynchronousResult {
    guard context.concurrencyType != .confinementConcurrencyType else {
      throw ObjectGraphErrors.badRequest(
        "A context without a queue cannot fetch asynchronously.", entity: fetchRequest.entity,
        suggestion: "Make the context with the type privateQueue or mainQueue.")
    }
    let specification = fetchRequest.specification
    context.offerClass(ResultType.self, for: specification)
    let fetch = AsynchronousFetch(specification, estimate: estimatedResultCount, in: context)
    let result = NSAsynchronousFetchResult(fetch, of: self)
    try fetch.begin { results in
      let typed: [ResultType] = try context.typed(results, for: specification)
      return typed
    } completion: { [completion] in
      completion?(result)
    }
    return result
  }
}
