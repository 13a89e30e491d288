// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A store that keeps all its objects in memory, and reads and writes them as a whole: the superclass of custom file
/// formats.
///
/// A subclass overrides `metadataForPersistentStore(with:)`, `load()`, `save()` and `newReferenceObject(for:)`. If the
/// values of its nodes differ from those of the objects, it also overrides `newCacheNode(for:)` and
/// `updateCacheNode(_:from:)`. All methods are called with exclusive access to the stores of the coordinator.
open class NSAtomicStore: NSPersistentStore, @unchecked Sendable {
  // Guarded by the coordinator's lock.
  private var nodes: [ObjectKey: NSAtomicStoreCacheNode] = [:]
  private lazy var references = ReferenceObjects(self)
  /// The closures that undo the changes of nodes, in order.
  private var undoing: [() -> Void] = []
  package private(set) final var tables: RowTables?
  package final var isInTransaction = false
  package final var hasUnsavedMetadata = false

  /// Creates a store, without opening it.
  ///
  /// - Parameters:
  ///   - coordinator: the coordinator that will own the store.
  ///   - configurationName: the configuration, or nil for the default one.
  ///   - url: the location of the store.
  ///   - options: the options passed to the coordinator.
  public required init(
    persistentStoreCoordinator coordinator: NSPersistentStoreCoordinator?, configurationName: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    super.init(
      persistentStoreCoordinator: coordinator, configurationName: configurationName, at: url, options: options)
  }

  open override var metadata: [String: Any]! { didSet { exclusively { hasUnsavedMetadata = true } } }

  /// Reads the metadata of an existing file, with `metadataForPersistentStore(with:)`. A new store has none yet.
  ///
  /// - Throws: the errors of `metadataForPersistentStore(with:)`.
  open override func loadMetadata() throws {
    guard let url, url.isFileURL, Self.hasContents(at: url) else { return }
    metadata = try Self.metadataForPersistentStore(with: url)
  }

  /// Reads all objects: creates their nodes and adds them with `addCacheNodes(_:)`. Must be overridden. The file may be
  /// missing or empty.
  ///
  /// - Throws: any error, which is then thrown by adding the store.
  open func load() throws { trap("\(Swift.type(of: self)) must override load().") }

  /// Writes all nodes and the metadata. Must be overridden.
  ///
  /// - Throws: any error, which is then thrown by the save of the context. The nodes are restored to their state before
  ///   the save.
  open func save() throws { trap("\(Swift.type(of: self)) must override save().") }

  /// Returns a node with the values of a new object.
  ///
  /// - Parameter managedObject: an object with a permanent identifier.
  open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    let node = NSAtomicStoreCacheNode(objectID: managedObject.objectID)
    // The object may be related to itself.
    if cacheNode(for: node.objectID) == nil { addCacheNodes([node]) }
    updateCacheNode(node, from: managedObject)
    return node
  }

  /// Sets the values of a node from a changed object.
  ///
  /// - Parameters:
  ///   - node: the node of the object.
  ///   - managedObject: the object.
  open func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {
    for (name, property) in managedObject.entity.propertiesByName where !property.isTransient {
      if property is NSFetchedPropertyDescription { continue }
      guard let relationship = property as? NSRelationshipDescription else {
        node.setValue(managedObject.value(forKey: name), forKey: name)
        continue
      }
      let related = relatedIDs(of: managedObject, relationship, name).compactMap(nodeToRelate)
      if !relationship.isToMany {
        node.setValue(related.first, forKey: name)
      } else {
        node.setValue(
          relationship.isOrdered ? NSOrderedSet(array: related) : NSSet(array: related), forKey: name)
      }
    }
  }

  /// Returns the related objects according to the store. The object may have read them before another context changed
  /// them.
  private func relatedIDs(
    of object: NSManagedObject, _ relationship: NSRelationshipDescription, _ name: String
  ) -> [NSManagedObjectID] {
    let key = object.objectID.key
    guard let tables, let row = tables.row(key), let position = object.table.position(of: name) else {
      return object.objectIDs(forRelationshipNamed: name)
    }
    if relationship.isToMany { return tables.members(of: name, owner: key) }
    if case .toOne(let id) = row.slots[position] { return [id] }
    return []
  }

  /// Returns the node of an object. Creates one for an object that the same save inserts; nil for a missing object.
  private func nodeToRelate(_ id: NSManagedObjectID) -> NSAtomicStoreCacheNode? {
    if let known = cacheNode(for: id) { return known }
    guard tables?.row(id.current.key) != nil else { return nil }
    let made = NSAtomicStoreCacheNode(objectID: id)
    addCacheNodes([made])
    return made
  }

  /// Called before nodes are removed because their objects are deleted.
  ///
  /// - Parameter cacheNodes: the nodes.
  open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

  /// Adds nodes of objects.
  ///
  /// - Parameter cacheNodes: nodes with identifiers of `objectID(for:withReferenceObject:)`.
  public func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
    for node in cacheNodes {
      let key = node.objectID.key
      let old = nodes.updateValue(node, forKey: key)
      undoing.append { [unowned self] in nodes[key] = old }
    }
  }

  /// Returns all nodes.
  public func cacheNodes() -> Set<NSAtomicStoreCacheNode> { Set(nodes.values) }

  /// Returns the node of an object; nil if the store has none.
  ///
  /// - Parameter objectID: a permanent identifier.
  public func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? { nodes[objectID.current.key] }

  /// Returns the value that identifies a new object in the store. Must be overridden. The value must be hashable, and
  /// differ from those of all other objects in the entity's hierarchy, even after the store has been closed and
  /// reopened.
  ///
  /// - Parameter managedObject: the new object.
  open func newReferenceObject(for managedObject: NSManagedObject) -> Any {
    trap("\(Swift.type(of: self)) must override newReferenceObject(for:).")
  }

  /// Returns the identifier of an object.
  ///
  /// - Parameters:
  ///   - entity: the object's entity.
  ///   - data: the value that identifies the object in the store: a string, a number or another hashable value.
  public func objectID(for entity: NSEntityDescription, withReferenceObject data: Any) -> NSManagedObjectID {
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

  open override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {
    tables = nil
    nodes = [:]
    undoing = []
  }
}

extension NSAtomicStore: RowTableStore, ObjectWritingStore {
  package func finishOpening() throws {
    guard let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.cannotOpen(url: url, reason: "The store has no coordinator and therefore no model.")
    }
    try load()
    let tables = RowTables(model, store: self)
    var rows: [RowSnapshot] = []
    var members: [(NSManagedObjectID, String, [NSManagedObjectID])] = []
    for node in nodes.values.sorted(by: { $0.objectID.key.number < $1.objectID.key.number }) {
      rows.append(try row(of: node, tables, &members))
    }
    tables.load(rows, members: members)
    self.tables = tables
    undoing = []
    hasUnsavedMetadata = url.map { !Self.hasContents(at: $0) } ?? false
  }

  /// Reads the values of a node that `load()` has added.
  ///
  /// - Throws: 134080 for a value that does not have its property's type.
  private func row(
    of node: NSAtomicStoreCacheNode, _ tables: RowTables,
    _ members: inout [(NSManagedObjectID, String, [NSManagedObjectID])]
  ) throws -> RowSnapshot {
    let plan = tables.plan(node.objectID.entityDescription)
    var slots = plan.emptySlots
    for (position, step) in plan.steps.enumerated() {
      let name = plan.table.names[position]
      if case .transient = step { continue }
      let value = node.value(forKey: name)
      if case .attribute(let attribute) = step {
        guard let slot = Slot(value, for: attribute) else { throw unreadable(value, name, node) }
        slots[position] = try RowTables.stored(slot, of: attribute)
        continue
      }
      guard let value else { continue }
      let ids = try (Operand.elements(value) ?? [value]).map { element -> NSManagedObjectID in
        switch element {
        case let other as NSAtomicStoreCacheNode: return other.objectID
        case let id as NSManagedObjectID: return id
        default: throw unreadable(element, name, node)
        }
      }
      if case .members = step {
        members.append((node.objectID, name, ids))
      } else if let id = ids.first {
        slots[position] = .toOne(id)
      }
    }
    return RowSnapshot(id: node.objectID, version: 1, slots: slots)
  }

  private func unreadable(_ value: Any?, _ name: String, _ node: NSAtomicStoreCacheNode) -> NSError {
    StoreErrors.cannotOpen(
      url: url,
      reason:
        "The node \(node.objectID.uriRepresentation().absoluteString) has a value of '\(name)' that is not of the "
        + "property's type: \(value.map { "a \(Swift.type(of: $0))" } ?? "nil").")
  }

  func makeIdentifiers(forObjects objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    return objects.map { references.id($0.entity, newReferenceObject(for: $0)) }
  }

  package func identifier(entityName: String, reference: String) -> NSManagedObjectID? {
    guard let entity = tables?.model.entitiesByName[entityName], let id = references.id(entity, text: reference) else {
      return nil
    }
    return tables?.row(id.key)?.id ?? id
  }

  func writeObjects(_ changes: [RowChange], of context: NSManagedObjectContext) throws {
    try apply(changes) { try changeNodes(changes, of: context) }
  }

  private func changeNodes(_ changes: [RowChange], of context: NSManagedObjectContext) throws {
    let removed = changes.filter { $0.kind == .delete }.compactMap { nodes[$0.id.key] }
    if !removed.isEmpty {
      willRemoveCacheNodes(Set(removed))
      for node in removed {
        nodes[node.objectID.key] = nil
        undoing.append { [unowned self] in nodes[node.objectID.key] = node }
      }
    }
    let written = try changes.filter { $0.kind != .delete }.map { change in
      guard let object = context.registry[change.id.key] else { throw ObjectGraphErrors.missingObject(change.id) }
      return object
    }
    for object in written {
      if let node = nodes[object.identifier.key] {
        let before = node.propertyCache?.mutableCopy() as? NSMutableDictionary
        undoing.append { node.propertyCache = before }
        updateCacheNode(node, from: object)
      } else {
        addCacheNodes([newCacheNode(for: object)])
      }
    }
  }

  package func undoChanges() {
    while let undo = undoing.popLast() { undo() }
  }

  package func forgetChanges() { undoing = [] }

  package func saveFile() throws { try save() }
}
