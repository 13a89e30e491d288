// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A part of a staged migration: an `NSLightweightMigrationStage` or `NSCustomMigrationStage`. Labels and handlers may
/// be read and set on any thread.
open class NSMigrationStage: NSObject, @unchecked Sendable {
  /// A name for debugging and for persistent history; empty by default. Errors contain it.
  ///
  /// If the store is opened with `NSPersistentHistoryTrackingKey`, the label is the `contextName` of the stage's
  /// transactions: an empty transaction recorded with the stage's step, and those that contexts without a name save in
  /// its handlers. An empty label records nothing.
  ///
  /// Apple's documentation does not say how history contains the label. It is not the `author`, because programs select
  /// transactions by author, and the label should not affect whether the saves of handlers are selected.
  open var label: String! {
    get { givenLabel.value }
    set { givenLabel.value = newValue }
  }
  private let givenLabel = Guarded<String?>("")

  /// The version checksums of the stage, in order.
  package var checksums: [String] { [] }

  /// The label, if it is not empty.
  package var historyLabel: String? { label.flatMap { $0.isEmpty ? nil : $0 } }

  /// The stage's name in errors.
  var title: String {
    historyLabel.map { "'\($0)'" } ?? "from \(checksums.joined(separator: " to "))"
  }
}

/// A series of versions connected by inferred mappings.
///
/// Differs from Apple: if a stage cannot be inferred as one step, it is migrated version by version.
open class NSLightweightMigrationStage: NSMigrationStage, @unchecked Sendable {
  /// The version checksums of the models, in the order of the versions.
  public let versionChecksums: [String]

  /// Creates a stage.
  ///
  /// - Parameter checksums: the `versionChecksum` of each version, in order.
  public init(_ checksums: [String]) {
    versionChecksums = checksums
  }

  package override var checksums: [String] { versionChecksums }
}

/// A step from one version to the next by an inferred mapping, with custom code before and after it.
open class NSCustomMigrationStage: NSMigrationStage, @unchecked Sendable {
  /// The handler of a stage. It receives the manager, whose `container` has the store open, and the stage.
  public typealias Handler = (NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void

  /// The source model.
  public let currentModel: NSManagedObjectModelReference
  /// The destination model.
  public let nextModel: NSManagedObjectModelReference

  private struct Handlers {
    var before: Handler?
    var after: Handler?
  }

  private let handlers = Guarded(Handlers())

  /// Runs before the step. The manager's container has the store open with `currentModel`.
  ///
  /// Its saves are written to the store. If it throws, the migration stops, and the store keeps the version of
  /// `currentModel`. It runs again the next time the store is opened, even if the process was killed, so it must be
  /// safe to run twice.
  ///
  /// While it runs, and until the stage is done, programs that have had a SQLite store open since before can neither read
  /// nor save (134100), since the handler does not see what they would save, and those that open it wait (134090 after
  /// `NSPersistentStoreTimeoutOption` seconds).
  open var willMigrateHandler: Handler? {
    get { handlers.before }
    set { handlers.before = newValue }
  }

  /// Runs after the step. The manager's container has the store open with `nextModel`.
  ///
  /// Its saves are written to the store. If it throws, or the process is killed, a mark in the store's metadata records
  /// that the stage is unfinished. The next time the store is opened with this stage, the handler runs again, before
  /// anything else, so it must be safe to run twice.
  open var didMigrateHandler: Handler? {
    get { handlers.after }
    set { handlers.after = newValue }
  }

  /// Creates a stage.
  ///
  /// - Parameters:
  ///   - currentModel: the model that the stage begins with.
  ///   - nextModel: the model that the stage ends with.
  public init(migratingFrom currentModel: NSManagedObjectModelReference, to nextModel: NSManagedObjectModelReference) {
    self.currentModel = currentModel
    self.nextModel = nextModel
  }

  package override var checksums: [String] { [currentModel.versionChecksum, nextModel.versionChecksum] }
}
