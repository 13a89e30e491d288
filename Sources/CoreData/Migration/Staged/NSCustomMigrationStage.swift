// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A step from one version to the next by an inferred mapping, with work of the program before and after it.
open class NSCustomMigrationStage: NSMigrationStage, @unchecked Sendable {
  /// Work of a stage: it is given the manager, whose `container` has the store open, and the stage.
  public typealias Handler = (NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void

  /// The model that the stage begins with.
  public let currentModel: NSManagedObjectModelReference
  /// The model that the stage ends with.
  public let nextModel: NSManagedObjectModelReference

  /// Runs before the step; the manager's container has the store open with `currentModel`.
  ///
  /// What it saves is in the store. When it throws, the migration stops, and the store is of the version of `currentModel`.
  /// It runs again when the store is opened again, also after a kill, and so must bear to be run twice.
  open var willMigrateHandler: Handler?

  /// Runs after the step; the manager's container has the store open with `nextModel`.
  ///
  /// What it saves is in the store. When it throws, or the process is killed meanwhile, the stage is not done: a mark in the
  /// store's metadata says so, and when the store is opened again with this stage, the handler runs again, before anything
  /// else, and so must bear to be run twice.
  open var didMigrateHandler: Handler?

  /// Makes a stage.
  ///
  /// - Parameters:
  ///   - currentModel: the model that the stage begins with.
  ///   - nextModel: the model that the stage ends with.
  public init(migratingFrom currentModel: NSManagedObjectModelReference, to nextModel: NSManagedObjectModelReference) {
    self.currentModel = currentModel
    self.nextModel = nextModel
  }

  override var checksums: [String] { [currentModel.versionChecksum, nextModel.versionChecksum] }
}
