// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

extension NSManagedObjectContext {
  /// Makes the next `save()` check an unchanged object for changes or its deletion in the store, or in the parent,
  /// since it was read. A conflict is resolved by the merge policy, or fails the save. Changed objects are always
  /// checked.
  ///
  /// - Parameter object: an object of this context.
  public func detectConflicts(for object: NSManagedObject) {
    ConcurrencyDebug.check(self)
    trap(
      unless: object.context === self, "The object \(object.objectID) belongs to another context: mark it there.")
    object.fireFault()
    if !conflictChecks.contains(where: { $0 === object }) { conflictChecks.append(object) }
  }
}

/// The check of unchanged objects marked by `detectConflicts(for:)`, during one save.
final class ConflictCheck {
  private let context: NSManagedObjectContext
  private let objects: [NSManagedObject]
  private var rows: [RowSnapshot?] = []

  init(_ context: NSManagedObjectContext) {
    self.context = context
    objects = context.conflictChecks.filter { !$0.hasChanges && $0.isRealized && $0.snapshot != nil }
  }

  var isEmpty: Bool { objects.isEmpty }

  /// Returns whether an object of a store is checked.
  func concerns(_ store: NSPersistentStore) -> Bool { objects.contains { $0.identifier.persistentStore === store } }

  /// Compares the objects with their rows; in a context with a parent, with the parent's values.
  ///
  /// - Throws: 133020 for a conflict, if the context's merge policy is `error`; errors of reading rows.
  func run() throws {
    guard !objects.isEmpty else { return }
    if let parent = context.parent {
      rows = try objects.map { try ParentReader(parent: parent).row(for: $0.identifier) }
    } else {
      rows = try objects.map { try context.coordinator.row(for: $0.identifier, in: context) }
    }
    let policy = (context.mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    guard policy == .errorMergePolicyType else { return }
    let conflicts = zip(objects, rows).filter { !isCurrent($0, $1) }.map { object, row in
      RowConflicts.Conflict(id: object.identifier, expectedVersion: object.snapshot?.version ?? 0, stored: row)
    }
    guard conflicts.isEmpty else {
      throw ObjectGraphErrors.mergeConflict(conflicts.map { NSMergeConflict($0, of: context.object(for: $0.id)) })
    }
  }

  /// Updates the objects with what was found, after the save has succeeded.
  func finish() {
    context.conflictChecks = []
    for (object, row) in zip(objects, rows) where object.context === context && !isCurrent(object, row) {
      if let row { object.turnIntoFault(keeping: row, keepsTransients: true) } else { context.noteInaccessible(object) }
    }
  }

  private func isCurrent(_ object: NSManagedObject, _ row: RowSnapshot?) -> Bool {
    guard let row, let snapshot = object.snapshot else { return false }
    if context.parent == nil { return row.version == snapshot.version }
    return zip(row.slots, snapshot.slots).allSatisfy { new, old in
      if case .unread = new { return true }
      if case .unread = old { return true }
      return new.isSame(as: old)
    }
  }
}
