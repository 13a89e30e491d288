// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A policy for resolving conflicts between a context's changes and those saved by others in the meantime. Immutable;
/// contexts on several queues may share a policy.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  /// The type of the policy.
  public let mergeType: NSMergePolicyType

  /// Creates a policy.
  ///
  /// - Parameter ty: the type of the policy.
  public init(merge ty: NSMergePolicyType) {
    mergeType = ty
    super.init()
  }

  /// Resolves the conflicts of a save. Called by the save while it holds the coordinator's lock; the save then writes
  /// again.
  ///
  /// Override this method, or one of those that it calls, to resolve conflicts in another way: change the objects, and
  /// call `super`, which applies the policy's type to the remaining conflicts.
  ///
  /// - Parameter list: `NSMergeConflict`s and `NSConstraintConflict`s.
  /// - Throws: 133020 or 133021 for conflicts that the policy does not resolve. The save then fails, and its context is
  ///   restored.
  open func resolve(mergeConflicts list: [Any]) throws {
    let changedRows = list.compactMap { $0 as? NSMergeConflict }
    let duplicates = list.compactMap { $0 as? NSConstraintConflict }
    if !changedRows.isEmpty { try resolve(optimisticLockingConflicts: changedRows) }
    if !duplicates.isEmpty { try resolve(constraintConflicts: duplicates) }
  }

  /// Resolves conflicts between changed objects and rows that have changed in the store since they were read.
  ///
  /// The `overwrite` policy inserts a deleted row again, with the destinations that still exist. With the other
  /// policies it remains deleted, and changed objects lose their references to it. Objects that `rollback` leaves as
  /// stored do not refer to an object that the save deletes: the relationship ends, or, if it is required or the other
  /// end's deletion rule is not nullify, the deletion is discarded too. The other ends of relationships follow the
  /// decision about an object.
  ///
  /// - Parameter list: the conflicts.
  /// - Throws: 133020 for the `error` policy; 1570 and other validation errors for objects that have lost a
  ///   destination.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    if mergeType == .errorMergePolicyType { throw ObjectGraphErrors.mergeConflict(list) }
    try LockingResolution.resolve(list, by: mergeType)
  }

  /// Resolves conflicts between objects with the same values under a uniqueness constraint.
  ///
  /// A new object with the values of a stored one is dropped. Its references then refer to the stored object, which
  /// also gets the members of its to-many relationships. If the context's changes take precedence, the stored object
  /// gets the new one's values (for `mergeByPropertyObjectTrump`, only those that are not nil). If the store takes
  /// precedence, a stored object that was given the values of another one gets its own values back.
  ///
  /// - Parameter list: the conflicts.
  /// - Throws: 133021 for the `error` policy, or if the context's changes take precedence and only deleting a stored
  ///   object could resolve a conflict; validation errors of the changed objects.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    if mergeType == .errorMergePolicyType { throw ObjectGraphErrors.constraintConflict(list) }
    for conflict in list { try ConstraintResolution(policy: mergeType, conflict: conflict)?.resolve() }
  }

  /// A policy that makes the save fail with 133020, or with 133021 for uniqueness constraints. Each of these properties
  /// has the same object every time.
  public class var error: NSMergePolicy { NSErrorMergePolicy }
  /// A policy that resolves conflicts by property in favour of the store.
  public class var mergeByPropertyStoreTrump: NSMergePolicy { NSMergeByPropertyStoreTrumpMergePolicy }
  /// A policy that resolves conflicts by property in favour of the context.
  public class var mergeByPropertyObjectTrump: NSMergePolicy { NSMergeByPropertyObjectTrumpMergePolicy }
  /// A policy by which the context's objects replace the conflicting rows.
  public class var overwrite: NSMergePolicy { NSOverwriteMergePolicy }
  /// A policy that discards the context's changes of the conflicting rows.
  public class var rollback: NSMergePolicy { NSRollbackMergePolicy }
}

/// The policy that makes a save fail.
public let NSErrorMergePolicy = NSMergePolicy(merge: .errorMergePolicyType)
/// The policy that resolves conflicts by property in favour of the store.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
/// The policy that resolves conflicts by property in favour of the context.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
/// The policy by which the context's objects replace the conflicting rows.
public let NSOverwriteMergePolicy = NSMergePolicy(merge: .overwriteMergePolicyType)
/// The policy that discards the context's changes of the conflicting rows.
public let NSRollbackMergePolicy = NSMergePolicy(merge: .rollbackMergePolicyType)
