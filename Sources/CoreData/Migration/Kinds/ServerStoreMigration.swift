// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// The way in which a planned migration would be executed in a database server.
package struct ServerMigrationPlan {
  /// The statements of each step, if all steps run inside the server.
  package private(set) var steps: [[ServerStatement]] = []
  /// The statements of all steps, which run in one transaction.
  package var statements: [ServerStatement] { steps.flatMap { $0 } }
  /// The reason why the rows are copied to a SQLite store, migrated there and written back; nil if they are not.
  package private(set) var reason: String?
  /// Whether the server is a standby, or allows only reads, so that it rejects the migration.
  package let isRefused: Bool

  /// - Parameter migration: the migration of a copy of the store.
  /// - Throws: the errors of the server.
  package init(_ migration: StoreMigration, of url: URL, _ kind: any ServerStore.Type) throws {
    guard let last = migration.steps.last?.destinationModel else {
      isRefused = false
      return
    }
    isRefused = try kind.isReadOnly(at: url)
    guard migration.steps.allSatisfy(\.isInPlace) else {
      reason = "a mapping model needs the objects"
      return
    }
    do {
      let models = migration.steps.map(\.sourceModel) + [last]
      var count = 0
      for end in 2...models.count {
        let statements = try kind.migrationStatements(
          at: url, through: Array(models.prefix(end)), configuration: migration.configuration)
        steps.append(Array(statements.dropFirst(count)))
        count = statements.count
      }
    } catch let obstacle as ServerStepObstacle {
      (steps, reason) = ([], obstacle.reason)
    }
  }

  /// What programs with the old version can do meanwhile; nil if nothing is migrated.
  package var rolling: RollingJudgement? {
    if let reason {
      return RollingJudgement(copiedBecause: ServerStepObstacle(reason: reason).cause)
    }
    return steps.isEmpty ? nil : RollingJudgement(statements)
  }
}

/// Reports whether opening the store migrated it, or whether another process had done so.
package final class ServerMigrationWitness {
  /// The key of the option whose value is a witness.
  package static let option = "OpenCoreDataServerMigrationWitness"

  package fileprivate(set) var didMigrate = false

  package init() {}
}

/// The migration of a program that runs stages of its own, such as SwiftData's, on a SQLite copy of a store in a
/// database server.
package final class CopyMigration: NSObject {
  /// The key of the option whose value is such a migration.
  package static let option = "OpenCoreDataCopyMigration"

  /// The models of all versions that it begins with.
  fileprivate let models: [NSManagedObjectModel]
  /// Migrates the copy to the version that the store is opened with.
  fileprivate let run: (ServerCopy) throws -> Void

  package init(from models: [NSManagedObjectModel], _ run: @escaping (ServerCopy) throws -> Void) {
    (self.models, self.run) = (models, run)
  }
}

/// The migration of a store in a database server.
///
/// It is one transaction of the server. Inferred steps run there as SQL statements if possible. Otherwise the rows are
/// copied to a SQLite store (`ServerCopy`), which can be migrated in any way, and written back.
struct ServerStoreMigration: OpeningMigration {
  let kind: any ServerStore.Type
  let opening: StoreOpening

  private var destination: NSManagedObjectModel { opening.model }
  private var configuration: String? { opening.configuration }

  /// - Throws: the errors of `AutomaticMigration.run()` and `StagedMigration.run()`; those of the server. On an error,
  ///   the store is unchanged.
  func run() throws {
    let work = try kind.beginMigration(of: opening.url, options: opening.options ?? [:])
    do {
      let metadata = try work.metadata()
      try CopyProgress.check(metadata, url: opening.url)
      // Another process may have migrated the store while this one was waiting.
      let isNeeded = !opening.fits(metadata)
      if isNeeded { try migrate(work, metadata) }
      try work.commit()
      if isNeeded { (opening.settings[ServerMigrationWitness.option] as? ServerMigrationWitness)?.didMigrate = true }
    } catch {
      work.rollBack()
      throw error
    }
  }

  private func migrate(_ work: any ServerMigration, _ metadata: [String: Any]) throws {
    let program = opening.settings[CopyMigration.option] as? CopyMigration
    let model = try opening.sourceModel(
      of: metadata, carried: Self.carriedModel(work), others: program?.models ?? [])
    let isStaged = program != nil || opening.settings.stagedMigration != nil
    let planned = isStaged ? nil : try plan(model, metadata, work)
    if let planned, try migrateInside(planned, work) { return }
    let copy = try ServerCopy(of: opening.url, metadata: metadata, model, configuration: configuration)
    defer { copy.remove() }
    try copy.fill { try work.source(model, configuration: configuration, coordinator: $0) }
    try copy.naming {
      if let program {
        try program.run(copy)
      } else if let planned {
        var migration = StoreMigration(planned, at: copy.url)
        migration.countsAllRows = false
        try migration.run()
      } else {
        let metadata = try SQLiteStore.metadataForPersistentStore(with: copy.url)
        try StagedMigration(opening: opening.ofCopy(at: copy.url), metadata: metadata)?.run()
      }
    }
    try copy.writeBack(destination, configuration: configuration) { coordinator, metadata in
      try work.destination(
        destination, configuration: configuration, coordinator: coordinator, metadata: metadata)
    }
  }

  /// Plans the migration. Whether a store written by an unknown version would lose content depends on its rows, which
  /// are counted in the server.
  private func plan(
    _ model: NSManagedObjectModel, _ metadata: [String: Any], _ work: any ServerMigration
  ) throws -> StoreMigration {
    // The plan is executed in the server or on a copy.
    var migration = try AutomaticMigration(
      opening: opening, metadata: metadata, carried: { _ in model },
      counted: { try $0.isEmpty ? [] : work.counted($0, in: model, configuration: configuration) }
    ).plan()
    migration.keepsReplacedStore = false
    migration.defersCleanup = false
    return migration
  }

  /// Migrates with statements alone, if all steps of a plan can be expressed in SQL.
  private func migrateInside(_ planned: StoreMigration, _ work: any ServerMigration) throws -> Bool {
    guard planned.steps.allSatisfy(\.isInPlace) else { return false }
    return try work.migrate(
      through: planned.steps.map(\.sourceModel) + [destination], configuration: configuration)
  }

  /// Returns the model that the store carries, or nil.
  private static func carriedModel(_ work: any ServerMigration) throws -> NSManagedObjectModel? {
    do {
      return try work.carriedModel()
    } catch let error as NSError where error.isCocoa(CocoaError.Code.fileReadCorruptFile.rawValue) {
      // A damaged model counts as missing. One of the known versions may have written the store.
      return nil
    }
  }
}
