// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTracing
import Foundation
import Synchronization

/// Migrates a store to another version of its model, with a mapping model and the policies that it names.
///
/// The migration reads the source, which never changes, and writes a destination store. A new destination appears at
/// its location only once it is complete and synced to the disk; it takes over the source's metadata and UUID. An
/// existing destination must be of the destination version, and is appended to in one transaction. So a large store
/// can be migrated in several passes with several mapping models.
///
/// Memory stays bounded: source objects are read in batches, each batch is saved before the next, and associations
/// are stored as numbers.
///
/// The settings, the progress and the cancellation may be used on any thread. The contexts, the associations and other
/// state used by policies belong to the migrating thread.
open class NSMigrationManager: NSObject, @unchecked Sendable {
  /// The model of the source store.
  public let sourceModel: NSManagedObjectModel
  /// The model of the destination store.
  public let destinationModel: NSManagedObjectModel
  /// The app's own values, for use by policies.
  open var userInfo: [AnyHashable: Any]? {
    get { state.userInfo }
    set { state.userInfo = newValue }
  }
  /// Whether entity mappings without a policy may be run in SQL; true by default. The result is the same either way,
  /// except for an ordered relationship of which only the inverse is mapped: SQL keeps the source's order, whereas
  /// object migration orders objects as they were migrated.
  ///
  /// A subclass of the manager migrates every mapping object by object.
  open var usesStoreSpecificMigrationManager: Bool {
    get { state.usesSQL }
    set { state.usesSQL = newValue }
  }
  /// Called on the migrating thread whenever `migrationProgress` or `currentEntityMapping` has changed.
  ///
  /// An addition to Apple's API, because there is no key-value observing without Objective-C.
  open var progressHandler: ((NSMigrationManager) -> Void)? {
    get { state.progressHandler }
    set { state.progressHandler = newValue }
  }

  // The following properties are confined to the migrating thread.

  /// The number of source objects per batch.
  var batchSize = 500
  var run: MigrationRun?
  var associations = Associations()
  /// A report of how each entity mapping of the last migration was run.
  var executions: [MappingExecution] = []

  /// State that other threads use too.
  private struct State {
    var userInfo: [AnyHashable: Any]?
    var usesSQL = true
    var progressHandler: ((NSMigrationManager) -> Void)?
    var cancellation: (any Error)?
    var progress: Float = 1
    var mapping = NSEntityMapping()
    var mappingModel = NSMappingModel()
  }

  private let state = Guarded(State())
  /// Whether the migration was cancelled. Read for every object, so it is not guarded by the lock.
  private let isCancelled = Atomic<Bool>(false)

  /// Creates a manager. Models and mapping are checked when a store is migrated.
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

  /// The mapping model of the current or last migration; an empty one before the first.
  open var mappingModel: NSMappingModel { state.mappingModel }

  /// The current or last entity mapping; an empty one before the first. Each mapping is current once in each of the
  /// three passes.
  open var currentEntityMapping: NSEntityMapping { state.mapping }

  /// The progress of the migration from 0 to 1; 1 if none is running. May be read on any thread.
  open var migrationProgress: Float { state.progress }

  /// The context of the source objects. Available only during a migration; otherwise reading it traps.
  open var sourceContext: NSManagedObjectContext { running.source.context }

  /// The context of the destination objects. Available only during a migration; otherwise reading it traps.
  open var destinationContext: NSManagedObjectContext { running.destination.context }

  /// Cancels the running migration, so that `migrateStore` throws an error. May be called on any thread, including by
  /// policies.
  ///
  /// Does nothing if no migration is running.
  ///
  /// - Parameter error: the error for `migrateStore` to throw.
  open func cancelMigrationWithError(_ error: any Error) {
    state.update {
      $0.cancellation = $0.cancellation ?? error
      isCancelled.store(true, ordering: .releasing)
    }
  }

  /// Removes all associations. Without a reset, a later pass over the same stores also finds the associations of
  /// earlier passes.
  open func reset() {
    associations = Associations(stores: associations.stores)
    run?.didResetAssociations()
  }

  // MARK: Entities

  /// Returns the source entity of a mapping; nil if it has none.
  ///
  /// - Parameter mEntity: an entity mapping.
  open func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    let model = run?.source.model ?? sourceModel
    return mEntity.sourceEntityName.flatMap { model.entitiesByName[$0] }
  }

  /// Returns the destination entity of a mapping; nil if it has none.
  ///
  /// - Parameter mEntity: an entity mapping.
  open func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    let model = run?.destination.model ?? destinationModel
    return mEntity.destinationEntityName.flatMap { model.entitiesByName[$0] }
  }

  // MARK: Associations

  /// Associates a source object with a destination object.
  ///
  /// - Parameters:
  ///   - sourceInstance: an object of the source context.
  ///   - destinationInstance: an object of the destination context.
  ///   - entityMapping: the entity mapping that created the destination object.
  open func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject,
    for entityMapping: NSEntityMapping
  ) {
    running.associate(sourceInstance, destinationInstance, entityMapping)
  }

  /// Returns the destination objects that a mapping has created from source objects.
  ///
  /// - Parameters:
  ///   - mappingName: the name of an entity mapping; an unknown name fails the migration (134110).
  ///   - sourceInstances: source objects; nil for all of the mapping.
  open func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    running.lookUp(mappingName) { try running.destinations(in: $0, of: sourceInstances) }
  }

  /// Returns the source objects from which a mapping has created destination objects.
  ///
  /// - Parameters:
  ///   - mappingName: the name of an entity mapping; an unknown name fails the migration (134110).
  ///   - destinationInstances: destination objects; nil for all of the mapping.
  open func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    running.lookUp(mappingName) { try running.sources(in: $0, of: destinationInstances) }
  }

  // MARK: The running migration

  var running: MigrationRun {
    guard let run else {
      trap("No migration is running: contexts and associations exist only while one is.")
    }
    return run
  }

  /// Publishes the mapping model of a new migration, and clears the last cancellation.
  func begin(_ mappings: NSMappingModel) {
    executions = []
    state.update {
      $0.mappingModel = mappings
      $0.progress = 0
      $0.cancellation = nil
      isCancelled.store(false, ordering: .releasing)
    }
    progressHandler?(self)
  }

  func show(_ mapping: NSEntityMapping) {
    state.mapping = mapping
    progressHandler?(self)
  }

  /// Publishes progress, which never goes back.
  func show(progress: Float) {
    let isNew = state.update {
      guard progress > $0.progress else { return false }
      $0.progress = min(progress, 1)
      return true
    }
    if isNew { progressHandler?(self) }
  }

  /// Sets the progress to 1, because no migration is running any more.
  func showIdle() { state.progress = 1 }

  /// - Throws: the error with which the migration was cancelled.
  func checkCancellation() throws {
    guard isCancelled.load(ordering: .acquiring) else { return }
    if let error = state.cancellation { throw error }
  }
}

extension NSMigrationManager {
  /// Migrates a store.
  ///
  /// The source is read in its state at the beginning, including its write-ahead log, and never changed. A new
  /// destination takes over the source's UUID and the app's own metadata, keeps primary keys where possible, and
  /// appears once it is complete and synced to the disk. An existing destination is appended to in one transaction.
  /// After a failure there is no new destination, and an existing one is unchanged.
  ///
  /// A store that is not a SQLite database is migrated by way of a temporary SQLite store, in a private directory
  /// beside it. Policies see that store as the source or destination. Objects keep the numbers in their identifiers.
  ///
  /// - Parameters:
  ///   - sourceURL: the location of the source.
  ///   - sourceType: the type of the source: SQLite, XML or binary.
  ///   - sourceOptions: options for opening the source, which is always opened read-only.
  ///   - mapping: the mapping model.
  ///   - destinationURL: the location of the destination.
  ///   - destinationType: the type of the destination: SQLite, XML or binary.
  ///   - destinationOptions: options for opening the destination.
  /// - Throws: 134000 for an unknown type; 134150 and 134160 for stores that cannot be used; 134110 for other types of
  ///   stores, for mappings whose hashes do not match the models, and for expressions without a value; 134111 for
  ///   duplicate values under a uniqueness constraint; 1550 to 1680 for objects that are invalid in the destination
  ///   model. Errors of policies, and the error passed to `cancelMigrationWithError(_:)`, are thrown unchanged.
  public func migrateStore(
    from sourceURL: URL, type sourceType: NSPersistentStore.StoreType, options sourceOptions: [AnyHashable: Any]? = nil,
    mapping: NSMappingModel, to destinationURL: URL, type destinationType: NSPersistentStore.StoreType,
    options destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    try ErrorLocation.naming({ $0.isCocoa(NSMigrationManagerDestinationStoreError) ? destinationURL : sourceURL }) {
      try StatementTracing.reporting(.migration) {
        try migrate(
          from: sourceURL, sourceType, sourceOptions, by: mapping, to: destinationURL, destinationType,
          destinationOptions)
      }
    }
  }

  private func migrate(
    from sourceURL: URL, _ sourceType: NSPersistentStore.StoreType, _ sourceOptions: [AnyHashable: Any]?,
    by mapping: NSMappingModel, to destinationURL: URL, _ destinationType: NSPersistentStore.StoreType,
    _ destinationOptions: [AnyHashable: Any]?
  ) throws {
    let kinds = try [sourceType, destinationType].map { type -> FileStore.Type? in
      if type == .sqlite { return nil }
      guard let kind = try StoreKinds.kind(of: type.rawValue) as? FileStore.Type else {
        throw MappingErrors.unsupportedStore(type.rawValue)
      }
      return kind
    }
    guard kinds.contains(where: { $0 != nil }) else {
      return try migrate(
        from: sourceURL, sourceOptions, by: mapping, to: destinationURL, destinationOptions, isDraft: false)
    }
    try migrateByCopies(
      from: sourceURL, kinds[0], sourceOptions, by: mapping, to: destinationURL, kinds[1], destinationOptions)
  }

  /// Migrates a store to a location, or to a new file in the work directory of another migration.
  ///
  /// - Throws: as `migrateStore(from:type:options:mapping:to:type:options:)`.
  func migrate(
    from sourceURL: URL, _ sourceOptions: [AnyHashable: Any]?, by mapping: NSMappingModel, to destinationURL: URL,
    _ destinationOptions: [AnyHashable: Any]?, isDraft: Bool
  ) throws {
    trap(unless: run == nil, "A migration manager runs one migration at a time.")
    begin(mapping)
    defer { showIdle() }
    try MappingResolver.check(mapping, from: sourceModel, to: destinationModel)
    try Self.checkDifferent(sourceURL, destinationURL)
    let source = try SourceStore(sourceModel, at: sourceURL, options: sourceOptions)
    defer { source.close() }
    let earlier = associationMark
    func write(_ draft: URL?) throws {
      try self.writeDestination(by: mapping, from: source, to: destinationURL, draft: draft, destinationOptions)
    }
    do {
      if isDraft {
        try write(destinationURL)
      } else {
        let journal = WorkJournal(
          purpose: .migration, source: ModelVersions.name(of: sourceModel),
          destination: ModelVersions.name(of: destinationModel))
        try DestinationStore.writeReplacing(
          to: destinationURL, journal,
          timeout: StoreOptions(destinationOptions).timeout ?? StoreOptions.defaultTimeout, write)
      }
    } catch {
      forgetAssociations(since: earlier)
      throw error
    }
    show(progress: 1)
  }

  /// - Throws: 134160 if the source and the destination are the same file.
  static func checkDifferent(_ sourceURL: URL, _ destinationURL: URL) throws {
    guard
      sourceURL.standardizedFileURL.resolvingSymlinksInPath()
        != destinationURL.standardizedFileURL.resolvingSymlinksInPath()
    else {
      throw MigrationErrors.destinationStore(
        url: destinationURL, reason: "The destination is the same file as the source, which a migration never changes.",
        suggestion: "Choose another file as the destination, and replace the source with it afterwards.")
    }
  }

  /// The associations before a migration, and the number of their tables.
  typealias AssociationMark = (associations: Associations, count: Int)

  var associationMark: AssociationMark { (associations, associations.tables.count) }

  /// Removes the associations of a failed migration, whose rows do not exist. Those of earlier passes are kept.
  func forgetAssociations(since mark: AssociationMark) {
    if associations === mark.associations {
      associations.removeTables(after: mark.count)
    } else {
      associations = Associations()
    }
  }

  private func writeDestination(
    by mapping: NSMappingModel, from source: SourceStore, to url: URL, draft: URL?, _ options: [AnyHashable: Any]?
  ) throws {
    let destination = try DestinationStore(
      destinationModel, at: url, draft: draft, options: options, from: source)
    // Associations of an earlier migration refer to no rows of a new store.
    if draft != nil { associations = Associations() }
    do {
      defer { run = nil }
      try source.checkingPages(isCancelled: { isCancelled.load(ordering: .acquiring) }) {
        let run = try MigrationRun(
          manager: self, mappings: mapping, source: source.stack, destination: destination.stack, batchSize: batchSize,
          sqlObstacle: destination.sqlObstacle)
        self.run = run
        defer { executions = run.plans.map { MappingExecution($0) } }
        try run.migrate()
      }
      try destination.complete { [run] in try run?.didIndexes($0) }
    } catch {
      destination.rollBack()
      throw error
    }
  }

  /// Migrates a store; see `migrateStore(from:type:options:mapping:to:type:options:)`.
  ///
  /// - Parameters:
  ///   - sourceURL: the location of the source.
  ///   - sStoreType: the type of the source.
  ///   - sOptions: options for opening the source.
  ///   - mappings: the mapping model; nil fails with 134140.
  ///   - dURL: the location of the destination.
  ///   - dStoreType: the type of the destination.
  ///   - dOptions: options for opening the destination.
  /// - Throws: the errors of that method.
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

extension NSPersistentStore {
  /// The class that `migrationManagerClass()` returns unless overridden.
  static var usualMigrationManagerClass: AnyClass { NSMigrationManager.self }
}
