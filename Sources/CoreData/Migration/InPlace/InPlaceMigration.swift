// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Migrates a store through all steps in a single transaction of its own file.
struct InPlaceMigration {
  let migration: StoreMigration
  let file: StoreFile

  private var connection: SQLiteConnection { file.connection }

  /// The number of SQLite's virtual machine instructions between two checks for cancellation, which take some
  /// hundredths of a second.
  private static let instructionsBetweenChecks = 200_000

  /// - Parameter lock: if given, obsolete files of values are recorded in the journal before the commit, so that the
  ///   next process to open the store removes them if this one is killed.
  /// - Throws: `InPlaceProblem`, `SchemaProblem`, `StoreFileProblem`, `SQLiteError`, or errors of `progress`, as
  ///   134120. The transaction has then been rolled back.
  func run(
    lock: MigrationLock? = nil, progress: (MigrationProgress) throws -> Void
  ) throws -> MigrationReport {
    // Renaming a table must not change the SQL of other objects, because everything that depends on it is created
    // again.
    try connection.setPragma("legacy_alter_table", to: 1)
    // Old rows are not secret to the store's owner, and overwriting them doubles the time of copying a table.
    try connection.setPragma("secure_delete", to: 0)
    let external = ExternalData(store: migration.storeURL)
    try connection.register(function: ValueConversion.inlineFunction, argumentCount: 1) { arguments in
      .blob(try external.value(of: arguments.first?.blob ?? Data()))
    }
    try connection.register(function: ValueConversion.floatFunction, argumentCount: 1, deterministic: true) {
      arguments in arguments.first?.real.map { .real(Double(Float($0))) } ?? .null
    }
    try DerivedColumns.register(in: connection, FrameworkValues())
    try PredicateFunctions.register(with: connection)
    let dropped = DroppedFiles(connection: connection)
    let integrity = IntegrityGuard(connection, url: migration.storeURL, policy: migration.integrityCheck.policy)
    var latest = MigrationProgress(
      step: 1, stepCount: migration.steps.count, table: nil, rowsDone: 0, rowCount: 0, isStepDone: false)
    let running = RunningStatement()
    var isCancelled = false
    func reportProgress(_ event: MigrationProgress) throws {
      do {
        try progress(event)
      } catch {
        isCancelled = true
        throw MigrationErrors.cancelled(url: migration.storeURL)
      }
    }
    var result = try connection.transaction(.exclusive) {
      // Called during long statements, so that they can be cancelled.
      func tick() throws {
        try reportProgress(latest.adding(rows: running.advance(by: Self.instructionsBetweenChecks)))
      }
      return try connection.checking(every: Self.instructionsBetweenChecks, tick) {
        let report = try integrity.whileChecking(isCancelled: { isCancelled }) {
          try self.runSteps(dropped, integrity, running) { event in
            latest = event
            try reportProgress(event)
          }
        }
        if let lock { try dropped.writeDown(lock, from: migration.source, to: migration.destination) }
        return report
      }
    }
    do {
      try dropped.remove(from: external)
    } catch {
      // The store is migrated. The next process to open it removes the files.
      result.leftover = error
    }
    return result
  }

  /// Runs all steps in the open transaction.
  private func runSteps(
    _ dropped: DroppedFiles, _ integrity: IntegrityGuard, _ running: RunningStatement,
    _ progress: (MigrationProgress) throws -> Void
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
      let found = try run.carryOut(
        dropped, integrity, countsAllRows: migration.countsAllRows, known: known, running
      ) {
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

  /// Returns the number of rows after a step.
  private static func rows(_ counts: [InPlaceStepRun.Count]) -> [String: Int] {
    Dictionary(counts.compactMap { count in count.destination.map { ($0, count.after) } }) { $1 }
  }

  /// Counts the rows again after everything has been written. In a corrupt file, the pages written last may have held
  /// rows.
  private func check(_ known: [String: Int]) throws {
    guard !known.isEmpty, let document = migration.steps.last?.destinationModel.document else { return }
    let schema = try file.schema(for: document, configuration: document.configuration(migration.configuration))
    let found = try StoreVerification.rows(file, schema)
    for (entity, count) in known.sorted(by: { $0.key < $1.key }) where found[entity, default: 0] != count {
      throw InPlaceStepRun.loss(of: entity, before: count, after: found[entity, default: 0])
    }
  }

  /// Returns the rows before the first step and after the last one, by the entity names of the last.
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
    // Entities removed by an earlier step remain in the report.
    for (name, count) in earlier where !continued.contains(name) && result[name] == nil { result[name] = count }
    return result
  }

  /// Writes the metadata and the model cache.
  private func finish() throws {
    guard let model = migration.steps.last?.destinationModel else { return }
    let document = model.document
    let own = try StoreMetadata.ofModel(
      document, configuration: document.configuration(migration.configuration), hashes: model.versionHashes)
    var metadata = try file.metadata().merging(own) { $1 }
    let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
    metadata[key] = nil
    // An incomplete stage has now been completed.
    metadata[StoreMetadata.Key.pendingStage] = nil
    if migration.defersCleanup {
      let pending = DeferredCleanup(file: file, document: document, configuration: migration.configuration)
      if try !pending.tables().isEmpty { metadata[key] = true }
    }
    try file.setMetadata(metadata.merging(migration.addedMetadata) { $1 })
    try file.setCachedModel(document)
    try recordMarks()
  }

  /// Records the migration in the history of the store. Creates the history tables if there are none yet.
  private func recordMarks() throws {
    guard !migration.historyMarks.isEmpty else { return }
    // Opening the store adds the columns for values of deleted rows.
    try HistoryTables.make(in: connection, tombstones: 0)
    for origin in migration.historyMarks {
      let writer = HistoryWriter(connection, origin: origin)
      try writer.recordTransaction()
      try writer.finish()
    }
  }

  /// Returns which superfluous columns to remove, including those that an earlier migration has deferred.
  private func cleanup() throws -> ColumnCleanup {
    if migration.defersCleanup { return .deferred }
    let isPending = try file.metadata()[NSPersistentStoreDeferredLightweightMigrationOptionKey] != nil
    return isPending ? .all : .necessary
  }
}

/// The deferred cleanup of an in-place migration: tables with columns that no property uses.
///
/// Each table is one task, and each task is one transaction. The last task removes the metadata key for pending
/// cleanup. So a process that is killed leaves a complete store in which the remaining work is recorded.
struct DeferredCleanup {
  let file: StoreFile
  let document: ModelDocument
  let configuration: String?

  /// Returns the tables that have such columns, sorted.
  func tables() throws -> [String] {
    let schema = try file.schema(for: document, configuration: document.configuration(configuration))
    return schema.extraColumns(in: try file.connection.catalog()).keys.sorted()
  }

  /// Cleans up one table.
  ///
  /// - Returns: whether there is more to do.
  /// - Throws: `SQLiteError`, `InPlaceProblem`. On an error, the table is unchanged.
  func runTask() throws -> Bool {
    try file.connection.setPragma("legacy_alter_table", to: 1)
    try file.connection.setPragma("secure_delete", to: 0)
    return try file.connection.transaction(.exclusive) {
      let pending = try tables()
      if let table = pending.first { try cleanUp(table) }
      guard pending.count < 2 else { return true }
      var metadata = try file.metadata()
      metadata[NSPersistentStoreDeferredLightweightMigrationOptionKey] = nil
      try file.setMetadata(metadata)
      return false
    }
  }

  /// Rebuilds the table with a step from the model to itself.
  private func cleanUp(_ table: String) throws {
    let run = try InPlaceStepRun(
      from: document, to: document, mapping: nil, configuration: configuration, file: file, values: FrameworkValues(),
      cleanup: .table(table))
    // The model does not change, so no file is dropped.
    let integrity = IntegrityGuard(file.connection, url: file.url, policy: .automatic)
    _ = try integrity.whileChecking(isCancelled: { false }) {
      try run.carryOut(DroppedFiles(connection: file.connection), integrity) { _, _, _, _ in }
    }
  }
}

/// The values of value transformers and predicate functions for an in-place migration.
package struct FrameworkValues: ProgramValues {
  package init() {}

  package func archivedDefault(of attribute: AttributeDocument) throws -> Data? {
    let description = NSAttributeDescription.make(from: attribute)
    guard let value = description.defaultValue, case .object(let object)? = Slot(value, for: description) else {
      throw UnwritableDefault(reason: "")
    }
    do {
      return try TransformableValues.encode(object, of: description)
    } catch {
      throw UnwritableDefault(reason: (error as NSError).localizedFailureReason ?? "\(error)")
    }
  }

  package func text(_ function: String, of text: String) throws -> String? {
    try FunctionLibrary.call(function, [text]) as? String
  }
}

extension InPlaceStepRun {
  /// Creates a migration step.
  ///
  /// - Throws: 134190 if no mapping can be inferred; `SchemaProblem`; `SQLiteError`.
  init(
    _ step: StoreMigration.Step, configuration: String?, file: StoreFile, cleanup: ColumnCleanup
  ) throws {
    do {
      try self.init(
        from: step.sourceModel.document, to: step.destinationModel.document, mapping: step.mappingModel.inferred,
        configuration: configuration, file: file, values: FrameworkValues(), cleanup: cleanup)
    } catch let failure as InferenceFailure {
      throw MigrationErrors.cannotInfer(failure.obstacles)
    }
  }
}
