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
      "The backup is made beside the store, as Orders~.sqlite for Orders.sqlite. Whatever goes wrong, the store is "
      + "as it was. With --verbose the SQL is told on standard error afterwards.",
    positionals: [.store, .model],
    options: [
      OptionSpecification("to", .text("V"), summary: "The version to reach (the current one)."),
      OptionSpecification(
        "mappings", .text("DIR"), repeats: true,
        summary: "Mapping models: a folder of .cdm and .xcmappingmodel, or one of them."),
      OptionSpecification("backup", .text("DIR"), summary: "The folder for the backup (that of the store)."),
      .flag("no-backup", summary: "Make no backup."),
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
    let model = try ModelArgument(path: arguments.argument("MODEL"))
    let target = try model.version(arguments.value("to"))
    let plan = try MigrationPlan(storeAt: url, modelsAt: model.url, version: target.name, mappings: invocation.mappings)
    for text in plan.remarks { invocation.remark(text) }
    guard !plan.steps.isEmpty else {
      let rows = plan.rows.mapValues { (before: $0, after: $0) }
      try write(plan, backup: nil, rows, invocation)
      return .done
    }
    for (_, finding) in plan.findings where finding.level == .error {
      invocation.remark("\(finding.code.rawValue)  \(finding.place): \(finding.message)")
    }
    let migration = try migration(plan, model, invocation)
    guard migration.missingPolicies.isEmpty else {
      throw CommandFailure(
        .noWay,
        "The mapping models on the way to \(plan.to) need code of the app, which this tool does not have: "
          + migration.missingPolicies.joined(separator: ", ") + ". Nothing was changed. Run the migration in a program "
          + "that has these policies, with StoreMigration or by opening the store.")
    }
    guard FileManager.default.isWritableFile(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) is read-only, and cannot be migrated. Check its permissions.")
    }
    let backup =
      arguments.flag("no-backup")
      ? nil
      : try StoreBackup.make(
        of: url, in: arguments.value("backup").map { URL(fileURLWithPath: $0, isDirectory: true) })
    do {
      let rows = try migrate(migration, invocation)
      try write(plan, backup: backup, rows, invocation)
    } catch {
      try removeNeedlessBackup(backup, plan)
      throw error
    }
    return .done
  }

  private static func migration(
    _ plan: MigrationPlan, _ model: ModelArgument, _ invocation: CommandInvocation
  ) throws -> StoreMigration {
    var migration = try StoreMigration(
      storeAt: plan.store, modelsAt: model.url, version: plan.to, mappings: invocation.mappings)
    // The backup is made by the command, also of stores that are migrated in place.
    migration.keepsReplacedStore = false
    return migration
  }

  private static func migrate(
    _ migration: StoreMigration, _ invocation: CommandInvocation
  ) throws -> [String: (before: Int, after: Int)] {
    let mode: ProgressWriter.Mode =
      invocation.arguments.choice("progress") ?? (invocation.options.isQuiet ? .none : .auto)
    let streams = invocation.streams
    let writer = ProgressWriter(
      mode, isTerminal: streams.isErrorTerminal, width: streams.columns, write: streams.error)
    let stop = StopSignal()
    defer {
      writer.finish()
      stop.end()
    }
    let steps = migration.steps
    let report = try migration.run { progress in
      try stop.check()
      let step = steps[progress.step - 1]
      writer.update(
        ProgressEvent(
          step: progress.step, of: progress.stepCount, title: "\(step.source) -> \(step.destination)",
          entity: progress.table, done: progress.rowsDone, total: progress.rowCount))
    }
    if invocation.options.isVerbose {
      writer.finish()
      for statement in report.statements { streams.error(statement + ";\n") }
    }
    return report.rows.mapValues { (before: $0.before, after: $0.after) }
  }

  /// A migration that failed has left the store as it was, and a copy of it is of no use then.
  private static func removeNeedlessBackup(_ backup: URL?, _ plan: MigrationPlan) throws {
    guard let backup else { return }
    let hashes = try StoreReader(url: plan.store).metadata.hashes
    guard try StoreReader(url: backup).metadata.hashes == hashes else { return }
    StoreFiles.removeIfPresent(at: backup)
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
    report.line(
      "Migrated \(plan.store.lastPathComponent): \(([plan.from] + plan.steps.map(\.to)).joined(separator: " -> "))")
    var table = TextTable([.init("Entity"), .init("Before", .trailing), .init("After", .trailing)])
    for (name, count) in sorted {
      table.add([name, NumberText.grouped(count.before), NumberText.grouped(count.after)])
    }
    report.indented { $0.table(table) }
    report.line(backup.map { "Backup  \($0.path)" } ?? "No backup was made.")
    try invocation.write(report)
  }
}
