// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The way in which a merge policy resolves conflicts with rows that have changed in the store.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails.
  case errorMergePolicyType = 0
  /// Conflicts are resolved by property in favour of the store.
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  /// Conflicts are resolved by property in favour of the context.
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  /// The context's objects replace the conflicting rows.
  case overwriteMergePolicyType = 3
  /// The context's changes of the conflicting rows are discarded.
  case rollbackMergePolicyType = 4
}
