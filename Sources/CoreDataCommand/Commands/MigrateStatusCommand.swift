// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata migrate status`
enum MigrateStatusCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "status"], summary: "Up to date, behind by how many versions, or of no known version.",
    positionals: [.store, .model],
    options: [
      OptionSpecification(
        "mappings", .text("DIR"), repeats: true,
        summary: "Mapping models: a folder of .cdm and .xcmappingmodel, or one of them."),
      .flag("check", summary: "End with status 1 where a migration is pending, 7 where one was interrupted."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let reader = try StoreReader(url: invocation.url("STORE"))
    let model = try invocation.model()
    let current = try model.version(nil)
    let match = StoreMatch(
      storeHashes: reader.metadata.hashes, storeModel: reader.metadata.model, versions: model.versions,
      current: current.name)
    let names = model.versions.map(\.name)
    let distance = match.version.flatMap { names.firstIndex(of: $0) }.flatMap { position in
      names.firstIndex(of: current.name).map { $0 - position }
    }
    let status = word(distance)
    let way = try distance == 0 ? nil : match.version.map { try Way(from: $0, to: current.name, model, invocation) }
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.status/1", "status": .string(status), "version": .optional(match.version),
          "current": .string(current.name), "behind": .optional(distance), "nearest": .optional(match.nearest),
          "steps": way?.steps.map { steps in
            .array(
              steps.map {
                ["from": .string($0.source), "to": .string($0.destination), "kind": .string($0.kind.rawValue)]
              })
          } ?? .null,
          "obstacle": .optional(way?.obstacle),
        ])
    } else {
      try invocation.result.write(
        sentence(distance, match, store: reader.url.lastPathComponent, current: current.name)
          + (way?.obstacle.map { " No way leads there: \($0)" } ?? "") + "\n")
    }
    if let work = try StoreRecovery.inspect(storeAt: reader.url), !work.isRunning {
      invocation.remark(
        "Work on it was interrupted. See:  coredata migrate recover \(reader.url.relativePath) --inspect")
      if invocation.arguments.flag("check") { return .interruptedWorkFound }
    }
    switch status {
    case "current": return .done
    case "unknown": return .unreadableStore
    default: return invocation.arguments.flag("check") ? .no : .done
    }
  }

  /// How the current version can be reached.
  private struct Way {
    var steps: [StoreMigration.Step]?
    var obstacle: String?

    /// - Throws: what is wrong with the models or mapping models; that no way leads there is an answer.
    init(from source: String, to destination: String, _ model: ModelArgument, _ invocation: CommandInvocation) throws {
      guard !model.isStore else { return }
      do {
        steps = try MigrationPath(
          modelsAt: model.url, from: source, to: destination, mappings: invocation.mappings
        ).steps
      } catch let error as NSError
        where [NSInferredMappingModelError, NSMigrationMissingMappingModelError].contains(error.code)
      {
        obstacle = error.localizedFailureReason
      }
    }
  }

  private static func word(_ distance: Int?) -> String {
    guard let distance else { return "unknown" }
    return distance == 0 ? "current" : distance > 0 ? "behind" : "ahead"
  }

  private static func sentence(_ distance: Int?, _ match: StoreMatch, store: String, current: String) -> String {
    guard let distance, let version = match.version else {
      let nearest = match.nearest.map { " The nearest is \($0)." } ?? ""
      return "\(store) was written by no known version.\(nearest)"
    }
    if distance == 0 { return "\(store) is up to date: \(version)." }
    let count = NumberText.counted(abs(distance), "version")
    return "\(store) is of \(version), \(count) \(distance > 0 ? "behind" : "ahead of") \(current)."
  }
}
