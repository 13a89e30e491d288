// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation
import Synchronization

/// The Core Data store through which contexts reach a `DataStore`.
///
/// Core Data keeps the object graph: unsaved changes, delete rules, conflicts, rollback and the notification of other
/// contexts are the same as with a SQLite store. This class translates fetches and saves to the requests of the
/// protocol, and snapshots to rows.
final class DataStoreBridge: NSIncrementalStore, IdentifyingStore, @unchecked Sendable {
  // Guarded by the coordinator's lock, which is held during all calls of an incremental store.

  let store: any DataStore
  /// The identifier of the program's store. May be read on any thread.
  let storeIdentifier: String
  /// The schema of the container, whose classes the models have.
  let schema: Schema
  /// The names of the entities in the store.
  let entityNames: Set<String>
  /// What the store has returned for models, so that a fault needs no request.
  private var contents: [NSManagedObjectID: RowContent] = [:]
  /// How many contexts have each row.
  private var registrations: [NSManagedObjectID: Int] = [:]
  private var lastVersion: UInt64 = 0
  private var sessions: Set<UUID> = []
  private let ownState = EditingState(id: UUID(), author: nil)
  // Read by contexts on any thread.
  private let names = Mutex(RowNames())

  /// The rows of identifiers, and the reverse.
  private struct RowNames {
    var rows: [PersistentIdentifier: NSManagedObjectID] = [:]
    var identifiers: [NSManagedObjectID: PersistentIdentifier] = [:]
  }

  /// What a row has in the store.
  struct RowContent {
    /// The values of attributes and to-one relationships, as an incremental store returns them.
    var values: [String: Any]
    /// The destinations of to-many relationships.
    var members: [String: [NSManagedObjectID]]
    var version: UInt64 = 0

    func isSame(as other: RowContent) -> Bool {
      members == other.members && (values as NSDictionary).isEqual(other.values as NSDictionary)
    }
  }

  // MARK: Opening

  private static let storeType = "SwiftData.DataStore"
  private static let option = "SwiftData.DataStore"
  private static let registration: Void = NSPersistentStoreCoordinator.registerStoreClass(
    DataStoreBridge.self, forStoreType: storeType)

  /// A store and its schema, on their way through the options of a Core Data store.
  private final class Opening {
    let store: any DataStore
    let schema: Schema
    let entityNames: Set<String>

    init(_ store: any DataStore, _ schema: Schema, _ entityNames: Set<String>) {
      (self.store, self.schema, self.entityNames) = (store, schema, entityNames)
    }
  }

  /// Adds a store to a coordinator.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - schema: the schema of the container.
  ///   - configuration: the configuration of the model with the store's entities; nil for all.
  static func add(
    _ store: any DataStore, to coordinator: NSPersistentStoreCoordinator, schema: Schema, configuration: String?,
    entityNames: Set<String>
  ) throws -> DataStoreBridge {
    _ = registration
    let added = try coordinator.addPersistentStore(
      ofType: storeType, configurationName: configuration, at: nil,
      options: [option: Opening(store, schema, entityNames)])
    guard let bridge = added as? DataStoreBridge else {
      trap("The store type \(storeType) is registered for \(Swift.type(of: added)).")
    }
    return bridge
  }

  required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    guard let opening = options?[Self.option] as? Opening else {
      trap("A store of the type \(Self.storeType) is opened only by ModelContainer.")
    }
    (store, schema, entityNames) = (opening.store, opening.schema, opening.entityNames)
    storeIdentifier = store.identifier
    super.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
  }

  override func loadMetadata() throws {
    // The identifier of the program's store need not be one that can stand in a URI.
    metadata = [NSStoreTypeKey: Self.storeType, NSStoreUUIDKey: UUID().uuidString]
  }

  /// Deletes all models.
  func erase() throws {
    try store.erase()
    contents = [:]
  }

  // MARK: Identifiers

  /// Returns the identifier of a row. May be called on any thread.
  func identifier(of id: NSManagedObjectID) -> PersistentIdentifier? { names.withLock { $0.identifiers[id] } }

  /// Returns the row of an identifier, which need not exist; nil for one of another store. May be called on any thread.
  func objectID(for identifier: PersistentIdentifier) -> NSManagedObjectID? {
    if let known = names.withLock({ $0.rows[identifier] }) { return known }
    guard identifier.storeIdentifier == storeIdentifier, !identifier.isTemporary,
      let coordinator = persistentStoreCoordinator,
      let entity = coordinator.managedObjectModel.entitiesByName[identifier.entityName]
    else { return nil }
    return coordinator.performAndWait {
      if let known = names.withLock({ $0.rows[identifier] }) { return known }
      let id = newObjectID(
        for: entity, referenceObject: "\(identifier.entityName).\(identifier.id.primaryKey)")
      connect(id, identifier)
      return id
    }
  }

  /// Makes an identifier that of a row. An earlier one still leads to the row.
  func connect(_ id: NSManagedObjectID, _ identifier: PersistentIdentifier) {
    names.withLock { names in
      names.rows[identifier] = id
      names.identifiers[id] = identifier
    }
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    // The store names the models when it saves them. Until then the rows have the temporary identifiers of the models.
    array.map { object in
      let name = object.entity.name ?? ""
      let temporary = (object as? ModelRow)?.storage?.temporaryIdentifier ?? PersistentIdentifier(newOf: name)
      let id = newObjectID(for: object.entity, referenceObject: "\(name).\(temporary.id.primaryKey)")
      connect(id, temporary)
      return id
    }
  }

  // MARK: Contents

  /// Returns the state of a context for the store, which learns of a new one.
  func state(of core: ContextCore?) -> EditingState {
    guard let core else {
      if sessions.insert(ownState.id).inserted { store.initializeState(for: ownState) }
      return ownState
    }
    let state = core.editingState
    if sessions.insert(state.id).inserted {
      core.session.use(self)
      store.initializeState(for: state)
    }
    return state
  }

  /// Called when a context has been deallocated.
  func endSession(_ state: EditingState) {
    if sessions.remove(state.id) != nil { store.invalidateState(for: state) }
  }

  /// Keeps what a snapshot contains.
  ///
  /// - Returns: the row.
  @discardableResult
  func keep(_ snapshot: any DataStoreSnapshot) throws -> NSManagedObjectID {
    let (id, content) = try SnapshotReading(self).content(of: snapshot)
    keep(content, of: id)
    return id
  }

  func keep(_ content: RowContent, of id: NSManagedObjectID) {
    if let known = contents[id], known.isSame(as: content) { return }
    lastVersion += 1
    contents[id] = content
    contents[id]?.version = lastVersion
  }

  /// Whether a row that the store has is known by an identifier.
  func hasContent(of identifier: PersistentIdentifier) -> Bool {
    names.withLock { $0.rows[identifier] }.map { contents[$0] != nil } ?? false
  }

  func forget(_ id: NSManagedObjectID) { contents[id] = nil }

  /// Drops what no context has asked for, if there is much of it.
  private func prune() {
    guard contents.count > 2 * registrations.count + 10_000 else { return }
    contents = contents.filter { registrations[$0.key] != nil }
  }

  override func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {
    for id in objectIDs { registrations[id, default: 0] += 1 }
  }

  override func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {
    for id in objectIDs {
      guard let count = registrations[id], count > 1 else {
        registrations[id] = nil
        contents[id] = nil
        continue
      }
      registrations[id] = count - 1
    }
  }

  private func content(of id: NSManagedObjectID, _ core: ContextCore?) throws -> RowContent {
    if let known = contents[id] { return known }
    if let identifier = identifier(of: id), !identifier.isTemporary,
      let type = schema.entitiesByName[identifier.entityName]?.type
    {
      let state = state(of: core)
      let found = try store.snapshots([identifier], of: type, state)
      for snapshot in found { try keep(snapshot) }
      if let content = contents[id] { return content }
    }
    throw problem(
      "The store '\(storeIdentifier)' has no model with the identifier "
        + "\(identifier(of: id)?.words ?? id.uriRepresentation().absoluteString).",
      NSManagedObjectReferentialIntegrityError)
  }

  /// The error for something that the program's store has done or lacks.
  func problem(_ sentence: String, _ code: Int = NSPersistentStoreOperationError) -> NSError {
    .cocoa(
      code, "The operation on the data store \(Swift.type(of: store)) failed.", reason: sentence,
      suggestion: "Correct what the store returns, or its contents.")
  }

  // MARK: Requests

  override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    let content = try content(of: objectID, ContextCore.of(context))
    return NSIncrementalStoreNode(objectID: objectID, withValues: content.values, version: content.version)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let content = try content(of: objectID, context.flatMap { ContextCore.of($0) })
    if relationship.isToMany { return content.members[relationship.name] ?? [] }
    return content.values[relationship.name] ?? NSNull()
  }

  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    guard let context else { throw problem("A request without a context cannot be executed.") }
    let core = ContextCore.of(context)
    switch request {
    case let save as NSSaveChangesRequest:
      guard let core else { throw problem("Only a ModelContext can save to the store.") }
      try write(save, of: core)
      return []
    case let fetch as NSFetchRequest<NSManagedObject>:
      prune()
      guard let running = core?.runningFetch, running.entityName == fetch.entity?.name else {
        return try objects(fetch, context)
      }
      switch fetch.resultType {
      case .countResultType: return [NSNumber(value: try running.count(in: store, state(of: core)))]
      case .managedObjectIDResultType:
        return try running.identifiers(in: store, state(of: core)).map { try SnapshotReading(self).row(of: $0) }
      default: return try rows(running, core).map { context.object(with: $0) }
      }
    default: throw problem("A \(Swift.type(of: request)) cannot be executed.")
    }
  }
}

extension PersistentIdentifier {
  /// The identifier in an error message.
  var words: String { "\(storeIdentifier ?? "(unsaved)")/\(entityName)/\(id.primaryKey)" }
}
