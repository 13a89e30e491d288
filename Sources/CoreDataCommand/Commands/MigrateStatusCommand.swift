// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// `coredata migrate status`
enum MigrateStatusCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "status"], summary: "Up to date, behind by how many versions, or of no known version.",
    positionals: [.store, .model],
    options: [
      .flag("check", summary: "End with status 1 where a migration is pending."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let reader = try StoreReader(url: invocation.url("STORE"))
    let model = try ModelArgument(path: invocation.arguments.argument("MODEL"))
    let current = try model.version(nil)
    let match = StoreMatch(
      storeHashes: reader.metadata.hashes, storeModel: reader.metadata.model, versions: model.versions,
      current: current.name)
    let names = model.versions.map(\.name)
    let distance = match.version.flatMap { names.firstIndex(of: $0) }.flatMap { position in
      names.firstIndex(of: current.name).map { $0 - position }
    }
    let status = word(distance)
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.status/1", "status": .string(status), "version": .optional(match.version),
          "current": .string(current.name), "behind": .optional(distance), "nearest": .optional(match.nearest),
        ])
    } else {
      try invocation.result.write(
        sentence(distance, match, store: reader.url.lastPathComponent, current: current.name) + "\n")
    }
    switch status {
    case "current": return .done
    case "unknown": return .unreadableStore
    default: return invocation.arguments.flag("check") ? .no : .done
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
