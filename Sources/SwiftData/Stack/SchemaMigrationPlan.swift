// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The versions of an app's models, and how a store gets from one to the next.
public protocol SchemaMigrationPlan: SendableMetatype {
  /// The versions, the oldest first.
  static var schemas: [any VersionedSchema.Type] { get }
  /// The stages, in the order in which they run.
  static var stages: [MigrationStage] { get }
}

/// A step of a migration plan.
public enum MigrationStage {
  /// A step that is inferred from the two versions.
  case lightweight(fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type)
  /// A step with code before and after it.
  ///
  /// The context of `willMigrate` has the models of the old version, that of `didMigrate` the new ones.
  ///
  /// What the code saves, in this context or in others of its container, is written to the store when the code
  /// returns, in one transaction with a record that it has run. So an error or a kill leaves all of its changes or
  /// none, and code whose changes are in the store does not run again. This does not hold for changes outside the
  /// store. The stages of a store in a server run on a copy, which is written back as a whole. `willMigrate` runs again
  /// if its step has failed, or if another version of the app has written to the store since. All changes of the code
  /// are in memory until they are written.
  case custom(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type,
    willMigrate: ((ModelContext) throws -> Void)?, didMigrate: ((ModelContext) throws -> Void)?)
  /// A custom step whose `didMigrate` reads the old version too: write it as
  /// `custom(fromVersion:toVersion:willMigrate:didMigrate:)` with two contexts. An addition to Apple's API.
  case customReadingSource(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type,
    willMigrate: ((ModelContext) throws -> Void)?,
    didMigrate: (_ source: ModelContext, _ destination: ModelContext) throws -> Void)
}

// The closures of a stage run while a container is opened, one at a time. Plans have their stages in `static let`, which
// Swift 6 accepts for sendable types alone.
extension MigrationStage: @unchecked Sendable {}
