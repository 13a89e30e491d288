// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The results of a fetch in sections, which follow the changes of the context and notify a delegate of them.
///
/// While it has a delegate, the controller observes `NSManagedObjectContext.didChangeObjectsNotification` of its
/// context: unsaved changes, refreshed objects, merged saves of other contexts, and resets. It evaluates the request's
/// predicate for the objects that have changed, and not for objects related to them. Use it on its context's queue.
///
/// Differs from Apple: `ResultType` has no constraint. Delegates receive a controller of `any NSFetchRequestResult`
/// that shares the contents of this one and compares as equal and identical (`==`, `===`) to it, but cannot be cast to
/// this type. With a fetch limit or offset, the contents always equal the results of a fetch.
open class NSFetchedResultsController<ResultType>: NSObject {
  let results: FetchedResults
  private let request: NSFetchRequest<ResultType>
  /// The typed objects, and the version of the contents that they come from.
  private var typed: (objects: [ResultType], version: Int)?
  /// The controller that the delegate receives.
  private var erased: NSFetchedResultsController<any NSFetchRequestResult>?

  /// Creates a controller. It has no contents before `performFetch()`.
  ///
  /// - Parameters:
  ///   - fetchRequest: the request. It must have a sort descriptor; if there are sections, the first one must keep the
  ///     objects of each section together.
  ///   - context: the context to fetch in.
  ///   - sectionNameKeyPath: the key path of the name of an object's section; nil for a single section.
  ///   - name: the name of a file that keeps the sizes of sections from one launch to the next; nil if there is none.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
    sectionNameKeyPath: String?, cacheName name: String?
  ) {
    trap(
      unless: fetchRequest.sortDescriptors != nil,
      "A fetched results controller needs a fetch request with sort descriptors.")
    request = fetchRequest
    results = FetchedResults(context: context, sectionNameKeyPath: sectionNameKeyPath, cacheName: name)
    super.init()
    results.owner = self
  }

  /// Creates a controller that shares the contents of another one.
  private init(of results: FetchedResults, _ request: NSFetchRequest<ResultType>) {
    self.request = request
    self.results = results
  }

  /// The request. Changes take effect with the next `performFetch()`.
  open var fetchRequest: NSFetchRequest<ResultType> { request }

  /// The context in which the controller fetches.
  open var managedObjectContext: NSManagedObjectContext { results.context }

  /// The key path of the name of an object's section.
  open var sectionNameKeyPath: String? { results.sectionNameKeyPath }

  /// The name of the cache of sections.
  open var cacheName: String? { results.cacheName }

  /// The delegate, which receives changes; nil to keep the contents as they were fetched.
  ///
  /// Differs from Apple: a weak reference, which becomes nil when its object is deallocated.
  open var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { results.delegate }
    set { results.delegate = newValue }
  }

  /// Fetches the objects and divides them into sections, without notifying the delegate.
  ///
  /// - Throws: 134060 if the request's sort descriptors are nil, if the section name key path is not in the model, or
  ///   if the objects of a section are not adjacent; as `NSManagedObjectContext.fetch(_:)`. On an error, the contents
  ///   are unchanged.
  open func performFetch() throws {
    var objects: [ResultType] = []
    let specification = request.specification
    try results.fetch(specification) {
      objects = try results.context.fetch(specification)
      return try objects.map { result in
        guard let object = result as? NSObject else {
          throw ObjectGraphErrors.badRequest(
            "The results are of the type \(type(of: result)).", entity: specification.entity,
            suggestion: "Fetch managed objects, identifiers or dictionaries.")
        }
        return object
      }
    }
    typed = (objects, results.version)
  }

  /// The objects of all sections; nil before `performFetch()`.
  open var fetchedObjects: [ResultType]? {
    guard let content = results.content else { return nil }
    if let typed, typed.version == results.version { return typed.objects }
    var objects: [ResultType] = []
    objects.reserveCapacity(content.count)
    for section in content.sections { objects += section.objects.map(Self.result) }
    typed = (objects, results.version)
    return objects
  }

  /// The sections; nil before `performFetch()`. Without a section name key path there is always one section.
  open var sections: [any NSFetchedResultsSectionInfo]? { results.sections }

  /// Returns the object at an index path. Traps if there is none.
  ///
  /// - Parameter indexPath: the indexes of a section and of an object in it.
  open func object(at indexPath: IndexPath) -> ResultType { Self.result(results.object(at: indexPath)) }

  /// Returns the index path of an object; nil if it is not in the contents.
  ///
  /// - Parameter object: one of the fetched objects.
  open func indexPath(forObject object: ResultType) -> IndexPath? {
    (object as? NSObject).flatMap { results.indexPath(of: $0) }
  }

  /// The distinct titles of the sections in an index.
  open var sectionIndexTitles: [String] { results.sectionIndexTitles }

  /// Returns the title of a section in an index: the first letter of its name, capitalized. Called if the delegate
  /// provides no title; override it for other titles.
  ///
  /// - Parameter sectionName: the name of a section.
  /// - Returns: the title; nil to leave the section out of the index.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
    if let owner = results.owner, owner !== self { return owner.sectionIndexTitle(forSectionName: sectionName) }
    return sectionName.first?.uppercased()
  }

  /// Returns the index of the first section with a title. Traps if the title is not in `sectionIndexTitles` at the
  /// given index.
  ///
  /// - Parameters:
  ///   - title: a title of an index.
  ///   - sectionIndex: the index of the title in `sectionIndexTitles`.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
    results.section(forIndexTitle: title, at: sectionIndex)
  }

  /// Removes a cache of sections.
  ///
  /// - Parameter name: the name of the cache; nil for all caches of this program.
  open class func deleteCache(withName name: String?) { FetchedSectionCache.delete(named: name) }

  /// Returns whether an object is this controller, or one that shares its contents, such as the controller passed to
  /// delegates.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? any FetchedResultsOwner)?.results === results
  }

  /// A hash, which is equal for controllers that share their contents.
  open override var hash: Int { ObjectIdentifier(results).hashValue }

  private static func result(_ object: NSObject) -> ResultType {
    guard let result = object as? ResultType else {
      trap("The fetched objects are of the class \(type(of: object)), not \(ResultType.self).")
    }
    return result
  }
}

extension NSFetchedResultsController: FetchedResultsOwner {
  var controllerForDelegate: NSFetchedResultsController<any NSFetchRequestResult> {
    if let same = self as? NSFetchedResultsController<any NSFetchRequestResult> { return same }
    if let erased { return erased }
    let made = NSFetchedResultsController<any NSFetchRequestResult>(of: results, NSFetchRequest(sharing: request))
    erased = made
    return made
  }
}

/// Returns whether two controllers are identical, or one is the controller passed to the other's delegate.
public func === <A, B>(left: NSFetchedResultsController<A>, right: NSFetchedResultsController<B>) -> Bool {
  left.results === right.results
}

/// Returns whether two controllers are identical, or one is the controller passed to the other's delegate.
public func === <A, B>(left: NSFetchedResultsController<A>, right: NSFetchedResultsController<B>?) -> Bool {
  left.results === right?.results
}

/// Returns whether two controllers are identical, or one is the controller passed to the other's delegate.
public func === <A, B>(left: NSFetchedResultsController<A>?, right: NSFetchedResultsController<B>) -> Bool {
  left?.results === right.results
}

/// Returns whether two controllers are different, and neither is the controller passed to the other's delegate.
public func !== <A, B>(left: NSFetchedResultsController<A>, right: NSFetchedResultsController<B>) -> Bool {
  left.results !== right.results
}

/// Returns whether two controllers are different, and neither is the controller passed to the other's delegate.
public func !== <A, B>(left: NSFetchedResultsController<A>, right: NSFetchedResultsController<B>?) -> Bool {
  left.results !== right?.results
}

/// Returns whether two controllers are different, and neither is the controller passed to the other's delegate.
public func !== <A, B>(left: NSFetchedResultsController<A>?, right: NSFetchedResultsController<B>) -> Bool {
  left?.results !== right.results
}
