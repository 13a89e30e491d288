// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The way a context resolves conflicts between its changes and those saved in the meantime. Immutable; contexts on several
/// queues may share a policy.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  /// The type of the policy.
  public let mergeType: NSMergePolicyType

  /// Makes a policy.
  ///
  /// - Parameter ty: the type of the policy.
  public init(merge ty: NSMergePolicyType) {
    mergeType = ty
    super.init()
  }

  /// Resolves the conflicts of a save, which calls it while it holds the coordinator's lock, and then writes again.
  ///
  /// Override this method, or one of those that it calls, to resolve conflicts in another way: change the objects, and
  /// call `super`, which settles what the type of the policy says.
  ///
  /// - Parameter list: `NSMergeConflict`s and `NSConstraintConflict`s.
  /// - Throws: 133020 or 133021 for conflicts that the policy does not resolve. The save fails then, and its context is
  ///   as it was before.
  open func resolve(mergeConflicts list: [Any]) throws {
    let changedRows = list.compactMap { $0 as? NSMergeConflict }
    let duplicates = list.compactMap { $0 as? NSConstraintConflict }
    if !changedRows.isEmpty { try resolve(optimisticLockingConflicts: changedRows) }
    if !duplicates.isEmpty { try resolve(constraintConflicts: duplicates) }
  }

  /// Resolves conflicts between changed objects and rows that have changed in the store since they were read.
  ///
  /// A row that has been deleted is inserted again by `overwrite`, with those of its destinations that are still there. With the
  /// others it stays deleted, and no changed object leads to it any more. What `rollback` leaves as it is stored does not lead
  /// to an object that the save deletes: the relationship ends, or, if it is required or the rule of its other end is not to
  /// nullify, the deletion is discarded too. The other ends of relationships follow what is decided for an object.
  ///
  /// - Parameter list: the conflicts.
  /// - Throws: 133020 if the policy is that of errors; 1570 and other errors of validation for objects that have lost a
  ///   destination.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    if mergeType == .errorMergePolicyType { throw ObjectGraphErrors.mergeConflict(list) }
    try LockingResolution.resolve(list, by: mergeType)
  }

  /// Resolves conflicts between objects with the same values under a uniqueness constraint.
  ///
  /// A new object with the values of a stored one is dropped: what refers to it refers to the stored object from then
  /// on, which also gets the members of its to-many relationships. If the context's changes take precedence, the stored
  /// object gets the new one's values (`mergeByPropertyObjectTrump`: those that are not nil). A stored object that was
  /// given the values of another one gets its own back if the store takes precedence.
  ///
  /// - Parameter list: the conflicts.
  /// - Throws: 133021 if the policy is that of errors, or if the context's changes take precedence and only the deletion
  ///   of a stored object could resolve a conflict; validation errors of the objects that have been changed.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    if mergeType == .errorMergePolicyType { throw ObjectGraphErrors.constraintConflict(list) }
    for conflict in list { try ConstraintResolution(policy: mergeType, conflict: conflict)?.resolve() }
  }

  /// The save fails with 133020, or with 133021 for uniqueness constraints.
  public class var error: NSMergePolicy { NSMergePolicy(merge: .errorMergePolicyType) }
  /// Conflicts are resolved by property in favour of the store.
  public class var mergeByPropertyStoreTrump: NSMergePolicy {
    NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
  }
  /// Conflicts are resolved by property in favour of the context.
  public class var mergeByPropertyObjectTrump: NSMergePolicy {
    NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  }
  /// The context's objects replace the conflicting rows.
  public class var overwrite: NSMergePolicy { NSMergePolicy(merge: .overwriteMergePolicyType) }
  /// The context's changes of the conflicting rows are discarded.
  public class var rollback: NSMergePolicy { NSMergePolicy(merge: .rollbackMergePolicyType) }
}

/// The policy that makes a save fail.
public let NSErrorMergePolicy = NSMergePolicy.error
/// The policy that resolves conflicts by property in favour of the store.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
/// The policy that resolves conflicts by property in favour of the context.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
/// The policy by which the context's objects replace the conflicting rows.
public let NSOverwriteMergePolicy = NSMergePolicy.overwrite
/// The policy that discards the context's changes of the conflicting rows.
public let NSRollbackMergePolicy = NSMergePolicy.rollback
