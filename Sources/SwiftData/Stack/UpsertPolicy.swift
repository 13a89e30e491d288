// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The merge policy of contexts: an inserted model with the unique values of a row changes that row.
///
/// Remembers which rows a save has dropped, so that their models can take the kept rows.
final class UpsertPolicy: NSMergePolicy, @unchecked Sendable {
  // Belongs to one context, and is called only by its saves.

  private var dropped: [(row: ModelRow, kept: ModelRow)] = []

  init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }

  override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    let candidates = list.map { $0.conflictingObjects.filter { $0.managedObjectContext != nil } }
    try super.resolve(constraintConflicts: list)
    for (conflict, objects) in zip(list, candidates) {
      guard
        let kept = ([conflict.databaseObject] + objects).lazy.compactMap({ $0 })
          .first(where: { $0.managedObjectContext != nil && !$0.isDeleted }) as? ModelRow
      else { continue }
      for case let row as ModelRow in objects where row.managedObjectContext == nil { dropped.append((row, kept)) }
    }
  }

  /// Gives the models of dropped rows the rows that were kept, and returns these. Called after a successful save.
  func moveModels() -> [ModelRow] {
    defer { dropped = [] }
    let kept = Dictionary(dropped.map { (ObjectIdentifier($0.row), $0.kept) }, uniquingKeysWith: { first, _ in first })
    return dropped.map { row, first in
      var target = first
      // A row that was kept by one constraint may have been dropped by another.
      while let next = kept[ObjectIdentifier(target)], next !== target { target = next }
      // A model of a subclass cannot show a row of its superclass.
      if target.entity.isKindOf(entity: row.entity) { row.storage?.move(to: target) }
      return target
    }
  }

  /// Forgets what a failed save has dropped, since the context has restored it.
  func forget() { dropped = [] }
}
