// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// How a model source says what is the same in every version of Xcode: older versions repeat more.
package struct SourceStyle: Hashable, Sendable {
  /// What is marked `syncable="YES"`, a mark of Sync Services that Xcode still writes.
  package enum Syncable: Hashable, Sendable {
    case nothing
    case entities
    case entitiesAndProperties
  }

  /// What is marked as syncable.
  package var syncable: Syncable
  /// Whether attributes of scalar types that use objects say so: `usesScalarValueType="NO"`.
  package var marksObjectValues: Bool

  /// Makes a style.
  package init(syncable: Syncable, marksObjectValues: Bool) {
    self.syncable = syncable
    self.marksObjectValues = marksObjectValues
  }

  /// What current versions of Xcode write.
  package static let current = SourceStyle(syncable: .entities, marksObjectValues: true)
}
