// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// `coredata migrate status`
enum MigrateStatusCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "status"], summary: "Show whether a store is up to date, or by how many versions it is behind.",
    discussion: AllowanceArguments.help,
    positionals: [.anyStore, .model],
    options: [
      .mappings,
      .allow, .allowances, .allowLoss,
      .flag(
        "check", summary: "Exit with status 1 if a migration is pending, 7 if one, or a stage, was interrupted."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try invocation.withModel { model in
      try invocation.remarkUnusedMappings(model.modelVersions(), of: model)
      return try invocation.repeatingIfMigrated { try run(invocation, model) }
    }
  }

  private static func run(_ invocation: CommandInvocation, _ model: ModelArgument) throws -> ExitStatus {
    let allowances = try invocation.allowances()
    let argument = invocation.arguments.argument("STORE")
    let signature = try invocation.signature(argument, orOneOf: invocation.arguments.argument("MODEL"))
    let current = try model.version(nil)
    let match = try signature.match(model, current: current.name)
    let names = model.names
    let distance =
      match.versions.contains(current.name)
      ? 0
      : match.version.flatMap { names.firstIndex(of: $0) }.flatMap { position in
        names.firstIndex(of: current.name).map { $0 - position }
      }
    let status = word(distance)
    let canStart = distance != 0 && !(signature.needsModel && match.version == nil)
    let way = canStart ? try Way(from: argument, to: current.name, model, allowances, invocation) : nil
    if let plan = way?.plan { invocation.remarkAllowances(plan) }
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.status/1", "status": .string(status), "version": .optional(match.version),
          "versions": .array(match.versions.map { .string($0) }),
          "current": .string(current.name), "behind": .optional(distance), "nearest": .optional(match.nearest),
          "nearestVersions": .array(match.nearestVersions.map { .string($0) }),
          "steps": way?.plan.map { plan in
            .array(plan.steps.map { ["from": .string($0.from), "to": .string($0.to), "kind": .string($0.kind)] })
          } ?? .null,
          "obstacle": .optional(way?.obstacle), "unfinishedStage": .optional(signature.unfinishedStage?.name),
        ])
    } else {
      try invocation.result.write(
        sentence(distance, match, store: signature.name, current: current.name)
          + (way?.sentence(isKnown: distance != nil).map { " \($0)" } ?? "") + "\n")
    }
    if case .file(let url) = try StoreAddress(argument), let work = try StoreRecovery.inspect(storeAt: url),
      !work.isRunning
    {
      invocation.remark(
        "Work on the store was interrupted. See:  coredata migrate recover \(ShellWord.quoted(url.relativePath)) --inspect"
      )
      if invocation.arguments.flag("check") { return .interruptedWorkFound }
    }
    if let stage = signature.unfinishedStage {
      invocation.remark("\(stage.text) \(stage.cure)")
      if invocation.arguments.flag("check") { return .interruptedWorkFound }
    }
    if status == "current" { return .done }
    if status == "unknown", way?.plan == nil { return .unreadableStore }
    if way?.obstacle != nil { return .migrationImpossible }
    return invocation.arguments.flag("check") ? .no : .done
  }

  /// The way to migrate the store to the current version.
  private struct Way {
    var plan: MigrationPlan?
    /// The reason `migrate run` would not migrate the store.
    var obstacle: String?

    /// Plans the migration. Throws the errors of the store, models and mapping models; a missing migration path is a
    /// result instead.
    init(
      from argument: String, to destination: String, _ model: ModelArgument, _ allowances: FindingAllowances,
      _ invocation: CommandInvocation
    ) throws {
      do {
        let store = try invocation.located(argument, orOneOf: invocation.arguments.argument("MODEL"), hasRows: false)
        let plan = try invocation.plan(store, known: model.modelVersions(), version: destination, allowances)
        self.plan = plan
        obstacle = PlanText.refusal(plan)
      } catch let error as NSError
        where [
          NSInferredMappingModelError, NSMigrationMissingMappingModelError, NSMigrationMissingSourceModelError,
        ].contains(error.code)
      {
        obstacle = [error.reasonWithoutStore, error.localizedRecoverySuggestion].compactMap { $0 }.joined(
          separator: " ")
      }
    }

    func sentence(isKnown: Bool) -> String? {
      guard let plan else { return obstacle.map { "It cannot be migrated: \($0)" } }
      let way =
        isKnown
        ? nil
        : "A migration to \(plan.to) would start from the model in the store, in "
          + "\(NumberText.counted(plan.steps.count, "step"))."
      let parts = [way, obstacle].compactMap { $0 }
      return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
  }

  private static func word(_ distance: Int?) -> String {
    guard let distance else { return "unknown" }
    return distance == 0 ? "current" : distance > 0 ? "behind" : "ahead"
  }

  private static func sentence(_ distance: Int?, _ match: StoreMatch, store: String, current: String) -> String {
    guard let distance, let version = match.version else {
      return "\(store) was not written by any known version. \(match.nearestSentence)"
    }
    let equal = match.equalVersions.map { " (\($0))" } ?? ""
    if distance == 0 { return "\(store) is up to date: \(version)\(equal)." }
    let count = NumberText.counted(abs(distance), "version")
    return "\(store) has version \(version)\(equal), \(count) \(distance > 0 ? "behind" : "ahead of") \(current)."
  }
}
