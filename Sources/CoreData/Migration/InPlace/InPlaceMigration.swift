// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Takes a store through all steps of a migration, in one transaction of its own file.
struct InPlaceMigration {
  let migration: StoreMigration
  let file: StoreFile

  private var connection: SQLiteConnection { file.connection }

  /// How many instructions of SQLite's virtual machine lie between two checks for cancellation; some hundredths of a second.
  private static let instructionsBetweenChecks = 500_000

  /// - Parameter lock: where given, the files of values that are not needed any more are written down before the commit, so
  ///   that whoever opens the store next can remove them if this process is killed before it has.
  /// - Throws: `InPlaceProblem`, `SchemaProblem`, `StoreFileProblem`, `SQLiteError`, or what `progress` has thrown, as
  ///   134120; the transaction has been rolled back then.
  func run(
    lock: MigrationLock? = nil, progress: (MigrationProgress) throws -> Void
  ) throws -> MigrationReport {
    // Renaming a table must not touch the text of other objects: all that depends on it is made anew.
    try connection.setPragma("legacy_alter_table", to: 1)
    // The old rows are not secret to the store's owner; wiping them doubles the time of copying a table.
    try connection.setPragma("secure_delete", to: 0)
    let external = ExternalData(store: migration.storeURL)
    try connection.register(function: ValueConversion.inlineFunction, argumentCount: 1) { arguments in
      .blob(try external.value(of: arguments.first?.blob ?? Data()))
    }
    try DerivedColumns.register(in: connection, FrameworkValues())
    let dropped = DroppedFiles(connection: connection)
    let integrity = IntegrityGuard(connection, url: migration.storeURL, policy: migration.integrityCheck.policy)
    var latest = MigrationProgress(
      step: 1, stepCount: migration.steps.count, table: nil, rowsDone: 0, rowCount: 0, isStepDone: false)
    var result = try connection.transaction(.exclusive) {
      // What takes long between two reports repeats the last one, so that the migration can be cancelled at any time.
      try connection.checking(every: Self.instructionsBetweenChecks, { try report(latest, to: progress) }) {
        let report = try self.runSteps(dropped, integrity) { event in
          latest = event
          try self.report(event, to: progress)
        }
        if let lock { try dropped.writeDown(lock, from: migration.source, to: migration.destination) }
        return report
      }
    }
    do {
      try dropped.remove(from: external)
    } catch {
      // The store is migrated; whoever opens it next removes the files.
      result.leftover = error
    }
    return result
  }

  /// What happens in the transaction.
  private func runSteps(
    _ dropped: DroppedFiles, _ integrity: IntegrityGuard, _ progress: (MigrationProgress) throws -> Void
  ) throws -> MigrationReport {
    try migration.checkMetadata(of: file)
    try migration.checkDropped(in: file)
    try integrity.begin()
    let cleanup = try self.cleanup()
    var executed: [String] = []
    var counts: [String: MigrationReport.RowCounts] = [:]
    var known: [String: Int] = [:]
    for (position, step) in migration.steps.enumerated() {
      let run = try InPlaceStepRun(step, configuration: migration.configuration, file: file, cleanup: cleanup)
      let found = try run.carryOut(dropped, integrity, countsAllRows: migration.countsAllRows, known: known) {
        table, done, total, isStepDone in
        try progress(
          MigrationProgress(
            step: position + 1, stepCount: migration.steps.count, table: table, rowsDone: done, rowCount: total,
            isStepDone: isStepDone))
      }
      executed += found.statements
      counts = chain(counts, found.counts)
      known = found.isCounted ? Self.rows(found.counts) : [:]
    }
    try finish()
    try check(known)
    return MigrationReport(rows: counts, statements: executed)
  }

  /// The rows after a step.
  private static func rows(_ counts: [InPlaceStepRun.Count]) -> [String: Int] {
    Dictionary(counts.compactMap { count in count.destination.map { ($0, count.after) } }) { $1 }
  }

  /// Counts the rows once more when everything is written: the last pages that SQLite takes for free may have held rows.
  private func check(_ known: [String: Int]) throws {
    guard !known.isEmpty, let document = migration.steps.last?.destinationModel.document else { return }
    let schema = try file.schema(for: document, configuration: document.configuration(migration.configuration))
    let found = try StoreVerification.rows(file, schema)
    for (entity, count) in known.sorted(by: { $0.key < $1.key }) where found[entity, default: 0] != count {
      throw InPlaceStepRun.loss(of: entity, before: count, after: found[entity, default: 0])
    }
  }

  private func report(_ event: MigrationProgress, to progress: (MigrationProgress) throws -> Void) throws {
    do {
      try progress(event)
    } catch {
      throw MigrationErrors.cancelled(url: migration.storeURL)
    }
  }

  /// Rows before the first step and after the last one, by the names of the last.
  private func chain(
    _ earlier: [String: MigrationReport.RowCounts], _ step: [InPlaceStepRun.Count]
  ) -> [String: MigrationReport.RowCounts] {
    var result: [String: MigrationReport.RowCounts] = [:]
    var continued: Set<String> = []
    for count in step {
      let first = count.source.flatMap { earlier[$0] }
      if let source = count.source { continued.insert(source) }
      result[count.destination ?? count.source ?? ""] = .init(before: first?.before ?? count.before, after: count.after)
    }
    // What an earlier step has removed stays in the report.
    for (name, count) in earlier where !continued.contains(name) && result[name] == nil { result[name] = count }
    return result
  }

  /// Writes what the store says of its model.
  private func finish() throws {
    guard let document = migration.steps.last?.destinationModel.document else { return }
    let own = try StoreMetadata.ofModel(document, configuration: document.configuration(migration.configuration))
    var metadata = try file.metadata().merging(own) { $1 }
    let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
    metadata[key] = nil
    // A stage that was not brought to its end is passed now.
    metadata[StagedMigration.pendingKey] = nil
    if migration.defersCleanup {
      let pending = DeferredCleanup(file: file, document: document, configuration: migration.configuration)
      if try !pending.tables().isEmpty { metadata[key] = true }
    }
    try file.setMetadata(metadata.merging(migration.addedMetadata) { $1 })
    try file.setCachedModel(document)
  }

  /// What becomes of superfluous columns: also of those that an earlier migration has left for later.
  private func cleanup() throws -> ColumnCleanup {
    if migration.defersCleanup { return .deferred }
    let isPending = try file.metadata()[NSPersistentStoreDeferredLightweightMigrationOptionKey] != nil
    return isPending ? .all : .necessary
  }
}

extension InPlaceProblem {
  /// The error for the caller.
  func error(url: URL) -> NSError {
    switch kind {
    case .unsupported:
      MigrationErrors.failed(url: url, reason: reason, suggestion: suggestion, entity: entity, attribute: property)
    case .outdatedPlan: MigrationErrors.outdatedPlan(url: url, reason: reason, suggestion: suggestion)
    case .missingValues:
      MigrationErrors.missingMandatoryValues(url: url, entity: entity ?? "", attribute: property ?? "")
    case .notUnique(let properties):
      MigrationErrors.constraintViolation(
        url: url, entity: entity ?? "", properties: properties, values: reason)
    }
  }
}
