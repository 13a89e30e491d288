// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A change that cannot be made inside the store's file, or data that forbid it.
package struct InPlaceProblem: Error, Hashable {
  /// What kind of error this becomes for the caller.
  package enum Kind: Hashable {
    /// 134110
    case unsupported
    /// 134110, with Core Data's own words.
    case missingValues
    /// 134110: the store has another version than the one that the migration was planned for, or is another file.
    case outdatedPlan
    /// 134111
    case notUnique(properties: [String])
  }

  package var kind: Kind
  package var entity: String?
  package var property: String?
  package var reason: String
  package var suggestion: String

  package init(
    kind: Kind = .unsupported, entity: String? = nil, property: String? = nil, reason: String, suggestion: String
  ) {
    self.kind = kind
    self.entity = entity
    self.property = property
    self.reason = reason
    self.suggestion = suggestion
  }
}
