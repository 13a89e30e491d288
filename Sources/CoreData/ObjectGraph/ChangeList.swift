// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The objects with unsaved changes, in the order in which they were first changed.
///
/// Each object knows its position, so that nothing has to be looked up when one is noted or forgotten.
struct ChangeList {
  /// Gaps below this number are not worth closing.
  private static let few = 64

  private var entries: [NSManagedObject?] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// All of them, in order.
  var objects: [NSManagedObject] { entries.compactMap { $0 } }

  func contains(_ object: NSManagedObject) -> Bool {
    entries.indices.contains(object.changePosition) && entries[object.changePosition] === object
  }

  /// Adds an object at the end; one that is here keeps its place.
  mutating func add(_ object: NSManagedObject) {
    if contains(object) { return }
    object.changePosition = entries.count
    entries.append(object)
    count += 1
  }

  mutating func remove(_ object: NSManagedObject) {
    guard contains(object) else { return }
    entries[object.changePosition] = nil
    count -= 1
    if count == 0 {
      entries = []
    } else if entries.count > ChangeList.few, count * 2 < entries.count {
      let left = objects
      for (position, object) in left.enumerated() { object.changePosition = position }
      entries = left
    }
  }

  mutating func removeAll() {
    entries = []
    count = 0
  }
}
