// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata migrate run`
enum MigrateRunCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "run"], summary: "Migrate the store, after a backup.",
    discussion:
      "The backup is made beside the store, as Orders~.sqlite for Orders.sqlite; migrate restore goes back to it. Whatever "
      + "goes wrong, the store is as it was. What migrate plan finds an error ends with status 5, and nothing is done: data "
      + "are dropped only where that is allowed. With --verbose the SQL is told on standard error afterwards.\n\n"
      + AllowanceArguments.help,
    positionals: [.store, .model],
    options: [
      OptionSpecification("to", .text("V"), summary: "The version to reach (the current one)."),
      OptionSpecification(
        "mappings", .text("DIR"), repeats: true,
        summary: "Mapping models: a folder of .cdm and .xcmappingmodel, or one of them."),
      .allow, .allowances, .allowLoss, .allowDowngrade,
      OptionSpecification("backup", .text("DIR"), summary: "The folder for the backup (that of the store)."),
      .flag("no-backup", summary: "Make no backup."),
      OptionSpecification(
        "integrity-check", .oneOf(["automatic", "always", "never"]),
        summary: "When SQLite checks the pages of the store before it is changed (automatic: where that is quick)."),
      OptionSpecification(
        "progress", .oneOf(ProgressWriter.Mode.allCases.map(\.rawValue)),
        summary: "How progress is shown on standard error (auto: a bar on a terminal, else a line a step)."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    guard !(arguments.flag("no-backup") && arguments.flag("backup")) else {
      throw CommandFailure(.usage, "--backup and --no-backup exclude each other.")
    }
    let url = invocation.url("STORE")
    let allowances = try invocation.allowances()
    let (plan, target, known) = try invocation.withModel { model in
      let target = try model.version(arguments.value("to"))
      let known = try model.modelVersions()
      try recover(url, invocation)
      let plan = try MigrationPlan(
        storeAt: url, known: known, version: target.name, mappings: invocation.mappings, allowances: allowances)
      return (plan, target, known)
    }
    invocation.remarkAllowances(plan)
    for text in plan.remarks { invocation.remark(text) }
    guard !plan.steps.isEmpty else {
      let rows = plan.rows.mapValues { (before: $0, after: $0) }
      try write(plan, backup: nil, rows, invocation)
      return .done
    }
    var migration = plan.migration
    // The backup is made by the command, also of stores that are migrated in place.
    migration.keepsReplacedStore = false
    try migration.watchLosses()
    if let check = arguments.value("integrity-check").flatMap(StoreIntegrityCheck.init) {
      migration.integrityCheck = check
    }
    guard migration.missingPolicies.isEmpty else {
      throw CommandFailure(
        .noWay,
        "The mapping models on the way to \(plan.to) need code of the app, which this tool does not have: "
          + migration.missingPolicies.joined(separator: ", ") + ". Nothing was changed. Run the migration in a program "
          + "that has these policies, with StoreMigration or by opening the store.")
    }
    if let refusal = PlanText.refusal(plan, allowsDowngrade: arguments.flag("allow-downgrade")) {
      throw CommandFailure(
        .noWay, "\(url.lastPathComponent) was not migrated to \(plan.to). \(refusal) Nothing was changed.")
    }
    guard FileManager.default.isWritableFile(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) is read-only, and cannot be migrated. Check its permissions.")
    }
    // From here on somebody who stops the run gets the store and no torn backup.
    let stop = StopSignal()
    defer { stop.end() }
    let backup = arguments.flag("no-backup") ? nil : try makeBackup(of: url, invocation)
    let rows: [String: (before: Int, after: Int)]
    do {
      try stop.check()
      guard let found = try migrate(migration, stop, invocation) else {
        // Another process was faster. A backup of what was there before it stays: the other may have made none.
        return try tellDone(
          url, known, target.name, backup: backup.flatMap { removeNeedlessBackup($0, plan) ? nil : $0 }, invocation)
      }
      rows = found
    } catch {
      if let backup, !removeNeedlessBackup(backup, plan) {
        invocation.remark("The backup stays: \(backup.path)")
      }
      throw error
    }
    invocation.result.workDone =
      "\(url.lastPathComponent) was migrated to \(plan.to)."
      + (backup.map { " The backup is \($0.path)." } ?? "")
    try write(plan, backup: backup, rows, invocation)
    return .done
  }

  /// Says that another process has migrated the store since this one began.
  private static func tellDone(
    _ url: URL, _ known: ModelVersions, _ version: String, backup: URL? = nil, _ invocation: CommandInvocation
  ) throws -> ExitStatus {
    let plan = try MigrationPlan(storeAt: url, known: known, version: version, mappings: invocation.mappings)
    invocation.remark("Another process has migrated \(url.lastPathComponent) meanwhile.")
    if let backup { invocation.remark("The backup stays: \(backup.path)") }
    try write(plan, backup: backup, plan.rows.mapValues { (before: $0, after: $0) }, invocation)
    return .done
  }

  /// Clears up after a process that was killed, and says so.
  private static func recover(_ url: URL, _ invocation: CommandInvocation) throws {
    guard FileManager.default.isWritableFile(atPath: url.path) else { return }
    if FileManager.default.isWritableFile(atPath: url.deletingLastPathComponent().path) {
      try clearBackups(of: url, in: nil, invocation)
    }
    switch try StoreRecovery.recover(interruptedAt: url) {
    case .finished:
      invocation.remark(
        "Earlier work on \(url.lastPathComponent) was interrupted after it was done; what it had left was removed.")
    case .undone:
      invocation.remark(
        "Earlier work on \(url.lastPathComponent) was interrupted before it was done; it was undone, and the store is as "
          + "it was before.")
    case .rolledBack:
      invocation.remark(
        "A program was killed while it wrote to \(url.lastPathComponent); its transaction was rolled back, and the store is "
          + "whole, as it was before it.")
    case nil: break
    }
  }

  /// - Returns: nil where another process has migrated the store meanwhile.
  private static func migrate(
    _ migration: StoreMigration, _ stop: StopSignal, _ invocation: CommandInvocation
  ) throws -> [String: (before: Int, after: Int)]? {
    let mode: ProgressWriter.Mode =
      invocation.arguments.choice("progress") ?? (invocation.options.isQuiet ? .none : .auto)
    let streams = invocation.streams
    let writer = ProgressWriter(
      mode, isTerminal: streams.isErrorTerminal, width: streams.columns, write: streams.error)
    defer { writer.finish() }
    let steps = migration.steps
    let report = try migration.run { progress in
      try stop.check()
      let step = steps[progress.step - 1]
      writer.update(
        ProgressEvent(
          step: progress.step, of: progress.stepCount, title: "\(step.source) -> \(step.destination)",
          entity: progress.table, done: progress.rowsDone, total: progress.rowCount))
    }
    if report.wasDoneByOthers { return nil }
    if invocation.options.isVerbose {
      writer.finish()
      for statement in report.statements { streams.say(statement + ";\n") }
    }
    return report.rows.mapValues { (before: $0.before, after: $0.after) }
  }

  /// Backs the store up, after what runs have left that were killed while they did.
  private static func makeBackup(of url: URL, _ invocation: CommandInvocation) throws -> URL {
    let folder = invocation.arguments.value("backup").map { URL(fileURLWithPath: $0, isDirectory: true) }
    if folder != nil { try clearBackups(of: url, in: folder, invocation) }
    return try StoreBackup.make(of: url, in: folder)
  }

  /// Clears up what a run has left that was stopped while it made its backup, and says so.
  private static func clearBackups(of url: URL, in folder: URL?, _ invocation: CommandInvocation) throws {
    let found = try StoreBackup.clearLeftovers(of: url, in: folder)
    for backup in found.completed {
      invocation.remark("An earlier run was stopped before it had named its backup; it is whole: \(backup.path)")
    }
    if found.removedCount > 0 {
      let count = NumberText.counted(found.removedCount, "incomplete backup")
      invocation.remark("Removed \(count) of \(url.lastPathComponent), left by a run that was stopped.")
    }
  }

  /// A migration that failed has left the store as it was, and a copy of it is of no use then.
  ///
  /// - Returns: whether the backup was removed; it stays where it cannot be found out whether it is needed.
  private static func removeNeedlessBackup(_ backup: URL, _ plan: MigrationPlan) -> Bool {
    do {
      let hashes = try StoreReader(url: plan.store).metadata.hashes
      guard try StoreReader(url: backup).metadata.hashes == hashes else { return false }
      try StoreBackup.remove(backup)
      return true
    } catch {
      // Why the migration failed is what matters.
      return false
    }
  }

  private static func write(
    _ plan: MigrationPlan, backup: URL?, _ rows: [String: (before: Int, after: Int)],
    _ invocation: CommandInvocation
  ) throws {
    let sorted = rows.sorted { $0.key < $1.key }
    if invocation.options.format == .json {
      return try invocation.write(
        [
          "format": "coredata.migration/1", "from": .string(plan.from), "to": .string(plan.to),
          "steps": .array(plan.steps.map { PlanText.json($0) }), "backup": .optional(backup?.path),
          "rows": .object(
            sorted.map {
              .init($0.key, ["before": .integer($0.value.before), "after": .integer($0.value.after)])
            }),
        ])
    }
    guard !plan.steps.isEmpty else {
      return try invocation.result.write(
        "\(plan.store.lastPathComponent) is of \(plan.to) already. Nothing was changed.\n")
    }
    var report = TextReport(styler: invocation.styler)
    let names = [plan.from] + plan.steps.map(\.to)
    let way =
      names.count > 8
      ? "\(plan.from) -> ... -> \(plan.to) (\(plan.steps.count) steps)" : names.joined(separator: " -> ")
    report.line("Migrated \(plan.store.lastPathComponent): \(way)")
    var table = TextTable([.init("Entity"), .init("Before", .trailing), .init("After", .trailing)])
    for (name, count) in sorted {
      table.add([name, NumberText.grouped(count.before), NumberText.grouped(count.after)])
    }
    report.indented { $0.table(table) }
    report.line(backup.map { "Backup  \($0.path)" } ?? "No backup was made.")
    try invocation.write(report)
  }
}
