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

  private struct State: OptionSet {
    let rawValue: UInt8
    static let inaccessible = State(rawValue: 1)
    static let realized = State(rawValue: 2)
    static let packed = State(rawValue: 4)
    static let beingWritten = State(rawValue: 8)
    /// No value has been read or set since the object was created; `unpackedSlots` are empty.
    static let fresh = State(rawValue: 16)
    static let deferringRemovals = State(rawValue: 32)
    /// `awakeFromFetch()` is running. Values that it sets are not changes.
    static let awakening = State(rawValue: 64)
    /// `awakeFromFetch()` has set a value.
    static let setWhileAwakening = State(rawValue: 128)
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
    get { state.contains(.inaccessible) }
    set { set(.inaccessible, newValue) }
  }
  /// Whether `slots` hold values; false for a fault.
  final var isRealized: Bool {
    get { state.contains(.realized) }
    set { set(.realized, newValue) }
  }
  /// Whether the values are still in the packed snapshot, except for `packedChanges`. False for a fault.
  private(set) final var isPacked: Bool {
    get { state.contains(.packed) }
    set { set(.packed, newValue) }
  }
  /// Whether the current save writes the object's row.
  final var isBeingWritten: Bool {
    get { state.contains(.beingWritten) }
    set { set(.beingWritten, newValue) }
  }

  /// Whether members have been removed from unread relationships (`DeferredRemovals`). Only while `isPacked`.
  final var hasDeferredRemovals: Bool {
    get { state.contains(.deferringRemovals) }
    set { set(.deferringRemovals, newValue) }
  }

  /// Whether `awakeFromFetch()` is running. Setters then change neither inverse relationships nor the object's state.
  final var isAwakening: Bool {
    get { state.contains(.awakening) }
    set { set(.awakening, newValue) }
  }

  private final func set(_ member: State, _ isMember: Bool) {
    if isMember { state.insert(member) } else { state.remove(member) }
  }

  // The small properties are adjacent, so that they share eight bytes.
  @exclusivity(unchecked) final var changes: Changes = []
  /// The changes since the last `processPendingChanges()`.
  @exclusivity(unchecked) final var eventChanges: Changes = []
  @exclusivity(unchecked) private var state: State = []
  /// The number of values decoded from the packed row.
  @exclusivity(unchecked) private var packedReads: UInt8 = 0
  /// The object's position in the context's `ChangeList`.
  @exclusivity(unchecked) final var changePosition: UInt32 = 0
  @exclusivity(unchecked) private var unpackedSlots: [Slot] = []
  /// The differences from the packed row. Only attributes, and only while `isPacked` without deferred removals.
  @exclusivity(unchecked) private(set) final var packedChanges = SlotChanges()
  // A property with observers would be checked for overlapping accesses anyway.
  @exclusivity(unchecked) private var storedSnapshot: RowSnapshot?
  /// The row as last read or saved; nil for a new object and for a fault whose row has not been read.
  final var snapshot: RowSnapshot? {
    get { storedSnapshot }
    set {
      // The values do not change, whatever they are compared with from now on.
      if hasDeferredRemovals { unpack() }
      if isPacked { takeSlots(of: storedSnapshot?.slots ?? []) }
      storedSnapshot = newValue
    }
  }
  /// The slots at the last `processPendingChanges()`.
  private enum EventStart {
    /// The slots of the snapshot.
    case snapshot
    /// The slots of the packed row, with changes.
    case packed(SlotChanges)
    case decoded([Slot])
  }
  @exclusivity(unchecked) private var eventStart = EventStart.snapshot
  /// The slots at the last `processPendingChanges()`, for `changedValuesForCurrentEvent()`; nil if they equal the
  /// snapshot's.
  final var slotsAtEventStart: [Slot]? {
    get {
      switch eventStart {
      case .snapshot: nil
      case .packed(let changes): changes.applied(to: storedSnapshot?.slots ?? [])
      case .decoded(let slots): slots
      }
    }
    set { eventStart = newValue.map { .decoded($0) } ?? .snapshot }
  }
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
    state = [.realized, .fresh]
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
    object.unpackedSlots = []
    object.state = []
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

  /// Called before the object is deleted, and also when the context merges its deletion by others. In that case its row
  /// is already missing, so an object whose values have not been read has none.
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
    realize(for: key)
  }

  /// Called after a property has been read.
  open func didAccessValue(forKey key: String?) {}

  /// Called before a property changes. Reads the object's row if the object is a fault.
  open func willChangeValue(forKey key: String) {
    ConcurrencyDebug.check(context)
    realize(for: key)
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
    realize(for: key)
    if let recorder { return recorder.answer(forKey: key, of: self) }
    return heldValue(at: position(of: key))
  }

  /// Sets a property without marking the object as updated and without changing an inverse relationship.
  ///
  /// - Parameters:
  ///   - value: the new value.
  ///   - key: the property's name.
  open func setPrimitiveValue(_ value: Any?, forKey key: String) {
    realize()
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
  final func realize(for key: String? = nil) {
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
    if snapshot.packed != nil {
      isPacked = true
      packedReads = 0
    } else {
      unpackedSlots = snapshot.slots
    }
    isRealized = true
    state.insert(.awakening)
    takeTransients()
    awakeFromFetch()
    let isSet = state.contains(.setWhileAwakening)
    state.subtract([.awakening, .setWhileAwakening])
    // The values that were set belong to no event that undo would revert.
    if isSet, isRealized { noteEventEnd() }
  }

  /// Records that a value has been set while `awakeFromFetch()` is running.
  final func noteSetWhileAwakening() { state.insert(.setWhileAwakening) }

  /// The values of an object that is not a fault, one for each property, in the order of the entity's `SlotTable`.
  final var slots: [Slot] {
    if !state.isDisjoint(with: [.packed, .fresh]) { fillSlots() }
    return unpackedSlots
  }

  /// Replaces all values. A fault gets its values this way without reading its row.
  final func setSlots(_ slots: [Slot]) {
    if case .packed = eventStart { takeSlots(of: storedSnapshot?.slots ?? []) }
    if !packedChanges.isEmpty { packedChanges = SlotChanges() }
    state.subtract([.packed, .fresh, .deferringRemovals])
    unpackedSlots = slots
    isRealized = true
  }

  /// Changes the values in place, without copying them.
  final func changeSlots<Result>(_ change: (inout [Slot]) -> Result) -> Result {
    if !state.isDisjoint(with: [.packed, .fresh]) { fillSlots() }
    return change(&unpackedSlots)
  }

  /// Sets a value without tracking the change.
  final func setSlot(_ slot: Slot, at position: Int) { changeSlots { $0[position] = slot } }

  private final func fillSlots() {
    if isPacked { return unpack() }
    state.remove(.fresh)
    unpackedSlots = table.defaults
  }

  /// Decodes the row, for the object and for the snapshot that its changes are compared with.
  private final func unpack() {
    let hadDeferredRemovals = hasDeferredRemovals
    hasDeferredRemovals = false
    let row = storedSnapshot?.slots ?? []
    takeSlots(of: row)
    storedSnapshot?.slots = row
    if hadDeferredRemovals { context?.removeDeferred(from: self) }
  }

  /// Ends the packed state. From now on, the values are those of the decoded row, with the changes applied.
  private final func takeSlots(of row: [Slot]) {
    isPacked = false
    unpackedSlots = packedChanges.applied(to: row)
    if case .packed(let changes) = eventStart { eventStart = .decoded(changes.applied(to: row)) }
    if !packedChanges.isEmpty { packedChanges = SlotChanges() }
  }

  /// Records the end of an event.
  final func noteEventEnd() {
    if !isPacked {
      eventStart = .decoded(slots)
    } else {
      eventStart = packedChanges.isEmpty ? .snapshot : .packed(packedChanges)
    }
  }

  /// Sets the slot of an attribute, unless the value is the same.
  final func replace(_ slot: Slot, at position: Int) {
    if replacePacked(by: slot, at: position) { return }
    changeSlots { $0[position].replace(by: slot) }
  }

  /// Sets the slot of an attribute without decoding the row.
  ///
  /// - Returns: false if that is impossible.
  private final func replacePacked(by slot: Slot, at position: Int) -> Bool {
    guard isPacked, !hasDeferredRemovals, let packed = storedSnapshot?.packed else { return false }
    if packedChanges[position] == nil {
      if packed.isSame(as: slot, at: position) { return true }
      if packedChanges.isFull { return false }
    }
    packedChanges.set(slot, at: position)
    return true
  }

  /// Records that a save has written the object's row. Changes are compared with its values from now on.
  ///
  /// - Parameter packer: an empty packer, with which the row of a packed object is made.
  final func noteWritten(version: Int64, _ packer: RowPacker) {
    if isPacked, let packed = storedSnapshot?.packed {
      hasDeferredRemovals = false
      if packed.version == version, packedChanges.isEmpty { return }
      storedSnapshot = RowSnapshot(packer.row(packed, version: version, changes: packedChanges))
      packedChanges = SlotChanges()
      return
    }
    let (id, slots) = (identifier, slots)
    if storedSnapshot?.renew(id: id, version: version, slots: slots) != true {
      storedSnapshot = RowSnapshot(id: id, version: version, slots: slots)
    }
  }

  /// Returns a slot. Decodes only this one of a packed row, unless the object is read often.
  final func slot(at position: Int) -> Slot {
    guard isPacked else {
      if state.contains(.fresh) { fillSlots() }
      return unpackedSlots[position]
    }
    if !packedChanges.isEmpty, let slot = packedChanges[position] { return slot }
    let readsAtOnce = min(table.count, Int(UInt8.max))
    guard hasDeferredRemovals || packedReads < readsAtOnce, let packed = snapshot?.packed else {
      return slots[position]
    }
    packedReads &+= 1
    return packed.slot(at: position)
  }
}
