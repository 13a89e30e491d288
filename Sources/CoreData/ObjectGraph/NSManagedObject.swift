// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// An object whose properties are described by an entity and kept in a persistent store.
///
/// Differs from Apple: without an Objective-C runtime there are no dynamic accessors; properties are read and written by
/// `value(forKey:)` and `setValue(_:forKey:)`, the string subscript, or computed properties over them. The designated
/// initializer is `required`, since the framework makes objects of classes that it only knows by name.
open class NSManagedObject: NSObject, NSFetchRequestResult {
  /// Where an object stands between two saves.
  struct Changes: OptionSet {
    let rawValue: UInt8
    static let inserted = Changes(rawValue: 1)
    static let updated = Changes(rawValue: 2)
    static let deleted = Changes(rawValue: 4)
    /// Only in notifications: the values were given up, to be read anew.
  }

  /// The object's entity.
  public let entity: NSEntityDescription
  final let table: SlotTable

  // Asked for with every value: single accesses, none of which can overlap another on the context's queue, so that watching
  // out for it at run time would take time and find nothing.

  // Other threads ask for the identifier and the context while the context's queue changes them. What an object refers to
  // here lives as long as the object, so that an address that was loaded can always be retained.
  private let identifierPlace = Atomic<Unmanaged<NSManagedObjectID>?>(nil)
  private let registryPlace = Atomic<Unmanaged<ObjectRegistry>?>(nil)
  /// The identifier and the registries that the object had before; few objects have had any.
  @exclusivity(unchecked) private var former: [AnyObject] = []

  /// The identifier; nil for a new object that nobody has asked for it. On any thread.
  final var knownIdentifier: NSManagedObjectID? { identifierPlace.load(ordering: .acquiring)?.takeUnretainedValue() }
  /// The registry of the object's context; nil for an object without context. Read on any thread, set by one at a time.
  final var registry: ObjectRegistry? {
    get { registryPlace.load(ordering: .acquiring)?.takeUnretainedValue() }
    set {
      let old = registryPlace.load(ordering: .acquiring)
      if old?.toOpaque() == newValue.map({ Unmanaged.passUnretained($0).toOpaque() }) { return }
      registryPlace.store(newValue.map { Unmanaged.passRetained($0) }, ordering: .releasing)
      if let old { former.append(old.takeRetainedValue()) }
    }
  }
  final var context: NSManagedObjectContext? { registry?.context }
  final var changes: Changes = []
  /// What has happened since the last `processPendingChanges()`.
  final var eventChanges: Changes = []
  /// Whether the row turned out to be gone or unreadable: such an object has no values and is never written.
  final var isInaccessible = false
  /// Whether `slots` hold values.
  final var isRealized = false
  @exclusivity(unchecked) final var slots: [Slot] = []
  /// The row as it was last read or saved; nil for a new object and for one whose row has not been read.
  @exclusivity(unchecked) final var snapshot: RowSnapshot?
  /// What `changedValuesForCurrentEvent()` compares with: the slots as they were at the last `processPendingChanges()`.
  @exclusivity(unchecked) final var slotsAtEventStart: [Slot]?
  /// What the object keeps of its relationships beside identifiers; nil for most objects.
  @exclusivity(unchecked) final var holds: RelationshipHolds?
  /// The batch of a fetch that the object's row is to be read with; nil for most objects.
  @exclusivity(unchecked) final var batch: FetchBatch?
  /// Whether the save that is going on writes the object's row.
  final var isBeingWritten = false
  /// The order in which changed objects were first changed, which is the order in which rows are written.
  final var changePosition = 0

  /// Makes an object and inserts it.
  ///
  /// - Parameters:
  ///   - entity: the object's entity, which must not be abstract when the object is to be saved.
  ///   - context: the context to insert into; nil for an object outside of all contexts.
  public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    self.entity = entity
    table = entity.slotTable
    slots = table.defaults
    isRealized = true
    super.init()
    ManagedObjectClasses.offer(Swift.type(of: self), for: entity)
    if let context { context.insert(self) }
  }

  /// Makes an object of the entity whose class this is, and inserts it.
  ///
  /// - Parameter moc: the context, whose model must have exactly one entity with this class.
  public convenience init(context moc: NSManagedObjectContext) {
    self.init(entity: moc.entity(forClass: Self.self), insertInto: moc)
  }

  /// Objects are equal when they are one and the same.
  ///
  /// - Parameter object: anything.
  public final override func isEqual(_ object: Any?) -> Bool {
    guard let object else { return false }
    return (object as AnyObject) === self
  }

  /// A number made of the object's address.
  public final override var hash: Int { Int(bitPattern: ObjectIdentifier(self)) }

  deinit {
    if let registry, let knownIdentifier { registry.forget(self, knownIdentifier.key) }
    holds?.release()
    registryPlace.load(ordering: .acquiring)?.release()
    identifierPlace.load(ordering: .acquiring)?.release()
  }

  /// Gives the object an identifier, unless another thread was faster.
  ///
  /// - Returns: the one that the object has then.
  final func takeIdentifier(_ made: NSManagedObjectID) -> NSManagedObjectID {
    let reference = Unmanaged.passRetained(made)
    let (isFirst, known) = identifierPlace.compareExchange(
      expected: nil, desired: reference, ordering: .acquiringAndReleasing)
    if isFirst { return made }
    reference.release()
    return known?.takeUnretainedValue() ?? made
  }

  /// Gives the object another identifier. No other thread may do so at the time.
  final func replaceIdentifier(by id: NSManagedObjectID) {
    let old = identifierPlace.exchange(.passRetained(id), ordering: .acquiringAndReleasing)
    if let old { former.append(old.takeRetainedValue()) }
  }

  /// Makes an object without values for a row that a store holds.
  static func makeFault(_ identifier: NSManagedObjectID, in context: NSManagedObjectContext) -> NSManagedObject {
    let object = ManagedObjectClasses.of(identifier.entityDescription).init(entity: identifier.entity, insertInto: nil)
    object.replaceIdentifier(by: identifier)
    object.slots = []
    object.isRealized = false
    return object
  }

  /// The identifier. That of a new object is made, and its context finds the object by it, when it is first asked for: many
  /// are saved, and get a permanent one, before anybody does.
  final var identifier: NSManagedObjectID {
    if let knownIdentifier { return knownIdentifier }
    if let registry { return registry.identify(self) }
    return takeIdentifier(NSManagedObjectID(temporaryFor: entity))
  }

  /// Whether no store has given the object an identifier yet.
  final var hasTemporaryID: Bool { knownIdentifier?.isTemporaryID ?? true }

  /// The object's identifier: temporary until the object is saved.
  open var objectID: NSManagedObjectID { identifier }

  /// The context that the object is registered with; nil after it was deleted and saved, or after a reset.
  open var managedObjectContext: NSManagedObjectContext? { context }

  /// Whether the object is new and will be inserted by the next save.
  open var isInserted: Bool { changes.contains(.inserted) }

  /// Whether the object has unsaved changes. A new object counts as inserted, not as updated.
  open var isUpdated: Bool { changes.contains(.updated) && !changes.contains(.inserted) && !isDeleted }

  /// Whether the object will be deleted by the next save.
  open var isDeleted: Bool { changes.contains(.deleted) }

  /// Whether the object was inserted, updated or deleted since the last save.
  open var hasChanges: Bool { !changes.isEmpty }

  /// Whether values have been changed that a store keeps.
  open var hasPersistentChangedValues: Bool {
    guard isRealized else { return false }
    return changedSlots().contains { !table.isTransient(at: $0) }
  }

  /// Whether the object's values have not been read yet.
  open var isFault: Bool { !isRealized }

  /// 0 when values are there; 1 for a fault.
  open var faultingState: Int { isFault ? 1 : 0 }

  /// Called after an object is made and inserted for the first time: the place for defaults worked out by code.
  open func awakeFromInsert() {}

  /// Called after a fault's values have been read.
  open func awakeFromFetch() {}

  /// Called before the object is saved; changes made here are saved too.
  open func willSave() {}

  /// Called after the object was saved.
  open func didSave() {}

  /// Called when the object is about to be deleted.
  open func prepareForDeletion() {}

  /// Called before the object loses its values.
  open func willTurnIntoFault() {}

  /// Called after the object has lost its values.
  open func didTurnIntoFault() {}

  /// Reads the object's values from the store if that has not been done.
  ///
  /// - Parameter key: the property about to be read.
  open func willAccessValue(forKey key: String?) {
    realize()
  }

  /// Called after a property was read.
  open func didAccessValue(forKey key: String?) {}

  /// Called before a property changes.
  open func willChangeValue(forKey key: String) {
    realize()
  }

  /// Called after a property has changed: notes the object as updated.
  open func didChangeValue(forKey key: String) {
    noteChange()
  }

  /// The value of a property: `NSNumber`, `NSDecimalNumber`, `String`, `Date`, `Data`, `UUID`, `URL`, a managed object, an
  /// `NSSet` or `NSOrderedSet` of managed objects, what a transformable attribute holds, or an array for a fetched property.
  ///
  /// - Parameter key: the property's name. A name that the entity does not have stops the program.
  open func value(forKey key: String) -> Any? {
    willAccessValue(forKey: key)
    defer { didAccessValue(forKey: key) }
    if let position = table.position(of: key) {
      let value = resolvedValue(at: position)
      if position >= table.firstRelationship { hold(value, at: position) }
      return value
    }
    if let fetched = entity.propertiesByName[key] as? NSFetchedPropertyDescription {
      return fetchedValues(of: fetched)
    }
    return resolvedValue(at: position(of: key))
  }

  /// Changes a property, and the other side of a relationship with it.
  ///
  /// - Parameters:
  ///   - value: the new value, of the property's type; nil for none.
  ///   - key: the property's name. A name that the entity does not have, or a value of another type, stops the program.
  open func setValue(_ value: Any?, forKey key: String) {
    let position = position(of: key)
    willChangeValue(forKey: key)
    store(value, at: position)
    didChangeValue(forKey: key)
  }

  /// The value of a property as it is, without reading a fault.
  ///
  /// - Parameter key: the property's name.
  open func primitiveValue(forKey key: String) -> Any? {
    guard isRealized else { return nil }
    let position = position(of: key)
    let value = resolvedValue(at: position)
    hold(value, at: position)
    return value
  }

  /// Changes a property without noting a change and without the other side of a relationship.
  ///
  /// - Parameters:
  ///   - value: the new value.
  ///   - key: the property's name.
  open func setPrimitiveValue(_ value: Any?, forKey key: String) {
    realize()
    storePrimitive(value, at: position(of: key))
  }

  /// Checks one value; overriding classes may also replace it.
  ///
  /// Differs from Apple: the value is `inout` instead of a pointer.
  ///
  /// - Parameters:
  ///   - value: the value that the property is to have.
  ///   - key: the property's name.
  /// - Throws: 1550 to 1690, with object, key and value.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try checkByModel(value, forKey: key)
  }

  /// Checks a new object before it is saved.
  ///
  /// - Throws: as `validateValue(_:forKey:)`; 1560 for several failures.
  open func validateForInsert() throws {
    try validateProperties()
  }

  /// Checks a changed object before it is saved.
  ///
  /// - Throws: as `validateValue(_:forKey:)`; 1560 for several failures.
  open func validateForUpdate() throws {
    try validateProperties()
  }

  /// Checks whether an object may be deleted.
  ///
  /// - Throws: 1600 while a relationship with the deny rule has members.
  open func validateForDelete() throws {
    if let (relationship, members) = context?.denyingMembers(of: self) {
      throw ValidationErrors.deniedDelete(
        ValidationRules.subject(relationship, members, self), count: members.count)
    }
  }

  open override var description: String {
    let values = isFault ? "<fault>" : "\(table.names.map { "\($0) = \(describeSlot($0))" })"
    return "<\(type(of: self))> (entity: \(entity.name ?? ""); id: \(identifier); data: \(values))"
  }

  private func describeSlot(_ name: String) -> String {
    guard let position = table.position(of: name) else { return "nil" }
    switch slots[position] {
    case .unread: return "<relationship fault>"
    case .toOne(let id): return id.uriRepresentation().absoluteString
    case .toMany(let members): return "\(members.count) objects"
    case let slot: return slot.publicValue.map { "\($0)" } ?? "nil"
    }
  }
}
