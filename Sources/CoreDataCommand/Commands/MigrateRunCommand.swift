// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Dispatch
import Foundation

/// `coredata migrate run`
enum MigrateRunCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "run"], summary: "Back up and migrate a store.",
    discussion:
      "The backup is created beside the store, such as Orders~.sqlite for Orders.sqlite; migrate restore restores it. "
      + "After a failure the store is as it was before. If migrate plan finds an error, exits with status 5 and does "
      + "nothing: data is dropped only if that is allowed. With --verbose, writes the SQL to standard error "
      + "afterwards.\n\nA store in a database server is migrated in one transaction, and backed up only with --backup DIR, "
      + "by pg_dump. An XML or binary store is migrated in a private copy, which then replaces it.\n\n"
      + AllowanceArguments.help,
    positionals: [.anyStore, .model],
    options: [
      .targetVersion, .mappings, .policies,
      .allow, .allowances, .allowLoss, .allowDowngrade,
      .backup, .noBackup,
      OptionSpecification(
        "integrity-check", .oneOf(["automatic", "always", "never"]),
        summary:
          "Whether SQLite checks the pages of the store before the migration (default: automatic, if that is quick)."),
      .progress,
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    try invocation.checkBackupOptions()
    let address = try StoreAddress(arguments.argument("STORE"))
    let url = address.url
    let allowances = try invocation.allowances()
    let (plan, target, known) = try invocation.withModel { model in
      try invocation.requireFile(model)
      let target = try model.version(arguments.value("to"))
      let known = try model.modelVersions()
      try invocation.remarkUnusedMappings(known, of: model)
      if case .file = address { try invocation.recover(url) }
      return (
        try invocation.plan(arguments.argument("STORE"), known: known, version: target.name, allowances), target, known
      )
    }
    invocation.remarkAllowances(plan)
    for text in plan.remarks { invocation.remark(text) }
    guard !plan.steps.isEmpty else {
      let rows = plan.rows.mapValues { (before: $0, after: $0) }
      try write(plan, backup: nil, rows, invocation)
      return .done
    }
    var migration = plan.migration
    // The command itself makes the backup, also for an in-place migration.
    migration.keepsReplacedStore = false
    // For a store on a server, the migration planned on opening it checks for losses.
    // So does the one of an XML or binary store, which was planned with a copy.
    if case .file = address, plan.store == url { try migration.watchLosses() }
    if let check = arguments.value("integrity-check").flatMap(StoreIntegrityCheck.init) {
      migration.integrityCheck = check
    }
    guard migration.missingPolicies.isEmpty else {
      throw CommandFailure(
        .migrationImpossible,
        "The mapping models for \(plan.to) need migration policies of the app, which this tool does not have: "
          + migration.missingPolicies.joined(separator: ", ") + ". Nothing was changed. \(PolicyLibrary.advice)")
    }
    if let refusal = PlanText.refusal(plan, allowsDowngrade: arguments.flag("allow-downgrade")) {
      throw CommandFailure(
        .migrationImpossible, "\(url.storeName) was not migrated to \(plan.to). \(refusal) Nothing was changed."
      )
    }
    if case .server(_, let kind) = address {
      let backup = try invocation.makeBackup(ofServerStoreAt: url, kind, version: plan.from)
      let rows: [String: (before: Int, after: Int)]
      do {
        guard let found = try migrate(serverAt: url, kind, plan, to: target, allowances, invocation) else {
          return try reportDone(url, known, target.name, backup: backup?.file, invocation)
        }
        rows = found
      } catch {
        if let backup { invocation.remark("The backup was kept: \(backup.file.path)") }
        throw error
      }
      if let backup { invocation.remarkRestoring(backup) }
      return try finish(url, plan, backup: backup?.file, rows, invocation)
    }
    guard FileManager.default.isWritableFile(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) is read-only and cannot be migrated. Check its permissions.")
    }
    if let summary = try FileStoreSummary(of: url) {
      return try migrate(fileAt: url, summary.type, plan, to: target, allowances, invocation)
    }
    // From here on, stopping the command must not leave a partial backup.
    let stop = StopSignal()
    defer { stop.end() }
    let backup = try invocation.makeBackup(of: url)
    let rows: [String: (before: Int, after: Int)]
    do {
      try stop.check()
      guard let found = try migrate(migration, stop, invocation) else {
        // Another process was faster. A backup of the store before that is kept, since the other process may have made
        // none.
        return try reportDone(
          url, known, target.name, backup: backup.flatMap { removeNeedlessBackup($0, plan) ? nil : $0 }, invocation)
      }
      rows = found
    } catch {
      if let backup, !removeNeedlessBackup(backup, plan) {
        invocation.remark("The backup was kept: \(backup.path)")
      }
      throw error
    }
    return try finish(url, plan, backup: backup, rows, invocation)
  }

  /// Reports that the store was migrated.
  private static func finish(
    _ url: URL, _ plan: MigrationPlan, backup: URL?, _ rows: [String: (before: Int, after: Int)],
    _ invocation: CommandInvocation
  ) throws -> ExitStatus {
    invocation.result.workDone =
      "\(url.storeName) was migrated to \(plan.to)." + (backup.map { " The backup is \($0.path)." } ?? "")
    try write(plan, backup: backup, rows, invocation)
    return .done
  }

  /// Reports that another process has migrated the store since this command started.
  private static func reportDone(
    _ url: URL, _ known: ModelVersions, _ version: String, backup: URL? = nil, _ invocation: CommandInvocation
  ) throws -> ExitStatus {
    let plan = try invocation.plan(invocation.arguments.argument("STORE"), known: known, version: version, [])
    invocation.remark("Another process has already migrated \(url.storeName).")
    if let backup { invocation.remark("The backup was kept: \(backup.path)") }
    try write(plan, backup: backup, plan.rows.mapValues { (before: $0, after: $0) }, invocation)
    return .done
  }

  /// Runs the migration. Returns nil if another process has already migrated the store.
  private static func migrate(
    _ migration: StoreMigration, _ stop: StopSignal, _ invocation: CommandInvocation
  ) throws -> [String: (before: Int, after: Int)]? {
    let writer = invocation.progressWriter()
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
      for statement in report.statements { invocation.streams.printError(statement + ";\n") }
    }
    return report.rows.mapValues { (before: $0.before, after: $0.after) }
  }

  /// Migrates a store on a server by opening it, in one transaction. Returns nil if another process has already migrated
  /// the store.
  private static func migrate(
    serverAt url: URL, _ kind: any ServerStore.Type, _ plan: MigrationPlan, to target: ModelArgument.Version,
    _ allowances: FindingAllowances,
    _ invocation: CommandInvocation
  ) throws -> [String: (before: Int, after: Int)]? {
    let witness = ServerMigrationWitness()
    try open(
      url, type: .sqlite, target, allowances, options: [ServerMigrationWitness.option: witness], invocation)
    guard witness.didMigrate else { return nil }
    return rows(plan, after: try ServerRows(of: url, kind).counts(target.document))
  }

  private static func rows(_ plan: MigrationPlan, after: [String: Int]) -> [String: (before: Int, after: Int)] {
    var rows: [String: (before: Int, after: Int)] = [:]
    for name in Set(plan.rows.keys).union(after.keys) { rows[name] = (plan.rows[name] ?? 0, after[name] ?? 0) }
    return rows
  }

  /// Opens and closes a store, and so migrates it.
  private static func open(
    _ url: URL, type: NSPersistentStore.StoreType, _ target: ModelArgument.Version,
    _ allowances: FindingAllowances, options: [AnyHashable: Any], _ invocation: CommandInvocation
  ) throws {
    let model = try NSManagedObjectModel(document: target.document)
    // The versions named by mapping models are looked up in the whole bundle, as in the plan.
    let bundle = try invocation.model().bundleURL
    model.origins = [bundle]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    var options = options
    options[NSMigratePersistentStoresAutomaticallyOption] = true
    options[NSInferMappingModelAutomaticallyOption] = true
    options[MigrationOption.models] = [bundle]
    options[MigrationOption.mappings] = invocation.mappings
    options[MigrationOption.allowsLoss] = allowances.losses
    try coordinator.remove(
      coordinator.addPersistentStore(type: type, configuration: nil, at: url, options: options))
  }

  /// Migrates an XML or binary store by opening it, after a backup.
  private static func migrate(
    fileAt url: URL, _ type: NSPersistentStore.StoreType, _ plan: MigrationPlan, to target: ModelArgument.Version,
    _ allowances: FindingAllowances, _ invocation: CommandInvocation
  ) throws -> ExitStatus {
    let backup = try invocation.makeBackup(of: url)
    do {
      // The backup is the one of this command.
      try open(
        url, type: type, target, allowances, options: [MigrationOption.keepsReplacedStore: false], invocation)
    } catch {
      if let backup {
        if FileManager.default.contentsEqual(atPath: backup.path, andPath: url.path) {
          try FileManager.default.removeItem(at: backup)
        } else {
          invocation.remark("The backup was kept: \(backup.path)")
        }
      }
      throw error
    }
    let after = rows(plan, after: try FileStoreSummary(of: url)?.objectCounts ?? [:])
    return try finish(url, plan, backup: backup, after, invocation)
  }

  /// Removes the backup of a store that the failed migration has not changed.
  ///
  /// - Returns: Whether the backup was removed. It is kept if it may be needed.
  private static func removeNeedlessBackup(_ backup: URL, _ plan: MigrationPlan) -> Bool {
    do {
      let hashes = try StoreReader(url: plan.store).metadata.hashes
      guard try StoreReader(url: backup).metadata.hashes == hashes else { return false }
      try StoreBackup.remove(backup)
      return true
    } catch {
      // The reason the migration failed is reported instead.
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
        "\(plan.store.lastPathComponent) already has version \(plan.to). Nothing was changed.\n")
    }
    var report = invocation.report()
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
    report.line(backup.map { "Backup  \($0.path)" } ?? "No backup was created.")
    try invocation.write(report)
  }
}
