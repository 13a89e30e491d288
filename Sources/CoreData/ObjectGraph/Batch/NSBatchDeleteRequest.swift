// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A request to delete objects directly in the stores.
///
/// Deletion rules apply: cascading deletes related objects too, nullifying clears the relationships that refer to a
/// deleted object, and denying fails the request. To update contexts, use
/// `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` with `NSDeletedObjectIDsKey`, or persistent
/// history.
open class NSBatchDeleteRequest: NSPersistentStoreRequest, BatchRequest, @unchecked Sendable {
  private let request: NSFetchRequest<any NSFetchRequestResult>
  /// The identifiers that the request was created with, as long as its fetch request is unchanged.
  private let ids: [NSManagedObjectID]?
  private let predicateOfIDs: NSPredicate?

  /// The fetch request that finds the objects to delete.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult> { request }
  /// The kind of result; by default only the status.
  open var resultType: NSBatchDeleteRequestResultType {
    get { result.value }
    set {
      result.value = newValue
      interrupted.value = nil
    }
  }
  private let result = Guarded(NSBatchDeleteRequestResultType.resultTypeStatusOnly)
  let interrupted = Guarded<InterruptedBatch?>(nil)

  open override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }

  private init(_ request: NSFetchRequest<any NSFetchRequestResult>, ids: [NSManagedObjectID]?) {
    self.request = request
    self.ids = ids
    predicateOfIDs = request.predicate
    super.init()
  }

  /// Creates a request that deletes what a fetch request finds. Its entity, predicate, limit and order apply.
  ///
  /// - Parameter fetch: the fetch request.
  public init(fetchRequest fetch: NSFetchRequest<any NSFetchRequestResult>) {
    request = fetch
    ids = nil
    predicateOfIDs = fetch.predicate
    super.init()
  }

  /// Creates a request that deletes what a typed fetch request finds. Apple's API requires a cast instead.
  ///
  /// - Parameter fetch: the fetch request.
  @_disfavoredOverload
  public convenience init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.specification = fetch.specification
    self.init(fetchRequest: request)
  }

  /// Creates a request that deletes objects by their identifiers. Identifiers without a row are ignored.
  ///
  /// - Parameter objects: the identifiers.
  public convenience init(objectIDs objects: [NSManagedObjectID]) {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = objects.first?.entity
    request.predicate = NSPredicate(format: "SELF IN %@", objects)
    self.init(request, ids: objects)
  }

  /// Returns the identifiers of the objects to delete, if the request was created with them.
  ///
  /// - Parameter specification: the current specification of the fetch request.
  func objectIDs(of specification: FetchSpecification) -> [NSManagedObjectID]? {
    specification.predicate === predicateOfIDs && specification.fetchLimit == 0 && specification.fetchOffset == 0
      ? ids : nil
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.specification = fetchRequest.specification
    let copy = NSBatchDeleteRequest(request, ids: objectIDs(of: request.specification))
    copy.affectedStores = affectedStores
    copy.resultType = resultType
    return copy
  }
}
