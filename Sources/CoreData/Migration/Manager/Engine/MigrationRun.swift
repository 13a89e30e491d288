// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One migration: two stacks, the mappings made ready, and the three passes over them.
final class MigrationRun {
  /// The manager has the run, which ends before the manager's method does.
  unowned(unsafe) let manager: NSMigrationManager
  let source: MigrationStack
  let destination: MigrationStack
  private(set) var plans: [ResolvedMapping] = []
  /// What a call that cannot throw has failed with; the migration fails with it at the next opportunity.
  var failure: (any Error)?
  /// The object that is being made into destinations, and the one of its entity that was read before it.
  ///
  /// Set for every object, by one place.
  @exclusivity(unchecked) var reading: (object: NSManagedObject, previous: Int64?)?
  /// The entity that the relationship which is being set leads to.
  var wantedDestination: NSEntityDescription?
  private var keys = KeyReservations()
  /// Whether relationships have been set of which only one side is known, and not saved.
  private var hasOneSides = false
  /// The greatest keys in use before the migration, by the destination's root entities.
  private(set) var greatestKeysBefore: [Int: Int64] = [:]
  private var progress: RunProgress
  /// How many objects are read before what was made of them is saved.
  let batchSize: Int
  /// Carries out what has a policy, and what SQL cannot do.
  private(set) lazy var objects = ObjectExecutor(run: self)
  /// What policies find that list the destination's objects.
  private lazy var listing = DestinationListing(run: self)
  /// Carries out the other mappings; nil until all are resolved.
  private(set) var sql: SQLExecutor?
  /// Whether no mapping has a policy, and the manager is none of the program's own.
  private(set) lazy var isPlain =
    type(of: manager) == NSMigrationManager.self && plans.allSatisfy(\.isPlain)

  /// - Parameter sqlObstacle: why no mapping can be carried out by SQL; nil where that depends on the mapping.
  init(
    manager: NSMigrationManager, mappings: NSMappingModel, source: MigrationStack, destination: MigrationStack,
    batchSize: Int, sqlObstacle: String?
  ) throws {
    self.manager = manager
    self.source = source
    self.destination = destination
    self.batchSize = batchSize
    progress = RunProgress(manager: manager)
    try source.store.asking { try StrayRows.check($0.entities.schema, $0.connection, url: source.store.url) }
    let stores = [source.store.identifier ?? "", destination.store.identifier ?? ""]
    if manager.associations.stores != stores { manager.associations = Associations(stores: stores) }
    plans = try MappingResolver(
      manager: manager, mappings: mappings, source: source, destination: destination,
      earlierNames: Set(manager.associations.knownNames)
    ).plans()
    for entity in self.destination.model.entities {
      guard let number = destination.store.number(of: entity), destination.store.rootNumber(ofEntity: number) == number
      else { continue }
      greatestKeysBefore[number] = try destination.store.greatestKey(ofRoot: number)
    }
    for plan in plans { try prepareAssociations(of: plan) }
    try progress.count(plans, in: source)
    sql = try SQLExecutor(run: self, obstacle: sqlObstacle)
  }

  /// Carries the mappings out. What is done last of all, keeping the destination, is the caller's.
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

  /// Counts objects that are dealt with.
  func didObjects(_ count: Int) { progress.didObjects(count) }

  /// Carries out one pass over a mapping, by SQL where that is possible.
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

  /// Whether a mapping makes objects of source objects.
  func hasTable(_ plan: ResolvedMapping) -> Bool {
    if case .none = plan.sources { return false }
    return plan.sourceNumber != nil && plan.destinationNumber != nil
  }

  /// Whether a policy lists the destination's objects, so that all of them stay in memory.
  var isKeepingObjects: Bool { listing.isKeeping }

  /// The plan of a mapping that a policy was called with.
  func plan(of mapping: NSEntityMapping) -> ResolvedMapping {
    guard let plan = plans.first(where: { $0.mapping === mapping }) ?? plans.first(where: { $0.name == mapping.name })
    else {
      preconditionFailure("The entity mapping '\(mapping.name ?? "")' is not one of the migration that is running.")
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
      inUse: greatestKeysBefore[root] ?? 0)
    guard let (offset, last) = reserved else { return }
    plan.offset = offset
    plan.sourceKeys = range
    // Where keys stay as they are, those of objects that were deleted in the source stay unused too.
    let through = offset == 0 ? max(last, try source.store.greatestKey(ofRoot: sourceRoot)) : last
    try destination.store.reserveKeys(ofRoot: root, through: through)
  }

  /// New tables after a policy has had them forgotten.
  func didResetAssociations() {
    for plan in plans {
      guard let from = plan.sourceNumber, let to = plan.destinationNumber else { continue }
      plan.table = manager.associations.add(AssociationTable(source: from, destination: to), named: plan.name)
    }
  }

  // MARK: Calls of policies

  /// Calls a policy; what it throws ends the migration.
  func call(_ plan: ResolvedMapping, _ body: () throws -> Void) throws {
    try manager.checkCancellation()
    do {
      try body()
    } catch {
      throw translated(error)
    }
    if let failure { throw failure }
    try manager.checkCancellation()
  }

  /// What a policy throws is the app's, and comes out as it is; of the errors beneath this framework its own are made.
  private func translated(_ error: any Error) -> any Error {
    do {
      return try SQLiteStoreErrors.translating(url: nil, isOpening: false) { throw error }
    } catch {
      return error
    }
  }

  // MARK: Saving

  /// Saves what there is to save, and has all objects give up their values, unless a policy lists them.
  func save() throws {
    try saveChanges()
    releaseDestinationValues()
    source.releaseValues()
    stopListening()
  }

  /// Has destination objects give up their values, unless a policy lists them.
  func releaseDestinationValues() {
    if !listing.isKeeping { destination.releaseValues() }
  }

  /// Saves what there is to save; objects keep their values.
  func saveChanges() throws {
    let context = destination.context
    if let failure { throw failure }
    try objects.writeKeys()
    guard context.hasChanges else { return }
    try namingDuplicates {
      // Saving asks the stores itself, and must not be asked to save then.
      let hook = context.willAskStores
      context.willAskStores = nil
      defer { context.willAskStores = hook }
      let inserted = context.changedInOrder.filter { $0.isInserted && !$0.isDeleted }
      try context.save()
      listing.note(inserted)
    }
  }

  private func namingDuplicates(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as NSError where error.code == NSManagedObjectConstraintMergeError {
      throw MigrationErrors.constraintViolation(
        url: destination.store.url, entity: "", properties: [],
        values: error.localizedFailureReason ?? error.localizedDescription, underlying: error)
    }
  }

  /// Sees to it that the stores know of relationships of which only one side was set, before they are asked.
  func saveBeforeAsking() {
    hasOneSides = true
    listen()
  }

  /// Sees to it that the stores know of relationships that were set without objects, before they are asked.
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

/// What carries an entity mapping out: object by object, or by SQL.
///
/// In the first pass rows are made, and what became of what is noted in the mapping's association table; in the second
/// their relationships are set.
protocol MappingExecutor {
  func createInstances(of plan: ResolvedMapping) throws
  func createRelationships(of plan: ResolvedMapping) throws
}

extension NSError {
  /// Foundation's key for several underlying errors, which Foundation on Linux lacks.
  static let multipleUnderlyingErrorsKey = "NSMultipleUnderlyingErrorsKey"

  /// The same error, with the error that SQL failed with before among the underlying ones.
  fileprivate func with(sqlFailure: any Error) -> NSError {
    var userInfo = userInfo
    let failures = [userInfo[NSUnderlyingErrorKey] as? any Error, sqlFailure].compactMap { $0 }
    userInfo[NSUnderlyingErrorKey] = failures[0]
    userInfo[Self.multipleUnderlyingErrorsKey] = failures
    return NSError(domain: domain, code: code, userInfo: userInfo)
  }
}

/// How far a migration is: objects done over objects counted in each pass.
struct RunProgress {
  /// The passes, with the part of the whole that each begins and ends with.
  enum Pass {
    case creation
    case relationships
    case validation

    fileprivate var part: (start: Double, end: Double) {
      switch self {
      case .creation: (0, 0.55)
      case .relationships: (0.55, 0.95)
      case .validation: (0.95, 1)
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

  /// Counts the objects that there are to be read.
  mutating func count(_ plans: [ResolvedMapping], in source: MigrationStack) throws {
    mappingCount = plans.count
    for plan in plans {
      guard let entity = plan.sourceEntity else { continue }
      switch plan.sources {
      case .none: continue
      case .all, .request, .collection:
        // What a filter leaves out makes progress faster than foreseen, and never go back.
        objectCount += try source.store.count(for: RowQuery(entity: entity, includesSubentities: false)) ?? 0
      }
    }
  }

  mutating func begin(_ pass: Pass) {
    self.pass = pass
    done = 0
    show(0)
  }

  mutating func didObjects(_ count: Int) {
    done += count
    show(Double(done) / Double(max(objectCount, 1)))
  }

  mutating func didMapping() {
    done += 1
    show(Double(done) / Double(mappingCount + 1))
  }

  private func show(_ fraction: Double) {
    let (start, end) = pass.part
    manager.show(progress: Float(start + (end - start) * min(fraction, 1)))
  }
}
