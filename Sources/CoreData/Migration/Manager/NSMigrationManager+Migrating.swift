// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

extension NSMigrationManager {
  /// Migrates a store.
  ///
  /// The source is read as it is at the beginning, with what its write-ahead log holds, and never changed. A destination
  /// that does not exist is made: it takes over the source's UUID and the app's own metadata, keeps primary keys where it can,
  /// and appears when it is complete and on the disk. One that exists is appended to, in one transaction. After a failure
  /// there is no new destination, and an existing one is as it was.
  ///
  /// - Parameters:
  ///   - sourceURL: where the source store is.
  ///   - sourceType: its type.
  ///   - sourceOptions: options for opening it; it is opened read-only in any case.
  ///   - mapping: what becomes of what.
  ///   - destinationURL: where the destination is, or is to be.
  ///   - destinationType: its type.
  ///   - destinationOptions: options for opening it.
  /// - Throws: 134150 and 134160 for stores that cannot be used; 134110 for mappings that do not fit the models, with both
  ///   hashes, and for expressions without value; 134111 when values that must be unique are not; 1550 to 1680 for objects
  ///   that the destination model does not allow; what a policy throws, and the error of
  ///   `cancelMigrationWithError(_:)`, as they are.
  public func migrateStore(
    from sourceURL: URL, type sourceType: NSPersistentStore.StoreType, options sourceOptions: [AnyHashable: Any]? = nil,
    mapping: NSMappingModel, to destinationURL: URL, type destinationType: NSPersistentStore.StoreType,
    options destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    for type in [sourceType, destinationType] where type != .sqlite {
      throw MappingErrors.unsupportedStore(type.rawValue)
    }
    try migrate(from: sourceURL, sourceOptions, by: mapping, to: destinationURL, destinationOptions, isDraft: false)
  }

  /// Migrates a store to a place, or to a new file in the work directory of another migration.
  ///
  /// - Throws: as `migrateStore(from:type:options:mapping:to:type:options:)`.
  func migrate(
    from sourceURL: URL, _ sourceOptions: [AnyHashable: Any]?, by mapping: NSMappingModel, to destinationURL: URL,
    _ destinationOptions: [AnyHashable: Any]?, isDraft: Bool
  ) throws {
    precondition(run == nil, "A migration manager carries out one migration at a time.")
    begin(mapping)
    defer { showIdle() }
    try MappingResolver.check(mapping, from: sourceModel, to: destinationModel)
    if sourceURL.standardizedFileURL.resolvingSymlinksInPath()
      == destinationURL.standardizedFileURL.resolvingSymlinksInPath()
    {
      throw MigrationErrors.destinationStore(
        url: destinationURL, reason: "The destination is the source itself, which a migration never changes.",
        suggestion: "Name another file as the destination, and replace the source with it afterwards.")
    }
    let source = try SourceStore(sourceModel, at: sourceURL, options: sourceOptions)
    defer { source.close() }
    let (earlier, earlierCount) = (associations, associations.tables.count)
    func write(_ draft: URL?) throws {
      try self.write(by: mapping, from: source, to: destinationURL, draft: draft, destinationOptions)
    }
    do {
      if isDraft {
        try write(destinationURL)
      } else {
        let journal = WorkJournal(
          purpose: .migration, source: ModelVersions.name(of: sourceModel),
          destination: ModelVersions.name(of: destinationModel))
        try DestinationStore.write(
          to: destinationURL, journal,
          timeout: StoreOptions(destinationOptions).timeout ?? StoreMigration.defaultBusyTimeout, write)
      }
    } catch {
      // The rows of new associations do not exist; those of earlier passes do.
      if associations === earlier {
        associations.removeTables(after: earlierCount)
      } else {
        associations = Associations()
      }
      throw error
    }
    show(progress: 1)
  }

  private func write(
    by mapping: NSMappingModel, from source: SourceStore, to url: URL, draft: URL?, _ options: [AnyHashable: Any]?
  ) throws {
    let destination = try DestinationStore(destinationModel, at: url, draft: draft, options: options, from: source)
    // Associations of an earlier migration name no rows of a new store.
    if draft != nil { associations = Associations() }
    do {
      defer { run = nil }
      let run = try MigrationRun(
        manager: self, mappings: mapping, source: source.stack, destination: destination.stack, batchSize: batchSize,
        sqlObstacle: destination.sqlObstacle)
      self.run = run
      defer { executions = run.plans.map { MappingExecution($0) } }
      try run.migrate()
      try destination.complete()
    } catch {
      destination.abandon()
      throw error
    }
  }

  /// Migrates a store, as `migrateStore(from:type:options:mapping:to:type:options:)`.
  ///
  /// - Parameters:
  ///   - sourceURL: where the source store is.
  ///   - sStoreType: its type.
  ///   - sOptions: options for opening it.
  ///   - mappings: what becomes of what; nil fails with 134140.
  ///   - dURL: where the destination is, or is to be.
  ///   - dStoreType: its type.
  ///   - dOptions: options for opening it.
  /// - Throws: as the other spelling.
  @available(*, deprecated, renamed: "migrateStore(from:type:options:mapping:to:type:options:)")
  public func migrateStore(
    from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
    with mappings: NSMappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
    destinationOptions dOptions: [AnyHashable: Any]? = nil
  ) throws {
    guard let mappings else {
      throw MigrationErrors.missingMappingModel(
        url: sourceURL,
        models: .init(
          .init(name: ModelVersions.name(of: sourceModel), model: sourceModel),
          .init(name: ModelVersions.name(of: destinationModel), model: destinationModel)))
    }
    try migrateStore(
      from: sourceURL, type: .init(rawValue: sStoreType), options: sOptions, mapping: mappings, to: dURL,
      type: .init(rawValue: dStoreType), options: dOptions)
  }
}
