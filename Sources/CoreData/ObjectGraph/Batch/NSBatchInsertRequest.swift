// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A request to insert objects directly into a store, without creating them in a context.
///
/// The types of values are checked, and required attributes must have values; no other rule of the model is checked.
/// With a merge policy other than `error`, rows that would violate a uniqueness constraint update the existing ones, or
/// leave them unchanged. To update contexts, use `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)`
/// with `NSInsertedObjectIDsKey`, or persistent history.
open class NSBatchInsertRequest: NSPersistentStoreRequest, BatchRequest, @unchecked Sendable {
  private let givenEntity: NSEntityDescription?
  private let givenName: String

  private struct Content {
    var objectsToInsert: [[String: Any]]?
    var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
    var managedObjectHandler: ((NSManagedObject) -> Bool)?
    var resultType = NSBatchInsertRequestResultType.statusOnly
  }

  private let content = Guarded(Content())
  let interrupted = Guarded<InterruptedBatch?>(nil)

  private func set<Value>(_ property: WritableKeyPath<Content, Value>, _ value: Value) {
    content[dynamicMember: property] = value
    interrupted.value = nil
  }

  /// The name of the entity.
  open var entityName: String { givenEntity?.name ?? givenName }
  /// The entity; nil if the request was created with a name.
  open var entity: NSEntityDescription? { givenEntity }
  /// The values of the objects, by the names of attributes.
  open var objectsToInsert: [[String: Any]]? {
    get { content.objectsToInsert }
    set { set(\.objectsToInsert, newValue) }
  }
  /// Fills a dictionary with the values of the next object, by the names of attributes. Returns true if there are no
  /// more objects; the dictionary is then ignored.
  open var dictionaryHandler: ((NSMutableDictionary) -> Bool)? {
    get { content.dictionaryHandler }
    set { set(\.dictionaryHandler, newValue) }
  }
  /// Sets the values of the next object, which belongs to no context. Returns true if there are no more objects; the
  /// object is then ignored.
  open var managedObjectHandler: ((NSManagedObject) -> Bool)? {
    get { content.managedObjectHandler }
    set { set(\.managedObjectHandler, newValue) }
  }
  /// The kind of result; by default only the status.
  open var resultType: NSBatchInsertRequestResultType {
    get { content.resultType }
    set { set(\.resultType, newValue) }
  }

  open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  /// Creates a request without an entity, which cannot be executed.
  @available(*, deprecated, message: "Use an initializer with an entity.")
  public convenience override init() {
    self.init(entityName: "", objects: [])
  }

  /// Creates a request that inserts dictionaries.
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

  /// Creates a request that inserts dictionaries.
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

  /// Creates a request that calls a handler for the values of each object.
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

  /// Creates a request that calls a handler for the values of each object.
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

  /// Creates a request that calls a handler for the values of each object.
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

  /// Creates a request that calls a handler for the values of each object.
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
