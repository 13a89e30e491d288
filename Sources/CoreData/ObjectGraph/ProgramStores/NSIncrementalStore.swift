// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation
import Synchronization

/// A store that reads and writes objects request by request: the superclass of custom connections to databases and
/// services.
///
/// A subclass overrides `loadMetadata()`, `execute(_:with:)`, `newValuesForObject(with:with:)`,
/// `newValue(forRelationship:forObjectWith:with:)` and `obtainPermanentIDs(for:)`. All methods are called with
/// exclusive access to the stores of the coordinator.
open class NSIncrementalStore: NSPersistentStore, @unchecked Sendable {
  // Guarded by the coordinator's lock.
  final lazy var references = ReferenceObjects(self)
  /// The version of each object that contexts have seen.
  final var versions: [ObjectKey: SeenVersion] = [:]

  /// The version of an object in the store, and the corresponding version for contexts.
  struct SeenVersion {
    /// The store's version; nil after a save, because the new version is unknown until the object is read.
    var inStore: UInt64?
    var counted: Int64
  }

  /// Creates a store, without opening it.
  ///
  /// - Parameters:
  ///   - root: the coordinator that will own the store.
  ///   - name: the configuration, or nil for the default one.
  ///   - url: the location of the store.
  ///   - options: the options passed to the coordinator.
  public required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    super.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
    StoreInterest.isNeeded.store(true, ordering: .relaxed)
  }

  /// Sets `metadata`, at least to the store's UUID (`NSStoreUUIDKey`) and type (`NSStoreTypeKey`). Must be overridden.
  ///
  /// Called before the coordinator adds the store. For a new store, the UUID comes from `identifierForNewStore(at:)`.
  ///
  /// - Throws: any error, which is then thrown by adding the store.
  open override func loadMetadata() throws {
    trap("\(Swift.type(of: self)) must override loadMetadata().")
  }

  /// Called after a context has registered objects of the store. Does nothing by default.
  ///
  /// Each context registers an object once, so a store that counts the calls knows which objects are in use. The call
  /// is made asynchronously, on the coordinator's queue, with exclusive access to the stores.
  ///
  /// - Parameter objectIDs: the identifiers of the objects.
  open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// Called after a context has released objects that it had registered: objects that the program no longer uses, that
  /// were deleted, or whose context was reset or deallocated. Does nothing by default.
  ///
  /// The call is made like that of `managedObjectContextDidRegisterObjects(with:)`.
  ///
  /// - Parameter objectIDs: the identifiers of the objects.
  open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// Executes a request. Must be overridden.
  ///
  /// - Parameters:
  ///   - request: an `NSFetchRequest<NSManagedObject>` with a result type, or an `NSSaveChangesRequest`.
  ///   - context: the context that fetches or saves.
  /// - Returns: for a fetch, an array of the result type: managed objects of the context, obtained with its
  ///   `object(with:)`; identifiers; dictionaries; or one number. For a save, an empty array.
  /// - Throws: any error, which is then thrown by the fetch or save of the context.
  open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    trap("\(Swift.type(of: self)) must override execute(_:with:).")
  }

  /// Returns the values of an object. Must be overridden.
  ///
  /// - Parameters:
  ///   - objectID: the identifier of the object.
  ///   - context: the context that reads it.
  /// - Throws: `NSManagedObjectReferentialIntegrityError` (133000) if the store has no such object; any other error if
  ///   it cannot be read.
  open func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    trap("\(Swift.type(of: self)) must override newValuesForObject(with:with:).")
  }

  /// Returns the destinations of a relationship. Must be overridden by stores of models with to-many relationships.
  ///
  /// - Parameters:
  ///   - relationship: the relationship.
  ///   - objectID: the identifier of the object that has it.
  ///   - context: the context that reads it; nil if there is none.
  /// - Returns: for a to-many relationship, an array of identifiers; for a to-one relationship, an identifier, or
  ///   `NSNull`.
  /// - Throws: any error if the relationship cannot be read.
  open func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    trap("\(Swift.type(of: self)) must override newValue(forRelationship:forObjectWith:with:).")
  }

  /// Returns permanent identifiers for new objects, created with `newObjectID(for:referenceObject:)`. Must be
  /// overridden by stores that can be written.
  ///
  /// - Parameter array: new objects.
  /// - Returns: the identifiers in the same order.
  /// - Throws: any error, which is then thrown by the save of the context.
  open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    trap("\(Swift.type(of: self)) must override obtainPermanentIDs(for:).")
  }

  /// Returns an identifier for a new store, by default a UUID.
  ///
  /// - Parameter storeURL: the location of the store.
  open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

  /// Returns the identifier of an object.
  ///
  /// - Parameters:
  ///   - entity: the object's entity.
  ///   - data: the value that identifies the object in the store: a string, a number or another hashable value.
  public func newObjectID(for entity: NSEntityDescription, referenceObject data: Any) -> NSManagedObjectID {
    references.id(entity, data)
  }

  /// Returns the value that identifies an object in the store. Traps for an identifier of another store.
  ///
  /// - Parameter objectID: an identifier of this store.
  public func referenceObject(for objectID: NSManagedObjectID) -> Any {
    guard let reference = references.reference(of: objectID.current) else {
      trap("\(objectID) is not an identifier of this store.")
    }
    return reference
  }
}

extension NSIncrementalStore: RegistrationObserver {}
