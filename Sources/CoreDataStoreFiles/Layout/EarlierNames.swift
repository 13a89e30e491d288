// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What entities and relationships of a version were called in the version before it.
package protocol EarlierNames {
  /// What an entity was called; nil for a new one.
  func sourceEntity(of destination: String) -> String?

  /// What a relationship was called; nil for a new one.
  func sourceRelationship(of name: String, in destination: String) -> String?
}
