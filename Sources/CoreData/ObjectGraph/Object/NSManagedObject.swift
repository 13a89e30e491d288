// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation
import Synchronization

/// An object whose properties are described by an entity and kept in a persistent store.
///
/// Differs from Apple: without an Objective-C runtime there are no dynamic accessors. Properties are read and written
/// with `value(forKey:)` and `setValue(_:forKey:)`, with the string subscript, or with computed properties over a
/// `ManagedProperty`, which the plug-in `CoreDataModels` generates for `@NSManaged`. The designated initializer is
/// `required`, because the framework instantiates classes by name.
open class NSManagedObject: NSObject, NSFetchRequestResult, ContextCreated {
  /// The unsaved changes of an object.
  struct Changes: OptionSet {
    let rawValue: UInt8
    static let inserted = Changes(rawValue: 1)
    static let updated = Changes(rawValue: 2)
    static let deleted = Changes(rawValue: 4)
    /// The deletion of the object was undone, or the undone insertion redone. Used only for the changes of an event.
    static let revived = Changes(rawValue: 8)
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let inaccessible = Flags(rawValue: 1)
    static let beingWritten = Flags(rawValue: 2)
    /// `awakeFromFetch()` is running. Values that it sets are not changes.
    static let awakening = Flags(rawValue: 4)
    /// `awakeFromFetch()` has set a value.
    static let setWhileAwakening = Flags(rawValue: 8)
    /// Members of a relationship could not be read: `NSManagedObjectContext.unreadMembers`.
    static let unreadMembers = Flags(rawValue: 16)
  }

  /// The object's entity.
  public let entity: NSEntityDescription
  final let table: SlotTable

  // Properties accessed with every value skip the exclusivity check. Their accesses are short and confined to the
  // context's queue, so none can overlap.

  // Other threads may read the identifier and the registry while the context's queue replaces them. Replaced ones live
  // as long as the object, so that a loaded address can always be retained.
  let storedIdentifier = Atomic<Unmanaged<NSManagedObjectID>?>(nil)
  private let storedRegistry = Atomic<Unmanaged<ObjectRegistry>?>(nil)

  /// The layout from which the identifier of a row's object is made on first access; nil for other objects. Immutable
  /// once another thread can reach the object.
  @exclusivity(unchecked) final var rowLayout: RowLayout?
  @exclusivity(unchecked) final var primaryKey: Int64 = 0

  /// The registry of the object's context, or nil. May be read on any thread, and set by one at a time.
  final var registry: ObjectRegistry? {
    get { storedRegistry.load(ordering: .acquiring)?.takeUnretainedValue() }
    set {
      let old = storedRegistry.load(ordering: .acquiring)
      if old?.toOpaque() == newValue.map({ Unmanaged.passUnretained($0).toOpaque() }) { return }
      storedRegistry.store(newValue.map { Unmanaged.passRetained($0) }, ordering: .releasing)
      if let old { keep(old.takeRetainedValue()) }
    }
  }
  final var context: NSManagedObjectContext? { registry?.context }
  /// Whether the row turned out to be missing or unreadable. Such an object has no values and is never written.
  final var isInaccessible: Bool {
    get { flags.contains(.inaccessible) }
    set { set(.inaccessible, newValue) }
  }
  /// Whether the current save writes the object's row.
  final var isBeingWritten: Bool {
    get { flags.contains(.beingWritten) }
    set { set(.beingWritten, newValue) }
  }

  /// Whether `awakeFromFetch()` is running. Setters then change neither inverse relationships nor the object's changes.
  final var isAwakening: Bool {
    get { flags.contains(.awakening) }
    set { set(.awakening, newValue) }
  }

  /// Whether the members of a relationship could not be read, which looks empty until they are.
  final var hasUnreadMembers: Bool {
    get { flags.contains(.unreadMembers) }
    set { set(.unreadMembers, newValue) }
  }

  private final func set(_ member: Flags, _ isMember: Bool) {
    if isMember { flags.insert(member) } else { flags.remove(member) }
  }

  /// The object's values, and the row that changes are compared with.
  @exclusivity(unchecked) final var state = ObjectState()
  // The small properties are adjacent, so that they share eight bytes.
  @exclusivity(unchecked) final var changes: Changes = []
  /// The changes since the last `processPendingChanges()`.
  @exclusivity(unchecked) final var eventChanges: Changes = []
  @exclusivity(unchecked) private var flags: Flags = []
  /// The object's position in the context's `ChangeList`.
  @exclusivity(unchecked) final var changePosition: UInt32 = 0
  /// The objects and live sets that the object holds for its relationships; nil for most objects.
  @exclusivity(unchecked) final var holds: RelationshipHolds?
  /// Rarely used state; nil for most objects.
  @exclusivity(unchecked) final var extraState: ExtraState?

  /// Creates an object and inserts it.
  ///
  /// - Parameters:
  ///   - entity: the object's entity. An object of an abstract entity cannot be saved.
  ///   - context: the context to insert into; nil for an object without a context.
  public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    self.entity = entity
    table = entity.slotTable
    super.init()
    ManagedObjectClasses.offer(Swift.type(of: self), for: entity)
    if let context { context.insert(self) }
  }

  /// Creates an object of the entity that has this class, and inserts it.
  ///
  /// `init(context:)` calls it on the dynamic class. An addition to Apple's API.
  ///
  /// - Parameter context: the context, whose model must have exactly one entity with this class.
  public required convenience init(newIn context: NSManagedObjectContext) {
    self.init(entity: context.entity(forClass: Self.self), insertInto: context)
  }

  /// Returns the entity whose objects have this class, in the model last passed to a coordinator.
  ///
  /// Traps if no loaded model contains the class, or if a model uses it for several entities.
  open class func entity() -> NSEntityDescription {
    if let entity = ManagedObjectClasses.entity(of: self) { return entity }
    trap(
      "entity() needs a loaded model with exactly one entity of the class \(String(reflecting: self)). "
        + "Make a coordinator or a container with the model first.")
  }

  /// Whether changes of keys that the model does not contain leave the object unchanged; true by default.
  open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  /// Returns whether both are the same object.
  ///
  /// - Parameter object: the object to compare.
  public final override func isEqual(_ object: Any?) -> Bool {
    guard let object else { return false }
    // Sets usually compare objects of one class.
    if let other = exactly(Swift.type(of: self), object) { return other === self }
    return (object as AnyObject) === self
  }

  /// A hash of the object's address.
  public final override var hash: Int { Int(bitPattern: ObjectIdentifier(self)) }

  deinit {
    // Avoids retaining what is released below.
    if let registry = storedRegistry.load(ordering: .acquiring) {
      if let knownKey { registry._withUnsafeGuaranteedRef { $0.forget(self, knownKey) } }
      registry.release()
    }
    holds?.release()
    storedIdentifier.load(ordering: .acquiring)?.release()
  }

  /// Creates a fault without an identifier.
  static func fault(of entity: NSEntityDescription, _ type: NSManagedObject.Type) -> NSManagedObject {
    let object = type.init(entity: entity, insertInto: nil)
    // A custom initializer may have set values.
    object.becomeFault(keeping: nil)
    return object
  }

  /// The object's identifier. It is temporary until the object is saved; in a child context, until the root of its tree
  /// is saved.
  open var objectID: NSManagedObjectID { identifier.current }

  /// The context that the object is registered with; nil after its deletion was saved, or after a reset.
  open var managedObjectContext: NSManagedObjectContext? { context }

  /// Whether the next save inserts the object.
  open var isInserted: Bool { changes.contains(.inserted) }

  /// Whether the object has unsaved changes. A new object counts as inserted, not as updated.
  open var isUpdated: Bool { changes.contains(.updated) && !changes.contains(.inserted) && !isDeleted }

  /// Whether the next save deletes the object.
  open var isDeleted: Bool { changes.contains(.deleted) }

  /// Whether the object has been inserted, updated or deleted since the last save.
  open var hasChanges: Bool { !changes.isEmpty }

  /// Whether any stored (non-transient) value has changed.
  open var hasPersistentChangedValues: Bool {
    guard isRealized else { return false }
    return changedSlots().contains { !table.isTransient(at: $0) }
  }

  /// Whether the object's values have not been read yet.
  open var isFault: Bool { !isRealized }

  /// 1 for a fault, 0 for an object with values.
  open var faultingState: Int { isFault ? 1 : 0 }

  /// Called once, after a new object has been inserted. Override it to compute default values.
  open func awakeFromInsert() {}

  /// Called after a fault's values have been read.
  ///
  /// Override it to set transient values and other caches. During the call, setters do not mark the object as changed,
  /// and setting a relationship does not change its inverse.
  open func awakeFromFetch() {}

  /// Called after several properties have changed together: by undo and redo, a rollback, a refresh that keeps changes,
  /// or a merge policy.
  ///
  /// Override it to compute values that depend on others. Changes made here count as changes of the object.
  ///
  /// - Parameter flags: what has happened.
  open func awake(fromSnapshotEvents flags: NSSnapshotEventType) {}

  /// Called before the object is saved. Changes made here are saved too.
  open func willSave() {}

  /// Called after the object has been saved.
  open func didSave() {}

  /// Called when the object is deleted, before deletion rules change it and others: `isDeleted` is true, and all
  /// relationships are there. Also called when the context merges its deletion by others. In that case its row is already
  /// missing, so an object whose values have not been read has none.
  open func prepareForDeletion() {}

  /// Called before the object turns into a fault.
  open func willTurnIntoFault() {}

  /// Called after the object has turned into a fault.
  open func didTurnIntoFault() {}

  /// Called before a property is read. Reads the object's row if the object is a fault.
  ///
  /// - Parameter key: the property about to be read.
  open func willAccessValue(forKey key: String?) {
    ConcurrencyDebug.check(context)
    fireFault(for: key)
  }

  /// Called after a property has been read.
  open func didAccessValue(forKey key: String?) {}

  /// Called before a property changes. Reads the object's row if the object is a fault.
  open func willChangeValue(forKey key: String) {
    ConcurrencyDebug.check(context)
    fireFault(for: key)
  }

  /// Called after a property has changed. Marks the object as updated.
  /// A key that the model does not contain does so only if `contextShouldIgnoreUnmodeledPropertyChanges` is false.
  open func didChangeValue(forKey key: String) {
    // The common case first: looking up a key takes time.
    if registry == nil || changes.contains(.updated) && eventChanges.contains(.updated) { return }
    if table.position(of: key) == nil, Swift.type(of: self).contextShouldIgnoreUnmodeledPropertyChanges { return }
    noteChange()
  }

  /// Called before members are added to or removed from a to-many relationship by `setPrimitiveValue(_:forKey:)`.
  ///
  /// - Parameters:
  ///   - inKey: the name of a to-many relationship.
  ///   - inMutationKind: the kind of change.
  ///   - inObjects: the objects to add, remove or keep.
  open func willChangeValue(
    forKey inKey: String, withSetMutation inMutationKind: NSKeyValueSetMutationKind, using inObjects: Set<AnyHashable>
  ) {
    willChangeValue(forKey: inKey)
    noteMembersBefore(inKey)
  }

  /// Called after members have been added to or removed from a to-many relationship. Updates the inverse relationship of
  /// the members that have been added or removed since `willChangeValue(forKey:withSetMutation:using:)`.
  ///
  /// - Parameters:
  ///   - inKey: the name of a to-many relationship.
  ///   - inMutationKind: the kind of change.
  ///   - inObjects: the objects that were added, removed or kept.
  open func didChangeValue(
    forKey inKey: String, withSetMutation inMutationKind: NSKeyValueSetMutationKind, using inObjects: Set<AnyHashable>
  ) {
    updateInverses(ofMembersAt: inKey)
    didChangeValue(forKey: inKey)
  }

  /// Returns the value of a property: an `NSNumber`, `NSDecimalNumber`, `String`, `Date`, `Data`, `UUID`, `URL`, a
  /// managed object, a `Set` or an `NSOrderedSet` of managed objects, the value of a transformable attribute, or the
  /// array of a fetched property.
  ///
  /// Differs from Apple: a `Set` can be cast to `NSSet`, but not to Objective-C protocols such as `NSCopying`.
  ///
  /// - Parameter key: the property's name, or a key of the object itself, such as `objectID` or `isDeleted`. For any
  ///   other key, `value(forUndefinedKey:)` is called.
  open func value(forKey key: String) -> Any? {
    guard let position = table.position(of: key) else { return unstoredValue(forKey: key) }
    willAccessValue(forKey: key)
    defer { didAccessValue(forKey: key) }
    return heldValue(at: position)
  }

  /// Sets a property. For a relationship, also changes the inverse.
  ///
  /// - Parameters:
  ///   - value: the new value. Nil removes it; for a number or Boolean, that calls `setNilValueForKey(_:)`. Traps for a
  ///     value that does not have the property's type.
  ///   - key: the property's name. For any other key, `setValue(_:forUndefinedKey:)` is called.
  open func setValue(_ value: Any?, forKey key: String) {
    guard let position = table.position(of: key) else { return setValue(value, forUndefinedKey: key) }
    if value == nil, table.kinds[position].isScalar { return setNilValueForKey(key) }
    change(value, at: position, key)
  }

  /// Called by `value(forKey:)` for an undefined key. Traps unless overridden.
  open func value(forUndefinedKey key: String) -> Any? { refuse(key) }

  /// Called by `setValue(_:forKey:)` for an undefined key. Traps unless overridden.
  open func setValue(_ value: Any?, forUndefinedKey key: String) { _ = refuse(key) }

  /// Called by `setValue(_:forKey:)` when a number or Boolean is set to nil. Override it to set another value.
  ///
  /// Differs from Apple: does not trap, because the class may declare an optional property.
  open func setNilValueForKey(_ key: String) { change(nil, at: position(of: key), key) }

  /// Returns the value of a property without calling `willAccessValue(forKey:)`. Reads the object's row if the object
  /// is a fault.
  ///
  /// - Parameter key: the property's name.
  open func primitiveValue(forKey key: String) -> Any? {
    fireFault(for: key)
    if let recorder { return recorder.answer(forKey: key, of: self) }
    return heldValue(at: position(of: key))
  }

  /// Sets a property without marking the object as updated and without changing an inverse relationship.
  ///
  /// - Parameters:
  ///   - value: the new value.
  ///   - key: the property's name.
  open func setPrimitiveValue(_ value: Any?, forKey key: String) {
    fireFault()
    storePrimitive(value, at: position(of: key))
  }

  /// Validates a value, and may replace it in subclasses.
  ///
  /// Differs from Apple: the value is `inout` instead of a pointer.
  ///
  /// - Parameters:
  ///   - value: the property's new value.
  ///   - key: the property's name.
  /// - Throws: 1550 to 1690, with object, key and value.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try checkByModel(value, forKey: key)
  }

  /// Validates a new object before it is saved.
  ///
  /// - Throws: as `validateValue(_:forKey:)`; 1560 for several failures.
  open func validateForInsert() throws { try validateProperties() }

  /// Validates a changed object before it is saved.
  ///
  /// - Throws: as `validateValue(_:forKey:)`; 1560 for several failures.
  open func validateForUpdate() throws { try validateProperties() }

  /// Validates the deletion of the object.
  ///
  /// - Throws: 1600 if a relationship with the deny rule has members.
  open func validateForDelete() throws {
    if let (relationship, members) = context?.denyingMembers(of: self) {
      throw ValidationErrors.deniedDelete(.init(relationship, members, self), count: members.count)
    }
  }

  open override var description: String {
    let values = isFault ? "<fault>" : "\(table.names.map { "\($0) = \(describeSlot($0))" })"
    return "<\(type(of: self))> (entity: \(entity.name ?? ""); id: \(identifier); data: \(values))"
  }
}

extension NSManagedObject {
  /// Fires the fault, that is, reads its row. Does nothing for an object that has its values.
  ///
  /// A fault whose row is missing or unreadable becomes a deleted object without values, as on Apple's systems with
  /// `shouldDeleteInaccessibleFaults`. If that is off, a missing row traps. The next `save()` throws the error of an
  /// unreadable row. A fault without a context becomes an object without values.
  ///
  /// - Parameter key: the property whose access fires the fault; nil if there is none.
  final func fireFault(for key: String? = nil) {
    if isRealized { return }
    if snapshot == nil || registry?.keepsRows.load(ordering: .relaxed) != true {
      guard let context else { return loseValues() }
      if context.stalenessInterval >= 0, snapshot != nil, context.isStale(self) { snapshot = nil }
      if snapshot == nil { snapshot = context.readRow(for: self) }
    }
    guard let snapshot else {
      // Without a context, the object has lost its values above.
      guard let context else { return }
      let property = key.flatMap { entity.propertiesByName[$0] }
      guard
        context.readingFailure != nil
          || context.shouldHandleInaccessibleFault(self, for: identifier, triggeredByProperty: property)
      else {
        trap("Core Data could not fulfill a fault for \(identifier): its row is not in the store.")
      }
      loseValues()
      context.noteInaccessibleFault(self)
      return
    }
    takeValues(of: snapshot)
    flags.insert(.awakening)
    restoreTransients()
    awakeFromFetch()
    let isSet = flags.contains(.setWhileAwakening)
    flags.subtract([.awakening, .setWhileAwakening])
    if !isRealized { fireAgain() }
    // The values that were set belong to no event that undo would revert.
    if isSet { noteEventEnd() }
  }

  /// Gives the object its values after `awakeFromFetch()` has made it a fault, without calling that again. An object that
  /// has left its context has none.
  private func fireAgain() {
    guard let context else { return loseValues() }
    guard let row = snapshot ?? context.readRow(for: self) else {
      loseValues()
      return context.noteInaccessibleFault(self)
    }
    snapshot = row
    takeValues(of: row)
    restoreTransients()
  }

  /// Records that a value has been set while `awakeFromFetch()` is running.
  final func noteSetWhileAwakening() { flags.insert(.setWhileAwakening) }
}
