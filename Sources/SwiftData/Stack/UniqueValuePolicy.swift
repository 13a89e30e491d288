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
    get { (managed.mergePolicy as? UniqueValueMergePolicy)?.policy ?? .update }
    set { managed.mergePolicy = UniqueValueMergePolicy(newValue) }
  }
}

/// Resolves other conflicts as contexts do without it.
private final class UniqueValueMergePolicy: NSMergePolicy, @unchecked Sendable {
  // Immutable.

  let policy: ModelContext.UniqueValuePolicy

  init(_ policy: ModelContext.UniqueValuePolicy) {
    self.policy = policy
    super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  }

  override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
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
    try super.resolve(constraintConflicts: list)
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
