// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

extension NSManagedObject {
  /// Rarely used state, allocated on demand.
  final class Rarities {
    /// Replaced identifiers and registries, retained for the object's lifetime.
    var replaced: [AnyObject] = []
    var batch: FetchBatch?
    var recorder: KeyPathRecorder?
    /// Transient values of a fault, restored when the fault fires.
    var transients: [(position: Int, slot: Slot)] = []
    var isInaccessibleFault = false
    var probe: UndefinedKeyProbe?
    /// The positions of unreadable values that the program has asked for.
    var missedPositions: Set<Int> = []
  }

  /// Records that the program has asked for an unreadable value, and got none.
  final func noteReading(_ value: UnreadableValue, at position: Int) {
    rarities = rarities ?? Rarities()
    rarities?.missedPositions.insert(position)
    guard let context, context.throwsForUnreadableValues, context.readingFailure == nil else { return }
    context.readingFailure = SQLiteStoreErrors.error(for: value.problem, url: identifier.persistentStore?.url)
  }

  /// The unreadable values that the program has asked for, with their attributes.
  final var missedValues: [(attribute: NSAttributeDescription, value: UnreadableValue)] {
    guard let rarities, !rarities.missedPositions.isEmpty else { return [] }
    return rarities.missedPositions.sorted().compactMap { position in
      guard case .object(let value as UnreadableValue) = slot(at: position),
        let attribute = table.attribute(at: position)
      else { return nil }
      return (attribute, value)
    }
  }

  /// The fetch batch in which the fault's row is read; nil for most objects.
  final var batch: FetchBatch? {
    get { rarities?.batch }
    set {
      if newValue == nil, rarities == nil { return }
      rarities = rarities ?? Rarities()
      rarities?.batch = newValue
    }
  }
  /// The recorder that evaluates a key path on this object, which then has no values; nil for other objects.
  final var recorder: KeyPathRecorder? {
    get { rarities?.recorder }
    set {
      rarities = rarities ?? Rarities()
      rarities?.recorder = newValue
    }
  }

  /// Whether the object counts as deleted because its row was missing when its fault fired.
  final var isInaccessibleFault: Bool {
    get { isInaccessible && rarities?.isInaccessibleFault == true }
    set {
      if !newValue, rarities == nil { return }
      rarities = rarities ?? Rarities()
      rarities?.isInaccessibleFault = newValue
    }
  }

  /// Saves the transient values of an object that becomes a fault, except those that a newly fetched object has.
  ///
  /// - Parameter isKeeping: false to drop them.
  final func noteTransients(isKeeping: Bool) {
    var transients: [(position: Int, slot: Slot)] = []
    if isKeeping {
      for position in table.transients {
        let slot = slot(at: position)
        if !slot.isSame(as: table.defaults[position]) { transients.append((position, slot)) }
      }
    }
    if transients.isEmpty, rarities == nil { return }
    rarities = rarities ?? Rarities()
    rarities?.transients = transients
  }

  /// Restores the saved transient values of an object whose fault has just fired.
  final func takeTransients() {
    guard let rarities, !rarities.transients.isEmpty else { return }
    for (position, slot) in rarities.transients {
      if position < table.firstRelationship { replace(slot, at: position) } else { slots[position] = slot }
    }
    rarities.transients = []
    noteSetWhileAwakening()
  }
}
