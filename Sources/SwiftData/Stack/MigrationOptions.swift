// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// How a store is migrated when a container opens it: `ModelConfiguration.migration`. An addition to Apple's API.
///
/// ```swift
/// var configuration = ModelConfiguration(url: url)
/// configuration.migration.backup = .besideStore
/// configuration.migration.allowedLosses = ["Item.note"]
/// configuration.migration.progress = { print($0.stage, $0.fractionCompleted) }
/// let container = try ModelContainer(for: Item.self, configurations: configuration)
/// ```
public struct MigrationOptions: Sendable {
  /// Where a store is copied before its first stage.
  public enum Backup: Hashable, Sendable {
    /// Nowhere.
    case none
    /// Beside the store: `Items.store` as `Items~.store`, or `Items~2.store` and so on if the name is taken.
    case besideStore
    /// To a directory, which is created if necessary.
    case directory(URL)
  }

  /// Where the store is copied before it is migrated; nowhere by default. `StoreBackup.restore(_:to:)` of Core Data
  /// puts a copy back. For a store in a server, only a directory and only with a plan: the copy is a SQLite store.
  public var backup = Backup.none

  /// The content that a migration without a plan may drop: `true`, or entities and properties such as
  /// `["Legacy", "Item.note"]`. None by default.
  ///
  /// Removing a property that has values in the store is an error without this permission. With a plan, its schemas
  /// say what is removed. For stores in a server, only `true` has an effect.
  public var allowedLosses = AllowedLosses.none

  /// Called as the migration proceeds, on the thread that opens the container. An error that it throws cancels the
  /// migration: the step that is running leaves the store as it was; what its `willMigrate` has saved is kept, and so are
  /// earlier stages. A store in a server is as before all of them. Not called for one without a plan.
  public var progress: (@Sendable (SchemaMigrationProgress) throws -> Void)?

  /// How long to wait for another process that migrates the same store, in seconds.
  public var timeout: TimeInterval = 240

  /// Creates options with these defaults.
  public init() {}
}

/// The progress of a migration. An addition to Apple's API.
public struct SchemaMigrationProgress: Hashable, Sendable {
  /// A part of a stage.
  public enum Phase: String, Sendable {
    /// The store is copied.
    case backup
    /// The code before the step.
    case willMigrate
    /// The step from one version to the next.
    case step
    /// The code after the step.
    case didMigrate
  }

  /// The name of the stage, such as `SchemaV1 to SchemaV2`.
  public internal(set) var stage: String
  /// The number of the stage, from 1.
  public internal(set) var stageNumber: Int
  /// The number of stages that the store goes through.
  public internal(set) var stageCount: Int
  /// The part of the stage that begins or goes on.
  public internal(set) var phase: Phase
  /// The finished fraction of all stages, from 0 to 1.
  public internal(set) var fractionCompleted: Double
  /// The location of the store's backup, once it has been made.
  public internal(set) var backup: URL?
}
