// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Migrates a store through steps of which at least one creates a new store from the previous one.
///
/// The store itself is only read until the last new store is complete, verified and synced to disk.
struct MigrationByCopy {
  /// Creates the next store from the previous one, reports finished rows and the number of rows, and returns how each
  /// entity mapping was executed.
  typealias CopyStep = (
    _ step: StoreMigration.Step, _ source: URL, _ destination: URL, _ progress: (Int, Int) throws -> Void
  ) throws -> [MappingExecution]

  /// The steps, and the store that they start from.
  let migration: StoreMigration
  /// The location of the new store: that of the old one by default.
  var location: StoreLocation
  var journal: WorkJournal
  let copyStep: CopyStep

  init(_ migration: StoreMigration, copyStep: CopyStep? = nil) {
    self.migration = migration
    self.copyStep =
      copyStep ?? { step, source, destination, progress in
        let manager =
          try migration.managerFactory?.manager(for: step, of: migration.storeURL)
          ?? NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
        return try MappingModelStep(
          step: step, configuration: migration.configuration, timeout: migration.busyTimeout, manager: manager
        ).run(from: source, to: destination, progress: progress)
      }
    location = StoreLocation(migration.storeURL)
    journal = WorkJournal(purpose: .migration, source: migration.source, destination: migration.destination)
  }

  /// Runs the migration.
  ///
  /// - Parameter keptAt: the location at which to keep the replaced store; nil to remove it.
  /// - Throws: `InPlaceProblem`, `SchemaProblem`, `SQLiteError`, `FileFailure`, `StoreVerification.Problem`, the errors
  ///   of copying steps, or those of `progress`, as 134120. On an error, the store is unchanged.
  func run(keptAt: URL?, progress: (MigrationProgress) throws -> Void) throws -> MigrationReport {
    var report = MigrationReport(rows: [:], statements: [])
    var isCancelled = false
    do {
      let outcome = try StoreReplacement(location: location, journal: journal, timeout: migration.busyTimeout)
        .run(keptAt: keptAt) { hold in
          try makeDraft(hold, &report, isCancelled: { isCancelled }) { event in
            do {
              try progress(event)
            } catch {
              isCancelled = true
              throw error
            }
          }
        }
      report.replacedStore = outcome.kept
      report.leftover = outcome.leftover
      report.recoveryOutcome = outcome.recovered.map(StoreRecovery.Outcome.init)
      return report
    } catch  where isCancelled {
      throw MigrationErrors.cancelled(url: migration.storeURL)
    }
  }

  /// Consecutive steps that are executed together.
  private struct Group {
    var steps: [StoreMigration.Step]
    let first: Int
    var isInPlace: Bool { steps[0].isInPlace }
  }

  private var groups: [Group] {
    var groups: [Group] = []
    for (position, step) in migration.steps.enumerated() {
      if step.isInPlace, let last = groups.last, last.isInPlace {
        groups[groups.count - 1].steps.append(step)
      } else {
        groups.append(Group(steps: [step], first: position))
      }
    }
    return groups
  }

  private func makeDraft(
    _ hold: StoreWriteLock?, _ report: inout MigrationReport, isCancelled: () -> Bool,
    _ progress: (MigrationProgress) throws -> Void
  ) throws -> StoreReplacement.Draft {
    let isOwnSource = location.url == migration.storeURL
    let origin =
      if isOwnSource, let hold {
        StoreFile(url: migration.storeURL, connection: hold.connection)
      } else {
        try StoreFile.open(migration.storeURL, isReadOnly: true)
      }
    defer {
      // Opened for reading, so nothing can be lost. The write lock's own connection is still needed.
      if !isOwnSource { try? origin.close() }
    }
    try migration.checkMetadata(of: origin)
    try migration.checkDropped(in: origin)
    try checkTables(of: origin)
    var before: [String: Int] = [:]
    var account: ExpectedRows?
    func makeStore() throws {
      before = try rowsBefore(origin)
      account = try carryOutSteps(origin, before, &report, progress)
    }
    do {
      if migration.integrityCheck == .never {
        try makeStore()
      } else {
        try PageCheck.during(origin.connection, url: migration.storeURL, isCancelled: isCancelled, makeStore)
      }
    } catch let failure as PageCheck.Failure {
      throw failure.cause
    }
    try addMetadata()
    let model = migration.steps.last.map {
      StoreVerification.Model($0.destinationModel, configuration: migration.configuration)
    }
    let verification = StoreVerification(url: location.newStore, model: model)
    let found = try verification.carryOut(leaving: hold?.modeOfReplacement ?? .wal)
    try account?.check(found.rows)
    report.rows = counts(before: before, after: found.rows)
    return .init(external: found.external)
  }

  /// Creates the new store from the old one, step by step.
  ///
  /// - Parameters:
  ///   - origin: the old store.
  ///   - before: the number of its rows.
  /// - Returns: the rows that the new store should contain; nil if unknown.
  private func carryOutSteps(
    _ origin: StoreFile, _ before: [String: Int], _ report: inout MigrationReport,
    _ progress: (MigrationProgress) throws -> Void
  ) throws -> ExpectedRows? {
    // The rows of the store that the next step starts from.
    var rows = before
    var account: ExpectedRows?
    var isCounted = true
    var current: URL?
    for group in groups {
      if !isCounted, let current {
        rows = try self.rows(of: current, group.steps[0].sourceModel)
        try account?.check(rows)
        isCounted = true
      }
      account = nil
      if group.isInPlace {
        let file = current ?? location.intermediateStore(group.first + 1)
        if current == nil { try StoreReplacement.copy(migration.storeURL, to: file) }
        let done = try runInPlace(group, at: file, progress)
        report.statements += done.statements
        rows = done.rows.mapValues(\.after)
        current = file
      } else {
        let file = location.intermediateStore(group.first + 1)
        try checkMappings(of: group.steps[0], rows)
        try checkValues(of: group.steps[0], rows, in: current, origin)
        report.mappings += try runCopy(group, from: current ?? migration.storeURL, to: file, progress)
        // A custom manager may create any rows.
        if migration.managerFactory == nil { account = ExpectedRows(group.steps[0].mappingModel, from: rows) }
        isCounted = false
        if let current { try removeStore(current) }
        current = file
      }
    }
    if current == nil { try StoreReplacement.copy(migration.storeURL, to: location.newStore) }
    if let current { try renameStore(current) }
    return account
  }

  // MARK: Steps

  private func runInPlace(
    _ group: Group, at url: URL, _ progress: (MigrationProgress) throws -> Void
  ) throws -> MigrationReport {
    let file = try StoreFile.open(url, isReadOnly: false)
    do {
      // The file is useless until it is complete, and is then synced as a whole.
      try file.connection.setPragma("synchronous", to: 0)
      var migration = StoreMigration(migration, steps: group.steps, of: url, metadata: try file.metadata())
      // Added after the last step.
      migration.addedMetadata = [:]
      let report = try InPlaceMigration(migration: migration, file: file).run { event in
        try progress(event.moved(by: group.first, of: self.migration.steps.count))
      }
      try file.close()
      return report
    } catch {
      // The first error is the one to report.
      try? file.close()
      throw error
    }
  }

  private func runCopy(
    _ group: Group, from source: URL, to destination: URL, _ progress: (MigrationProgress) throws -> Void
  ) throws -> [MappingExecution] {
    var (done, total) = (0, 0)
    func reportProgress(isStepDone: Bool) throws {
      try progress(
        MigrationProgress(
          step: group.first + 1, stepCount: migration.steps.count, table: nil, rowsDone: done, rowCount: total,
          isStepDone: isStepDone))
    }
    var executions: [MappingExecution]
    do {
      executions = try copyStep(group.steps[0], source, destination) { rows, all in
        total = max(all, total)
        done = min(max(rows, done), total)
        try reportProgress(isStepDone: false)
      }
    } catch let error as NSError where error.isCocoa {
      throw AppFailure(error: error)
    }
    for position in executions.indices { executions[position].step = group.first + 1 }
    done = total
    try reportProgress(isStepDone: true)
    return executions
  }

  /// Throws if no expression of the mapping model reads certain values that the previous store contains.
  ///
  /// - Parameter url: the previous store; nil for the old one.
  /// - Throws: 134110.
  private func checkValues(
    of step: StoreMigration.Step, _ rows: [String: Int], in url: URL?, _ origin: StoreFile
  ) throws {
    let document = step.sourceModel.document
    let unread = step.mappingModel.document.unreadProperties(from: document, to: step.destinationModel.document)
      .filter { $0.isUnintended && rows[$0.entity] ?? 0 > 0 }
    let watched = Set(migration.allowsLoss.refused(unread.map(\.content)))
    guard !watched.isEmpty else { return }
    let file = try url.map { try StoreFile.open($0, isReadOnly: true) } ?? origin
    defer {
      // Opened for reading, so nothing can be lost.
      if url != nil { try? file.close() }
    }
    let schema = try file.schema(for: document, configuration: document.configuration(migration.configuration))
    let dropped = try StoreContents(file.connection, schema: schema).counted(Array(watched))
    guard dropped.isEmpty else {
      let open = unread.first { $0.entity == dropped[0].entity && $0.property == dropped[0].property }?.openWords
      throw MigrationErrors.unreadValues(
        url: migration.storeURL, mapping: step.mappingURL, dropped: dropped, open: open)
    }
  }

  /// Throws if an entity with rows has no mapping.
  ///
  /// - Throws: 134110.
  private func checkMappings(of step: StoreMigration.Step, _ rows: [String: Int]) throws {
    let taken = step.mappingModel.coveredEntities(of: step.sourceModel)
    let dropped = migration.allowsLoss.refused(
      rows.filter { $0.value > 0 && !taken.contains($0.key) }.sorted { $0.key < $1.key }.map {
        DroppedContent(entity: $0.key, property: nil, isRelationship: false, count: $0.value)
      })
    guard dropped.isEmpty else {
      throw MigrationErrors.unmappedRows(url: migration.storeURL, mapping: step.mappingURL, dropped: dropped)
    }
  }

  /// Throws if a step would leave behind tables that do not belong to the model and have rows.
  ///
  /// - Throws: 134110.
  private func checkTables(of origin: StoreFile) throws {
    guard let step = migration.steps.first(where: { !$0.isInPlace }), let model = migration.steps.first?.sourceModel
    else { return }
    let document = model.document
    let schema = try origin.schema(for: document, configuration: document.configuration(migration.configuration))
    let tables = try OtherTables.counted(origin.connection, in: origin.connection.catalog(), besides: schema)
    let dropped = tables.filter { $0.rows > 0 && !migration.allowsLoss.allows(table: $0.name) }
    guard dropped.isEmpty else {
      throw MigrationErrors.otherTables(
        url: migration.storeURL, source: step.source, destination: step.destination, dropped: dropped)
    }
  }

  // MARK: Files between steps

  /// Checkpoints a store's write-ahead log and removes it.
  ///
  /// SQLite checkpoints a log when the last connection closes, but does not report a failure. The log is then kept, and
  /// the file alone may contain only half of a change.
  private func removeLog(_ url: URL) throws {
    let companions = StoreLocation(url).companions
    guard companions.contains(where: FileCalls.exists) else { return }
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    do {
      try connection.setJournalMode(.delete)
      try connection.close()
    } catch {
      // The reason why the log cannot be checkpointed is the error to report.
      try? connection.close()
      throw error
    }
    if let log = companions.first(where: FileCalls.exists) {
      throw StoreVerification.Problem(reason: "'\(log.lastPathComponent)' is left beside it.")
    }
  }

  private func addMetadata() throws {
    guard !migration.addedMetadata.isEmpty || migration.metadata[StoreMetadata.Key.pendingStage] != nil else { return }
    let file = try StoreFile.open(location.newStore, isReadOnly: false)
    defer {
      // A failed write has already been thrown; closing changes nothing.
      try? file.close()
    }
    var metadata = try file.metadata()
    // An incomplete stage has now been completed.
    metadata[StoreMetadata.Key.pendingStage] = nil
    try file.setMetadata(metadata.merging(migration.addedMetadata) { $1 })
  }

  private func removeStore(_ url: URL) throws {
    for file in StoreFiles.databaseFiles(of: url) { try FileCalls.removeFile(file) }
    try FileCalls.removeTree(StoreFiles.externalData(of: url))
  }

  private func renameStore(_ url: URL) throws {
    try removeLog(url)
    try FileCalls.rename(url, to: location.newStore)
    let external = StoreFiles.externalData(of: url)
    guard FileCalls.exists(external) else { return }
    try FileCalls.rename(external, to: StoreFiles.externalData(of: location.newStore))
  }

  // MARK: Counts

  private func rowsBefore(_ origin: StoreFile) throws -> [String: Int] {
    guard let model = migration.steps.first?.sourceModel else { return [:] }
    return try rows(in: origin, model)
  }

  /// Returns the rows of a store between two steps.
  private func rows(of url: URL, _ model: NSManagedObjectModel) throws -> [String: Int] {
    let file = try StoreFile.open(url, isReadOnly: true)
    defer {
      // Opened for reading, so nothing can be lost.
      try? file.close()
    }
    return try rows(in: file, model)
  }

  private func rows(in file: StoreFile, _ model: NSManagedObjectModel) throws -> [String: Int] {
    let document = model.document
    let schema = try file.schema(for: document, configuration: document.configuration(migration.configuration))
    return try StoreVerification.rows(file, schema)
  }

  /// Returns the rows before the first step and after the last one, by the entity names of the last.
  private func counts(before: [String: Int], after: [String: Int]) -> [String: MigrationReport.RowCounts] {
    var result: [String: MigrationReport.RowCounts] = [:]
    var continued: Set<String> = []
    let predecessors = migration.steps.reversed().map(Self.predecessors)
    for (name, count) in after {
      let sources = predecessors.reduce([name]) { (names: Set<String>, step) in
        names.reduce(into: []) { $0.formUnion(step[$1] ?? []) }
      }
      continued.formUnion(sources)
      result[name] = .init(before: sources.reduce(0) { $0 + (before[$1] ?? 0) }, after: count)
    }
    // Includes rows without a mapping, even if the destination has an entity of that name.
    for (name, count) in before where !continued.contains(name) {
      result[name] = .init(before: count + (result[name]?.before ?? 0), after: result[name]?.after ?? 0)
    }
    return result
  }

  /// Returns the source entities that each destination entity of a step continues: the one with its name or renaming
  /// identifier, and those that the destination lacks and whose rows are mapped only to this entity. A new entity
  /// continues none, even if its objects are created from the rows of an entity that remains.
  private static func predecessors(_ step: StoreMigration.Step) -> [String: Set<String>] {
    var targets: [String: Set<String>] = [:]
    for mapping in step.mappingModel.entityMappings {
      guard let source = mapping.sourceEntityName, let destination = mapping.destinationEntityName else { continue }
      targets[source, default: []].insert(destination)
    }
    let entities = step.destinationModel.entitiesByName
    var result: [String: Set<String>] = [:]
    for (source, names) in targets {
      let successors = names.filter { $0 == source || entities[$0]?.renamingIdentifier == source }
      guard successors.isEmpty else {
        for successor in successors { result[successor, default: []].insert(source) }
        continue
      }
      if names.count == 1, let only = names.first { result[only, default: []].insert(source) }
    }
    return result
  }
}

extension MigrationProgress {
  /// Returns this progress as part of a migration with more steps.
  fileprivate func moved(by steps: Int, of count: Int) -> MigrationProgress {
    MigrationProgress(
      step: step + steps, stepCount: count, table: table, rowsDone: rowsDone, rowCount: rowCount, isStepDone: isStepDone
    )
  }
}

/// The number of rows that a step with a mapping model must create, if the mapping model determines it.
///
/// That is the case for entities whose mappings cover all objects of their source entities, unless any mapping has a
/// policy.
struct ExpectedRows {
  /// The expected rows by entity.
  private let expected: [String: Int]

  /// - Parameter rows: the rows of the source by entity, without those of sub-entities.
  init(_ mapping: NSMappingModel, from rows: [String: Int]) {
    let mappings = mapping.entityMappings ?? []
    guard mappings.allSatisfy({ ($0.entityMigrationPolicyClassName ?? "").isEmpty }) else {
      expected = [:]
      return
    }
    let byDestination = Dictionary(grouping: mappings.filter { $0.destinationEntityName != nil }) {
      $0.destinationEntityName ?? ""
    }
    expected = byDestination.compactMapValues { mappings in
      let counts = mappings.map { Self.coversAllObjects($0) ? rows[$0.sourceEntityName ?? ""] : nil }
      return counts.reduce(0) { sum, count in sum.flatMap { sum in count.map { sum + $0 } } }
    }
  }

  /// Returns whether a mapping creates an object for every object of its source entity.
  private static func coversAllObjects(_ mapping: NSEntityMapping) -> Bool {
    guard let source = mapping.sourceEntityName else { return false }
    switch mapping.mappingType {
    case .copyEntityMappingType, .transformEntityMappingType, .undefinedEntityMappingType:
      return mapping.sourceSyntax.map { $0 == MappingExpressions.sourceObjects(entity: source) } ?? true
    default: return false
    }
  }

  /// - Parameter found: the actual rows by entity.
  /// - Throws: `StoreVerification.Problem` for the first entity with a different number.
  func check(_ found: [String: Int]) throws {
    for (entity, count) in expected.sorted(by: { $0.key < $1.key }) {
      guard let actual = found[entity], actual != count else { continue }
      throw StoreVerification.Problem(
        reason: "'\(entity)' should have \(count) rows, one for each object that the mapping model maps to it, but "
          + "has \(actual).")
    }
  }
}

/// A step with a mapping model: a migration manager creates the next store from the previous one.
struct MappingModelStep {
  let step: StoreMigration.Step
  /// The configuration whose entities the store has; nil for all.
  let configuration: String?
  /// The time to wait for other users of the store, in seconds.
  let timeout: TimeInterval
  let manager: NSMigrationManager

  /// Runs the step.
  ///
  /// - Throws: as `NSMigrationManager.migrateStore(from:type:options:mapping:to:type:options:)`; the errors of
  ///   `progress`.
  func run(from source: URL, to destination: URL, progress: (Int, Int) throws -> Void) throws -> [MappingExecution] {
    let total = try rowCount(source)
    // The source was checked before the first step.
    let options: [String: Any] = [
      NSPersistentStoreTimeoutOption: NSNumber(value: timeout),
      MigrationOption.integrityCheck: StoreIntegrityCheck.never.rawValue,
    ]
    try withoutActuallyEscaping(progress) { progress in
      let handler = manager.progressHandler
      manager.progressHandler = { manager in
        handler?(manager)
        do {
          // A subclass may report any value.
          let fraction = Double(manager.migrationProgress)
          try progress(fraction > 0 ? Int(min(fraction, 1) * Double(total)) : 0, total)
        } catch {
          manager.cancelMigrationWithError(error)
        }
      }
      defer { manager.progressHandler = handler }
      try manager.migrate(from: source, options, by: step.mappingModel, to: destination, options, isDraft: true)
    }
    return manager.executions
  }

  /// Returns the number of objects in the source.
  private func rowCount(_ url: URL) throws -> Int {
    let file = try StoreFile.open(url, isReadOnly: true, timeout: timeout)
    defer {
      // Opened for reading, so nothing can be lost.
      try? file.close()
    }
    let document = step.sourceModel.document
    let schema = try file.schema(for: document, configuration: document.configuration(configuration))
    return try StoreVerification.rows(file, schema).values.reduce(0, +)
  }
}

extension StoreVerification.Model {
  /// Creates a document from a model of Apple's API and one of its configurations.
  init(_ model: NSManagedObjectModel, configuration: String?) {
    self.init(document: model.document, configuration: configuration) {
      model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: $0)
    }
  }
}
