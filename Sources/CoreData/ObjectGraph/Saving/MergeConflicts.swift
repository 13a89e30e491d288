// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A row that has changed in the store since an object's values were read.
///
/// Differs from Apple: there is no row cache between contexts and stores. The cached snapshot is always the store's
/// current row, and the persisted snapshot is nil.
open class NSMergeConflict: NSObject {
  /// The object whose changes conflict with the row.
  public let sourceObject: NSManagedObject
  /// The object's values when it was last read or saved, by property name, with `NSNull` for missing values and
  /// identifiers for to-one relationships. To-many relationships are not included. Nil for a new object.
  public let objectSnapshot: [String: Any]?
  /// The values of the current row, as in `objectSnapshot`; nil if it has been deleted.
  public let cachedSnapshot: [String: Any]?
  /// The values of the row in the store, if another process has changed it after it was cached.
  public let persistedSnapshot: [String: Any]?
  /// The version of the current row; 0 if it has been deleted.
  public let newVersionNumber: Int
  /// The version on which the object's values are based.
  public let oldVersionNumber: Int
  /// The current row; nil if it has been deleted, or if the program has created the conflict.
  let row: RowSnapshot?

  /// Creates a conflict.
  ///
  /// - Parameters:
  ///   - srcObject: the object whose changes conflict.
  ///   - newvers: the version of the current row; 0 if it has been deleted.
  ///   - oldvers: the version on which the object's values are based.
  ///   - cachesnap: the values of the current row.
  ///   - persnap: the values in the store, if they differ from `cachesnap`.
  public init(
    source srcObject: NSManagedObject, newVersion newvers: Int, oldVersion oldvers: Int,
    cachedSnapshot cachesnap: [String: Any]?, persistedSnapshot persnap: [String: Any]?
  ) {
    sourceObject = srcObject
    objectSnapshot = srcObject.snapshot?.values
    cachedSnapshot = cachesnap
    persistedSnapshot = persnap
    newVersionNumber = newvers
    oldVersionNumber = oldvers
    row = nil
    super.init()
  }

  init(_ conflict: RowConflicts.Conflict, of object: NSManagedObject) {
    sourceObject = object
    objectSnapshot = object.snapshot?.values
    cachedSnapshot = conflict.stored?.values
    persistedSnapshot = nil
    newVersionNumber = conflict.stored.map { Int($0.version) } ?? 0
    oldVersionNumber = Int(conflict.expectedVersion)
    row = conflict.stored
    super.init()
  }

  open override var description: String {
    "NSMergeConflict for \(sourceObject.objectID) with oldVersion = \(oldVersionNumber) and newVersion = "
      + "\(newVersionNumber) and old object snapshot = \(objectSnapshot ?? [:]) and new cached row = "
      + "\(cachedSnapshot ?? [:])"
  }
}

/// Objects with the same values under a uniqueness constraint.
open class NSConstraintConflict: NSObject {
  /// The names of the properties, or paths of composite attributes' elements, whose combined values must be unique.
  public let constraint: [String]
  /// The values that the objects share, by the names and paths in `constraint`.
  public let constraintValues: [String: Any]
  /// The object for the store's row with these values; nil if only objects of the context have them.
  public let databaseObject: NSManagedObject?
  /// The values of the store's row, by property name.
  public let databaseSnapshot: [String: Any]?
  /// The objects of the context with these values.
  public let conflictingObjects: [NSManagedObject]
  /// The values of each of the conflicting objects, by property name.
  public let conflictingSnapshots: [[AnyHashable: Any]]

  /// Creates a conflict without objects.
  public override convenience init() {
    self.init(
      constraint: [], database: nil, databaseSnapshot: nil, conflicting: [], conflictingSnapshots: [])
  }

  /// Creates a conflict.
  ///
  /// - Parameters:
  ///   - contraint: the names of the properties whose combined values must be unique.
  ///   - databaseObject: the object for the store's row with these values.
  ///   - databaseSnapshot: the values of that row.
  ///   - conflictingObjects: the objects of the context with these values.
  ///   - conflictingSnapshots: the values of each of these objects: dictionaries by property name.
  public init(
    constraint contraint: [String], database databaseObject: NSManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
    conflicting conflictingObjects: [NSManagedObject], conflictingSnapshots: [Any]
  ) {
    constraint = contraint
    self.databaseObject = databaseObject
    self.databaseSnapshot = databaseSnapshot.map { snapshot in
      Dictionary(snapshot.compactMap { key, value in (key as? String).map { ($0, value) } }) { $1 }
    }
    self.conflictingObjects = conflictingObjects
    self.conflictingSnapshots = conflictingSnapshots.map { $0 as? [AnyHashable: Any] ?? [:] }
    let values = self.conflictingSnapshots.first ?? databaseSnapshot ?? [:]
    constraintValues = Dictionary(
      contraint.compactMap { path in Self.value(path, in: values).map { (path, $0) } }
    ) { $1 }
    super.init()
  }

  /// Returns the value of a property, or of an element of a composite attribute.
  private static func value(_ path: String, in values: [AnyHashable: Any]) -> Any? {
    let names = path.split(separator: ".").map(String.init)
    guard let first = names.first else { return nil }
    return names.dropFirst().reduce(values[first]) { ($0 as? NSDictionary)?[$1 as NSString] }
  }

  open override var description: String {
    "NSConstraintConflict for constraint \(constraint): database: \(databaseObject.map { "\($0.objectID)" } ?? "none"), "
      + "conflictingObjects: \(conflictingObjects.map(\.objectID))"
  }
}

extension RowSnapshot {
  /// The stored values by property name, except for to-many relationships.
  var values: [String: Any] { RowSnapshot.values(in: slots, of: id.entityDescription.slotTable) }

  /// Returns the stored values of slots by property name: `NSNull` for missing values, identifiers for to-one
  /// relationships.
  static func values(in slots: [Slot], of table: SlotTable) -> [String: Any] {
    var values: [String: Any] = [:]
    for position in slots.indices where !table.isTransient(at: position) {
      switch slots[position] {
      case .toMany, .unread: continue
      case .toOne(let id): values[table.names[position]] = id.current
      case .archived(let data):
        values[table.names[position]] = table.attribute(at: position).map { TransformableValues.decode(data, of: $0) }
      case let slot: values[table.names[position]] = slot.publicValue ?? NSNull()
      }
    }
    return values
  }
}
