// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import Foundation

/// The migration of a store through the stages of a plan.
///
/// Which stages remain, and whether each of their steps can be inferred, is settled before anything is changed.
struct PlannedMigration {
  private let opening: ContainerMigration
  private let plan: PlannedStages

  private var url: URL { opening.url }
  private var part: String? { opening.part }

  init(_ opening: ContainerMigration, _ plan: PlannedStages) {
    (self.opening, self.plan) = (opening, plan)
  }

  /// What remains of a stage.
  private struct Work {
    let stage: PlannedStages.Stage
    /// Whether only `didMigrate` is left.
    let isAfterStep: Bool
    /// The mark of a process that was killed after `willMigrate`, or after the step.
    var mark: StageMark?
  }

  func run(_ metadata: [String: Any]) throws {
    addConfigurations(metadata)
    let works = try remaining(metadata)
    for work in works where !work.isAfterStep {
      try work.stage.checkStep(plan.name, "The store \(opening.place) is unchanged.")
    }
    var tracker = StageProgress(opening, works.map(\.stage.label))
    var finished = works.first.map { $0.isAfterStep ? $0.stage.destination : $0.stage.source }
    do {
      // The backup of an interrupted migration was made when it began.
      if StageMark(metadata) == nil { tracker.backup = try opening.backUp { try tracker.report(.backup, 0) } }
      for work in works {
        try run(work, tracker)
        finished = work.stage.destination
        tracker.next()
      }
    } catch let error where error.isCancellation {
      // A step reports an error of Core Data.
      throw opening.cancelled(
        (error as? ContainerMigration.Cancellation)?.cause ?? error,
        opening.isCopy ? "It is unchanged." : "The store is of \(finished?.name ?? "its old version").")
    }
  }

  /// Gives the models of all versions the configuration of a store with some of the entities: those of the container's
  /// configuration, and those of older versions that the store has.
  private func addConfigurations(_ metadata: [String: Any]) {
    guard let part, let own = opening.configuration.schema else { return }
    let stored = Set((metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]).keys)
    for version in plan.versions { version.addConfiguration(part, stored.union(own.entities.map(\.name))) }
  }

  // MARK: The plan for a store

  private func remaining(_ metadata: [String: Any]) throws -> [Work] {
    guard let position = plan.position(of: metadata, part) else { throw UnknownVersion(opening, plan).error(metadata) }
    let mark = StageMark(metadata)
    var works: [Work] = []
    if let mark, mark.isAfterStep(metadata) {
      guard let stage = plan.stages.first(where: { mark.isOf($0) && $0.to == position }) else {
        throw opening.unfinished(mark, "The migration plan \(plan.name) does not have this stage.")
      }
      works.append(Work(stage: stage, isAfterStep: true, mark: mark))
    }
    works += plan.stages.filter { $0.from >= position }.map { Work(stage: $0, isAfterStep: false) }
    if let mark, let first = works.indices.first, mark.isOf(works[first].stage) { works[first].mark = mark }
    return works
  }

  /// The labels of the stages that a store would go through.
  func pending(_ metadata: [String: Any]) throws -> [String] {
    addConfigurations(metadata)
    return try remaining(metadata).map(\.stage.label)
  }

  // MARK: Running

  private func run(_ work: Work, _ tracker: StageProgress) throws {
    let stage = work.stage
    if work.isAfterStep, let mark = work.mark {
      // Programs may have opened the store since the process was killed.
      try StageMark.set(mark.renewed, at: url)
    }
    if !work.isAfterStep {
      if stage.hasCode { try prepare(work, tracker) }
      try tracker.report(.step, 0.2)
      do {
        if stage.readsSource { try copySource(stage) }
        try step(stage, tracker)
      } catch {
        SourceCopy(of: url).discard()
        // A corrected willMigrate must run again. If the mark stays, the next failure removes it. After an error that has
        // nothing to do with the rows, such as a full disk, the mark says that willMigrate has run.
        let isOfRows = Self.isOfRows(error)
        if isOfRows { try? StageMark.set(nil, at: url) }
        if error.isCancellation { throw error }
        let advice = Self.advice(error, stage)
        let changes =
          isOfRows
          ? ", with the changes of willMigrate, which runs again" : ", with the changes of willMigrate, which has run"
        throw SwiftDataError(
          .loadIssueModelContainer,
          "The stage \(stage.label) of the migration plan \(plan.name) has failed. "
            + state(stage.source, stage.willMigrate == nil ? "" : changes) + advice,
          cause: opening.named(error), isAdvised: !advice.isEmpty)
      }
    }
    guard stage.hasCode else { return }
    if stage.didMigrate != nil { try tracker.report(.didMigrate, 0.8) }
    switch stage.didMigrate {
    case nil: try callAfterwards(nil, stage)
    case .inDestination(let code): try callAfterwards(code, stage)
    case .fromSource(let code):
      let source = try SourceCopy(of: url).open(stage.source, configuration: part, label: stage.label)
      try callAfterwards({ try code(source.context, $0) }, stage)
      try source.close()
      // It is not needed any more. The next process to open the store removes what stays.
      SourceCopy(of: url).discard()
    }
  }

  private func callAfterwards(_ code: ((ModelContext) throws -> Void)?, _ stage: PlannedStages.Stage) throws {
    try call(code, "didMigrate", stage, stage.destination) { _, _ in nil }
  }

  /// Keeps the rows of the old version for `didMigrate`, which may run in another process.
  private func copySource(_ stage: PlannedStages.Stage) throws {
    do {
      try SourceCopy(of: url).make()
    } catch {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The rows of \(stage.source.name), which the didMigrate of the stage reads, could not be copied.",
        cause: opening.named(error))
    }
  }

  /// Whether a step has failed because of rows that `willMigrate` can change.
  private static func isOfRows(_ error: any Error) -> Bool {
    let error = error as NSError
    guard error.domain == NSCocoaErrorDomain else { return false }
    return error.code == NSMigrationConstraintViolationError
      || error.code == NSMigrationError && error.userInfo[ErrorDetail.entity] != nil
  }

  private static func advice(_ error: any Error, _ stage: PlannedStages.Stage) -> String {
    let error = error as NSError
    guard error.domain == NSCocoaErrorDomain, error.code == NSMigrationConstraintViolationError else { return "" }
    return stage.willMigrate == nil
      ? " Make the stage a custom one whose willMigrate removes the duplicates."
      : " Its willMigrate has not removed all duplicates."
  }

  /// Runs `willMigrate`, unless a process that was killed afterwards has done so.
  private func prepare(_ work: Work, _ tracker: StageProgress) throws {
    let stage = work.stage
    if stage.willMigrate != nil { try tracker.report(.willMigrate, 0) }
    // From here to the step, no other program may write.
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    try StageMark.set((work.mark ?? StageMark(stage, metadata)).renewed, at: url)
    do {
      try call(stage.willMigrate, "willMigrate", stage, stage.source, unless: work.mark) { $0.mark(stage, $1) }
    } catch {
      // Others can write until the code runs again. If the new mark stays, they have to open the store again.
      try? StageMark.set(work.mark, at: url)
      throw error
    }
  }

  private func call(
    _ code: ((ModelContext) throws -> Void)?, _ name: String, _ stage: PlannedStages.Stage, _ version: PlannedVersion,
    unless done: StageMark? = nil, mark: (StageContext, [String: Any]) -> StageMark?
  ) throws {
    let context = try StageContext(version, at: url, configuration: part, label: stage.label)
    let result = Result {
      if let done, try context.isCovered(by: done) { return }
      try context.run(code, mark: mark)
    }
    // The code's own error is more useful than that of closing the store after it.
    do { try context.close() } catch { if case .success = result { throw error } }
    do {
      try result.get()
    } catch {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The \(name) of the stage \(stage.label) of the migration plan \(plan.name) has failed. "
          + (opening.isCopy ? "" : "Nothing that it changed is in the store. ") + state(version)
          + " It runs again when the store is next opened.",
        cause: opening.named(error))
    }
  }

  /// Returns a sentence about the store after an error.
  private func state(_ version: PlannedVersion, _ changes: String = "") -> String {
    opening.isCopy
      ? "The store \(opening.place) is unchanged."
      : "The store \(opening.place) is of \(version.name)\(changes)."
  }

  private func step(_ stage: PlannedStages.Stage, _ tracker: StageProgress) throws {
    let versions = ModelVersions([
      ModelVersion(name: stage.source.name, model: stage.source.model),
      ModelVersion(name: stage.destination.name, model: stage.destination.model),
    ])
    var migration = try StoreMigration(
      storeAt: url, known: versions, version: stage.destination.name, isProgressive: false, allowsLoss: .none)
    if opening.isCopy { (migration.keepsReplacedStore, migration.defersCleanup) = (false, false) }
    try migration.run { try tracker.report(.step, 0.2 + 0.6 * $0.fractionCompleted) }
  }
}

extension ContainerMigration {
  /// The error for a store whose stage is unfinished and cannot be finished.
  func unfinished(_ mark: StageMark, _ reason: String) -> SwiftDataError {
    SwiftDataError(
      .loadIssueModelContainer,
      "The store \(place) was migrated by the stage \(mark.label), whose didMigrate has not finished. \(reason) "
        + "Open it with a migration plan that has the stage.")
  }
}

/// Reports the progress of a store through its stages.
struct StageProgress {
  private let opening: ContainerMigration
  private let labels: [String]
  private var position = 0
  var backup: URL?

  init(_ opening: ContainerMigration, _ labels: [String]) {
    (self.opening, self.labels) = (opening, labels)
  }

  mutating func next() { position += 1 }

  func report(_ phase: SchemaMigrationProgress.Phase, _ fraction: Double) throws {
    guard opening.options.progress != nil, position < labels.count else { return }
    try opening.report(
      SchemaMigrationProgress(
        stage: labels[position], stageNumber: position + 1, stageCount: labels.count, phase: phase,
        fractionCompleted: (Double(position) + fraction) / Double(labels.count), backup: backup))
  }
}
