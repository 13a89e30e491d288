// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A change that cannot be made inside the store's file, or data that forbid it.
struct InPlaceProblem: Error, Hashable {
  /// What kind of error this becomes for the caller.
  enum Kind: Hashable {
    /// 134110
    case unsupported
    /// 134110, with Core Data's own words.
    case missingValues
    /// 134110: the store has another version than the one that the migration was planned for, or is another file.
    case outdatedPlan
    /// 134111
    case notUnique(properties: [String])
  }

  var kind = Kind.unsupported
  var entity: String?
  var property: String?
  var reason: String
  var suggestion: String
}
