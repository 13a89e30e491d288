// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// The slots that differ from the row as it was read or saved; for a new object, from nothing.
  final func changedSlots() -> [Int] {
    guard isRealized else { return [] }
    guard let snapshot else {
      return slots.indices.filter { !isEmpty(slots[$0]) }
    }
    return slots.indices.filter { !slots[$0].isSame(as: snapshot.slots[$0]) }
  }

  /// The changed slots that a store keeps.
  final func changedStoredSlots() -> SlotSet {
    var changed = SlotSet()
    guard isRealized else { return changed }
    for position in slots.indices where !table.isTransient(at: position) {
      let hasChanged =
        if let snapshot { !slots[position].isSame(as: snapshot.slots[position]) } else { !isEmpty(slots[position]) }
      if hasChanged { changed.insert(position) }
    }
    return changed
  }

  private func isEmpty(_ slot: Slot) -> Bool {
    switch slot {
    case .null, .unread: true
    case .toMany(let members): members.isEmpty
    default: false
    }
  }

  /// Notes the object as updated.
  final func noteChange() {
    // Finding the context costs more than setting a value; it has nothing to note twice.
    if changes.contains(.updated), eventChanges.contains(.updated) { return }
    guard let context else { return }
    context.noteUpdate(self)
  }

  /// The properties changed since the object was fetched or saved, with their new values.
  public final func changedValues() -> [String: Any] {
    values(at: changedSlots(), in: slots)
  }

  /// The properties changed since the last `processPendingChanges()`, with the values they had then.
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    guard isRealized, let before = slotsAtEventStart ?? snapshot?.slots else { return [:] }
    return values(at: slots.indices.filter { !slots[$0].isSame(as: before[$0]) }, in: before)
  }

  /// The values as they were last fetched or saved; `NSNull` for properties without a value.
  ///
  /// - Parameter keys: the properties to give; nil for all.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    realize()
    let positions = keys.map { $0.map { position(of: $0) } } ?? Array(table.properties.indices)
    guard let snapshot else { return [:] }
    return values(at: positions, in: snapshot.slots)
  }

  private func values(at positions: [Int], in given: [Slot]) -> [String: Any] {
    var result: [String: Any] = [:]
    for position in positions {
      result[table.names[position]] = publicValue(of: given[position]) ?? NSNull()
    }
    return result
  }

  private func publicValue(of slot: Slot) -> Any? {
    switch slot {
    case .toOne(let id): context?.object(for: id)
    case .toMany(let members):
      members.isOrdered
        ? NSOrderedSet(array: members.ids.compactMap { context?.object(for: $0) })
        : NSSet(array: members.ids.compactMap { context?.object(for: $0) })
    default: slot.publicValue
    }
  }

  /// Puts a value into a slot and nothing else.
  final func storePrimitive(_ value: Any?, at position: Int) {
    switch table.properties[position] {
    case .attribute(let attribute):
      slots[position] = Misuse.stop { try slot(of: value, for: attribute) }
    case .relationship(let relationship) where !relationship.isToMany:
      slots[position] = (value as? NSManagedObject).map { .toOne($0.identifier) } ?? .null
      hold(value, at: position)
    case .relationship(let relationship):
      let objects: [Any] =
        (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? (value as? [Any]) ?? []
      let ids = objects.compactMap { ($0 as? NSManagedObject)?.identifier }
      slots[position] = .toMany(ToMany(ids, isOrdered: relationship.isOrdered))
      _ = heldMembers(at: position)
      holds?.update()
    }
  }
}
