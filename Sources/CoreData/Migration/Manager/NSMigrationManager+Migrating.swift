// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
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
    precondition(run == nil, "A migration manager carries out one migration at a time.")
    begin(mapping)
    defer { showIdle() }
    for type in [sourceType, destinationType] where type != .sqlite {
      throw MappingErrors.unsupportedStore(type.rawValue)
    }
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
    let destination = try DestinationStore(
      destinationModel, at: destinationURL, options: destinationOptions, from: source)
    // In a new store nothing has been made yet, whatever an earlier migration of the same source has made elsewhere.
    if destination.isNew { associations = Associations() }
    let (earlier, earlierCount) = (associations, associations.tables.count)
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
      // What was associated are rows that are not there, but for those of earlier passes.
      if associations === earlier {
        associations.removeTables(after: earlierCount)
      } else {
        associations = Associations()
      }
      throw error
    }
    show(progress: 1)
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
