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
  /// The context of `willMigrate` has the models of the old version, that of `didMigrate` the new ones. A process that
  /// ends during the stage runs the code again.
  case custom(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type,
    willMigrate: ((ModelContext) throws -> Void)?, didMigrate: ((ModelContext) throws -> Void)?)
}
