// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A request to delete objects directly in the stores.
///
/// Deletion rules apply: cascading deletes related objects too, nullifying clears the relationships that lead to a
/// deleted object, and denying fails the request. Contexts learn of the deletions by
/// `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` with `NSDeletedObjectIDsKey`, or by persistent
/// history.
open class NSBatchDeleteRequest: NSPersistentStoreRequest, @unchecked Sendable {
  private let request: NSFetchRequest<any NSFetchRequestResult>
  /// The identifiers that the request was made with, as long as its fetch request is unchanged.
  private let ids: [NSManagedObjectID]?
  private let predicateOfIDs: NSPredicate?

  /// The fetch request that finds the objects to delete.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult> { request }
  /// What the request returns; by default only its status.
  open var resultType: NSBatchDeleteRequestResultType {
    get { result.value }
    set { result.value = newValue }
  }
  private let result = Guarded(NSBatchDeleteRequestResultType.resultTypeStatusOnly)

  open override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }

  private init(_ request: NSFetchRequest<any NSFetchRequestResult>, ids: [NSManagedObjectID]?) {
    self.request = request
    self.ids = ids
    predicateOfIDs = request.predicate
    super.init()
  }

  /// Makes a request that deletes what a fetch request finds: its entity, predicate, limit and order count.
  ///
  /// - Parameter fetch: the fetch request.
  public init(fetchRequest fetch: NSFetchRequest<any NSFetchRequestResult>) {
    request = fetch
    ids = nil
    predicateOfIDs = fetch.predicate
    super.init()
  }

  /// Makes a request that deletes what a fetch request of a certain type finds. Apple's API requires a cast instead.
  ///
  /// - Parameter fetch: the fetch request.
  @_disfavoredOverload
  public convenience init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.specification = fetch.specification
    self.init(fetchRequest: request)
  }

  /// Makes a request that deletes objects by their identifiers. Identifiers without a row are ignored.
  ///
  /// - Parameter objects: the identifiers.
  public convenience init(objectIDs objects: [NSManagedObjectID]) {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = objects.first?.entity
    request.predicate = NSPredicate(format: "SELF IN %@", objects)
    self.init(request, ids: objects)
  }

  /// Returns the identifiers of the objects to delete, if the request was made with them.
  ///
  /// - Parameter specification: that of the fetch request.
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
