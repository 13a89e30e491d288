// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The event that has changed several properties of an object at once.
public struct NSSnapshotEventType: OptionSet, Hashable, Sendable {
  /// The raw value.
  public let rawValue: UInt

  /// Creates a set of events from its raw value.
  public init(rawValue: UInt) {
    self.rawValue = rawValue
  }

  /// The insertion of the object has been undone, or its deletion redone.
  public static let undoInsertion = NSSnapshotEventType(rawValue: 1 << 1)
  /// The deletion of the object has been undone, or its insertion redone.
  public static let undoDeletion = NSSnapshotEventType(rawValue: 1 << 2)
  /// Changes of the object have been undone or redone.
  public static let undoUpdate = NSSnapshotEventType(rawValue: 1 << 3)
  /// The context has been rolled back.
  public static let rollback = NSSnapshotEventType(rawValue: 1 << 4)
  /// The object has been refreshed, with its changes kept.
  public static let refresh = NSSnapshotEventType(rawValue: 1 << 5)
  /// A merge policy has resolved a conflict of the object.
  public static let mergePolicy = NSSnapshotEventType(rawValue: 1 << 6)
}

/// The way in which the members of a to-many relationship change together.
///
/// Foundation on Linux lacks this type. This one has Apple's name and values.
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  /// Members are added.
  case union = 1
  /// Members are removed.
  case minus = 2
  /// Members that are not among the objects are removed.
  case intersect = 3
  /// The objects replace the members.
  case set = 4
}
