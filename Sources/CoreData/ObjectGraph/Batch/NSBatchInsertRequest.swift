// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A request to insert objects directly into a store, without making them in a context.
///
/// Values are checked for their types, and required attributes for values; no other rule of the model is. With a merge
/// policy other than `error`, rows that would violate a uniqueness constraint update the existing ones, or leave them.
/// Contexts learn of the new rows by `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` with
/// `NSInsertedObjectIDsKey`, or by persistent history.
open class NSBatchInsertRequest: NSPersistentStoreRequest, @unchecked Sendable {
  private let givenEntity: NSEntityDescription?
  private let givenName: String

  private struct Content {
    var objectsToInsert: [[String: Any]]?
    var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
    var managedObjectHandler: ((NSManagedObject) -> Bool)?
    var resultType = NSBatchInsertRequestResultType.statusOnly
  }

  private let content = Guarded(Content())

  /// The name of the entity.
  open var entityName: String { givenEntity?.name ?? givenName }
  /// The entity; nil if the request was made with a name.
  open var entity: NSEntityDescription? { givenEntity }
  /// The values of the objects, by the names of attributes.
  open var objectsToInsert: [[String: Any]]? {
    get { content.objectsToInsert }
    set { content.objectsToInsert = newValue }
  }
  /// Fills a dictionary with the values of the next object, by the names of attributes. Returns true when there are no
  /// more objects; the dictionary is ignored then.
  open var dictionaryHandler: ((NSMutableDictionary) -> Bool)? {
    get { content.dictionaryHandler }
    set { content.dictionaryHandler = newValue }
  }
  /// Sets the values of the next object, which belongs to no context. Returns true when there are no more objects; the
  /// object is ignored then.
  open var managedObjectHandler: ((NSManagedObject) -> Bool)? {
    get { content.managedObjectHandler }
    set { content.managedObjectHandler = newValue }
  }
  /// What the request returns; by default only its status.
  open var resultType: NSBatchInsertRequestResultType {
    get { content.resultType }
    set { content.resultType = newValue }
  }

  open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  /// Makes a request without an entity, which cannot be executed.
  @available(*, deprecated, message: "Use an initializer with an entity.")
  public convenience override init() {
    self.init(entityName: "", objects: [])
  }

  /// Makes a request that inserts dictionaries.
  ///
  /// - Parameters:
  ///   - entityName: the entity's name.
  ///   - dictionaries: the values of each object, by the names of attributes.
  public init(entityName: String, objects dictionaries: [[String: Any]]) {
    givenEntity = nil
    givenName = entityName
    super.init()
    content.objectsToInsert = dictionaries
  }

  /// Makes a request that inserts dictionaries.
  ///
  /// - Parameters:
  ///   - entity: the entity.
  ///   - dictionaries: the values of each object, by the names of attributes.
  public init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    givenEntity = entity
    givenName = ""
    super.init()
    content.objectsToInsert = dictionaries
  }

  /// Makes a request that asks for the values of one object after another.
  ///
  /// - Parameters:
  ///   - entity: the entity.
  ///   - handler: see `dictionaryHandler`.
  public convenience init(
    entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entity: entity, objects: [])
    objectsToInsert = nil
    dictionaryHandler = handler
  }

  /// Makes a request that asks for the values of one object after another.
  ///
  /// - Parameters:
  ///   - entityName: the entity's name.
  ///   - handler: see `dictionaryHandler`.
  public convenience init(
    entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entityName: entityName, objects: [])
    objectsToInsert = nil
    dictionaryHandler = handler
  }

  /// Makes a request that asks for the values of one object after another.
  ///
  /// - Parameters:
  ///   - entity: the entity.
  ///   - handler: see `managedObjectHandler`.
  public convenience init(
    entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool
  ) {
    self.init(entity: entity, objects: [])
    objectsToInsert = nil
    managedObjectHandler = handler
  }

  /// Makes a request that asks for the values of one object after another.
  ///
  /// - Parameters:
  ///   - entityName: the entity's name.
  ///   - handler: see `managedObjectHandler`.
  public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entityName: entityName, objects: [])
    objectsToInsert = nil
    managedObjectHandler = handler
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy =
      givenEntity.map { NSBatchInsertRequest(entity: $0, objects: []) }
      ?? NSBatchInsertRequest(entityName: givenName, objects: [])
    copy.affectedStores = affectedStores
    copy.content.value = content.value
    return copy
  }
}
