// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Synchronization

/// Migrates a store to another version of its model, by a mapping model and the policies that it names.
///
/// The store is read, and a destination store is written; the source is never changed. A new destination appears at its
/// place when it is complete and on the disk, and not before; it takes over the source's metadata and UUID. An existing one,
/// which must be of the destination version, is appended to, in one transaction: a large store can be migrated in several
/// passes with several mapping models.
///
/// Memory stays bounded: source objects are read in batches, what is made of a batch is saved, and what became of what is
/// kept as numbers.
open class NSMigrationManager: NSObject, @unchecked Sendable {
  /// The model of the source store.
  public let sourceModel: NSManagedObjectModel
  /// The model of the destination store.
  public let destinationModel: NSManagedObjectModel
  /// The app's own values, for policies.
  open var userInfo: [AnyHashable: Any]?
  /// Whether the store's own way of migrating may be used: SQL, for entity mappings without a policy; true unless set. The
  /// result is the same either way, except for an ordered relationship of which only the inverse is mapped: SQL keeps the
  /// source's order, and objects are ordered as they were migrated.
  ///
  /// A subclass of the manager migrates every mapping object by object.
  open var usesStoreSpecificMigrationManager = true
  /// Called on the migrating thread whenever `migrationProgress` or `currentEntityMapping` has changed.
  ///
  /// An addition to Apple's interface, since there is no key-value observing without Objective-C.
  open var progressHandler: ((NSMigrationManager) -> Void)?

  /// How many source objects are read before what was made of them is saved.
  var batchSize = 500
  var run: MigrationRun?
  var associations = Associations()
  /// Who carried out each entity mapping of the last migration.
  var executions: [MappingExecution] = []
  private let lock = NSLock()
  private var cancellation: (any Error)?
  /// Whether there is a cancellation: asked with every object, and so without the lock.
  private let isCancelled = Atomic<Bool>(false)
  private var shownProgress: Float = 1
  private var shownMapping = NSEntityMapping()
  private var shownMappingModel = NSMappingModel()

  /// Makes a manager. Models and mapping are checked when a store is migrated, not here.
  ///
  /// - Parameters:
  ///   - sourceModel: the model of the source store, which becomes immutable.
  ///   - destinationModel: the model of the destination store, which becomes immutable.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    sourceModel.freeze()
    destinationModel.freeze()
    super.init()
  }

  /// The mapping model of the migration that runs, or ran last; an empty one before the first.
  open var mappingModel: NSMappingModel { lock.withLock { shownMappingModel } }

  /// The entity mapping that is being carried out, or was last; an empty one before the first. Each is seen three times.
  open var currentEntityMapping: NSEntityMapping { lock.withLock { shownMapping } }

  /// How much of the migration is done, from 0 to 1; 1 when none runs. May be asked by any thread.
  open var migrationProgress: Float { lock.withLock { shownProgress } }

  /// The context that source objects are in, while a migration runs; without one the program is stopped.
  open var sourceContext: NSManagedObjectContext { running.source.context }

  /// The context that destination objects are in, while a migration runs; without one the program is stopped.
  open var destinationContext: NSManagedObjectContext { running.destination.context }

  /// Has the running migration stop, and `migrateStore` throw an error. May be called by any thread, and by policies.
  ///
  /// Without a running migration nothing happens.
  ///
  /// - Parameter error: what `migrateStore` is to throw.
  open func cancelMigrationWithError(_ error: any Error) {
    lock.withLock {
      cancellation = cancellation ?? error
      isCancelled.store(true, ordering: .releasing)
    }
  }

  /// Forgets which objects have become which. Without it, a later pass over the same stores also finds what earlier ones
  /// have associated.
  open func reset() {
    associations = Associations(stores: associations.stores)
    run?.didResetAssociations()
  }

  // MARK: Entities

  /// The source entity of a mapping; nil where it has none.
  ///
  /// - Parameter mEntity: an entity mapping.
  open func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    let model = run?.source.model ?? sourceModel
    return mEntity.sourceEntityName.flatMap { model.entitiesByName[$0] }
  }

  /// The destination entity of a mapping; nil where it has none.
  ///
  /// - Parameter mEntity: an entity mapping.
  open func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    let model = run?.destination.model ?? destinationModel
    return mEntity.destinationEntityName.flatMap { model.entitiesByName[$0] }
  }

  // MARK: Associations

  /// Notes that a source object has become a destination object.
  ///
  /// - Parameters:
  ///   - sourceInstance: an object of the source context.
  ///   - destinationInstance: an object of the destination context.
  ///   - entityMapping: the mapping by which it has.
  open func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject,
    for entityMapping: NSEntityMapping
  ) {
    running.associate(sourceInstance, destinationInstance, entityMapping)
  }

  /// The objects that a mapping has made of source objects.
  ///
  /// - Parameters:
  ///   - mappingName: the name of an entity mapping; with one that is not known the migration ends (134110).
  ///   - sourceInstances: source objects; nil for all of the mapping.
  open func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    running.lookUp(mappingName) { try running.destinations(in: $0, of: sourceInstances) }
  }

  /// The objects of which a mapping has made destination objects.
  ///
  /// - Parameters:
  ///   - mappingName: the name of an entity mapping; with one that is not known the migration ends (134110).
  ///   - destinationInstances: destination objects; nil for all of the mapping.
  open func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    running.lookUp(mappingName) { try running.sources(in: $0, of: destinationInstances) }
  }

  // MARK: The running migration

  var running: MigrationRun {
    guard let run else {
      preconditionFailure("No migration is running: contexts and associations are there only while one is.")
    }
    return run
  }

  /// Shows a mapping model and forgets an earlier cancellation.
  func begin(_ mappings: NSMappingModel) {
    lock.withLock {
      shownMappingModel = mappings
      shownProgress = 0
      executions = []
      cancellation = nil
      isCancelled.store(false, ordering: .releasing)
    }
    progressHandler?(self)
  }

  func show(_ mapping: NSEntityMapping) {
    lock.withLock { shownMapping = mapping }
    progressHandler?(self)
  }

  /// Shows progress, which never goes back.
  func show(progress: Float) {
    let isNew = lock.withLock {
      guard progress > shownProgress else { return false }
      shownProgress = min(progress, 1)
      return true
    }
    if isNew { progressHandler?(self) }
  }

  /// Ends the showing of progress after a failure: none is running any more.
  func showIdle() {
    lock.withLock { shownProgress = 1 }
  }

  /// - Throws: the error with which the migration was cancelled.
  func checkCancellation() throws {
    guard isCancelled.load(ordering: .acquiring) else { return }
    if let error = lock.withLock({ cancellation }) { throw error }
  }
}

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
