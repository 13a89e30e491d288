// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

extension NSManagedObject {
  /// Rarely used state, allocated on demand.
  final class ExtraState {
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

  /// Returns the object's extra state, and allocates it if there is none.
  final func makeExtraState() -> ExtraState {
    if let extraState { return extraState }
    let made = ExtraState()
    extraState = made
    return made
  }

  /// Records that the program has asked for an unreadable value, and got none.
  final func noteReading(_ value: UnreadableValue, at position: Int) {
    makeExtraState().missedPositions.insert(position)
    guard let context, context.throwsForUnreadableValues, context.readingFailure == nil else { return }
    context.readingFailure = SQLiteStoreErrors.error(for: value.problem, url: identifier.persistentStore?.url)
  }

  /// The unreadable values that the program has asked for, with their attributes.
  final var missedValues: [(attribute: NSAttributeDescription, value: UnreadableValue)] {
    guard let extraState, !extraState.missedPositions.isEmpty else { return [] }
    return extraState.missedPositions.sorted().compactMap { position in
      guard case .object(let value as UnreadableValue) = slot(at: position),
        let attribute = table.attribute(at: position)
      else { return nil }
      return (attribute, value)
    }
  }

  /// The fetch batch in which the fault's row is read; nil for most objects.
  final var batch: FetchBatch? {
    get { extraState?.batch }
    set { if newValue != nil || extraState != nil { makeExtraState().batch = newValue } }
  }

  /// The recorder that evaluates a key path on this object, which then has no values; nil for other objects.
  final var recorder: KeyPathRecorder? {
    get { extraState?.recorder }
    set { makeExtraState().recorder = newValue }
  }

  /// Whether the object counts as deleted because its row was missing when its fault fired.
  final var isInaccessibleFault: Bool {
    get { isInaccessible && extraState?.isInaccessibleFault == true }
    set { if newValue || extraState != nil { makeExtraState().isInaccessibleFault = newValue } }
  }

  /// Runs a body in which the methods for undefined keys report a refused key instead of trapping.
  ///
  /// - Returns: the body's result, and the refused key; nil if the class defines it.
  final func probing<Result>(_ body: () -> Result) -> (result: Result, refused: String?) {
    let (state, probe) = (makeExtraState(), UndefinedKeyProbe())
    let outer = state.probe
    state.probe = probe
    defer { state.probe = outer }
    return (body(), probe.refused)
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
    if !transients.isEmpty || extraState != nil { makeExtraState().transients = transients }
  }

  /// Restores the saved transient values of an object whose fault has just fired.
  final func restoreTransients() {
    guard let extraState, !extraState.transients.isEmpty else { return }
    for (position, slot) in extraState.transients {
      if position < table.firstRelationship { replace(slot, at: position) } else { setSlot(slot, at: position) }
    }
    extraState.transients = []
    noteSetWhileAwakening()
  }
}
