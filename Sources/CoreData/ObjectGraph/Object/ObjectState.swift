// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes

/// Where an object has its values.
///
/// Only this file changes it. The functions that lead from one case of `Values` to another:
///
/// | from | to | by |
/// | --- | --- | --- |
/// | (a new object) | `new` | the initializer, `becomeNew()` |
/// | any | `fault` | `becomeFault(keeping:)` |
/// | `fault` | `packed`, `decoded` | `takeValues(of:)`, when the fault fires |
/// | `packed` | `edited` | `replace(_:at:)` |
/// | `packed` | `removing` | `deferRemoval(of:at:)` |
/// | `packed`, `edited`, `removing` | `packed` | `noteWritten(version:_:)`, after a save |
/// | all but `fault` | `decoded` | `decode()`, before any other change and when all `slots` are read |
/// | any | `decoded` | `setSlots(_:)` |
struct ObjectState {
  /// The cases own what belongs to them. What changes in place is in a class, so that reading it copies nothing, and
  /// faults and unchanged objects stay small.
  enum Values {
    /// The values have not been read. The row is kept if it has been read before the values are needed.
    case fault(RowSnapshot?)
    /// The values are those of the row, and are decoded one by one when they are read.
    case packed(PackedRow)
    /// The values are those of the row, except for a few changed attributes.
    case edited(EditedRow)
    /// The values are those of the row, but the running save removes members from relationships that have not been read.
    case removing(DeferredRemovals)
    /// The values are the defaults of the entity.
    case new
    /// One slot for each property.
    case decoded(DecodedValues)
  }

  fileprivate(set) var values = Values.new
  /// The number of values that have been decoded one by one from the packed row.
  fileprivate var reads: UInt8 = 0

  /// The values, as far as they are known, in slots; nil for those of the entity's defaults and of a fault without a row.
  var knownSlots: [Slot]? {
    switch values {
    case .fault(let row): row?.slots
    case .packed(let row): row.slots
    case .edited(let edited): edited.changes.applied(to: edited.row.slots)
    case .removing(let removals): removals.row.slots
    case .new: nil
    case .decoded(let decoded): decoded.slots
    }
  }

  /// Returns a state that does not change together with the object.
  func copy() -> ObjectState {
    var copy = self
    switch values {
    case .fault, .packed, .new: break
    case .edited(let edited): copy.values = .edited(edited.copy())
    case .removing(let removals): copy.values = .removing(DeferredRemovals(removals.row, removals.members))
    case .decoded(let decoded): copy.values = .decoded(decoded.copy())
    }
    return copy
  }
}

/// A packed row with changed attributes.
final class EditedRow {
  let row: PackedRow
  @exclusivity(unchecked) fileprivate(set) var changes = SlotChanges()
  /// The changes at the last `processPendingChanges()`; empty if the values were those of the row.
  @exclusivity(unchecked) fileprivate(set) var changesAtEventStart = SlotChanges()

  fileprivate init(_ row: PackedRow) { self.row = row }

  fileprivate func copy() -> EditedRow {
    let copy = EditedRow(row)
    (copy.changes, copy.changesAtEventStart) = (changes, changesAtEventStart)
    return copy
  }

  /// The positions of attributes that differ from the row. A changed one may have been set back.
  var changedPositions: SlotSet {
    var changed = SlotSet()
    changes.forEach { if !row.isSame(as: $1, at: $0) { changed.insert($0) } }
    return changed
  }
}

/// A packed row, and the members that the running save has removed from its to-many relationships without reading them.
///
/// Deleting an object changes the relationships that refer to it, and increments the versions of their owners' rows. If
/// the store keeps the relationship in the members' rows, nothing else is needed. Reading all members of every owner,
/// only to remove one, would take most of the time of a save. So a save records the removals. Reading the owner's
/// values first faults in the members and applies pending removals.
final class DeferredRemovals {
  let row: PackedRow
  @exclusivity(unchecked) fileprivate(set) var members: [(position: Int, member: NSManagedObject)]

  fileprivate init(_ row: PackedRow, _ members: [(position: Int, member: NSManagedObject)]) {
    (self.row, self.members) = (row, members)
  }

  /// The relationships that have lost members.
  var positions: SlotSet { SlotSet(members.map(\.position)) }
}

/// Values in slots.
final class DecodedValues {
  /// One slot for each property, in the order of the entity's `SlotTable`.
  @exclusivity(unchecked) fileprivate(set) var slots: [Slot]
  /// The slots at the last `processPendingChanges()`; nil if they equal those of the row.
  @exclusivity(unchecked) fileprivate(set) var slotsAtEventStart: [Slot]?
  /// The row as last read or saved; nil for a new object.
  @exclusivity(unchecked) fileprivate(set) var row: RowSnapshot?

  fileprivate init(_ slots: [Slot], slotsAtEventStart: [Slot]? = nil, row: RowSnapshot?) {
    (self.slots, self.slotsAtEventStart, self.row) = (slots, slotsAtEventStart, row)
  }

  /// Decodes a row, for the values and for the snapshot that they are compared with.
  fileprivate init(_ row: PackedRow) {
    slots = row.slots
    var snapshot = RowSnapshot(row)
    snapshot.slots = slots
    self.row = snapshot
  }

  fileprivate convenience init(_ edited: EditedRow) {
    self.init(edited.row)
    let (stored, start) = (slots, edited.changesAtEventStart)
    slots = edited.changes.applied(to: stored)
    slotsAtEventStart = start.isEmpty ? nil : start.applied(to: stored)
  }

  fileprivate func copy() -> DecodedValues {
    DecodedValues(slots, slotsAtEventStart: slotsAtEventStart, row: row)
  }
}

// MARK: What an object has

extension NSManagedObject {
  /// Whether the object has values; false for a fault.
  final var isRealized: Bool {
    if case .fault = state.values { false } else { true }
  }

  /// Whether the values are in slots of the object's own.
  final var isDecoded: Bool {
    if case .decoded = state.values { true } else { false }
  }

  /// The row that the values are decoded from one by one; nil if they are not in a packed row.
  final var packedRow: PackedRow? {
    switch state.values {
    case .packed(let row): row
    case .edited(let edited): edited.row
    case .removing(let removals): removals.row
    case .fault, .new, .decoded: nil
    }
  }

  /// The row as last read or saved; nil for a new object and for a fault whose row has not been read.
  final var snapshot: RowSnapshot? {
    get {
      switch state.values {
      case .fault(let row): row
      case .packed(let row): RowSnapshot(row)
      case .edited(let edited): RowSnapshot(edited.row)
      case .removing(let removals): RowSnapshot(removals.row)
      case .new: nil
      case .decoded(let decoded): decoded.row
      }
    }
    set {
      // The values do not change, whatever they are compared with from now on.
      if isRealized { decoded.row = newValue } else { state.values = .fault(newValue) }
    }
  }

  /// The values, one for each property, in the order of the entity's `SlotTable`; empty for a fault.
  final var slots: [Slot] {
    switch state.values {
    case .decoded(let decoded): return decoded.slots
    case .fault: return []
    case .new: return table.defaults
    case .packed, .edited, .removing: return decode().slots
    }
  }

  /// Returns a slot. Decodes only this one of a packed row, unless the object is read often.
  final func slot(at position: Int) -> Slot {
    switch state.values {
    case .decoded(let decoded): return decoded.slots[position]
    case .packed(let row):
      if countRead() { return row.slot(at: position) }
    case .edited(let edited):
      if let slot = edited.changes[position] { return slot }
      if countRead() { return edited.row.slot(at: position) }
    case .removing(let removals): return removals.row.slot(at: position)
    case .fault, .new: break
    }
    return slots[position]
  }

  /// Counts a value that is decoded alone.
  ///
  /// - Returns: false after as many as the object has values. Decoding them all is faster then.
  private final func countRead() -> Bool {
    if Int(state.reads) >= min(table.count, Int(UInt8.max)) { return false }
    state.reads &+= 1
    return true
  }

  /// The slots at the last `processPendingChanges()`, for `changedValuesForCurrentEvent()`; nil if they equal the
  /// snapshot's.
  final var slotsAtEventStart: [Slot]? {
    get {
      switch state.values {
      case .edited(let edited):
        edited.changesAtEventStart.isEmpty ? nil : edited.changesAtEventStart.applied(to: edited.row.slots)
      case .decoded(let decoded): decoded.slotsAtEventStart
      case .fault, .packed, .removing, .new: nil
      }
    }
    set {
      if let newValue { decoded.slotsAtEventStart = newValue } else { forgetEventStart() }
    }
  }
}

// MARK: From one state to another

extension NSManagedObject {
  /// Takes the values from the entity's defaults, as an object that has just been created.
  final func becomeNew() { state.values = .new }

  /// Drops the values.
  ///
  /// - Parameter row: the row from which to take the values when the fault fires; nil to read it then.
  final func becomeFault(keeping row: RowSnapshot?) { state.values = .fault(row) }

  /// Gives a fault the values of its row.
  final func takeValues(of row: RowSnapshot) {
    state.reads = 0
    if let packed = row.packed {
      state.values = .packed(packed)
    } else {
      state.values = .decoded(DecodedValues(row.slots, row: row))
    }
  }

  /// Replaces all values, and keeps the row that they are compared with. A fault gets values without reading its row.
  final func setSlots(_ slots: [Slot]) {
    state.values = .decoded(DecodedValues(slots, slotsAtEventStart: slotsAtEventStart, row: snapshot))
  }

  /// Sets a slot without tracking the change.
  final func setSlot(_ slot: Slot, at position: Int) { decoded.slots[position] = slot }

  /// Changes slots in place, without copying them.
  final func changeSlots(_ change: (inout [Slot]) -> Void) { change(&decoded.slots) }

  /// Changes the slots and those at the start of the event in the same way. Leaves out packed rows and their changes.
  ///
  /// - Parameter includesRow: whether to change the slots of the snapshot, too.
  /// - Returns: whether a change has returned true.
  final func changeAllSlots(includesRow: Bool, _ change: (inout [Slot]) -> Bool) -> Bool {
    switch state.values {
    case .packed, .edited, .removing, .new: return false
    case .fault(let row):
      guard includesRow, var row, row.packed == nil, change(&row.slots) else { return false }
      state.values = .fault(row)
      return true
    case .decoded(let decoded):
      var hasChanged = change(&decoded.slots)
      if decoded.slotsAtEventStart != nil { hasChanged = change(&decoded.slotsAtEventStart!) || hasChanged }
      let hasRow = decoded.row != nil && decoded.row?.packed == nil
      if includesRow, hasRow { hasChanged = change(&decoded.row!.slots) || hasChanged }
      return hasChanged
    }
  }

  /// Sets the slot of an attribute, unless the value is the same. Does not decode a packed row for a few of them.
  final func replace(_ slot: Slot, at position: Int) {
    switch state.values {
    case .packed(let row):
      if row.isSame(as: slot, at: position) { return }
      let edited = EditedRow(row)
      edited.changes.set(slot, at: position)
      state.values = .edited(edited)
    case .edited(let edited):
      let isChanged = edited.changes[position] != nil
      if !isChanged, edited.row.isSame(as: slot, at: position) { return }
      if !isChanged, edited.changes.isFull { return decoded.slots[position].replace(by: slot) }
      edited.changes.set(slot, at: position)
    case .fault, .removing, .new, .decoded: decoded.slots[position].replace(by: slot)
    }
  }

  /// Sets the members of a to-many relationship that have been read from the store. Reading is no change: the row gets
  /// them too.
  final func setReadMembers(_ members: ToMany, at position: Int) {
    let (read, decoded) = (Slot.toMany(members), decoded)
    decoded.slots[position] = read
    decoded.row?.slots[position] = read
    if case .unread? = decoded.slotsAtEventStart?[position] { decoded.slotsAtEventStart?[position] = read }
  }

  /// Sets the members of a to-many relationship that have been read from the store after it looked empty for a time.
  ///
  /// - Parameter removed: the members that have left it meanwhile.
  final func setReadMembers(_ members: ToMany, removing removed: [NSManagedObject], at position: Int) {
    let decoded = decoded
    func rebased(_ slot: Slot) -> Slot {
      guard case .toMany(let added) = slot else { return slot }
      return .toMany(added.rebased(from: ToMany(isOrdered: members.isOrdered), onto: members))
    }
    decoded.row?.slots[position] = .toMany(members)
    if let start = decoded.slotsAtEventStart?[position] { decoded.slotsAtEventStart?[position] = rebased(start) }
    guard case .toMany(var current) = rebased(decoded.slots[position]) else { return }
    for member in removed { _ = current.remove(member.identifier) }
    decoded.slots[position] = .toMany(current)
  }

  /// Makes a to-many relationship unread, without its changes.
  final func forgetMembers(at position: Int) {
    let decoded = decoded
    decoded.slots[position] = .unread
    decoded.row?.slots[position] = .unread
    if decoded.slotsAtEventStart != nil { decoded.slotsAtEventStart?[position] = .unread }
  }

  /// Records that a member leaves a relationship that has not been read.
  ///
  /// - Returns: whether it is the first one.
  final func deferRemoval(of member: NSManagedObject, at position: Int) -> Bool {
    switch state.values {
    case .packed(let row):
      state.values = .removing(DeferredRemovals(row, [(position, member)]))
      return true
    case .removing(let removals):
      removals.members.append((position, member))
      return false
    case .fault, .edited, .new, .decoded:
      trap("Only a relationship of an unchanged packed row can lose a member without being read.")
    }
  }

  /// Reads the relationships from which members have been removed without reading them, and removes the members.
  final func applyDeferredRemovals() {
    if case .removing = state.values { _ = decode() }
  }

  /// Records the end of an event.
  final func noteEventEnd() {
    switch state.values {
    case .fault, .packed, .removing: break
    case .edited(let edited): edited.changesAtEventStart = edited.changes
    case .new, .decoded:
      let decoded = decoded
      decoded.slotsAtEventStart = decoded.slots
    }
  }

  /// Forgets the slots at the start of the event. They equal those of the snapshot from now on.
  final func forgetEventStart() {
    switch state.values {
    case .fault, .packed, .removing, .new: break
    case .edited(let edited): edited.changesAtEventStart = SlotChanges()
    case .decoded(let decoded): decoded.slotsAtEventStart = nil
    }
  }

  /// Records that a save has written the object's row. Changes are compared with its values from now on.
  ///
  /// - Parameter packer: an empty packer, with which the row of a packed object is made.
  final func noteWritten(version: Int64, _ packer: RowPacker) {
    if let row = packedRow {
      var changes = SlotChanges()
      if case .edited(let edited) = state.values { changes = edited.changes }
      let isSame = row.version == version && changes.isEmpty
      state.values = .packed(isSame ? row : packer.row(row, version: version, changes: changes))
      return
    }
    let (id, decoded) = (identifier, decoded)
    if decoded.row?.renew(id: id, version: version, slots: decoded.slots) != true {
      decoded.row = RowSnapshot(id: id, version: version, slots: decoded.slots)
    }
  }

  /// The values in slots, which change in place. Puts them there if they are elsewhere.
  private final var decoded: DecodedValues {
    if case .decoded(let decoded) = state.values { return decoded }
    return decode()
  }

  private final func decode() -> DecodedValues {
    let made: DecodedValues
    switch state.values {
    case .fault: trap("The values of a fault cannot be changed: its row has not been read.")
    case .packed(let row): made = DecodedValues(row)
    case .edited(let edited): made = DecodedValues(edited)
    case .removing(let removals):
      state.values = .decoded(DecodedValues(removals.row))
      remove(removals.members)
      return decoded
    case .new: made = DecodedValues(table.defaults, row: nil)
    case .decoded(let decoded): return decoded
    }
    state.values = .decoded(made)
    return made
  }

  /// Removes members from relationships that have not been read. Does nothing for an object without a context.
  private final func remove(_ members: [(position: Int, member: NSManagedObject)]) {
    if context == nil { return }
    for (position, member) in members {
      readRelationship(at: position)
      removeUnnoted(member, at: position)
    }
    // The event of the removals has ended.
    if eventChanges.isEmpty { noteEventEnd() }
  }
}
