// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The few slots of an object that differ from its packed row. Avoids decoding the others.
package struct SlotChanges {
  /// The maximum number of changes. Decoding the row is faster than searching more of them.
  private static let limit = 8

  private var members: [(position: Int, slot: Slot)] = []

  package init() {}

  package var isEmpty: Bool { members.isEmpty }
  package var isFull: Bool { members.count >= Self.limit }

  /// Calls a body with each slot, in the order in which they were first changed.
  package func forEach(_ body: (Int, Slot) -> Void) {
    for (position, slot) in members { body(position, slot) }
  }

  /// Returns the changed slot at a position; nil if it is unchanged.
  package subscript(position: Int) -> Slot? {
    for member in members where member.position == position { return member.slot }
    return nil
  }

  /// Changes a slot.
  package mutating func set(_ slot: Slot, at position: Int) {
    if let index = members.firstIndex(where: { $0.position == position }) {
      members[index].slot = slot
    } else if members.isEmpty {
      // Appending would reserve space for more, and usually there is only one.
      members = [(position, slot)]
    } else {
      members.append((position, slot))
    }
  }

  /// Returns the slots of a row with the changes applied.
  package func applied(to row: [Slot]) -> [Slot] {
    var slots = row
    for (position, slot) in members { slots[position] = slot }
    return slots
  }
}
