// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a merge policy does about rows that have been changed by someone else.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails.
  case errorMergePolicyType = 0
  /// Property by property, the store's changes win.
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  /// Property by property, the context's changes win.
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  /// The context's objects replace the store's rows.
  case overwriteMergePolicyType = 3
  /// The context's changes of the rows in question are dropped.
  case rollbackMergePolicyType = 4
}

/// Settles conflicts between what a context wants to save and what has been saved meanwhile.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  /// Which policy this is.
  public let mergeType: NSMergePolicyType

  /// Makes a policy.
  ///
  /// - Parameter ty: which policy.
  public init(merge ty: NSMergePolicyType) {
    mergeType = ty
    super.init()
  }

  /// The save fails with 133020.
  public class var error: NSMergePolicy { NSMergePolicy(merge: .errorMergePolicyType) }
  /// Property by property, the store's changes win.
  public class var mergeByPropertyStoreTrump: NSMergePolicy {
    NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
  }
  /// Property by property, the context's changes win.
  public class var mergeByPropertyObjectTrump: NSMergePolicy {
    NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  }
  /// The context's objects replace the store's rows.
  public class var overwrite: NSMergePolicy { NSMergePolicy(merge: .overwriteMergePolicyType) }
  /// The context's changes of the rows in question are dropped.
  public class var rollback: NSMergePolicy { NSMergePolicy(merge: .rollbackMergePolicyType) }
}

/// The policy that makes a save fail.
public let NSErrorMergePolicy = NSMergePolicy.error
/// The policy by which the store's changes win.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
/// The policy by which the context's changes win.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
/// The policy by which the context's objects replace the store's rows.
public let NSOverwriteMergePolicy = NSMergePolicy.overwrite
/// The policy by which the context's changes are dropped.
public let NSRollbackMergePolicy = NSMergePolicy.rollback
