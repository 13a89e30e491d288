// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A migration: two stacks, the resolved mappings, and three passes over them.
final class MigrationRun {
  /// Unowned, since the run ends before the manager's method returns.
  unowned(unsafe) let manager: NSMigrationManager
  let source: MigrationStack
  let destination: MigrationStack
  private(set) var plans: [ResolvedMapping] = []
  /// The first failure of a call that cannot throw. The migration throws it at the next opportunity.
  var failure: (any Error)?
  /// The source object being migrated, and the key of the object of the same entity read before it.
  ///
  /// Set for every object, in one place, hence without exclusivity checks.
  @exclusivity(unchecked) var reading: (object: NSManagedObject, previous: Int64?)?
  /// The destination entity of the relationship being set.
  var wantedDestination: NSEntityDescription?
  private var keys = KeyReservations()
  /// Whether there are unsaved relationships of which only one side has been set.
  private var hasOneSides = false
  /// The greatest primary keys before the migration, by the destination's root entities.
  private(set) var lastKeysBefore: [Int: Int64] = [:]
  private var progress: RunProgress
  /// The number of source objects per batch. Each batch is saved before the next is read.
  let batchSize: Int
  /// The executor for mappings with a policy, and for operations that SQL cannot perform.
  private(set) lazy var objects = ObjectExecutor(run: self)
  /// The objects that policies find when they list those of the destination context.
  private lazy var listing = DestinationListing(run: self)
  /// The executor for the other mappings; nil until all mappings are resolved.
  private(set) var sql: SQLExecutor?
  /// Whether no mapping has a policy and the manager is not a subclass.
  private(set) lazy var isPlain =
    type(of: manager) == NSMigrationManager.self && plans.allSatisfy(\.isPlain)

  /// - Parameter sqlObstacle: the reason why SQL cannot run any mapping; nil if that depends on the mapping.
  init(
    manager: NSMigrationManager, mappings: NSMappingModel, source: MigrationStack, destination: MigrationStack,
    batchSize: Int, sqlObstacle: String?
  ) throws {
    self.manager = manager
    self.source = source
    self.destination = destination
    self.batchSize = batchSize
    progress = RunProgress(manager: manager)
    try source.store.withState { try StrayRows.check($0.entities.schema, $0.connection, url: source.store.url) }
    let stores = [source.store.identifier ?? "", destination.store.identifier ?? ""]
    if manager.associations.stores != stores { manager.associations = Associations(stores: stores) }
    plans = try MappingResolver(
      manager: manager, mappings: mappings, source: source, destination: destination,
      earlierNames: Set(manager.associations.knownNames)
    ).plans()
    for entity in self.destination.model.entities {
      guard let number = destination.store.number(of: entity), destination.store.rootNumber(ofEntity: number) == number
      else { continue }
      lastKeysBefore[number] = try destination.store.lastKey(ofRoot: number)
    }
    for plan in plans { try prepareAssociations(of: plan) }
    try progress.count(plans, in: source)
    sql = try SQLExecutor(run: self, obstacle: sqlObstacle)
  }

  /// Runs all mappings. The caller completes the destination store.
  func migrate() throws {
    listing.listen()
    for plan in plans {
      manager.show(plan.mapping)
      try call(plan) { try plan.policy.begin(plan.mapping, with: manager) }
      try carryOut(plan) { try $0.createInstances(of: plan) }
      try call(plan) { try plan.policy.endInstanceCreation(forMapping: plan.mapping, manager: manager) }
      try save()
    }
    progress.begin(.relationships)
    for plan in plans {
      manager.show(plan.mapping)
      try carryOut(plan) { try $0.createRelationships(of: plan) }
      try call(plan) { try plan.policy.endRelationshipCreation(forMapping: plan.mapping, manager: manager) }
      try save()
    }
    try sql?.finishRelationships()
    progress.begin(.validation)
    var validation = DestinationValidation(run: self)
    for plan in plans {
      manager.show(plan.mapping)
      try call(plan) { try plan.policy.performCustomValidation(forMapping: plan.mapping, manager: manager) }
      try save()
      if let entity = plan.destinationEntity { try validation.validate(entity) }
      try call(plan) { try plan.policy.end(plan.mapping, manager: manager) }
      try save()
      progress.didMapping()
    }
    try validation.validateRest()
    try manager.checkCancellation()
  }

  /// Adds to the number of finished objects.
  func didObjects(_ count: Int) { progress.didObjects(count) }

  /// Reports that a part of some objects is finished.
  func didPart(_ fraction: Double, of count: Int) { progress.didPart(fraction, of: count) }

  /// Reports the progress of creating indexes. The migration can be cancelled meanwhile.
  func didIndexes(_ fraction: Double) throws {
    progress.begin(.indexes)
    progress.show(fraction)
    try manager.checkCancellation()
  }

  /// Runs one pass of a mapping, in SQL if possible.
  private func carryOut(_ plan: ResolvedMapping, _ pass: (any MappingExecutor) throws -> Void) throws {
    guard let sql, sql.canCarryOut(plan) else { return try pass(objects) }
    do {
      try pass(sql)
    } catch {
      guard let failure = plan.execution.failure, (error as NSError).domain == NSCocoaErrorDomain else { throw error }
      throw (error as NSError).with(sqlFailure: failure)
    }
    try listing.reload()
  }

  /// Returns whether a mapping creates destination objects from source objects.
  func hasTable(_ plan: ResolvedMapping) -> Bool {
    if case .none = plan.sources { return false }
    return plan.sourceNumber != nil && plan.destinationNumber != nil
  }

  /// Whether a policy has recently listed the destination's objects, so that all of them are in memory.
  var isKeepingObjects: Bool { listing.isKeeping }

  /// Returns the resolved form of an entity mapping.
  func plan(of mapping: NSEntityMapping) -> ResolvedMapping {
    guard let plan = plans.first(where: { $0.mapping === mapping }) ?? plans.first(where: { $0.name == mapping.name })
    else {
      trap("The entity mapping '\(mapping.name ?? "")' is not one of the migration that is running.")
    }
    return plan
  }

  // MARK: Associations

  private func prepareAssociations(of plan: ResolvedMapping) throws {
    guard let from = plan.sourceNumber, let to = plan.destinationNumber else { return }
    plan.table = manager.associations.add(AssociationTable(source: from, destination: to), named: plan.name)
    guard let range = try source.store.keyRange(ofEntity: Int(from)),
      let sourceRoot = source.store.rootNumber(ofEntity: Int(from)),
      let root = destination.store.rootNumber(ofEntity: Int(to))
    else { return }
    let reserved = keys.reserve(
      range, of: .init(entity: Int(from), root: sourceRoot), for: .init(entity: Int(to), root: root),
      inUse: lastKeysBefore[root] ?? 0)
    guard let (offset, last) = reserved else { return }
    plan.offset = offset
    plan.sourceKeys = range
    // If the keys stay the same, those of deleted source objects must not be reused either.
    let through = offset == 0 ? max(last, try source.store.lastKey(ofRoot: sourceRoot)) : last
    try destination.store.reserveKeys(ofRoot: root, through: through)
  }

  /// Adds new association tables after a policy has reset the manager.
  func didResetAssociations() {
    for plan in plans {
      guard let from = plan.sourceNumber, let to = plan.destinationNumber else { continue }
      plan.table = manager.associations.add(AssociationTable(source: from, destination: to), named: plan.name)
    }
  }

  // MARK: Calls of policies

  /// Calls a policy. Its errors end the migration.
  func call(_ plan: ResolvedMapping, _ body: () throws -> Void) throws {
    try manager.checkCancellation()
    do {
      try body()
    } catch {
      // A policy's own errors are rethrown unchanged.
      throw ErrorTranslation.translated(error, url: nil, during: .use)
    }
    if let failure { throw failure }
    try manager.checkCancellation()
  }

  // MARK: Saving

  /// Saves all changes, and turns all objects into faults, unless a policy lists them.
  func save() throws {
    destination.context.releasesSavedValues = !listing.isKeeping
    defer { destination.context.releasesSavedValues = false }
    try saveChanges()
    listing.didSaveBatch()
    releaseDestinationValues()
    source.releaseValues()
    stopListening()
  }

  /// Turns destination objects into faults, unless a policy lists them.
  func releaseDestinationValues() {
    if !listing.isKeeping { destination.releaseValues() }
  }

  /// Saves all changes. Objects keep their values.
  func saveChanges() throws {
    let context = destination.context
    if let failure { throw failure }
    try objects.writeKeys()
    guard context.hasChanges else { return }
    try namingDuplicates {
      // The save itself queries the stores, which must not cause another save.
      let hook = context.willAskStores
      context.willAskStores = nil
      defer { context.willAskStores = hook }
      let changed = context.changedInOrder
      let areNew = changed.allSatisfy { $0.isInserted && !$0.isDeleted }
      let inserted = areNew ? changed : changed.filter { $0.isInserted && !$0.isDeleted }
      try context.save()
      listing.note(inserted)
    }
  }

  private func namingDuplicates(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as NSError where error.isCocoa(NSManagedObjectConstraintMergeError) {
      throw MigrationErrors.constraintViolation(
        url: destination.store.url, entity: "", properties: [],
        values: error.localizedFailureReason ?? error.localizedDescription, underlying: error)
    }
  }

  /// Saves one-sided relationships before the next query.
  func saveBeforeAsking() {
    hasOneSides = true
    listen()
  }

  /// Writes relationships that were set without objects before the next query.
  func writeKeysBeforeAsking() {
    listen()
  }

  private func listen() {
    guard destination.context.willAskStores == nil else { return }
    destination.context.willAskStores = { [unowned self] in
      do {
        objects.suspendKeys()
        guard hasOneSides else { return try objects.writeKeys() }
        stopListening()
        try saveChanges()
      } catch {
        failure = failure ?? error
      }
    }
    destination.context.willReadRow = { [unowned self] in
      do {
        try objects.writeKeys()
      } catch {
        failure = failure ?? error
      }
    }
  }

  private func stopListening() {
    hasOneSides = false
    destination.context.willAskStores = nil
    destination.context.willReadRow = nil
  }
}

/// Runs entity mappings, either in SQL or object by object.
///
/// The first pass creates rows, and records them in the mapping's association table. The second pass sets their
/// relationships.
///
/// `ObjectExecutor` can run every mapping, and defines the result. `SQLExecutor` exists for speed alone: it runs those
/// mappings whose result it computes exactly and faster, which are mappings without a policy, with expressions that SQL
/// or a Swift function called by SQL evaluates. What it cannot run is known before it writes (`SQLObstacle`). If its
/// statements fail, they are undone and the objects run the mapping, so that their error counts.
///
/// Both use the same association tables (`Associations`), so one mapping's rows may come from SQL and those of another
/// from objects. Relationships whose keys are in the objects' own rows are set by `SQLRelationships` for both executors
/// (`SQLExecutor.keyRelationships(of:)`). SQL sets the others only if it sets all of them, because the two ends of a
/// pair rely on each other.
protocol MappingExecutor {
  func createInstances(of plan: ResolvedMapping) throws
  func createRelationships(of plan: ResolvedMapping) throws
}

/// The progress of a migration: finished objects out of all counted objects, in each pass.
struct RunProgress {
  /// The passes. Each covers a part of the whole.
  enum Pass {
    case creation
    case relationships
    case validation
    /// Creating the indexes of a new store, after all passes.
    case indexes

    fileprivate var part: (start: Double, end: Double) {
      switch self {
      case .creation: (0, 0.5)
      case .relationships: (0.5, 0.85)
      case .validation: (0.85, 0.9)
      // The commit follows.
      case .indexes: (0.9, 0.98)
      }
    }
  }

  private unowned let manager: NSMigrationManager
  private var pass = Pass.creation
  private var done = 0
  private var mappingCount = 0
  private var objectCount = 0

  init(manager: NSMigrationManager) {
    self.manager = manager
  }

  /// Counts the source objects.
  mutating func count(_ plans: [ResolvedMapping], in source: MigrationStack) throws {
    mappingCount = plans.count
    for plan in plans {
      guard let entity = plan.sourceEntity, plan.sourceNumber != nil else { continue }
      switch plan.sources {
      case .none: continue
      case .all, .request, .collection:
        // Objects excluded by a filter are counted too. They only speed up the progress, which never goes back.
        objectCount += try source.store.count(for: RowQuery(entity: entity, includesSubentities: false)) ?? 0
      }
    }
  }

  mutating func begin(_ pass: Pass) {
    self.pass = pass
    done = 0
    show(0)
  }

  /// Reports that a part of some objects is finished.
  func didPart(_ fraction: Double, of count: Int) {
    show((Double(done) + Double(count) * fraction) / Double(max(objectCount, 1)))
  }

  mutating func didObjects(_ count: Int) {
    // The keys of two objects at the ends of a range can be far apart.
    let (sum, overflow) = done.addingReportingOverflow(count)
    done = overflow ? Int.max : sum
    show(Double(done) / Double(max(objectCount, 1)))
  }

  mutating func didMapping() {
    done += 1
    show(Double(done) / Double(mappingCount + 1))
  }

  /// Reports a fraction of the pass.
  func show(_ fraction: Double) {
    let (start, end) = pass.part
    manager.show(progress: Float(start + (end - start) * min(fraction, 1)))
  }
}
