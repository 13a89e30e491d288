// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The identity of an object as numbers: what sets and dictionaries inside the framework are keyed by.
struct ObjectKey: Hashable, Sendable {
  /// The store's number in this process; 0 for objects that no store has seen.
  let store: UInt32
  /// The root entity's number in its store; 0 for objects that no store has seen.
  let root: UInt32
  /// The primary key, or a number counted up over the process for objects that no store has seen.
  let number: Int64

  /// One number goes through the hash function, not three: keys are looked up for every row and every object.
  func hash(into hasher: inout Hasher) {
    hasher.combine(number ^ Int64(root) << 44 ^ Int64(store) << 54)
  }
}
