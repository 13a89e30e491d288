// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Changed values of an object, which have been saved.
struct ObjectEdit {
  let changes: [ValueChange]
  /// The other objects that have changed.
  let affected: AffectedObjects
  let backup: URL?

  /// Sets values of an object, and saves them.
  ///
  /// - Returns: nil if the object has these values already.
  /// - Throws: `CommandFailure` for a wrong value or a broken rule. Nothing was changed.
  init?(setting assignments: [Assignment], of object: NSManagedObject, in store: EditableStore) throws {
    let before = try ObjectSnapshot(object)
    for assignment in assignments { try assignment.apply(to: object, in: store) }
    store.context.processPendingChanges()
    guard store.hasChanges else { return nil }
    affected = AffectedObjects(in: store.context, besides: [object])
    backup = try store.save()
    // The values as the store has them, which may have fewer digits.
    store.context.refreshAllObjects()
    changes = try before.changes(to: ObjectSnapshot(object))
  }
}

/// The deletion of objects by the rules of the model, which has not been saved.
struct ObjectDeletion {
  /// An object that is deleted, described while it still exists.
  struct Deleted {
    let entity: String
    let id: String
    let uri: String
    let isNamed: Bool
  }

  let deleted: [Deleted]
  /// The objects that have changed.
  let affected: AffectedObjects

  init(of named: Set<NSManagedObject>, in store: EditableStore) throws {
    for object in named { store.context.delete(object) }
    store.context.processPendingChanges()
    deleted = store.context.deletedObjects.inExportOrder().map { object in
      Deleted(
        entity: object.entity.name ?? "", id: object.shortID,
        uri: object.objectID.uriRepresentation().absoluteString, isNamed: named.contains(object))
    }
    affected = AffectedObjects(in: store.context, besides: [])
  }
}
