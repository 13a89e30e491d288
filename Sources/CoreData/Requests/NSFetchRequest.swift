// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A description of the objects to read from the stores, and of how to return them.
///
/// Differs from Apple: `ResultType` carries no constraint, so that `NSFetchRequest<NSFetchRequestResult>` can be written
/// without an Objective-C runtime.
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest, @unchecked Sendable {
  var specification = FetchSpecification()

  /// Makes a request that names no entity yet.
  public override init() {
    super.init()
  }

  /// Makes a request for an entity, which is looked up in the model of the context that executes it.
  ///
  /// - Parameter entityName: the entity's name.
  public convenience init(entityName: String) {
    self.init()
    specification.entityName = entityName
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// The entity to fetch.
  open var entity: NSEntityDescription? {
    get { specification.entity }
    set {
      specification.entity = newValue
      specification.entityName = newValue?.name
    }
  }

  /// The name of the entity to fetch.
  open var entityName: String? { specification.entityName }

  /// Which objects to return; nil for all.
  open var predicate: NSPredicate? {
    get { specification.predicate }
    set { specification.predicate = newValue }
  }

  /// The order of the result.
  open var sortDescriptors: [NSSortDescriptor]? {
    get { specification.sortDescriptors }
    set { specification.sortDescriptors = newValue }
  }

  /// How many objects to return at most; 0 for all.
  open var fetchLimit: Int {
    get { specification.fetchLimit }
    set { specification.fetchLimit = newValue }
  }

  /// How many objects of the answer to leave out at its beginning.
  open var fetchOffset: Int {
    get { specification.fetchOffset }
    set { specification.fetchOffset = newValue }
  }

  /// How many rows to read at a time: the first object of a batch that is asked for a value has its batch read. 0, which is
  /// the default, reads all rows along with the result.
  ///
  /// Differs from Apple: the result is an ordinary array of faults, not one that makes its objects when they are looked at.
  open var fetchBatchSize: Int {
    get { specification.fetchBatchSize }
    set { specification.fetchBatchSize = newValue }
  }

  /// The form of the result: objects unless set.
  open var resultType: NSFetchRequestResultType {
    get { specification.resultType }
    set { specification.resultType = newValue }
  }

  /// Whether objects of sub-entities are returned too; true unless set.
  open var includesSubentities: Bool {
    get { specification.includesSubentities }
    set { specification.includesSubentities = newValue }
  }

  /// Whether values are read along with identifiers; true unless set. Without them, each object reads its own row when it is
  /// asked for a value.
  open var includesPropertyValues: Bool {
    get { specification.includesPropertyValues }
    set { specification.includesPropertyValues = newValue }
  }

  /// Whether unsaved changes of the context count; true unless set.
  open var includesPendingChanges: Bool {
    get { specification.includesPendingChanges }
    set { specification.includesPendingChanges = newValue }
  }

  /// Whether objects are returned as faults; true unless set. The values read are kept ready either way.
  open var returnsObjectsAsFaults: Bool {
    get { specification.returnsObjectsAsFaults }
    set { specification.returnsObjectsAsFaults = newValue }
  }

  /// Whether equal dictionaries are returned once; false unless set.
  open var returnsDistinctResults: Bool {
    get { specification.returnsDistinctResults }
    set { specification.returnsDistinctResults = newValue }
  }

  /// Whether objects that the context knows already take the values that the fetch has read; false unless set.
  open var shouldRefreshRefetchedObjects: Bool {
    get { specification.shouldRefreshRefetchedObjects }
    set { specification.shouldRefreshRefetchedObjects = newValue }
  }

  /// Relationships whose destinations are read along with the result.
  open var relationshipKeyPathsForPrefetching: [String]? {
    get { specification.relationshipKeyPathsForPrefetching }
    set { specification.relationshipKeyPathsForPrefetching = newValue }
  }

  /// The properties of dictionary results: names, or property descriptions; nil for all attributes.
  open var propertiesToFetch: [Any]? {
    get { specification.propertiesToFetch }
    set { specification.propertiesToFetch = newValue }
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSFetchRequest<ResultType>()
    copy.affectedStores = affectedStores
    copy.specification = specification
    return copy
  }
}

/// A fetch request without its result type: what the framework works with.
struct FetchSpecification {
  var entity: NSEntityDescription?
  var entityName: String?
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
}

/// Any fetch request, whatever its result type.
protocol AnyFetchRequest: NSPersistentStoreRequest {
  var specification: FetchSpecification { get }
}

extension NSFetchRequest: AnyFetchRequest {}
