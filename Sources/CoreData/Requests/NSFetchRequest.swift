// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A description of the objects to read from the stores, and of how to return them.
///
/// A request may be used on several threads: a fetch reads it once at the beginning, and ignores later changes. Its
/// predicates and descriptions must not be changed while others use them.
///
/// Differs from Apple: `ResultType` has no constraint, because `NSFetchRequest<any NSFetchRequestResult>` could not
/// satisfy it without an Objective-C runtime.
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest, @unchecked Sendable {
  let content: FetchRequestContent

  /// The specification of the fetch, as one consistent value.
  var specification: FetchSpecification {
    get { content.specification.value }
    set { content.specification.value = newValue }
  }

  /// Creates a request without an entity.
  public override init() {
    content = FetchRequestContent()
    super.init()
  }

  /// Creates a request for another type of results that shares all content with a request.
  init<Other>(sharing other: NSFetchRequest<Other>) {
    content = other.content
    super.init()
  }

  /// Creates a request for an entity, which is looked up in the model of the context that executes it.
  ///
  /// - Parameter entityName: the entity's name.
  public convenience init(entityName: String) {
    self.init()
    specification.entityName = entityName
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  open override var affectedStores: [NSPersistentStore]? {
    get { content.specification.affectedStores }
    set { content.specification.affectedStores = newValue }
  }

  /// The entity to fetch.
  open var entity: NSEntityDescription? {
    get { content.specification.entity }
    set {
      let name = newValue?.name
      content.specification.update { ($0.entity, $0.entityName) = (newValue, name) }
    }
  }

  /// The name of the entity to fetch.
  open var entityName: String? { content.specification.entityName }

  /// The predicate that objects must satisfy; nil for all objects.
  open var predicate: NSPredicate? {
    get { content.specification.predicate }
    set { content.specification.predicate = newValue }
  }

  /// The order of the results.
  open var sortDescriptors: [NSSortDescriptor]? {
    get { content.specification.sortDescriptors }
    set { content.specification.sortDescriptors = newValue }
  }

  /// The maximum number of objects to return; 0 for all.
  open var fetchLimit: Int {
    get { content.specification.fetchLimit }
    set { content.specification.fetchLimit = newValue }
  }

  /// The number of objects to skip at the beginning.
  open var fetchOffset: Int {
    get { content.specification.fetchOffset }
    set { content.specification.fetchOffset = newValue }
  }

  /// The number of rows to read at a time: firing a fault reads the rows of its whole batch. With 0, the default, the
  /// fetch reads all rows.
  ///
  /// Differs from Apple: the result is an ordinary array of faults, instead of one that creates its objects on demand.
  open var fetchBatchSize: Int {
    get { content.specification.fetchBatchSize }
    set { content.specification.fetchBatchSize = newValue }
  }

  /// The form of the results; by default managed objects.
  open var resultType: NSFetchRequestResultType {
    get { content.specification.resultType }
    set { content.specification.resultType = newValue }
  }

  /// Whether objects of sub-entities are returned too; true by default.
  open var includesSubentities: Bool {
    get { content.specification.includesSubentities }
    set { content.specification.includesSubentities = newValue }
  }

  /// Whether the fetch reads rows in addition to identifiers; true by default. Otherwise each object reads its own row
  /// when it fires.
  open var includesPropertyValues: Bool {
    get { content.specification.includesPropertyValues }
    set { content.specification.includesPropertyValues = newValue }
  }

  /// Whether the results include the context's unsaved changes; true by default.
  ///
  /// Differs from Apple: an object is found by the values of its row, as an unchanged object is, if neither the predicate
  /// nor the order reads one of its changed values.
  open var includesPendingChanges: Bool {
    get { content.specification.includesPendingChanges }
    set { content.specification.includesPendingChanges = newValue }
  }

  /// Whether objects are returned as faults; true by default. Firing them does not read the store again.
  open var returnsObjectsAsFaults: Bool {
    get { content.specification.returnsObjectsAsFaults }
    set { content.specification.returnsObjectsAsFaults = newValue }
  }

  /// Whether equal dictionaries are returned only once; false by default.
  open var returnsDistinctResults: Bool {
    get { content.specification.returnsDistinctResults }
    set { content.specification.returnsDistinctResults = newValue }
  }

  /// Whether registered objects are refreshed with the rows that the fetch reads; false by default.
  open var shouldRefreshRefetchedObjects: Bool {
    get { content.specification.shouldRefreshRefetchedObjects }
    set { content.specification.shouldRefreshRefetchedObjects = newValue }
  }

  /// The relationships whose destinations are prefetched.
  open var relationshipKeyPathsForPrefetching: [String]? {
    get { content.specification.relationshipKeyPathsForPrefetching }
    set { content.specification.relationshipKeyPathsForPrefetching = newValue }
  }

  /// The properties in dictionary results, as names or property descriptions; nil for all attributes.
  open var propertiesToFetch: [Any]? {
    get { content.specification.propertiesToFetch }
    set { content.specification.propertiesToFetch = newValue }
  }

  /// The properties by whose values dictionary results are grouped, as names or property descriptions. The other
  /// `propertiesToFetch` must then be aggregates.
  open var propertiesToGroupBy: [Any]? {
    get { content.specification.propertiesToGroupBy }
    set { content.specification.propertiesToGroupBy = newValue }
  }

  /// The condition for groups. It may contain aggregates such as `count:`, and the names of results as keys or
  /// variables.
  open var havingPredicate: NSPredicate? {
    get { content.specification.havingPredicate }
    set { content.specification.havingPredicate = newValue }
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSFetchRequest<ResultType>()
    copy.specification = specification
    return copy
  }
}

/// The content of a fetch request, which requests of several result types may share.
final class FetchRequestContent: Sendable {
  let specification = Guarded(FetchSpecification())
}

/// The content of a fetch request, without the result type.
struct FetchSpecification {
  var affectedStores: [NSPersistentStore]?
  var entity: NSEntityDescription?
  var entityName: String?
  /// The class whose `fetchRequest()` created the request.
  var objectClass: AnyClass?
  var predicate: NSPredicate?
  var sortDescriptors: [NSSortDescriptor]?
  var fetchLimit = 0
  var fetchOffset = 0
  var fetchBatchSize = 0
  var resultType: NSFetchRequestResultType = .managedObjectResultType
  var includesSubentities = true
  var includesPropertyValues = true
  var includesPendingChanges = true
  var returnsObjectsAsFaults = true
  var returnsDistinctResults = false
  var shouldRefreshRefetchedObjects = false
  var relationshipKeyPathsForPrefetching: [String]?
  var propertiesToFetch: [Any]?
  var propertiesToGroupBy: [Any]?
  var havingPredicate: NSPredicate?

  /// Whether the results are groups of objects.
  var isGrouped: Bool { propertiesToGroupBy?.isEmpty == false }
}

/// A fetch request of any result type.
protocol AnyFetchRequest: NSPersistentStoreRequest {
  var specification: FetchSpecification { get }
}

extension NSFetchRequest: AnyFetchRequest {}

/// The type of a fetch request's results: managed objects, their identifiers, dictionaries and numbers.
public protocol NSFetchRequestResult: NSObjectProtocol {}

extension NSManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

/// The form of a fetch request's results.
public struct NSFetchRequestResultType: OptionSet, Hashable, Sendable {
  /// The raw value.
  public let rawValue: UInt

  /// Creates a result type from its raw value.
  public init(rawValue: UInt) {
    self.rawValue = rawValue
  }

  /// Managed objects.
  public static let managedObjectResultType: NSFetchRequestResultType = []
  /// Identifiers of managed objects.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries of properties.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// The number of matching objects.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}

/// The type of a request to a store.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// An `NSFetchRequest`.
  case fetchRequestType = 1
  /// A save of a context's changes.
  case saveRequestType = 2
  /// A batch insertion.
  case batchInsertRequestType = 5
  /// A batch update.
  case batchUpdateRequestType = 6
  /// A batch deletion.
  case batchDeleteRequestType = 7
}

/// A request to persistent stores: the superclass of fetch, save, batch and history requests.
///
/// The properties of requests may be read and set on any thread.
open class NSPersistentStoreRequest: NSObject, NSCopying, @unchecked Sendable {
  private let stores = Guarded<[NSPersistentStore]?>(nil)

  /// The stores to query; nil for all stores that hold the entity.
  open var affectedStores: [NSPersistentStore]? {
    get { stores.value }
    set { stores.value = newValue }
  }

  /// The type of the request.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// Creates a request to all stores.
  public override init() {
    super.init()
  }

  /// Returns an independent copy.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreRequest()
    copy.affectedStores = affectedStores
    return copy
  }
}
