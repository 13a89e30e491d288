// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContext {
  /// What saving does with a new model whose unique values a stored model, or another new one, has. An addition to
  /// Apple's API.
  public enum UniqueValuePolicy: Sendable {
    /// The stored model gets the values of the new one that are not nil, and the new one is dropped. The default, as in
    /// Apple's framework.
    case update
    /// As `update`, and a function is called with a sentence for each such model.
    case updateReporting(@Sendable (String) -> Void)
    /// `save()` throws `SwiftDataError.modelValidationFailure`, caused by Core Data's error 133021, and the changes
    /// stay unsaved.
    case refuse
  }

  /// What saving does with a new model whose unique values another one has; `update` by default. An addition to Apple's
  /// API.
  public var uniqueValuePolicy: UniqueValuePolicy {
    get { core.mergePolicy.policy }
    set { core.mergePolicy.policy = newValue }
  }
}

/// The merge policy of contexts: an inserted model with the unique values of a row changes that row, or is refused.
///
/// Remembers which rows a save has dropped, so that their models can take the kept rows.
final class UniqueValueMergePolicy: NSMergePolicy, @unchecked Sendable {
  // Belongs to one context, and is called only by its saves.

  var policy = ModelContext.UniqueValuePolicy.update
  private var dropped: [(row: ModelRow, kept: ModelRow)] = []

  init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }

  override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    try check(list)
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

  /// Reports the conflicts, or refuses them.
  private func check(_ list: [NSConstraintConflict]) throws {
    switch policy {
    case .update: break
    case .updateReporting(let report): for conflict in list { report(Self.sentence(conflict)) }
    case .refuse:
      do {
        try NSMergePolicy.error.resolve(constraintConflicts: list)
      } catch {
        let first = list.first
        throw SwiftDataError(
          .modelValidationFailure, list.map(Self.sentence).joined(separator: " "), cause: error,
          entity: first.flatMap(Self.entity), property: first?.constraint.first)
      }
    }
  }

  private static func entity(_ conflict: NSConstraintConflict) -> String? {
    (conflict.databaseObject ?? conflict.conflictingObjects.first)?.entity.name
  }

  private static func sentence(_ conflict: NSConstraintConflict) -> String {
    let entity = entity(conflict) ?? ""
    let values = conflict.constraint.map { name in
      "'\(entity).\(name)' = \(conflict.constraintValues[name].map { "\($0)" } ?? "nil")"
    }
    let stored = conflict.databaseObject?.objectID
    let other =
      stored.map { "the stored model \($0.uriRepresentation().absoluteString) has" }
      ?? "\(conflict.conflictingObjects.count) new models have"
    return "A new model has unique values that \(other) too: \(values.joined(separator: ", "))."
  }
}
