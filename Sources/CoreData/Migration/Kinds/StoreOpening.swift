// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTracing
import Foundation

/// The opening of a store with a model: settles interrupted work, decides whether the store fits the model and what
/// migrates it otherwise, and has it migrated.
struct StoreOpening {
  let kind: NSPersistentStore.Type
  let url: URL
  let model: NSManagedObjectModel
  /// The configuration whose entities the store holds; nil for all entities.
  let configuration: String?
  let options: [AnyHashable: Any]?
  /// Opens the store for the handlers of stages.
  let stageContainer: any StageContainer.Type
  /// Whether the store is a copy that replaces the program's store at the end.
  private(set) var isCopy = false

  var settings: StoreOptions { StoreOptions(options) }
  private var medium: StoreMedium { StoreMedium(of: kind) }

  /// The number of times to begin again because another process migrates the store. Larger than the number of versions
  /// of any model.
  private static let maximumAttempts = 100
  /// The microseconds between two attempts while another process runs a stage.
  private static let pause: UInt32 = 20_000

  init(
    of kind: NSPersistentStore.Type, at url: URL, with model: NSManagedObjectModel, configuration: String?,
    options: [AnyHashable: Any]?, stageContainer: any StageContainer.Type
  ) {
    self.kind = kind
    self.url = url
    self.model = model
    self.configuration = configuration
    self.options = options
    self.stageContainer = stageContainer
  }

  /// Returns the opening of a SQLite store that represents this store during its migration.
  ///
  /// The copy is migrated with the same options. But there is no later cleanup of a store that is written as a whole,
  /// and no other copy of the copy to keep.
  func ofCopy(at url: URL) -> StoreOpening {
    var options = options ?? [:]
    options[NSPersistentStoreDeferredLightweightMigrationOptionKey] = nil
    options[MigrationOption.keepsReplacedStore] = false
    var copy = StoreOpening(
      of: SQLiteStore.self, at: url, with: model, configuration: configuration, options: options,
      stageContainer: stageContainer)
    copy.isCopy = true
    return copy
  }

  /// Makes the store fit the model, and opens it.
  ///
  /// Another process may migrate the store at any time: while this one plans a migration, while it waits for a lock, or
  /// before it opens the store. So a migration compares the version again under its lock, and a store compares it when
  /// it reads its metadata. If the answer has become outdated, the store is examined again.
  ///
  /// - Parameter open: opens the store.
  /// - Throws: 134100 if the store does not fit and must not be migrated; the errors of migrations and of `open`.
  func run(_ open: () throws -> NSPersistentStore) throws -> NSPersistentStore {
    guard case .server(let server) = medium else { return try runRepeatedly(open) }
    return try server.sharingConnection { try runRepeatedly(open) }
  }

  private func runRepeatedly(_ open: () throws -> NSPersistentStore) throws -> NSPersistentStore {
    var attempts = 0
    let end = Date(timeIntervalSinceNow: settings.timeout ?? StoreOptions.defaultTimeout)
    while true {
      do {
        try makeFit()
      } catch let error as NSError where error.isHeldByStage && Date() < end {
        usleep(Self.pause)
        continue
      } catch let error as NSError where error.isOutdatedPlan && attempts < Self.maximumAttempts {
        attempts += 1
        continue
      } catch {
        if case .database = medium, !settings.isReadOnly { StoreFile.checkpointRefused(url) }
        throw error
      }
      do {
        return try opened(open)
      } catch let error as NSError where error.isHeldByStage && Date() < end {
        usleep(Self.pause)
      } catch let error as NSError where attempts < Self.maximumAttempts && wasOvertaken(error) {
        attempts += 1
      }
    }
  }

  /// Opens the store, and compares the version of one in a server, which does not do so itself.
  ///
  /// - Throws: 134100 if another process has migrated the store since it was examined.
  private func opened(_ open: () throws -> NSPersistentStore) throws -> NSPersistentStore {
    let store = try open()
    guard case .server = medium, !settings.ignoresVersioning, let metadata = store.metadata else { return store }
    do {
      try StoreCompatibility.check(metadata, model, configuration: configuration, url: url)
    } catch {
      store.willRemove(from: store.persistentStoreCoordinator)
      throw error
    }
    return store
  }

  /// Returns whether opening the store has failed because another process has migrated it since it was examined.
  private func wasOvertaken(_ error: NSError) -> Bool {
    switch medium {
    case .database, .file: error.isCocoa(NSPersistentStoreIncompatibleVersionHashError)
    case .server:
      error.isCocoa(NSPersistentStoreIncompatibleVersionHashError)
        || error.isCocoa(NSPersistentStoreIncompatibleSchemaError) && fitsNow() == false
    case .memory, .program: false
    }
  }

  // MARK: Interrupted work

  /// Finishes or undoes what a killed process has begun. Does nothing for a read-only store, which is complete without
  /// it.
  ///
  /// - Returns: the outcome; nil if there was nothing to do.
  /// - Throws: the errors of `StoreRecovery.recover(storeAt:)`, except for 134110.
  func settle() throws -> InterruptedWork.Outcome? {
    if settings.isReadOnly { return nil }
    switch medium {
    case .database: return try StoreRecovery.settle(beforeOpening: url)
    case .file:
      // A migration that was killed leaves its working copy behind.
      if settings.migratesAutomatically { CopyDirectory.removeAbandoned(for: url) }
      return nil
    case .server, .memory, .program: return nil
    }
  }

  // MARK: Comparing

  /// Returns whether a store with the given metadata can be opened as it is: it has the model's version, and no stage
  /// of its migration is unfinished.
  func fits(_ metadata: [String: Any]) -> Bool {
    guard model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata) else { return false }
    guard let manager = settings.stagedMigration, settings.migratesAutomatically, !settings.isReadOnly else {
      return true
    }
    return !StagedMigration.isPending(metadata, in: manager)
  }

  /// Returns what migrates a store with the given metadata; nil if the store fits.
  ///
  /// - Throws: 134100 if the options do not enable migration; 134110 for a read-only store.
  func migration(from metadata: [String: Any]) throws -> (any OpeningMigration)? {
    if fits(metadata) { return nil }
    guard settings.migratesAutomatically else {
      throw StoreCompatibility.error(metadata: metadata, model: model, configuration: configuration, url: url)
    }
    let migration: any OpeningMigration =
      switch medium {
      case .file(let kind): FileStoreMigration(kind: kind, opening: self, metadata: metadata)
      case .server(let kind): ServerStoreMigration(kind: kind, opening: self)
      case .database, .memory, .program:
        StagedMigration(opening: self, metadata: metadata) ?? AutomaticMigration(opening: self, metadata: metadata)
      }
    if settings.isReadOnly { throw MigrationErrors.readOnly(url: url, hasStages: migration is StagedMigration) }
    return migration
  }

  private func makeFit() throws {
    guard let metadata = try presentMetadata() else { return }
    try checkStage(metadata)
    guard let migration = try migration(from: metadata) else { return }
    do {
      try StatementTracing.reporting(.migration) { try migration.run() }
      if case .database = medium, StoreMetadata.begunStage(metadata) != nil { StageLock.removeAbandoned(url) }
    } catch {
      // Another process may have migrated the store first. An error of a stage's handler is the program's own.
      guard (error as NSError).userInfo[ErrorDetail.stage] == nil, fitsNow() == true else { throw error }
    }
  }

  /// Throws 134090 while another process runs the code of a stage, which has to see all rows of the old version, and whose
  /// rows of the new one are not complete.
  private func checkStage(_ metadata: [String: Any]) throws {
    guard case .database = medium, !settings.isReadOnly else { return }
    try ErrorTranslation.translating(url: url, during: .opening) {
      try StageLock.check(metadata, of: url, own: StageLock.own(url))
    }
  }

  /// Returns whether the store fits now; nil if there is none, or if that is unknown.
  private func fitsNow() -> Bool? {
    // This only looks for another explanation of an error. If it fails, that error is reported.
    (try? presentMetadata()).flatMap { $0 }.map(fits)
  }

  /// Reads the metadata of the store.
  ///
  /// - Returns: nil if there is no store yet, or if it is not compared before it is opened.
  private func presentMetadata() throws -> [String: Any]? {
    // Custom stores are compared after they have loaded their metadata.
    guard StoreKinds.isOwn(kind), try kind.isPresent(at: url), !settings.ignoresVersioning else { return nil }
    return try kind.metadataForPersistentStore(with: url)
  }

  // MARK: The store's own model

  /// Returns the model that a store other than a SQLite database was written with: the one that it carries, one named
  /// by a stage, or one found as for SQLite stores.
  ///
  /// - Throws: 134130 if there is none.
  func sourceModel(
    of metadata: [String: Any], carried: NSManagedObjectModel? = nil, others: [NSManagedObjectModel] = []
  ) throws -> NSManagedObjectModel {
    func wrote(_ model: NSManagedObjectModel) -> Bool {
      model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
    }
    if let carried, wrote(carried) { return carried }
    if let model = others.first(where: wrote) { return model }
    for case let stage as NSCustomMigrationStage in settings.stagedMigration?.stages ?? [] {
      for reference in [stage.currentModel, stage.nextModel] {
        let model = try reference.resolve()
        if wrote(model) { return model }
      }
    }
    return try AutomaticMigration(opening: self, metadata: metadata, carried: { _ in nil }).sourceVersion().model()
  }
}

/// A way to migrate a store that is opened and does not fit its model.
///
/// Within it, `StoreMigration` runs inferred steps in place, and steps by mapping models by way of a new store.
protocol OpeningMigration {
  /// Migrates the store to the version that it is opened with.
  ///
  /// - Throws: 134110 with `MigrationErrors.OutdatedPlan` if another process has migrated the store to another version
  ///   since the metadata was read; the errors of migrations. On an error, the store is unchanged, apart from finished
  ///   stages.
  func run() throws
}
