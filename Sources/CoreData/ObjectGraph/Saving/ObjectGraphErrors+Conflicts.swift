// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension ObjectGraphErrors {
  /// 133020: rows have changed in the store since they were read.
  static func mergeConflict(_ conflicts: [NSMergeConflict]) -> NSError {
    let named = conflicts.prefix(5).map { conflict in
      let uri = conflict.sourceObject.objectID.uriRepresentation().absoluteString
      return "\(uri) has been \(conflict.newVersionNumber == 0 ? "deleted" : "changed")"
    }
    return .cocoa(
      NSManagedObjectMergeError, "Could not merge changes.",
      reason: "Since they were read, \(named.joined(separator: "; "))\(conflicts.count > 5 ? "; and others" : "").",
      suggestion: "Refresh the objects and change them again, or set a merge policy.",
      [
        NSPersistentStoreSaveConflictsErrorKey: conflicts,
        NSAffectedObjectsErrorKey: conflicts.map(\.sourceObject),
      ])
  }

  /// 133021: objects have the same values under a uniqueness constraint.
  static func constraintConflict(_ conflicts: [NSConstraintConflict]) -> NSError {
    let named = conflicts.prefix(5).map { conflict in
      // The values themselves are in the conflicts; a reason is often logged.
      let objects = [conflict.databaseObject].compactMap { $0 } + conflict.conflictingObjects
      let uris = objects.map { $0.objectID.uriRepresentation().absoluteString }
      return "\(conflict.constraint.joined(separator: ", ")) of \(uris.joined(separator: " and "))"
    }
    return .cocoa(
      NSManagedObjectConstraintMergeError, "A uniqueness constraint is violated.",
      reason: "Several objects have the same values: "
        + "\(named.joined(separator: "; "))\(conflicts.count > 5 ? "; and others" : "").",
      suggestion: "Change the values, delete one of the objects, or set a merge policy.",
      [
        NSPersistentStoreSaveConflictsErrorKey: conflicts,
        NSAffectedObjectsErrorKey: conflicts.flatMap(\.conflictingObjects),
      ])
  }
}
